"""The benchmark ``qmbench``: generated problems, or a folder of one's own, and their judge."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agents.answer_formats import (
    CODE,
    MAX_CHARACTERS,
    AnswerFormat,
    Block,
    Choices,
    File,
    Reading,
    Text,
    statements,
)
from agents.base import Image, Question, Trajectory
from docgen.reading import last_tagged, spoken
from experiments.benchmarks.qmbench.generate import PAPER, TEMPLATES, generate
from experiments.benchmarks.qmbench.problem import (
    Integer,
    NumberRange,
    Poscar,
    Problem,
    ProblemError,
    Rubric,
    read_folder,
)
from experiments.benchmarks.release import picture
from experiments.samples import Sample, cached_file
from experiments.scorers.base import Metric, Score, Scorer, ScoringContext, read_metrics
from experiments.scorers.beside import pictures
from experiments.scorers.grading import extract_answer, grade
from experiments.scorers.judge import Point, numbers
from experiments.scorers.quantities import (
    ReadingError,
    read_number,
    read_uncertainty,
    within,
)
from foundation.configuration import data_of
from sandbox.inside.values import plain

_PROMPTS = data_of(__file__, "prompts")


@dataclass(frozen=True)
class Stated:
    """A number with its unit as text in ``<answer>`` tags."""

    instruction: str = Block("answer").instruction

    def read(self, reply: str) -> Reading | None:
        """What stands in tags, else last: a fence, or what `statements` names first."""
        tagged = Block("answer").read(reply)
        text = spoken(reply[-MAX_CHARACTERS:]).strip()
        later = re.search(r"(?i)\\boxed\{|\banswer\b", text.rpartition("```")[2])
        if tagged is not None and (last_tagged(reply, "answer") or not later):
            return tagged
        pairs = statements(text)
        return Reading(pairs[0][1], "repaired", pairs[0][0]) if pairs else None


@dataclass(frozen=True)
class QMBenchmark:
    """The benchmark ``qmbench``; ``conf/benchmark/qmbench.yaml`` explains its keys."""

    path: str | None = None
    arm: Literal["direct", "tool"] = "direct"
    seed: int = 1
    items: int = 3
    templates: Sequence[str] = ()
    mix: Literal["paper", "even"] = "paper"
    strict_integers: bool = False
    private: bool = False
    name: str = "qmbench"
    packages: Sequence[str] = ("pymatgen", "ase", "spglib", "numpy")
    scorer: ProblemScorer = field(init=False)

    def __post_init__(self) -> None:
        for template in self.templates:
            if template not in TEMPLATES:
                raise ProblemError(
                    f"templates: no {template}; there are {', '.join(TEMPLATES)}"
                )
        if self.private and self.path is None:
            raise ProblemError(
                "private=true needs path=FOLDER: whoever knows the seed can make generated problems"
            )
        object.__setattr__(self, "scorer", ProblemScorer(self.strict_integers))

    def load(self) -> list[Sample]:
        """All problems."""
        if self.path is None:
            mix = PAPER if self.mix == "paper" else {}
            problems = generate(self.seed, self.items, self.templates, mix)
            return [
                self._sample(each, images, {"template": name})
                for name, each, images in problems
            ]
        samples = []
        for file, problem in read_folder(Path(self.path).expanduser()):
            images = {name: picture(file.with_name(name)) for name in problem.images}
            samples.append(self._sample(problem, images, {}))
        return samples

    def _sample(
        self, problem: Problem, images: Mapping[str, Image], labels: Mapping[str, str]
    ) -> Sample:
        if problem.canary and problem.canary in problem.prompt:
            raise ProblemError(f"{problem.id}: the canary stands in the prompt")
        prompt = asked(problem)
        parts = tuple(images.values())
        if self.arm == "direct":
            forms: dict[str, AnswerFormat] = {
                "choice": Choices("".join(sorted(problem.choices))),
                "number": Stated(),
                "text": Text(),
                "poscar": File("POSCAR"),
            }
            form = forms[problem.type]
            question = Question(problem.id, prompt, answer=form, attachments=parts)
        else:
            value, what = _PROMPTS["said"][problem.type]
            prompt += "\n\n" + _PROMPTS["tool"].format(value=value, what=what)
            if images:
                prompt += f" The picture is also a file: {', '.join(images)}."
            kind = "float" if problem.type == "number" else "str"
            mounts = {
                name: str(cached_file("qmbench", image.data, Path(name).suffix))
                for name, image in images.items()
            }
            question = Question(
                problem.id,
                prompt,
                formats={"answer": kind},
                mounts=mounts,
                search=problem.prompt,
                answer=CODE,
                attachments=parts,
            )
        refused = self.arm == "tool" and not problem.tools
        return Sample(
            question,
            environment="live",
            labels={
                "type": problem.type,
                "topics": ", ".join(problem.topics),
                "difficulty": problem.difficulty or "",
                "points": f"{problem.points:g}",
                **labels,
            },
            target=problem.model_dump(mode="json"),
            unavailable="tools: false, and arm=tool" if refused else None,
            private=self.private,
            reference=right(problem),
        )


def asked(problem: Problem) -> str:
    """What a prompt says: nothing of the answer but its unit."""
    parts = [problem.prompt.strip()]
    parts += [
        "\n".join(
            f"{letter}. {text}" for letter, text in sorted(problem.choices.items())
        )
    ]
    if isinstance(problem.answer, Integer):
        parts.append("The answer is an integer.")
    elif isinstance(problem.answer, NumberRange) and problem.answer.unit:
        parts.append(f"The answer is a number in {problem.answer.unit}.")
    return "\n\n".join(filter(None, parts))


def right(problem: Problem) -> str | float:
    """An answer worth all points; of prose, what a judge looks for."""
    answer = problem.answer
    if isinstance(answer, Integer):
        return answer.value
    if isinstance(answer, NumberRange):
        return (answer.low + answer.high) / 2
    if isinstance(answer, Rubric):
        return "\n".join(point.text for point in answer.rubric)
    return problem.letters if isinstance(answer, str) else answer.poscar


GRADER = "experiments.benchmarks.qmbench.grade"
#: Seconds of processor time for one structure.
TIMEOUT = 60.0


@dataclass(frozen=True)
class Grade:
    """What an answer is worth, as a share of a full answer; ``None`` is unknown.

    ``marks`` are those of each point of a rubric, ``full`` whether there are no more.
    """

    share: float | None
    reason: str = ""
    marks: Mapping[str, float] = field(default_factory=dict)
    full: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class ProblemScorer(Scorer):
    """Judges an answer by the kind of its problem."""

    strict_integers: bool = False
    metrics: Sequence[Metric] = read_metrics(__file__)["all"]
    #: What a verification worker imports once.
    warmup: str = "import numpy, pymatgen.core, scipy.optimize\n"

    def criteria(self, sample: Sample) -> Sequence[str]:
        """One per rubric point, else one."""
        answer = problem_of(sample).answer
        count = len(answer.rubric) if isinstance(answer, Rubric) else 0
        return [f"point {n + 1}" for n in range(count)] or super().criteria(sample)

    async def score(
        self, sample: Sample, trajectory: Trajectory, context: ScoringContext
    ) -> Score:
        """See :class:`experiments.scorers.base.Scorer`."""
        problem = problem_of(sample)
        answer = await extract_answer(sample, trajectory, context)
        verdict = await self._verdict(problem, answer.value, context)
        answered = answer.value is not None
        passed = None  # nobody judged it: unknown, not wrong
        if verdict.share is not None:
            passed = (
                dict.fromkeys(self.criteria(sample), verdict.share == 1.0)
                | verdict.full
            )
        reason = answer.reason or verdict.reason or "the answer is not complete"
        return Score(
            outcome="no_answer"
            if not answered and answer.execution is None
            else answer.outcome,
            values={
                "score": verdict.share,
                "points": None
                if verdict.share is None
                else verdict.share * problem.points,
                **({} if problem.images else {"text_only": verdict.share}),
                "guess": None if verdict.share is None else problem.guess,
                "answered": float(answered),
                **verdict.marks,
            },
            passed=passed,
            reasons={
                part: reason for part, right in (passed or {}).items() if not right
            },
            artefacts={"error": "" if verdict.share == 1.0 else reason},
            figures=pictures(sample.question),
            execution=answer.execution,
        )

    async def _verdict(
        self, problem: Problem, value: Any, context: ScoringContext
    ) -> Grade:
        if value is None:
            return Grade(0.0, "no answer could be read")
        wanted = problem.answer
        if isinstance(wanted, Integer | NumberRange):
            return self._number(wanted, value)
        if isinstance(wanted, str):
            return _letters(problem, value)
        if not isinstance(value, str):
            return Grade(0.0, f"expects text, got {type(value).__name__}")
        if isinstance(wanted, Poscar):
            return await _structure(wanted, value, context)
        return await _prose(problem, wanted, value, context)

    def _number(self, wanted: Integer | NumberRange, value: Any) -> Grade:
        exact = isinstance(wanted, Integer)
        try:
            number = read_number(
                value, wanted.unit, strict_integer=exact and self.strict_integers
            )
            uncertainty = abs(read_uncertainty(value, wanted.unit))
        except ReadingError as error:
            return Grade(0.0, str(error))
        if uncertainty > _tolerance(wanted) * (1 + 1e-9):
            return Grade(0.0, f"it is uncertain by {uncertainty:.3g}")
        if isinstance(wanted, Integer):
            return Grade(float(number == wanted.value), f"{number:.15g} is not right")
        inside = within(number, wanted.low, wanted.high)
        return Grade(float(inside), f"{number:.6g} is outside the interval")


def _tolerance(wanted: Integer | NumberRange) -> float:
    """How far a number may be off on either side."""
    return 0.5 if isinstance(wanted, Integer) else (wanted.high - wanted.low) / 2


def problem_of(sample: Sample) -> Problem:
    """The problem with its gold, which only the scorer sees."""
    return Problem.model_validate(sample.target)


def choice_share(given: Collection[str], right: Collection[str]) -> float:
    """Share of the right letters that were given; 0 with any wrong one."""
    chosen, wanted = set(given), set(right)
    return len(chosen) / len(wanted) if chosen <= wanted else 0.0


def _letters(problem: Problem, value: Any) -> Grade:
    value = plain(value)
    each = value if isinstance(value, list | tuple | set | frozenset) else [value]
    text = ",".join(
        element if isinstance(element, str) else type(element).__name__
        for element in each
    )
    chosen = Choices("".join(sorted(problem.choices))).meant(text)
    return Grade(
        choice_share(chosen, problem.letters) if chosen else 0.0,
        f"the letters are {chosen or '-'}",
    )


async def _prose(
    problem: Problem, wanted: Rubric, text: str, context: ScoringContext
) -> Grade:
    """Marks by the judge, clamped; without a judge nobody knows."""
    if not text.strip():
        return Grade(0.0, "no answer could be read")
    if context.judge is None:
        return Grade(None)
    points = [Point(point.text, point.points) for point in wanted.rubric]
    reply = await context.judge.ask_json(
        _PROMPTS["rubric"].format(problem=problem.prompt.strip()),
        text,
        shape={"marks": [0.5]},
        points=points,
        valid=lambda value: numbers(value["marks"], len(points)),
        sample="rubric",
    )
    marks = [
        min(max(float(mark), 0.0), point.most)
        for mark, point in zip(reply["marks"], points, strict=True)
    ]
    names = [f"point {number}" for number in range(1, len(points) + 1)]
    return Grade(
        sum(marks) / sum(point.most for point in points),
        "the judge gave it fewer marks than there are",
        marks=dict(zip(names, marks, strict=True)),
        full={n: m >= p.most for n, m, p in zip(names, marks, points, strict=True)},
    )


async def _structure(wanted: Poscar, text: str, context: ScoringContext) -> Grade:
    limits = {"length": wanted.length, "angle": wanted.angle, "site": wanted.site}
    verdict = await grade(
        context,
        GRADER,
        "grade_poscar",
        wanted.poscar,
        text,
        limits,
        control=[wanted.poscar, wanted.poscar, limits],
        timeout=TIMEOUT,
    )
    if verdict is None:
        return Grade(0.0, "TooExpensive")
    if verdict["fault"]:
        raise ProblemError(f"its own answer cannot be read: {verdict['fault']}")
    reason = verdict["error"] or ""
    if verdict["worst"] is not None:
        reason += f": a site is {verdict['worst']:.2f} Å from its place"
    return Grade(float(verdict["error"] is None), reason)
