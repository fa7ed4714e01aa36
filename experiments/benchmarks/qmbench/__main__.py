"""Problems of one's own (``benchmark=qmbench benchmark.path=DIR``)."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from agents.base import Trajectory, Usage
from experiments.baselines import written
from experiments.benchmarks.qmbench.benchmark import QMBenchmark, form, right
from experiments.benchmarks.qmbench.problem import Problem, ProblemError, Rubric, read_folder
from experiments.benchmarks.qmbench.scorer import ProblemScorer
from experiments.samples import Sample
from experiments.scorers.base import Tools
from matsmith.core.command import Command, Word, run_one_of
from sandbox.base import Sandbox, SandboxConfig
from sandbox.factory import get_sandbox

_CHECK = """\
Reads every problem file below a folder (docs/qmbench.md says how one is written), says what is
wrong with it and in which line, and proves the rest: the answer of the file gets full marks, an
empty one and the prompt itself get none. Exit code 0: all is well, 1: findings."""
PROGRAM = "matsmith qmbench"


class CheckOptions(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``check``."""

    path: Annotated[Path, Word()] = Field(description="folder of problem files")
    backend: str = Field("auto", description="sandbox")


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
    own = written(form(problem), right(problem))
    for what, text in (("its own answer", own), ("an empty answer", ""),
                       ("the prompt itself", problem.prompt)):  # fmt: skip
        reading = sample.question.answer.read(text)
        said = Trajectory(
            problem.id, 0, None, None, text, (), Usage(), "answered",
            "error" if reading is None else reading.status, value=reading and reading.value,
        )  # fmt: skip
        try:
            score = await ProblemScorer().score(sample, said, Tools(None, verifier))
        except ProblemError as error:
            yield f"{problem.id}: {error}"
            return
        share = score.values["score"]
        if (share == 1.0) != (text == own):
            yield f"{problem.id}: {what} gets {share:.0%} ({score.artefacts['error']})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0: all is well, 1: findings (see `matsmith.core.command`)."""
    command = Command(f"{PROGRAM} check", _CHECK, CheckOptions, check, errors=(ProblemError,))
    return run_one_of(PROGRAM, str(__doc__), {"check": command}, arguments)


if __name__ == "__main__":
    sys.exit(main())
