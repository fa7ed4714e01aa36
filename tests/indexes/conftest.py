"""A corpus over the small package of the docgen tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexes.corpus import Corpus
from indexes.llm_doc import Writer, llm_doc_corpus
from tests.docgen.conftest import write_package
from tests.docgen.models import DocModel


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder that holds ``brickwork``."""
    return write_package(tmp_path / "site")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Root of the caches."""
    return tmp_path / "cache"


@pytest.fixture
async def corpus(package: Path, cache: Path) -> Corpus:
    """``llm_doc`` of ``brickwork``, written by rules."""
    return await llm_doc_corpus(
        ["brickwork"],
        package,
        writer=Writer(DocModel(), "somebody"),
        cache=cache,
        show_progress=False,
    )
