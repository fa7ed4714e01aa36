"""The benchmark ``unseen``: questions of ``live`` about packages under names no model knows."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from experiments.benchmarks.question_format import (
    PACKAGES,
    QUESTIONS,
    Level,
    build_prompt,
    check_level,
    difficulty_labels,
    question_folders,
    read_spec,
    read_task,
)
from experiments.benchmarks.question_gold import ReferenceGold
from experiments.benchmarks.unseen.build import UnseenLibrary
from experiments.benchmarks.unseen.package_level import package_spec
from experiments.benchmarks.unseen.progress import ready_with_progress
from experiments.benchmarks.unseen.questions import translate_words
from experiments.benchmarks.unseen.ready import RENAMED
from experiments.samples import Sample
from experiments.scorers.properties import PropertyScorer

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class UnseenBenchmark:
    """The benchmark ``unseen``.

    Parameters
    ----------
    level
        As for ``live``; or ``package``: as ``goal``, but what the package's documentation says is
        not said again.
    seed
        Which library: another seed is another one.
    root
        Folder that holds one folder per original question.
    renamed
        Import names of the packages that get other names; only questions that use one are asked.
    """

    level: Level | Literal["package"] = "scaffold"
    seed: int = 1
    root: Path = QUESTIONS
    name: str = "unseen"
    renamed: Sequence[str] = RENAMED
    scorer = PropertyScorer()

    @cached_property
    def library(self) -> UnseenLibrary:
        """The proven library, made when it is first needed."""
        return ready_with_progress(self.renamed, seed=self.seed, questions=self.root)

    @property
    def packages(self) -> tuple[str, ...]:
        """Import names of what is retrieved from."""
        return (*PACKAGES, *self.library.packages)

    def load(self) -> list[Sample]:
        """All samples, sorted by question id.

        Raises
        ------
        QuestionError
            When a question is wrong.
        UnseenError, SandboxError
            When the library cannot be made.
        """
        level: Level = "goal" if self.level == "package" else self.level
        check_level(level)  # before minutes are spent on a library
        asked = question_folders(self.library.questions)
        log.warning(
            "benchmark=unseen: %d questions use %s; the other %d of live are left out",
            len(asked), " or ".join(self.renamed), len(question_folders(self.root)) - len(asked),
        )  # fmt: skip
        samples = [
            read_task(
                folder,
                level,
                environment=self.library.environment,
                labels={
                    "library": f"unseen {self.seed}",
                    **difficulty_labels(self.root, folder.name, level),
                },
            )
            for folder in asked
        ]
        return [self._package(s) for s in samples] if self.level == "package" else samples

    def _package(self, sample: Sample) -> Sample:
        """The same question as the level ``package`` words it."""
        question = sample.question
        folder = self.root / question.id
        reference = (folder / "reference.py").read_text(encoding="utf-8")
        names = self.library.names
        spec = translate_words(package_spec(question.id, read_spec(folder)), reference, names)
        texts = {prop.name: prop.text for prop in spec.properties}
        return replace(
            sample,
            question=replace(question, prompt=build_prompt(spec, "goal", list(question.mounts))),
            properties=tuple(replace(p, description=texts[p.name]) for p in sample.properties),
            labels={**sample.labels, "level": "package"},
        )

    def gold(self, *, trace: bool = True) -> ReferenceGold:
        """What retrieval is measured against.

        Raises
        ------
        QuestionError, UnseenError, SandboxError
            As :meth:`load`.
        """
        name = f"{self.name} {self.level} {self.seed}"
        questions = self.library.questions
        return ReferenceGold(name, questions, self.load(), self.packages, trace=trace)
