"""What retrieval is measured against on MatTools: what most of the recorded right answers share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docgen.sources import read_sources
from docgen.usage import CodeResolver
from experiments.benchmarks.mattools.layout import MatToolsError
from experiments.benchmarks.question_gold import public_symbols
from experiments.samples import Sample
from sandbox import environments

RECORDED = "recorded_round1.jsonl"


@dataclass(frozen=True)
class MatToolsGold:
    """Per question of a recording: what at least half of the right answers use.

    Questions without any right answer are left out: their gold is unknown.
    """

    recorded: Path  # JSONL with answers and their outcomes, as `matsmith replay` writes it
    samples: Sequence[Sample]
    packages: Sequence[str]
    environment: str
    name: str = "mattools"

    def prompts(self) -> Mapping[str, str]:
        """Question -> its whole text."""
        return {sample.question.id: sample.question.prompt for sample in self.samples}

    def gold(self) -> Mapping[str, Mapping[str, str]]:
        """Question -> qualified name -> kind."""
        folder = environments.site_packages(self.environment)
        usage = CodeResolver(read_sources(self.packages, folder))
        used: dict[str, Counter[str]] = {}
        kinds: dict[str, str] = {}
        right: Counter[str] = Counter()
        for row in _right(self.recorded):
            right[row["task"]] += 1
            names = public_symbols(usage.symbols(row["code"]))
            kinds.update(names)
            used.setdefault(row["task"], Counter()).update(names.keys())
        found = {
            sample: {n: kinds[n] for n in sorted(counts) if 2 * counts[n] >= right[sample]}
            for sample, counts in used.items()
        }
        return {sample: names for sample, names in found.items() if names}

    def secrets(self) -> Mapping[str, str]:
        """Verification code, and the recorded right answers."""
        found = {f"{sample.question.id}/test": sample.target for sample in self.samples}
        for number, row in enumerate(_right(self.recorded)):
            found[f"{row['task']}/answer {number}"] = row["code"]
        return found


def _right(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise MatToolsError(
            f"{path}: not found; without recorded answers and their outcomes the gold is unknown. "
            "`matsmith replay` writes them: give its outcomes.jsonl as recorded=FILE"
        )
    rows = map(json.loads, filter(str.strip, path.read_text(encoding="utf-8").split("\n")))
    yield from (row for row in rows if row["replayed"]["outcome"] == "all_correct")
