"""The benchmark ``live``: the questions beside this file, on the packages as they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from experiments.benchmarks.question_format import (
    ENVIRONMENT,
    PACKAGES,
    QUESTIONS,
    Level,
    QuestionError,
    read_tasks,
)
from experiments.samples import Sample
from experiments.scorers.properties import PropertyScorer

Split = Literal["all", "chosen", "later"]
#: The questions on which the weights of retrieval were chosen.
CHOSEN = Path(__file__).parent / "chose_weights.json"

if TYPE_CHECKING:
    from experiments.benchmarks.question_gold import ReferenceGold


@dataclass(frozen=True)
class LiveBenchmark:
    """The benchmark ``live``; ``conf/benchmark/live.yaml`` explains its keys.

    Parameters
    ----------
    root
        Folder that holds one folder per question; none: those that are shipped.
    """

    level: Level = "scaffold"
    root: str | Path | None = (
        None  # a text: from a command line, or for another machine
    )
    name: str = "live"
    packages: Sequence[str] = PACKAGES
    scorer = PropertyScorer()

    def load(self) -> list[Sample]:
        """All samples, sorted by question id."""
        return read_tasks(
            Path(self.root or QUESTIONS), self.level, environment=ENVIRONMENT
        )

    def gold(self, *, split: Split = "all", trace: bool = True) -> ReferenceGold:
        """What retrieval is measured against.

        ``chosen`` are the questions on which its weights were chosen, ``later`` the others.
        """
        if split not in {"all", "chosen", "later"}:
            raise QuestionError(f"split={split}: choose one of all, chosen, later")
        chosen = json.loads(CHOSEN.read_text(encoding="utf-8"))
        samples = [
            sample
            for sample in self.load()
            if split == "all" or (sample.question.id in chosen) is (split == "chosen")
        ]
        if not samples:
            raise QuestionError(
                f"split={split}: none of these questions is in {self.root}"
            )
        parts = [self.name, self.level, *([split] if split != "all" else [])]
        from experiments.benchmarks.question_gold import ReferenceGold  # noqa: PLC0415

        root = Path(self.root or QUESTIONS)
        return ReferenceGold(" ".join(parts), root, samples, self.packages, trace=trace)
