"""Prose, marked by a judge with two questions: precision and recall of key points.

``published`` asks what the authors' scripts ask (scripts/qa of their repository), in our words and
with LaTeX as it is; only beside this mode stands the agreement with experts that they report.
``knowledge`` counts as right what established knowledge supports, whether asked for or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import harmonic_mean
from typing import Any, Literal

from agents.base import Trajectory
from experiments.samples import Sample, data_of
from experiments.scorers.base import Score, Tools
from experiments.scorers.beside import beside
from experiments.scorers.grading import given
from experiments.scorers.judge import Judge, Point, numbers

Prose = Literal["published", "knowledge"]
QUALITIES = (0.0, 0.1, 0.5, 1.0)

_PROMPTS = data_of(__file__, "prompts")


async def prose(
    sample: Sample, trajectory: Trajectory, tools: Tools, names: Sequence[str], mode: Prose
) -> Score:
    """Judge a prose answer; one that is none has 0, without asking anybody."""
    points = sample.target["points"]
    answer = await given(sample, trajectory, tools)
    text = answer.value if isinstance(answer.value, str) else ""
    if not text.strip():
        return _score(sample, names, answer.outcome, 0.0, [(0.0, "")] * len(points))
    if tools.judge is None:
        unknown = {"f1": None, "precision": None, "recall": None}
        return Score(answer.outcome, unknown, error="no judge (judge=none): nobody marks prose")
    precision = await _precision(tools.judge, sample, text, mode)
    marks = await _qualities(tools.judge, sample, text)
    score = _score(sample, names, answer.outcome, precision, marks)
    for name in ("precision", "recall", "f1"):
        tools.judge.follows(name, text, score.values[name] or 0.0)
    return score


def _asking(what: str, sample: Sample, **more: str) -> tuple[str, list[Point]]:
    told = {"question": sample.question.prompt, "reference": sample.target["answer"], **more}
    points = [Point(point["text"]) for point in sample.target["points"]]
    return str(_PROMPTS[what].format(**told)), points


async def _precision(judge: Judge, sample: Sample, text: str, mode: Prose) -> float:
    def lists(said: dict[str, Any]) -> bool:
        return all(isinstance(item, str) for key in ("true", "false") for item in said[key])

    ask, points = _asking("precision", sample, rule=_PROMPTS["statements"][mode])
    said = await judge.ask_json(
        ask, text, shape={"true": ["statement"], "false": ["statement"]}, points=points,
        sample="statements", valid=lists,
    )  # fmt: skip
    true, false = len(said["true"]), len(said["false"])
    return true / (true + false) if true else 0.0


async def _qualities(judge: Judge, sample: Sample, text: str) -> list[tuple[float, str]]:
    """The quality of each key point, the nearest of the four, and the quote that decides it."""
    ask, points = _asking("recall", sample)

    def valid(said: dict[str, Any]) -> bool:
        lists = all(numbers(said[key], len(points)) for key in ("met", "quality_score"))
        quotes = said["quote"]
        return lists and len(quotes) == len(points) and all(isinstance(q, str) for q in quotes)

    said = await judge.ask_json(
        ask, text, shape={"met": [1], "quality_score": [0.5], "quote": ["words"]}, points=points,
        sample="points", valid=valid,
    )  # fmt: skip
    nearest = (min(QUALITIES, key=lambda known: abs(known - q)) for q in said["quality_score"])
    return list(zip(nearest, said["quote"], strict=True))


def _score(
    sample: Sample, names: Sequence[str], outcome: str, precision: float,
    marks: Sequence[tuple[float, str]],
) -> Score:  # fmt: skip
    points, qualities = sample.target["points"], [quality for quality, _ in marks]
    recall = sum(q * point["weight"] for q, point in zip(qualities, points, strict=True))
    f1 = harmonic_mean((precision, recall))
    rows = [
        (point["text"], f"{point['weight']:g}", f"{quality:g}", quote)
        for point, (quality, quote) in zip(points, marks, strict=True)
    ]
    return Score(
        outcome=outcome,
        values={"f1": f1, "precision": precision, "recall": recall, "overall": f1,
                "overall_slots": 1.0},
        passed={name: q == 1 for name, q in zip(names, qualities, strict=True)},
        reasons={name: f"quality {q:g}" for name, q in zip(names, qualities, strict=True) if q < 1},
        figures={"key points": beside(("key point", "weight", "quality", "the judge's quote"),
                                      rows, [q == 1 for q in qualities], (50, 6, 7, 46))},
    )  # fmt: skip
