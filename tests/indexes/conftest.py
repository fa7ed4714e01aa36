"""A corpus over the small package of the docgen tests."""

import pytest

from indexes.llm_doc import Writer, llm_doc_corpus
from tests.support.writers import DocModel


@pytest.fixture
def cache(tmp_path):
    """Root of the caches."""
    return tmp_path / "cache"


@pytest.fixture
async def corpus(package, cache):
    """``llm_doc`` of ``brickwork``, written by a model."""
    writer = Writer(DocModel())
    return await llm_doc_corpus(
        ["brickwork"], package, writer=writer, cache=cache, show_progress=False
    )
