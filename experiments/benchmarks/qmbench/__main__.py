"""Problems of one's own (``benchmark=qmbench benchmark.path=DIR``), and points of 10 of runs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from agents.base import Trajectory, Usage
from experiments.benchmarks.qmbench.benchmark import QMBenchmark
from experiments.benchmarks.qmbench.points import points
from experiments.benchmarks.qmbench.problem import Problem, ProblemError, Rubric, read_folder
from experiments.benchmarks.qmbench.scorer import ProblemScorer
from experiments.report.runs import load_runs
from experiments.samples import Sample
from experiments.scorers.base import Tools
from sandbox.base import Sandbox, SandboxConfig
from sandbox.command import Command, Word, run_one_of
from sandbox.factory import get_sandbox

_CHECK = """\
Reads every problem file below a folder (docs/qmbench.md says how one is written), says what is
wrong with it and in which line, and proves the rest: the answer of the file gets full marks, an
empty one and the prompt itself get none. Exit code 0: all is well, 1: findings."""
_POINTS = """\
Points of 10 of runs of benchmark=qmbench, with standard errors: all problems and those without
images, by type, topic (a problem counts under every one of its topics) and difficulty. With two
runs also the gain of the second over the first on the problems that both answered."""
PROGRAM = "python -m experiments.benchmarks.qmbench"


class CheckOptions(BaseModel):
    """Arguments of ``check``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Annotated[Path, Word()] = Field(description="folder of problem files")
    backend: str = Field("auto", description="sandbox")


class PointsOptions(BaseModel):
    """Arguments of ``points``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    runs: Annotated[tuple[Path, ...], Word()] = Field(description="run folders")


async def check(options: CheckOptions) -> int:
    """Say what is wrong with a folder; returns the exit code."""
    read = list(read_folder(options.path))
    findings = [str(problem) for _, problem in read if isinstance(problem, ProblemError)]
    good = [(file, problem) for file, problem in read if isinstance(problem, Problem)]
    if not findings:
        samples = QMBenchmark(path=str(options.path)).load()
        limits = SandboxConfig(
            workers=1, backend=options.backend, options={"warmup": ProblemScorer.warmup}
        )
        async with get_sandbox(limits) as verifier:
            for (file, problem), sample in zip(good, samples, strict=True):
                findings += [
                    f"{file}:1: {said}" async for said in _proved(problem, sample, verifier)
                ]
    for finding in findings:
        print(finding)
    counts = Counter(problem.type for _, problem in good)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    print(f"{len(good)} problems ({told or 'none'}), {len(findings)} findings")
    return 1 if findings else 0


async def _proved(problem: Problem, sample: Sample, verifier: Sandbox) -> AsyncIterator[str]:
    if isinstance(problem.answer, Rubric):
        return  # only a judge can say
    tools = Tools(None, verifier)
    scorer = ProblemScorer()
    for what, text, full in (
        ("its own answer", gold_reply(problem), True),
        ("an empty answer", "", False),
        ("the prompt itself", problem.prompt, False),
    ):
        try:
            score = await scorer.score(sample, replied(sample, text), tools)
        except ProblemError as error:
            yield f"{problem.id}: {error}"
            return
        share = score.values["score"]
        if (share == 1.0) != full:
            yield f"{problem.id}: {what} gets {share:.0%} ({score.artefacts['error']})"


def gold_reply(problem: Problem) -> str:
    """A reply that holds the answer of a problem, in the form asked for."""
    answer = problem.answer
    if isinstance(answer, str):
        return f"<answer>{', '.join(problem.letters)}</answer>"
    if isinstance(answer, Rubric):
        return " ".join(point.text for point in answer.rubric)
    given = answer.model_dump()
    if "poscar" in given:
        return f"<file>\n{given['poscar']}</file>"
    number = given["value"] if "value" in given else (given["low"] + given["high"]) / 2
    return f"<answer>{number!r} {given['unit']}</answer>"


def replied(sample: Sample, text: str) -> Trajectory:
    """What an agent that says ``text`` leaves behind."""
    reading = sample.question.answer.read(text)
    return Trajectory(
        sample.question.id, 0, None, None, text, (), Usage(), "answered",
        "error" if reading is None else reading.status, value=reading and reading.value,
    )  # fmt: skip


def show_points(options: PointsOptions) -> int:
    """Print the table; returns the exit code."""
    Console().print(points(load_runs(options.runs)))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0: all is well, 1: findings (see `sandbox.command`)."""
    commands: dict[str, Callable[[Sequence[str]], int]] = {
        "check": Command(f"{PROGRAM} check", _CHECK, CheckOptions, check, errors=(ProblemError,)),
        "points": Command(f"{PROGRAM} points", _POINTS, PointsOptions, show_points),
    }
    return run_one_of(PROGRAM, str(__doc__), commands, arguments)


if __name__ == "__main__":
    sys.exit(main())
