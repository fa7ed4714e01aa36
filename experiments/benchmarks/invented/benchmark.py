"""The benchmark ``invented``: questions about a package that was made for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

from experiments.benchmarks.invented.gates import InventedSpec
from experiments.benchmarks.invented.knobs import Knobs
from experiments.benchmarks.invented.links import LINKS, ChainScorer
from experiments.benchmarks.invented.ready import Ready, ready_with_progress
from experiments.benchmarks.question_format import question_folders, read_spec, read_task
from experiments.benchmarks.question_gold import ReferenceGold
from experiments.samples import Sample


@dataclass(frozen=True)
class InventedBenchmark(Knobs):
    """The benchmark ``invented``; its parameters are the knobs of a world."""

    name: str = "invented"
    scorer = ChainScorer()

    @cached_property
    def world(self) -> Ready:
        """The proven world, made when it is first needed."""
        knobs = Knobs(**{field.name: getattr(self, field.name) for field in fields(Knobs)})
        return ready_with_progress(knobs)

    @property
    def packages(self) -> Sequence[str]:
        """Import name of what is retrieved from."""
        return (self.world.package,)

    def load(self) -> list[Sample]:
        """All samples, sorted by question id.

        Raises
        ------
        WorldError, SandboxError
            When the world cannot be made.
        """
        samples = []
        for folder in question_folders(self.world.questions):
            spec = read_spec(folder, InventedSpec)
            assert isinstance(spec, InventedSpec)
            labels = {"depth": spec.depth, "breadth": spec.breadth, "gap": self.gap}
            sample = read_task(
                folder,
                "goal",
                environment=self.world.environment,
                labels={"package": "invented", **{name: str(n) for name, n in labels.items()}},
                form=InventedSpec,
            )
            links = json.loads((folder / LINKS).read_text(encoding="utf-8"))
            samples.append(replace(sample, target=links))
        return samples

    def gold(self, *, trace: bool = True) -> ReferenceGold:
        """What retrieval is measured against.

        Raises
        ------
        WorldError, SandboxError
            As :meth:`load`.
        """
        name = f"{self.name} size {self.size} depth {self.depth} gap {self.gap} docs {self.docs}"
        return ReferenceGold(name, self.world.questions, self.load(), self.packages, trace=trace)
