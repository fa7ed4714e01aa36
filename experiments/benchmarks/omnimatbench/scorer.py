"""Scores slots by four rules, and prose by its key points with two questions to a judge."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agents.base import Trajectory
from experiments.benchmarks.omnimatbench import slots
from experiments.benchmarks.omnimatbench.figures import side_by_side
from experiments.benchmarks.omnimatbench.numbers import read
from experiments.judge import Judge, Point, numbers
from experiments.samples import Sample
from experiments.scorers.base import Metric, Score, Tools
from experiments.scorers.grading import given, grade

Split = Literal["cal", "qa", "all"]

FORMULAS = Path(__file__).with_name("formulas.py")
QUALITIES = (0.0, 0.1, 0.5, 1.0)
#: Of a slot: what makes a text a formula, so that its value is compared.
_FORMULA = re.compile(r"[\\^_=+*/]")

_CAL = (
    Metric("significant_figures", "significant figures",
           "slots right to half of the gold's last written digit; mean over subfields",
           out_of="slots", macro="area"),
    Metric("published", "published",
           "slots that the released script accepts, of all that gold or answer has; mean over "
           "subfields", out_of="published_slots", macro="area"),
    Metric("micro", "micro", "right slots (significant figures) of all slots", out_of="slots"),
    Metric("lenient", "lenient",
           "right in spite of a symbol, a unit, a percent sign, case or another form of a formula; "
           "mean over subfields", out_of="slots", macro="area"),
    Metric("threshold", "within 10 %", "slots within a tenth of the gold; mean over subfields",
           out_of="slots", macro="area"),
    Metric("all_slots", "all slots", "questions with every slot right (significant figures)"),
    Metric("padded", "padded", "answers with more slots than were asked for"),
)  # fmt: skip
_SOUND = Metric(
    "sound", "without errata", "significant figures without slots whose gold is known to be wrong; "
    "mean over subfields", out_of="sound_slots", macro="area",
)  # fmt: skip
_QA = (
    Metric("f1", "F1", "key points, by a judge; mean over subfields", macro="area"),
    Metric("precision", "precision", "statements of the answer that the judge finds true"),
    Metric("recall", "recall", "key points by quality and weight, as the judge finds them"),
)
_OVERALL = Metric(
    "overall", "overall", "half slot accuracy (significant figures), half F1; means over subfields",
    out_of="overall_slots", macro="split,area",
)  # fmt: skip

_PRECISION = """\
Below are a question, its reference answer in numbered points, and an answer to be judged. List \
the separate statements of fact that the judged answer makes: `true` for those that the reference \
answer or established knowledge of the field supports, `false` for the others. Leave out what says \
nothing.

<question>
{question}
</question>

<reference>
{reference}
</reference>"""
_RECALL = """\
Below are a question, the key points of a right answer, and an answer to be judged. Give each key \
point, in its order, a quality: 1 when the judged answer states it fully and rightly, 0.5 when it \
states it in part, 0.1 when it only touches on it, 0 when it is missing or wrong.

