"""Judges the four kinds of answers: letters, numbers, prose, structures."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.answer_formats import Choices
from agents.base import Trajectory
from agents.drawing import structure_svg
from experiments.benchmarks.qmbench.problem import (
    Integer,
    Interval,
    Poscar,
    Problem,
    ProblemError,
    Rubric,
)
from experiments.samples import Sample
from experiments.scorers.base import Metric, Score, Tools, read_metrics
from experiments.scorers.beside import pictures
from experiments.scorers.grading import given, grade
from experiments.scorers.judge import Point, numbers
from experiments.scorers.quantities import ReadingError, read_number, within

GRADER = "experiments.benchmarks.qmbench.grade"
#: Seconds of processor time for one structure.
TIMEOUT = 60.0
PART = "answer"
_RUBRIC = (
    "The text answers a problem. For every point below give a mark between 0 and its maximum, by "
    "how well the text says it. What is not said gets 0; nothing is taken off for more text."
)


@dataclass(frozen=True)
class Verdict:
    """What an answer is worth, as a share of a full answer; ``None`` is unknown.

    ``marks`` are those of each point of a rubric, ``full`` whether there are no more.
    """

    share: float | None
    reason: str = ""
    marks: Mapping[str, float] = field(default_factory=dict)
    full: dict[str, bool] = field(default_factory=dict)
    figures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ProblemScorer:
    """Judges an answer by the kind of its problem."""

    strict_integers: bool = False
    metrics: Sequence[Metric] = read_metrics(__file__)["all"]
    executes: bool = True
    #: What a verification worker imports once.
    warmup: str = "import numpy, pymatgen.core, scipy.optimize\n"

    def parts(self, sample: Sample) -> Sequence[str]:
        """One per rubric point, else one."""
        answer = problem_of(sample).answer
        count = len(answer.rubric) if isinstance(answer, Rubric) else 0
        return [f"point {n + 1}" for n in range(count)] or [PART]

    async def score(self, sample: Sample, trajectory: Trajectory, tools: Tools) -> Score:
        """See :class:`experiments.scorers.base.Scorer`."""
        problem = problem_of(sample)
        answer = await given(sample, trajectory, tools)
        verdict = await self._verdict(problem, answer.value, tools)
        answered = answer.value is not None
        passed = None  # nobody judged it: unknown, not wrong
        if verdict.share is not None:
            passed = dict.fromkeys(self.parts(sample), verdict.share == 1.0) | verdict.full
        reason = answer.reason or verdict.reason or "the answer is not complete"
        return Score(
            outcome="no_answer" if not answered and answer.execution is None else answer.outcome,
            values={
                "score": verdict.share,
                "points": None if verdict.share is None else verdict.share * problem.points,
                **({} if problem.images else {"text_only": verdict.share}),
                "guess": None if verdict.share is None else problem.guess,
                "answered": float(answered),
                **verdict.marks,
            },
            passed=passed,
            reasons={part: reason for part, right in (passed or {}).items() if not right},
            artefacts={"error": "" if verdict.share == 1.0 else reason},
            figures={**pictures(sample.question), **verdict.figures},
            execution=answer.execution,
        )

    async def _verdict(self, problem: Problem, value: Any, tools: Tools) -> Verdict:
        if value is None:
            return Verdict(0.0, "no answer could be read")
        wanted = problem.answer
        if isinstance(wanted, Integer | Interval):
            return self._number(wanted, value)
        if isinstance(wanted, str):
            return _letters(problem, value)
        if not isinstance(value, str):
            return Verdict(0.0, f"the answer is no text but {type(value).__name__}")
        if isinstance(wanted, Poscar):
            return await _structure(wanted, value, tools)
        return await _prose(problem, wanted, value, tools)

    def _number(self, wanted: Integer | Interval, value: Any) -> Verdict:
        exact = isinstance(wanted, Integer)
        try:
            number = read_number(value, wanted.unit, strict_integer=exact and self.strict_integers)
        except ReadingError as error:
            return Verdict(0.0, str(error))
        if isinstance(wanted, Integer):
            return Verdict(float(number == wanted.value), f"{number:.15g} is not right")
        inside = within(number, wanted.low, wanted.high)
        return Verdict(float(inside), f"{number:.6g} is outside the interval")


def problem_of(sample: Sample) -> Problem:
    """The problem with its gold, which only the scorer sees."""
    return Problem.model_validate(sample.target)


def choice_share(given: Collection[str], right: Collection[str]) -> float:
    """Share of the right letters that were given; 0 with any wrong one."""
    chosen, wanted = set(given), set(right)
    return len(chosen) / len(wanted) if chosen <= wanted else 0.0


def _letters(problem: Problem, value: Any) -> Verdict:
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    chosen = Choices("".join(sorted(problem.choices))).meant(text)
    return Verdict(choice_share(chosen, problem.letters) if chosen else 0.0,
                   f"the letters are {chosen or '-'}")  # fmt: skip


async def _prose(problem: Problem, wanted: Rubric, text: str, tools: Tools) -> Verdict:
    """Marks by the judge, clamped; without a judge nobody knows."""
    if not text.strip():
        return Verdict(0.0, "no answer could be read")
    if tools.judge is None:
        return Verdict(None)
    points = [Point(point.text, point.points) for point in wanted.rubric]
    said = await tools.judge.ask_json(
        f"{_RUBRIC}\n\n<problem>\n{problem.prompt.strip()}\n</problem>",
        text,
        shape={"marks": [0.5]},
        points=points,
        valid=lambda value: numbers(value["marks"], len(points)),
        sample="rubric",
    )
    marks = [min(max(float(mark), 0.0), point.most)
             for mark, point in zip(said["marks"], points, strict=True)]  # fmt: skip
    names = [f"point {number}" for number in range(1, len(points) + 1)]
    return Verdict(
        sum(marks) / sum(point.most for point in points),
        "the judge gave it fewer marks than there are",
        marks=dict(zip(names, marks, strict=True)),
        full={n: m >= p.most for n, m, p in zip(names, marks, points, strict=True)},
    )


async def _structure(wanted: Poscar, text: str, tools: Tools) -> Verdict:
    limits = {"length": wanted.length, "angle": wanted.angle, "site": wanted.site}
    said = await grade(tools, GRADER, "grade_poscar", wanted.poscar, text, limits, timeout=TIMEOUT)
    if said is None:
        return Verdict(0.0, "TooExpensive")
    if said["gold"] is None:
        raise ProblemError(f"its own answer cannot be read: {said['error']}")
    reason = said["error"] or ""
    if said["worst"] is not None:
        reason += f": a site is {said['worst']:.2f} Å from its place"
    return Verdict(float(said["passed"]), reason, figures=figures(said, wanted.site))


def figures(said: Mapping[str, Any], site: float) -> dict[str, str]:
    """The gold beside the answer: mapped onto the gold's cell where it fits, else as it is.

    Rings are around sites that are farther from their place than they may be.
    """
    gold, answer, mapped = said["gold"], said["answer"], said["mapped"]
    drawn = {"gold": structure_svg(gold["cell"], gold["species"], gold["fractions"], title="gold")}
    if mapped is not None:
        far = [n for n, away in enumerate(said["away"]) if away > site]
        title = "answer, mapped onto the gold's cell"
        drawn[title] = structure_svg(gold["cell"], gold["species"], mapped, marked=far, title=title)
    elif answer is not None:
        title = "answer, in its own cell"
        drawn[title] = structure_svg(
            answer["cell"], answer["species"], answer["fractions"], title=title
        )
    return drawn
