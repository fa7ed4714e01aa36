"""The real thing: three add-ons of pymatgen under other names, for two seeds."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from experiments.benchmarks.question_format import (
    QUESTIONS,
    question_folders,
    read_spec,
)
from experiments.benchmarks.unseen import gates, text_gates
from experiments.benchmarks.unseen.benchmark import UnseenBenchmark
from experiments.benchmarks.unseen.build import UnseenLibrary
from experiments.benchmarks.unseen.package_level import package_spec
from experiments.benchmarks.unseen.questions import read_questions, translate_words
from experiments.benchmarks.unseen.ready import RENAMED, ready, report_of
from sandbox import environments
from sandbox.base import Outcome, SandboxConfig
from sandbox.factory import get_sandbox

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module", params=[1, 2])
def library(request: pytest.FixtureRequest) -> UnseenLibrary:
    """Proven by all gates, or this raises: types, old names, translated references."""
    return ready(RENAMED, seed=request.param)


def test_every_question_was_proven(library: UnseenLibrary) -> None:
    asked, _ = read_questions(QUESTIONS, RENAMED)
    report = report_of(library)
    assert report["questions"] == len(question_folders(library.questions)) == len(asked)
    assert report["properties"] == sum(len(source.spec.properties) for source in asked)
    assert report["renamed"] > 1000
    for package in RENAMED:  # each of them is asked about
        found, _ = read_questions(QUESTIONS, [package])
        assert len(found) >= 6


def test_names_that_are_put_together_keep_their_fixed_part(library: UnseenLibrary) -> None:
    names = library.names.identifiers
    stem = names["anions_a"].removesuffix("_a")
    assert names["anions_a"] == f"{stem}_a" != "anions_a"
    assert names["anions_b"] == f"{stem}_b"


def test_the_sandbox_holds_the_library_and_neither_the_original_nor_the_map(
    library: UnseenLibrary,
) -> None:
    code = f"""
import importlib, importlib.util, pathlib


def look():
    sites = {{
        str(pathlib.Path(importlib.import_module(name).__file__).parents[1])
        for name in {library.packages!r}
    }}
    (site,) = sites
    words = [package.rpartition(".")[2] for package in {RENAMED!r}]
    return {{
        "originals": [p for p in {RENAMED!r} if importlib.util.find_spec(p) is not None],
        "add-on": importlib.util.find_spec("matminer") is not None,
        "map": [str(path) for path in pathlib.Path(site).rglob("mapping.json")],
        "metadata": [p.name for word in words for p in pathlib.Path(site).glob("*" + word + "*")],
    }}
"""

    async def run() -> object:
        async with get_sandbox(SandboxConfig(env=library.environment, workers=1)) as sandbox:
            done = await sandbox.run(code, "look", timeout=60)
        assert done.outcome is Outcome.OK, done.error
        return done.result

    assert asyncio.run(run()) == {"originals": [], "add-on": True, "map": [], "metadata": []}


@pytest.mark.parametrize("level", ["goal", "scaffold", "package"])
def test_the_benchmark_asks_about_it(level: str) -> None:
    benchmark = UnseenBenchmark(level=level, seed=1)  # type: ignore[arg-type]
    tasks = benchmark.load()
    new = benchmark.packages[-len(RENAMED) :]
    assert len(tasks) == len(read_questions(QUESTIONS, RENAMED)[0])
    named = set()
    for task in tasks:
        prompt = task.question.prompt
        used = {name for name in new if name in prompt}
        assert used, task.question.id
        named |= used
        for package in RENAMED:
            assert package.removeprefix("pymatgen.") not in prompt
        assert Path(task.environment).name == "environment"
        assert task.labels["library"] == "unseen 1"
        assert not task.question.mounts or all(
            "/data/" in path for path in task.question.mounts.values()
        )
    assert named == set(new)


def test_the_texts_of_the_package_level_hold_no_old_name(library: UnseenLibrary) -> None:
    asked, _ = read_questions(QUESTIONS, RENAMED)
    for source in asked:
        spec = package_spec(source.folder.name, source.spec)
        words = translate_words(spec, source.reference.text, library.names)
        for text in (words.goal, *(prop.description for prop in words.properties)):
            assert list(gates.scan_text(text, library.names)) == []
            assert list(text_gates.changed_words(text, library.names)) == []
            assert "add-on" not in text


def test_a_prompt_names_the_packages_of_its_reference_and_no_other(library: UnseenLibrary) -> None:
    for folder in question_folders(library.questions):
        reference = (folder / "reference.py").read_text()
        goal = read_spec(folder).goal
        for name in library.packages:
            assert (f"{name}." in reference or f"import {name}" in reference) == (name in goal)


def test_documentation_is_made_from_it_like_from_any_other(library: UnseenLibrary) -> None:
    from docgen.library import read_library

    read = read_library(list(library.packages), environments.site_packages(library.environment))
    found = {qualname.rpartition(".")[2] for qualname in read.symbols}
    names = library.names
    for old in ("FormationEnergyDiagram", "DiffusionAnalyzer", "AlloyPair"):
        assert names.identifiers[old] in found
        assert old not in found