<question>
{question}
</question>"""


@dataclass(frozen=True)
class OmniMatScorer:
    """Judges both kinds of questions.

    Attributes
    ----------
    split
        Which of them there are; decides what a run reports.
    errata
        Whether golds may be known to be wrong.
    executes
        Whether there is code in answers, or there are formulas to compare.
    """

    split: Split = "cal"
    errata: bool = False
    executes: bool = True
    warmup: str = ""

    @property
    def metrics(self) -> Sequence[Metric]:
        """See :class:`experiments.scorers.base.Scorer`."""
        cal = (*_CAL, _SOUND) if self.errata else _CAL
        return {"cal": cal, "qa": _QA, "all": (_OVERALL, *cal, *_QA)}[self.split]

    def parts(self, sample: Sample) -> Sequence[str]:
        """See :class:`experiments.scorers.base.Scorer`."""
        what = "point" if "points" in sample.target else "slot"
        return [f"{what} {n}" for n in range(1, _count(sample.target) + 1)]

    async def score(self, sample: Sample, trajectory: Trajectory, tools: Tools) -> Score:
        """See :class:`experiments.scorers.base.Scorer`."""
        if "points" in sample.target:
            return await _prose(sample, trajectory, tools, self.parts(sample))
        return await _slots(sample, trajectory, tools, self.parts(sample))


def _count(target: Mapping[str, Any]) -> int:
    return len(target["points"]) if "points" in target else len(slots.flat(target["slots"]))


# --- slots -----------------------------------------------------------------------------------


async def _slots(
    sample: Sample, trajectory: Trajectory, tools: Tools, names: Sequence[str]
) -> Score:
    golds = slots.flat(sample.target["slots"])
    answer = await given(sample, trajectory, tools)
    answers = slots.flat(answer.value) if answer.value is not None else []
    padded = len(answers) > len(golds)
    found = [*answers[: len(golds)], *[""] * (len(golds) - len(answers))]
    right = list(map(slots.significant_figures, golds, found))
    # A missing slot is wrong, also where the gold says nothing.
    right = [ok and bool(text.strip()) for ok, text in zip(right, found, strict=True)]
    close = list(map(slots.lenient, golds, found))
    formulas = [
        index for index, ok in enumerate(close)
        if not ok and _FORMULA.search(golds[index]) and read(golds[index]) is None
        and 0 < len(found[index]) <= 2000
    ]  # fmt: skip
    if formulas:
        pairs = [[golds[index], found[index]] for index in formulas]
        # What takes the comparison past its limits is not shown to be the gold's.
        same = await grade(tools, FORMULAS, "equal", pairs) or [False] * len(pairs)
        for index, agrees in zip(formulas, same, strict=True):
            close[index] = bool(agrees)
    published, of = slots.published_slots(golds, answers)
    errata = set(sample.target.get("errata", ()))
    count = len(golds)
    kept = [index for index in range(count) if index not in errata]
    reasons = {
        name: _why(golds, index, found[index], missing=answer.reason)
        for index, name in enumerate(names) if not right[index]
    }  # fmt: skip
    return Score(
        outcome=answer.outcome,
        values={
            "significant_figures": float(sum(right)), "micro": float(sum(right)),
            "lenient": float(sum(close)),
            "threshold": float(sum(map(slots.threshold, golds, found))),
            "slots": float(count), "published": float(published), "published_slots": float(of),
            "all_slots": float(all(right)), "padded": float(padded),
            "sound": float(sum(right[index] for index in kept)), "sound_slots": float(len(kept)),
            "overall": float(sum(right)), "overall_slots": float(count),
        },
        passed=dict(zip(names, right, strict=True)),
        reasons=reasons,
        artefacts={"padded": f"{len(answers)} slots for {count}"} if padded else {},
        figures=side_by_side(sample.question, golds, found, right),
        execution=answer.execution,
    )  # fmt: skip


def _why(golds: Sequence[str], index: int, text: str, *, missing: str | None) -> str:
    kind = slots.error_class(golds, index, text)
    if kind == "missing":
        return missing or kind
    return f"{kind}: {golds[index]:.100} expected, {text:.100} given"


# --- prose -----------------------------------------------------------------------------------


async def _prose(
    sample: Sample, trajectory: Trajectory, tools: Tools, names: Sequence[str]
) -> Score:
    points = sample.target["points"]
    answer = await given(sample, trajectory, tools)
    text = answer.value if isinstance(answer.value, str) else ""
    if not text.strip():
        return _prose_score(sample, answer.outcome, 0.0, [0.0] * len(points), names)
    if tools.judge is None:
        unknown = {"f1": None, "precision": None, "recall": None}
        return Score(answer.outcome, unknown, error="no judge (judge=none): nobody marks prose")
    precision = await _precision(tools.judge, sample, text)
    qualities = await _qualities(tools.judge, sample, text)
    return _prose_score(sample, answer.outcome, precision, qualities, names)


async def _precision(judge: Judge, sample: Sample, text: str) -> float:
    def lists(said: dict[str, Any]) -> bool:
        return all(isinstance(item, str) for key in ("true", "false") for item in said[key])

    points = [Point(point["text"]) for point in sample.target["points"]]
    said = await judge.ask_json(
        _PRECISION.format(question=sample.question.prompt, reference=sample.target["answer"]),
        text, shape={"true": ["statement"], "false": ["statement"]}, points=points,
        sample="precision", valid=lists,
    )  # fmt: skip
    true, false = len(said["true"]), len(said["false"])
    return true / (true + false) if true else 0.0


async def _qualities(judge: Judge, sample: Sample, text: str) -> list[float]:
    points = [Point(point["text"]) for point in sample.target["points"]]
    said = await judge.ask_json(
        _RECALL.format(question=sample.question.prompt), text, shape={"quality": [0.5]},
        points=points, sample="recall", valid=lambda said: numbers(said["quality"], len(points)),
    )  # fmt: skip
    return [min(QUALITIES, key=lambda known: abs(known - q)) for q in said["quality"]]


def _prose_score(
    sample: Sample, outcome: str, precision: float, qualities: Sequence[float], names: Sequence[str]
) -> Score:
    points = sample.target["points"]
    recall = sum(q * point["weight"] for q, point in zip(qualities, points, strict=True))
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return Score(
        outcome=outcome,
        values={"f1": f1, "precision": precision, "recall": recall, "overall": f1,
                "overall_slots": 1.0},
        passed={name: q == 1 for name, q in zip(names, qualities, strict=True)},
        reasons={name: f"quality {q:g}" for name, q in zip(names, qualities, strict=True) if q < 1},
    )  # fmt: skip
