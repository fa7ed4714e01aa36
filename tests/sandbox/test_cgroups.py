"""Cgroups of workers: where none can be had, that is said; where one can, it is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox import bubblewrap, cgroups
from sandbox.base import Outcome, SandboxConfig, SandboxError
from sandbox.factory import get_sandbox

HUNGRY = "def f():\n    kept = []\n    while True: kept.append(bytearray(b'x') * (1 << 24))"


def test_a_folder_without_a_controller_is_refused(tmp_path: Path) -> None:
    for parent in (tmp_path, tmp_path / "missing"):
        with pytest.raises(SandboxError, match="cgroup with a memory limit"):
            cgroups.make(1 << 30, str(parent))
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_host_left_is_removed(tmp_path: Path) -> None:
    gone, alive = tmp_path / "matsmith-999999999-0", tmp_path / "matsmith-1-0"
    for folder in (gone, alive):
        folder.mkdir()
    with pytest.raises(SandboxError):
        cgroups.make(1 << 30, str(tmp_path))
    assert sorted(tmp_path.iterdir()) == [alive]


async def test_memory_is_counted_by_the_kernel_where_a_cgroup_can_be_had() -> None:
    reason = bubblewrap.problem()
    if reason:
        pytest.skip(reason)
    group = cgroups.make(1 << 30)
    if group is None:
        pytest.skip("no cgroup can be had here")
    group.remove()
    assert not group.folder.exists()
    config = SandboxConfig(
        backend="bubblewrap", workers=1, memory_mb=256, options={"warmup": False}
    )
    async with get_sandbox(config) as sandbox:
        assert sandbox.memory_counted
        assert (await sandbox.run(HUNGRY, "f", timeout=30)).outcome is Outcome.MEMORY
        assert (await sandbox.run("def f(): return 1", "f", timeout=30)).result == 1
