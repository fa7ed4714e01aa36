"""The benchmark ``invented``: questions about a package that was made for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

from experiments.benchmarks.invented.knobs import Knobs, Levelled
from experiments.benchmarks.invented.ready import QUESTIONS, InventedSpec, Ready, ready
from experiments.benchmarks.invented.scorer import LINKS, ChainScorer
from experiments.benchmarks.question_format import read_tasks
from experiments.benchmarks.question_gold import ReferenceGold
from experiments.samples import Sample


@dataclass(frozen=True)
class InventedBenchmark(Levelled):
    """The benchmark ``invented``; its parameters are the knobs of a world."""

    name: str = "invented"
    scorer = ChainScorer()

    @cached_property
    def world(self) -> Ready:
        """The proven world, made when it is first needed."""
        knobs = Knobs(**{field.name: getattr(self, field.name) for field in fields(Knobs)})
        return ready(knobs)

    @property
    def packages(self) -> Sequence[str]:
        """Import name of what is retrieved from."""
        return (self.world.package,)

    def load(self) -> list[Sample]:
        """All samples, sorted by question id; the world is made if need be."""
        labels = {"package": "invented", "gap": str(self.gap)}
        questions, environment = self.world.folder / QUESTIONS, self.world.environment
        found = read_tasks(
            questions, "goal", lambda _: labels, environment=environment, form=InventedSpec
        )
        links = (questions / sample.question.id / LINKS for sample in found)
        return [
            replace(sample, target=json.loads(file.read_text(encoding="utf-8")))
            for sample, file in zip(found, links, strict=True)
        ]

    def gold(self, *, trace: bool = True) -> ReferenceGold:
        """What retrieval is measured against."""
        name = f"{self.name} size {self.size} depth {self.depth} gap {self.gap} docs {self.docs}"
        questions = self.world.folder / QUESTIONS
        return ReferenceGold(name, questions, self.load(), self.packages, trace=trace)
