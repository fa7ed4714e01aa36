"""Measures what a cluster costs and gains: ``python -m tests.bench.cluster``.

Simulated questions go the whole way of real ones (scheduler, worker, row and trajectory back),
only the thinking is replaced by waiting. Nothing is stored but counted.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from pydantic import BaseModel, ConfigDict, Field, PositiveInt
from rich.console import Console

from experiments.benchmarks import Benchmark
from experiments.run.answering import Job, Plan
from experiments.run.cluster import open_crew
from experiments.run.config import RunConfig, validate
from experiments.run.loop import Work
from experiments.run.rows import Row
from experiments.run.store import Store
from experiments.run.summary import samples_digest
from matsmith.core.command import Command
from matsmith.core.progress import Progressing
from tests.experiments.crowd import Crowd


class Options(BaseModel):
    """What is measured."""

    model_config = ConfigDict(extra="forbid")

    episodes: PositiveInt = Field(1000, description="simulated questions")
    seconds: float = Field(2.0, ge=0, description="that each of them takes")
    workers: tuple[PositiveInt, ...] = Field(
        (1, 4), description="numbers of worker processes, one measurement each: workers=[1,4]"
    )
    concurrency: PositiveInt = Field(8, description="questions of a worker at once")
    batch: PositiveInt = Field(1, description="questions of one task")


class _Tally:
    """In place of a run folder: counts, and looks at the memory of this process."""

    def __init__(self, config_hash: str, episodes: int) -> None:
        self.config_hash = config_hash
        self.answers = 0
        self.memory: list[float] = []
        self._every = max(1, episodes // 10)

    def remember_packages(self, packages: Mapping[str, Mapping[str, str]]) -> None:
        """Nothing is imported."""

    def append(self, row: Row, trajectory: str, figures: Mapping[str, str]) -> None:
        """Count."""
        del trajectory, figures
        self.answers += row.scored
        if self.answers % self._every == 0:
            self.memory.append(_megabytes())


def _megabytes() -> float:
    """Memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _config(options: Options, workers: int) -> RunConfig:
    here, waiting = "tests.experiments.crowd", {"seconds": options.seconds, "spread": 0.0}
    return validate({
        "system": {"_target_": f"{here}.Patient", "name": "patient", **waiting},
        "benchmark": {"_target_": f"{here}.Crowd", "name": "crowd"},
        "retrieval": {"name": "none"},
        "model": {"provider": "none", "name": "none"},
        "embedding": {"name": "none"},
        "sandbox": {},
        "concurrency": options.concurrency,
        "launcher": {"name": "dask", "workers": workers, "batch": options.batch},
    })  # fmt: skip


async def _measure(options: Options, workers: int) -> float:
    """Episodes per second, once everything is warm."""
    config, console = _config(options, workers), Console(file=io.StringIO())
    benchmark = Crowd()
    digest = config.hash(samples_digest(benchmark.load()))
    async with open_crew([config], console) as crew:
        for episodes in (workers * options.concurrency * 2, options.episodes):
            tally = _Tally(digest, episodes)
            plan = Plan(
                config,
                digest,
                cast("Benchmark", benchmark),
                ["live"],
                print,
            )
            samples = benchmark.load()
            jobs = [Job(samples[n % len(samples)], n // len(samples)) for n in range(episodes)]
            started = time.monotonic()
            store = cast("Store", tally)
            async with crew.team(plan, store) as team:
                stopped = await Work(plan, store, team, Progressing()).through(jobs)
            taken = time.monotonic() - started
    if stopped or tally.answers != options.episodes:
        raise SystemExit(f"{tally.answers} of {options.episodes} answers; {stopped}")
    ideal = options.episodes * options.seconds / (workers * options.concurrency)
    memory = " ".join(f"{megabytes:.0f}" for megabytes in tally.memory)
    print(
        f"workers {workers} x {options.concurrency}: {taken:.1f} s, "
        f"{options.episodes / taken:.1f} episodes/s, "
        f"{1000 * (taken - ideal) / options.episodes:.2f} ms overhead each; "
        f"memory of the driver in MB at every tenth: {memory}",
        flush=True,
    )
    return options.episodes / taken


async def _bench(options: Options) -> int:
    rates = [await _measure(options, workers) for workers in options.workers]
    if len(rates) > 1:
        print(
            f"{options.workers[-1]} workers are {rates[-1] / rates[0]:.2f} x {options.workers[0]}"
        )
    return 0


main = Command("python -m tests.bench.cluster", __doc__ or "", Options, _bench)


if __name__ == "__main__":
    sys.exit(main())
