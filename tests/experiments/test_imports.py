"""What the import contracts cannot see: classes that a configuration names as a text."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CONF = Path(__file__).parents[2] / "conf"
_OURS = re.compile(r"(?:agents|docgen|experiments|indexes|retrieval|sandbox)(?:\.\w+)+")
#: Which package a group's ``_target_`` may lie in.
_HOMES = {"benchmark": "experiments.benchmarks.", "system": "agents.", "conf": "agents.models."}
FILES = sorted(CONF.rglob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(CONF)))
def test_a_configuration_names_its_own_class_and_no_other_code(file: Path) -> None:
    """An import by another key would go past import-linter, as ``_gold_`` once did."""
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    named = {key: value for key, value in _texts(content) if _OURS.fullmatch(value)}
    assert set(named) <= {"_target_"}
    for target in named.values():
        assert target.startswith(_HOMES[file.parent.name])


def test_every_benchmark_names_a_class() -> None:
    for file in (CONF / "benchmark").glob("*.yaml"):
        assert "_target_" in yaml.safe_load(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("one", ["live.benchmark", "unseen.benchmark", "folder", "mattools"])
def test_no_benchmark_brings_another_with_it(one: str) -> None:
    others = [name for name in ("live", "unseen", "folder", "mattools") if name not in one]
    code = f"import sys, experiments.benchmarks.{one}\nfor name in {others}:\n"
    code += "    if 'experiments.benchmarks.' + name in sys.modules: print(name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_unseen_is_a_benchmark_of_its_own_and_asks_for_a_level_first() -> None:
    from experiments.benchmarks.question_format import QuestionError
    from experiments.benchmarks.unseen.benchmark import UnseenBenchmark

    with pytest.raises(QuestionError, match="scaffold, goal"):
        UnseenBenchmark(level="easy").load()  # type: ignore[arg-type]


def _texts(content: object, key: str = "") -> list[tuple[str, str]]:
    if isinstance(content, dict):
        return [pair for name, value in content.items() for pair in _texts(value, str(name))]
    if isinstance(content, list):
        return [pair for value in content for pair in _texts(value, key)]
    return [(key, content)] if isinstance(content, str) else []
