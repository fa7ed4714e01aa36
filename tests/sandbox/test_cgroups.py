"""Cgroups of workers: where none can be had, that is said; where one can, it is used."""

import pytest

from sandbox import cgroups
from sandbox.base import Outcome, SandboxError
from sandbox.factory import get_sandbox
from tests.sandbox.conftest import bare, needs_bubblewrap

HUNGRY = "def f():\n    kept = []\n    while True: kept.append(bytearray(b'x') * (1 << 24))"


def test_a_folder_without_a_controller_is_refused(tmp_path):
    for parent in (tmp_path, tmp_path / "missing"):
        with pytest.raises(SandboxError, match="cgroup with a memory limit"):
            cgroups.make(1 << 30, str(parent))
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_host_left_is_removed(tmp_path):
    gone, alive = tmp_path / "matsmith-999999999-0", tmp_path / "matsmith-1-0"
    for folder in (gone, alive):
        folder.mkdir()
    with pytest.raises(SandboxError):
        cgroups.make(1 << 30, str(tmp_path))
    assert sorted(tmp_path.iterdir()) == [alive]


@needs_bubblewrap
async def test_memory_is_counted_by_the_kernel_where_a_cgroup_can_be_had():
    group = cgroups.make(1 << 30)
    if group is None:
        pytest.skip("no cgroup can be had here")
    cgroups.remove(group)
    assert not group.exists()
    async with get_sandbox(bare().model_copy(update={"memory_mb": 256})) as sandbox:
        assert sandbox.memory_counted
        assert (await sandbox.run(HUNGRY, "f", timeout=30)).outcome is Outcome.MEMORY
        assert (await sandbox.run("def f(): return 1", "f", timeout=30)).result == 1
