"""Scores slots by four rules, and prose by its key points with two questions to a judge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agents.base import Trajectory
from experiments.benchmarks.omnimatbench import released, slots
from experiments.benchmarks.omnimatbench.prose import Prose, prose
from experiments.samples import Sample
from experiments.scorers.base import Metric, Score, Tools, read_metrics
from experiments.scorers.beside import beside, pictures
from experiments.scorers.grading import given, grade

Split = Literal["cal", "qa", "all"]

FORMULAS = "sandbox.inside.formulas"
#: Of a slot: what makes a text a formula, so that its value is compared.
_FORMULA = re.compile(r"[\\^_=+*/]")

_METRICS = read_metrics(__file__)


@dataclass(frozen=True)
class OmniMatScorer:
    """Judges both kinds of questions; ``errata``: golds may be known to be wrong."""

    split: Split = "cal"
    prose: Prose = "published"
    errata: bool = False
    executes: bool = True
    warmup: str = ""

    @property
    def metrics(self) -> Sequence[Metric]:
        """See :class:`experiments.scorers.base.Scorer`."""
        cal = (*_METRICS["cal"], *(_METRICS["sound"] if self.errata else ()))
        qa = _METRICS["qa"]
        return {"cal": cal, "qa": qa, "all": (*_METRICS["overall"], *cal, *qa)}[self.split]

    def parts(self, sample: Sample) -> Sequence[str]:
        """See :class:`experiments.scorers.base.Scorer`."""
        target, what = sample.target, "point" if "points" in sample.target else "slot"
        parts = target["points"] if what == "point" else slots.flat(target["slots"])
        return [f"{what} {n}" for n in range(1, len(parts) + 1)]

    async def score(self, sample: Sample, trajectory: Trajectory, tools: Tools) -> Score:
        """See :class:`experiments.scorers.base.Scorer`."""
        if "points" in sample.target:
            return await prose(sample, trajectory, tools, self.parts(sample), self.prose)
        return await _slots(sample, trajectory, tools, self.parts(sample))


async def _slots(
    sample: Sample, trajectory: Trajectory, tools: Tools, names: Sequence[str]
) -> Score:
    golds = slots.flat(sample.target["slots"])
    answer = await given(sample, trajectory, tools)
    answers, raw = ([] if answer.value is None else slots.flat(answer.value, repaired=repaired)
                    for repaired in (True, False))  # fmt: skip
    padded = len(answers) > len(golds)
    found = [*answers[: len(golds)], *[""] * (len(golds) - len(answers))]
    right = list(map(slots.significant_figures, golds, found))
    # A missing slot is wrong, also where the gold says nothing.
    right = [ok and bool(text.strip()) for ok, text in zip(right, found, strict=True)]
    close = list(map(slots.lenient, golds, found))
    formulas = [
        index for index, ok in enumerate(close)
        if not ok and _FORMULA.search(golds[index]) and slots.read(golds[index]) is None
        and 0 < len(found[index]) <= 2000
    ]  # fmt: skip
    if formulas:
        pairs = [[golds[index], found[index]] for index in formulas]
        # What takes the comparison past its limits is not shown to be the gold's.
        same = await grade(tools, FORMULAS, "equal", pairs) or [False] * len(pairs)
        for index, agrees in zip(formulas, same, strict=True):
            close[index] = bool(agrees)
    published, of = released.published_slots(golds, raw)
    near = sum(map(released.threshold, golds, [*raw, *[""] * len(golds)]))
    again = sum(step.detail.get("purpose") == "again" for step in trajectory.steps)
    unasked = trajectory.value is not None and trajectory.format_status != "strict"
    errata = set(sample.target.get("errata", ()))
    count = len(golds)
    kept = [index for index in range(count) if index not in errata]
    reasons = {
        name: f"{gold:.100} expected, {text:.100} given" if text.strip()
        else answer.reason or "missing"
        for name, gold, text, ok in zip(names, golds, found, right, strict=True) if not ok
    }  # fmt: skip
    return Score(
        outcome=answer.outcome,
        values={
            "significant_figures": float(sum(right)), "micro": float(sum(right)),
            "lenient": float(sum(close)),
            "threshold": float(near), "again": float(again),
            "slots": float(count), "published": float(published), "published_slots": float(of),
            "all_slots": float(all(right)), "padded": float(padded),
            "sound": float(sum(right[index] for index in kept)), "sound_slots": float(len(kept)),
            "overall": float(sum(right)), "overall_slots": float(count),
        },
        passed=dict(zip(names, right, strict=True)),
        reasons=reasons,
        artefacts={
            **({"padded": f"{len(answers)} slots for {count}"} if padded else {}),
            "wrong_type": "not the list asked for" if unasked else "",
        },
        figures=pictures(sample.question) | {"gold and answer": beside(
            ("slot", "gold", "answer"),
            [(str(n), *pair) for n, pair in enumerate(zip(golds, found, strict=True), 1)],
            right, (4, 48, 48),
        )},
        execution=answer.execution,
    )  # fmt: skip
