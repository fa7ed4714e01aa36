"""Measures what a cluster costs and gains: ``python -m tests.bench.cluster``.

Simulated questions go the whole way of real ones (scheduler, worker, row and trajectory back),
only the thinking is replaced by waiting. Nothing is stored but counted.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import BaseModel, ConfigDict, Field, PositiveInt
from rich.console import Console

from agents.answer_formats import Number
from agents.base import Question, Trajectory, Usage
from agents.budget import Meter
from agents.episode import Parts
from experiments.answering import Job
from experiments.cluster import open_crew
from experiments.config import RunConfig, validate
from experiments.crew import Plan
from experiments.job import Work
from experiments.rows import Row
from experiments.samples import Benchmark, Sample
from experiments.scorers.base import Metric, Score
from experiments.store import Store
from experiments.summary import samples_digest
from sandbox.command import run
from sandbox.progress import Progressing


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


@dataclass(frozen=True)
class Counted:
    """Every answer is right."""

    metrics: Sequence[Metric] = (Metric("parts", "right", "answers that came back"),)
    executes: bool = False
    warmup: str = ""

    def parts(self, sample: Sample) -> Sequence[str]:
        """See `experiments.scorers.base.Scorer`."""
        return (sample.question.id,)

    async def score(self, sample: Sample, trajectory: Trajectory, tools: object) -> Score:
        """See `experiments.scorers.base.Scorer`."""
        del trajectory, tools
        return Score("ok", {}, {sample.question.id: True})


@dataclass(frozen=True)
class Simulated:
    """Ten questions, to be asked with as many seeds as it takes."""

    name: str = "simulated"
    packages: Sequence[str] = ()
    scorer = Counted()

    def load(self) -> list[Sample]:
        """See `experiments.samples.Benchmark`."""
        return [Sample(Question(f"q{n}", f"Question {n}", answer=Number())) for n in range(10)]


class Waiting:
    """Waits, and has an answer."""

    name = "waiting"
    writes_code = False
    uses_retrieval = False

    def __init__(self, parts: Parts, *, seconds: float = 0.0) -> None:
        del parts
        self.seconds = seconds

    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """See `agents.base.Agent`."""
        await asyncio.sleep(self.seconds)
        return Trajectory(
            question.id, seed, None, None, "1", (), Usage(1, 0, 100, 100), "answered", "strict",
            value=1.0, seconds=self.seconds,
        )  # fmt: skip


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
    here = "tests.bench.cluster"
    return validate({
        "system": {"_target_": f"{here}.Waiting", "name": "waiting", "seconds": options.seconds},
        "benchmark": {"_target_": f"{here}.Simulated", "name": "simulated"},
        "retrieval": {"name": "none"},
        "model": {"provider": "rules", "name": "rules"},
        "embedding": {"name": "none"},
        "sandbox": {},
        "concurrency": options.concurrency,
        "launcher": {"name": "dask", "workers": workers, "batch": options.batch},
    })  # fmt: skip


async def _measure(options: Options, workers: int) -> float:
    """Episodes per second, once everything is warm."""
    config, console = _config(options, workers), Console(file=io.StringIO())
    benchmark = Simulated()
    digest = config.hash(samples_digest(benchmark.load()))
    async with open_crew([config], console) as crew:
        for episodes in (workers * options.concurrency * 2, options.episodes):
            tally = _Tally(digest, episodes)
            plan = Plan(
                config,
                digest,
                cast("Benchmark", benchmark),
                ["live"],
                cast("Store", tally),
                Meter(),
                print,
            )
            samples = benchmark.load()
            jobs = [Job(samples[n % len(samples)], n // len(samples)) for n in range(episodes)]
            started = time.monotonic()
            async with crew.team(plan) as team:
                stopped = await Work(plan, team, Progressing()).through(jobs)
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``."""
    return run("python -m tests.bench.cluster", __doc__ or "", Options, _bench, arguments)


if __name__ == "__main__":
    sys.exit(main())
