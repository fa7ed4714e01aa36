"""MatTools QA: multiple-choice questions about a library's code and documentation."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from agents.answer_formats import Letters
from agents.base import Question
from docgen.library import read_library
from docgen.sources import SourceError
from experiments.benchmarks.mattools.qa import rules
from experiments.benchmarks.mattools.qa.questions import QAError, QAQuestion, read_questions
from experiments.benchmarks.mattools.qa.rules import write_by_rules
from experiments.benchmarks.mattools.qa.wording import answering_prompt
from experiments.samples import Sample
from experiments.scorers.choice import ChoiceScorer
from sandbox import environments
from sandbox.command import UsageError


@dataclass(frozen=True)
class MatToolsQA:
    """The published questions, or questions in their form.

    Attributes
    ----------
    path
        JSON lines, or a published JSON array; ``None`` makes questions by rules from the code
        and docstrings of ``packages`` (once, kept in the cache).
    packages
        Import names the questions are about.
    environment
        Sandbox environment that holds the packages.
    """

    path: Path | None = None
    packages: Sequence[str] = ("pymatgen",)
    environment: str = "live"
    name: str = "mattools_qa"
    scorer = ChoiceScorer()

    def load(self) -> list[Sample]:
        """All questions, numbered from 0.

        Raises
        ------
        QAError
            When the file is missing, empty, or something in it is not a question.
        UsageError
            When there is no such package to make questions of.
        """
        file = Path(self.path) if self.path is not None else self._by_rules()
        samples = [self._sample(n, question) for n, question in enumerate(read_questions(file))]
        if not samples:
            raise QAError(f"{file}: contains no question")
        return samples

    def _sample(self, number: int, question: QAQuestion) -> Sample:
        folder = "/".join(question.source.rpartition("/")[0].split("/")[:2])
        labels = {"kind": question.kind, "area": folder}
        return Sample(
            Question(str(number), answering_prompt(question), answer=Letters()),
            environment=self.environment,
            labels={name: label for name, label in labels.items() if label},
            target=question.correct_answer,
            cluster=question.source,
        )

    def _by_rules(self) -> Path:
        """The questions by rules; made when this environment has none yet."""
        console = Console(stderr=True)
        environments.build(
            self.environment,
            say=lambda line: console.print(f"Environment {self.environment}: {line}"),
        )
        # Other versions, or other rules, make other questions.
        writer = hashlib.sha256(Path(rules.__file__).read_bytes()).hexdigest()[:8]
        name = "-".join([environments.folder(self.environment).name, *self.packages, writer])
        file = environments.cache_folder() / "questions" / f"{name}.jsonl"
        if file.is_file():
            return file
        try:
            with console.status("Reading the library"):
                library = read_library(self.packages, environments.site_packages(self.environment))
        except SourceError as error:
            raise UsageError(f"benchmark.packages: {error}") from error
        file.parent.mkdir(parents=True, exist_ok=True)
        counts = write_by_rules(library, tuple(library.symbols.values()), file, console)
        console.print(f"{counts.total()} questions -> {file}", highlight=False)
        return file
