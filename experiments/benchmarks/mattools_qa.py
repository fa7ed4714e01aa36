"""MatTools QA: multiple-choice questions about a library's code and documentation.

One letter answers a question, so this benchmark brings its own way to run (`experiments.qa`).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from docgen.library import read_library
from docgen.sources import SourceError
from experiments.config import ConfigError, RunConfig
from experiments.qa import rules
from experiments.qa.evaluate import check_configuration, evaluate
from experiments.qa.rules import write_by_rules
from sandbox import environments


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

    async def run(self, config: RunConfig, console: Console) -> Path:
        """See :class:`experiments.tasks.RunsItself`."""
        check_configuration(config)
        file = Path(self.path) if self.path is not None else await self._questions(console)
        if not file.is_file():
            raise ConfigError(f"benchmark.path={file}: no such file")
        return await evaluate(config, file, self.packages, self.environment, console)

    async def _questions(self, console: Console) -> Path:
        """The questions by rules; made when this environment has none yet."""
        await asyncio.to_thread(
            environments.build,
            self.environment,
            say=lambda line: console.print(f"Environment {self.environment}: {line}"),
        )
        file = self._cached()
        if file.is_file():
            return file
        try:
            with console.status("Reading the library"):
                library = read_library(self.packages, environments.site_packages(self.environment))
        except SourceError as error:
            raise ConfigError(f"benchmark.packages: {error}") from error
        file.parent.mkdir(parents=True, exist_ok=True)
        counts = write_by_rules(library, tuple(library.symbols.values()), file, console)
        console.print(f"{counts.total()} questions -> {file}", highlight=False)
        return file

    def _cached(self) -> Path:
        """Where they are kept: other versions, or other rules, make other questions."""
        writer = hashlib.sha256(Path(rules.__file__).read_bytes()).hexdigest()[:8]
        name = "-".join([environments.folder(self.environment).name, *self.packages, writer])
        return environments.cache_folder() / "questions" / f"{name}.jsonl"
