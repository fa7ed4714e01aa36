"""The benchmark ``live``: the questions beside this file, on the packages as they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from experiments.benchmarks.question_format import (
    ENVIRONMENT,
    PACKAGES,
    QUESTIONS,
    Level,
    QuestionError,
    check_level,
    difficulty_labels,
    question_folders,
    read_task,
)
from experiments.benchmarks.question_gold import ReferenceGold
from experiments.samples import Sample
from experiments.scorers.properties import PropertyScorer

Split = Literal["all", "chosen", "later"]
#: The questions on which the weights of retrieval were chosen.
CHOSEN = Path(__file__).parent / "chose_weights.json"


@dataclass(frozen=True)
class LiveBenchmark:
    """The benchmark ``live``.

    Parameters
    ----------
    level
        ``scaffold``: set-up code with masked names; ``goal``: the same samples in words.
    root
        Folder that holds one folder per question.
    """

    level: Level = "scaffold"
    root: Path = QUESTIONS
    name: str = "live"
    packages: Sequence[str] = PACKAGES
    scorer = PropertyScorer()

    def load(self) -> list[Sample]:
        """All samples, sorted by question id.

        Raises
        ------
        QuestionError
            When a question is wrong, has no gold, or there are no questions at all.
        """
        check_level(self.level)
        folders = question_folders(self.root)
        if not folders:
            msg = f"{self.root}: no questions here (expected <id>/task.yaml)"
            raise QuestionError(msg)
        return [
            read_task(
                folder,
                self.level,
                environment=ENVIRONMENT,
                labels=difficulty_labels(self.root, folder.name, self.level),
            )
            for folder in folders
        ]

    def gold(self, *, split: Split = "all", trace: bool = True) -> ReferenceGold:
        """What retrieval is measured against.

        Parameters
        ----------
        split
            ``chosen``: the questions on which the weights of retrieval were chosen; ``later``:
            the others.

        Raises
        ------
        QuestionError
            When a question is wrong.
        """
        if split not in {"all", "chosen", "later"}:
            raise QuestionError(f"split={split}: choose one of all, chosen, later")
        chosen = json.loads(CHOSEN.read_text(encoding="utf-8"))
        samples = [
            sample
            for sample in self.load()
            if split == "all" or (sample.question.id in chosen) is (split == "chosen")
        ]
        parts = [self.name, self.level, *([split] if split != "all" else [])]
        return ReferenceGold(" ".join(parts), self.root, samples, self.packages, trace=trace)
