"""A sandbox per backend for the session."""

import pytest
import pytest_asyncio

from sandbox.base import SandboxConfig
from sandbox.factory import get_sandbox
from tests.abuse.conftest import BACKENDS, reason_to_skip

needs_bubblewrap = pytest.mark.skipif(
    bool(reason_to_skip("bubblewrap")), reason=str(reason_to_skip("bubblewrap"))
)


def bare(backend="bubblewrap", **options):
    """One worker that starts at once: nothing is imported beforehand."""
    return SandboxConfig(
        backend=backend, workers=1, options={"warmup": False, **options}
    )


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=BACKENDS)
async def sandbox(request):
    """A sandbox with one worker; `tests.abuse` has one with all libraries in memory."""
    reason = reason_to_skip(request.param)
    if reason:
        pytest.skip(reason)
    async with get_sandbox(bare(request.param, warmup="import numpy")) as started:
        yield started


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache without any environment."""
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))


def hostile_files(marker):
    """Everything in a wheel that some interpreter might start by itself."""
    act = f"import os; open({str(marker)!r}, 'a').close()"
    return {
        "evil.pth": act + "\n",
        "sitecustomize.py": act + "\n",
        "usercustomize.py": act + "\n",
        "evil/__init__.py": "def f():\n    return {'here': 1}\n",
        "evil-1.0.data/data/lib/python3.11/site-packages/other.pth": act + "\n",
    }
