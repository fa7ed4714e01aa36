from __future__ import annotations

import pytest

from sandbox.base import SandboxConfig
from tests.bench.sandbox import bench, bench_steps
from tests.sandbox.test_command import needs_bubblewrap


@needs_bubblewrap
@pytest.mark.long
async def test_a_warm_worker_beats_a_cold_one() -> None:
    config = SandboxConfig(backend="bubblewrap")
    told: list[str] = []
    (row,) = await bench(config, runs=5, progress=told.append)
    assert len(told) == bench_steps(config)
    assert row["backend"] == "bubblewrap"
    assert 0 < row["cold_per_s"] < row["warm_per_s_1"]
