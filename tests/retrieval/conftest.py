"""A retriever over the small package of the docgen tests."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest
from langchain_core.embeddings import Embeddings

from retrieval.base import Retriever
from retrieval.factory import get_retriever
from sandbox.base import SandboxConfig
from sandbox.factory import get_sandbox
from tests.docgen.conftest import write_package
from tests.docgen.models import DocModel

PLAIN = SandboxConfig(env="live", workers=1, options={"warmup": False})


class Make(Protocol):
    async def __call__(self, embedding: Embeddings | None = None, **config: Any) -> Retriever: ...


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder that holds ``brickwork``."""
    return write_package(tmp_path / "site")


@pytest.fixture
def make(package: Path, tmp_path: Path) -> Make:
    """Makes a retriever over ``brickwork`` from configuration keys."""

    async def build(embedding: Embeddings | None = None, **config: Any) -> Retriever:
        retriever = await get_retriever(
            {"name": "test", "source": "llm_doc", **config},
            packages=["brickwork"],
            site_packages=package,
            writer=DocModel(),
            writer_name="rules",
            embedding=embedding,
            cache=tmp_path / "cache",
            progress=False,
            open_sandbox=partial(get_sandbox, PLAIN),
        )
        assert retriever is not None
        return retriever

    return build
