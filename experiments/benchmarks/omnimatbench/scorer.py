"""Scores slots by four rules, and prose by its key points with two questions to a judge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import harmonic_mean
from typing import Any, Literal

from agents.base import Trajectory
from experiments.benchmarks.omnimatbench import slots
from experiments.samples import Sample
from experiments.scorers.base import Metric, Score, Scorer, ScoringContext, read_metrics
from experiments.scorers.beside import beside, pictures
from experiments.scorers.grading import extract_answer, grade, reading_rule
from experiments.scorers.judge import Point, numbers
from foundation.configuration import data_of

Split = Literal["cal", "qa", "all"]

FORMULAS = "sandbox.inside.formulas"
#: Of a slot: what makes a text a formula, so that its value is compared.
_FORMULA = re.compile(r"[\\^_=+*/]")

_METRICS = read_metrics(__file__)


@dataclass(frozen=True)
class OmniMatScorer(Scorer):
    """Judges both kinds of questions; ``errata``: golds may be known to be wrong."""

    split: Split = "cal"
    prose: Prose = "published"
    errata: bool = False
    executes: bool = True

    @property
    def metrics(self) -> Sequence[Metric]:
        """See :class:`experiments.scorers.base.Scorer`."""
        cal = (*_METRICS["cal"], *(_METRICS["sound"] if self.errata else ()))
        qa = _METRICS["qa"]
        return {"cal": cal, "qa": qa, "all": (*_METRICS["overall"], *cal, *qa)}[
            self.split
        ]

    def criteria(self, sample: Sample) -> Sequence[str]:
        """See :class:`experiments.scorers.base.Scorer`."""
        target = sample.target
        what = "point" if "points" in sample.target else "slot"
        parts = target["points"] if what == "point" else slots.flat(target["slots"])
        return [f"{what} {n}" for n in range(1, len(parts) + 1)]

    async def score(
        self, sample: Sample, trajectory: Trajectory, context: ScoringContext
    ) -> Score:
        """See :class:`experiments.scorers.base.Scorer`."""
        if "points" in sample.target:
            return await prose(
                sample, trajectory, context, self.criteria(sample), self.prose
            )
        return await _slots(sample, trajectory, context, self.criteria(sample))


async def _slots(
    sample: Sample,
    trajectory: Trajectory,
    context: ScoringContext,
    names: Sequence[str],
) -> Score:
    golds = slots.flat(sample.target["slots"])
    answer = await extract_answer(sample, trajectory, context)
    answers, raw = (
        [] if answer.value is None else slots.flat(answer.value, repaired=repaired)
        for repaired in (True, False)
    )
    padded = len(answers) > len(golds)
    values = [*answers[: len(golds)], *[""] * (len(golds) - len(answers))]
    right = list(map(slots.significant_figures, golds, values))
    # A missing slot is wrong, also where the gold says nothing.
    right = [ok and bool(text.strip()) for ok, text in zip(right, values, strict=True)]
    close = list(map(slots.lenient, golds, values))
    formulas = [
        index
        for index, ok in enumerate(close)
        if not ok
        and _FORMULA.search(golds[index])
        and slots.read(golds[index]) is None
        and 0 < len(values[index]) <= 2000
    ]
    if formulas:
        pairs = [[golds[index], values[index]] for index in formulas]
        # What takes the comparison past its limits is not shown to be the gold's.
        control = [[[golds[index], golds[index]] for index in formulas]]
        same = await grade(context, FORMULAS, "equal", pairs, control=control)
        same = same or [False] * len(pairs)
        for index, agrees in zip(formulas, same, strict=True):
            close[index] = bool(agrees)
    if reading_rule(trajectory) == slots.BARE_BOX:
        raw = []
    published, of = slots.published_slots(golds, raw)
    near = sum(map(slots.threshold, golds, [*raw, *[""] * len(golds)]))
    again = sum(step.detail.get("purpose") == "again" for step in trajectory.steps)
    unasked = trajectory.value is not None and trajectory.format_status != "strict"
    count = len(golds)
    sound = 0 if sample.target["erratum"] else 1
    reasons = {
        name: f"{gold:.100} expected, {text:.100} given"
        if text.strip()
        else answer.reason or "missing"
        for name, gold, text, ok in zip(names, golds, values, right, strict=True)
        if not ok
    }
    return Score(
        outcome=answer.outcome,
        values={
            "significant_figures": float(sum(right)),
            "micro": float(sum(right)),
            "lenient": float(sum(close)),
            "threshold": float(near),
            "again": float(again),
            "slots": float(count),
            "published": float(published),
            "published_slots": float(of),
            "all_slots": float(all(right)),
            "padded": float(padded),
            "sound": float(sum(right) * sound),
            "sound_slots": float(count * sound),
            "overall": float(sum(right)),
            "overall_slots": float(count),
        },
        passed=dict(zip(names, right, strict=True)),
        reasons=reasons,
        artefacts={
            **({"padded": f"{len(answers)} slots for {count}"} if padded else {}),
            "wrong_type": "not the list asked for" if unasked else "",
        },
        figures=pictures(sample.question)
        | {
            "gold and answer": beside(
                ("slot", "gold", "answer"),
                [
                    (str(n), *pair)
                    for n, pair in enumerate(zip(golds, values, strict=True), 1)
                ],
                right,
                (4, 48, 48),
            )
        },
        execution=answer.execution,
    )


Prose = Literal["published", "knowledge"]
QUALITIES = (0.0, 0.1, 0.5, 1.0)

_PROMPTS = data_of(__file__, "prompts")


async def prose(
    sample: Sample,
    trajectory: Trajectory,
    context: ScoringContext,
    names: Sequence[str],
    mode: Prose,
) -> Score:
    """Judge a prose answer; one that is none has 0, without asking anybody."""
    points = sample.target["points"]
    answer = await extract_answer(sample, trajectory, context)
    text = answer.value if isinstance(answer.value, str) else ""
    if not text.strip():
        return _score(sample, names, answer.outcome, 0.0, [(0.0, "")] * len(points))
    if context.judge is None:
        unknown = {"f1": None, "precision": None, "recall": None}
        return Score(
            answer.outcome, unknown, error="no judge (judge=none): prose is not marked"
        )
    fields = {"question": sample.question.prompt, "reference": sample.target["answer"]}
    rubric = [Point(point["text"]) for point in points]
    reply = await context.judge.ask_json(
        _PROMPTS["precision"].format(rule=_PROMPTS["statements"][mode], **fields),
        text,
        shape={"true": ["statement"], "false": ["statement"]},
        points=rubric,
        sample="statements",
        valid=lambda said: all(
            isinstance(item, str) for item in [*said["true"], *said["false"]]
        ),
    )
    true, false = len(reply["true"]), len(reply["false"])
    precision = true / (true + false) if true else 0.0

    def valid(reply: dict[str, Any]) -> bool:
        lists = all(
            numbers(reply[key], len(points)) for key in ("met", "quality_score")
        )
        quotes = reply["quote"]
        return (
            lists
            and len(quotes) == len(points)
            and all(isinstance(q, str) for q in quotes)
        )

    reply = await context.judge.ask_json(
        _PROMPTS["recall"].format(**fields),
        text,
        shape={"met": [1], "quality_score": [0.5], "quote": ["words"]},
        points=rubric,
        sample="points",
        valid=valid,
    )
    nearest = (
        min(QUALITIES, key=lambda quality: abs(quality - q))
        for q in reply["quality_score"]
    )
    marks = list(zip(nearest, reply["quote"], strict=True))
    score = _score(sample, names, answer.outcome, precision, marks)
    for name in ("precision", "recall", "f1"):
        context.judge.follows(name, text, score.values[name] or 0.0)
    return score


def _score(
    sample: Sample,
    names: Sequence[str],
    outcome: str,
    precision: float,
    marks: Sequence[tuple[float, str]],
) -> Score:
    points = sample.target["points"]
    qualities = [quality for quality, _ in marks]
    recall = sum(
        q * point["weight"] for q, point in zip(qualities, points, strict=True)
    )
    f1 = harmonic_mean((precision, recall))
    rows = [
        (point["text"], f"{point['weight']:g}", f"{quality:g}", quote)
        for point, (quality, quote) in zip(points, marks, strict=True)
    ]
    return Score(
        outcome=outcome,
        values={
            "f1": f1,
            "precision": precision,
            "recall": recall,
            "overall": f1,
            "overall_slots": 1.0,
        },
        passed={name: q == 1 for name, q in zip(names, qualities, strict=True)},
        reasons={
            name: f"quality {q:g}"
            for name, q in zip(names, qualities, strict=True)
            if q < 1
        },
        figures={
            "key points": beside(
                ("key point", "weight", "quality", "the judge's quote"),
                rows,
                [q == 1 for q in qualities],
                (50, 6, 7, 46),
            )
        },
    )
