import pytest

from sandbox.base import SandboxConfig
from tests.bench.sandbox import bench
from tests.support.sandboxes import needs_bubblewrap


@needs_bubblewrap
@pytest.mark.long
async def test_a_warm_worker_beats_a_cold_one(monkeypatch):
    monkeypatch.setattr("tests.bench.sandbox.ROUNDS", 3)
    config = SandboxConfig(backend="bubblewrap")
    (row,) = await bench(config, runs=5)
    assert row["backend"] == "bubblewrap"
    assert 0 < row["cold_per_s"] < row["warm_per_s_1"]
