"""A retriever over the small package of the docgen tests."""

from functools import partial

import pytest

from retrieval.config import read_config
from retrieval.factory import RetrieverFactory
from sandbox.base import SandboxConfig
from sandbox.factory import get_sandbox
from tests.support.writers import DocModel

PLAIN = SandboxConfig(env="live", workers=1, options={"warmup": False})


@pytest.fixture
def make(package, tmp_path):
    """Makes a retriever over ``brickwork`` from configuration keys."""

    async def build(embedding=None, *, over="brickwork", sandbox=True, **config):
        return await RetrieverFactory(
            settings=read_config({"name": "test", "source": "llm_doc", **config}),
            packages=[over],
            site_packages=package,
            writer=DocModel(),
            embedding=embedding,
            cache=tmp_path / "cache",
            progress=False,
            open_sandbox=partial(get_sandbox, PLAIN) if sandbox else None,
        ).make()

    return build
