"""Backends that can be tested here, programs to run in them, and what they leave behind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox import bubblewrap, docker
from sandbox.base import Execution, Outcome, SandboxConfig
from sandbox.docker import ContainerChannel
from sandbox.pool import PooledSandbox
from tests.support.paths import ROOT

FOLDER = ROOT / "tests" / "abuse" / "programs"


def programs(name: str) -> dict[str, Any]:
    """Hostile (and honest) programs, by name."""
    found: dict[str, Any] = yaml.safe_load(
        (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    )
    return found


PROGRAMS = programs("others")


HONEST = PROGRAMS["honest"]


def reason_to_skip(backend: str) -> str | None:
    """Why this backend cannot be tested here."""
    if backend == "bubblewrap":
        return bubblewrap.problem()
    engine = docker.find(backend)
    if engine is None:
        return f"no {backend} engine answers"
    if not docker.exists(engine, "live"):
        return f"{backend} has no image: matsmith sandbox build backend={backend}"
    return None


BACKENDS = [
    pytest.param("bubblewrap"),
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("podman", marks=pytest.mark.docker),
]


def descendants(pid: int) -> set[int]:
    """All processes below ``pid`` on the host."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    found: set[int] = set()
    grown = {pid}
    while grown:
        grown = {child for child, parent in parents.items() if parent in grown} - found
        found |= grown
    return found


def server_pid(channel: ContainerChannel) -> int:
    """The first process of a container of an engine on this machine."""
    channel.container.reload()
    return int(channel.container.attrs["State"]["Pid"])


def worker_pids(sandbox: PooledSandbox) -> set[int]:
    """Processes of all idle workers, seen from outside."""
    found: set[int] = set()
    for worker in sandbox.idle:
        channel = worker.channel
        if isinstance(channel, ContainerChannel):
            first = server_pid(channel)
            found |= {first} | descendants(first)
        else:
            found |= descendants(channel.process.pid)
    return found


@dataclass
class Lab:
    """A sandbox under attack."""

    sandbox: PooledSandbox
    before: object

    def servers(self) -> set[int]:
        """Processes of the only worker while it is idle, seen from outside."""
        return worker_pids(self.sandbox)

    def processes(self) -> int:
        """How many they are."""
        return len(self.servers())

    async def attack(
        self,
        code: str,
        *expected: Outcome,
        timeout: float = 2.0,
        entry: str = "attack",
        collect: bool = False,
    ) -> Execution:
        """Run hostile code; the same worker must serve the next run as if nothing had been."""
        if not self.sandbox.idle:  # an attack that failed before this one: start anew
            await self.sandbox.run(HONEST, "honest", timeout=30)
        (worker,) = self.sandbox.idle
        processes = self.processes()
        done = await self.sandbox.run(code, entry, timeout=timeout, collect=collect)
        assert done.outcome in expected, f"{done.outcome}: {done.error} {done.result}"
        assert self.sandbox.idle == [worker], "the worker did not survive"
        assert self.processes() == processes, "a process was left behind"
        after = await self.sandbox.run(HONEST, "honest", timeout=30)
        assert after.outcome is Outcome.OK, after.error
        assert after.result == self.before
        return done


needs_bubblewrap = pytest.mark.skipif(
    bool(reason_to_skip("bubblewrap")), reason=str(reason_to_skip("bubblewrap"))
)


def bare(backend="bubblewrap", **options):
    """One worker that starts at once: nothing is imported beforehand."""
    return SandboxConfig(
        backend=backend, workers=1, options={"warmup": False, **options}
    )


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
