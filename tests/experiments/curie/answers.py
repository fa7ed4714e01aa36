"""Perfect and worthless answers to the questions of CURIE."""

from __future__ import annotations

import json
from typing import Any

from agents.base import Step, Trajectory, Usage
from experiments.benchmarks.curie.marks import Pair
from experiments.samples import Sample


def perfect(sample: Sample) -> str:
    """What was asked for, in the form asked for."""
    target = sample.target
    if target["form"] in {"json", "box"}:
        return f"```json\n{json.dumps(target['gold'], ensure_ascii=False)}\n```"
    if target["form"] == "fasta":
        return f">made\n{target['gold']}"
    fence = {"code": "```python\n{}\n```", "text": "{}"}[target["form"]]
    return fence.format(target["clean"])


def answered(sample: Sample, reply: str, **more: Any) -> Trajectory:
    """A trajectory with a reply and nothing else."""
    plain = {
        "question_id": sample.question.id, "seed": 0, "code": None, "entry": None, "answer": reply,
        "steps": (Step("model", {"reply": reply}),), "usage": Usage(calls=1),
        "stop_reason": "answered", "format_status": "strict", "value": reply or None,
    }  # fmt: skip
    return Trajectory(**(plain | more))


def agreeing(golds: list[Any], found: list[Any]) -> list[Pair]:
    """What a judge of lists would say who takes most fields that are equal for the same entry."""
    pairs = []
    for number, gold in enumerate(golds):
        for place, entry in enumerate(found):
            fields = {key: gold[key] == entry.get(key) for key in gold}
            if 2 * sum(fields.values()) > len(gold):
                pairs.append(Pair(number, place, fields))
    return pairs
