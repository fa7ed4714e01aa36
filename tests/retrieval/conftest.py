"""A retriever over the small package of the docgen tests."""

from functools import partial
from typing import Any, Protocol

import pytest
from langchain_core.embeddings import Embeddings

from retrieval.base import Retriever
from retrieval.factory import get_retriever
from sandbox.base import SandboxConfig
from sandbox.factory import get_sandbox
from tests.docgen.models import DocModel

PLAIN = SandboxConfig(env="live", workers=1, options={"warmup": False})


class Make(Protocol):
    async def __call__(self, embedding: Embeddings | None = None, **config: Any) -> Retriever: ...


@pytest.fixture
def make(package, tmp_path):
    """Makes a retriever over ``brickwork`` from configuration keys."""

    async def build(embedding=None, **config):
        retriever = await get_retriever(
            {"name": "test", "source": "llm_doc", **config},
            packages=["brickwork"],
            site_packages=package,
            writer=DocModel(),
            embedding=embedding,
            cache=tmp_path / "cache",
            progress=False,
            open_sandbox=partial(get_sandbox, PLAIN),
        )
        assert retriever is not None
        return retriever

    return build
