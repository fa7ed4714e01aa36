"""The real thing: pymatgen-analysis-defects under other names, for two seeds."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from experiments.benchmarks.live.loader import LiveBenchmark, question_folders
from experiments.unseen.build import UnseenLibrary
from experiments.unseen.ready import PACKAGES, ready, report_of
from sandbox import environments
from sandbox.base import Outcome, SandboxConfig
from sandbox.factory import get_sandbox

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module", params=[1, 2])
def library(request: pytest.FixtureRequest) -> UnseenLibrary:
    """Proven by all gates, or this raises: types, old names, translated references."""
    return ready(PACKAGES, seed=request.param)


def test_every_question_was_proven(library: UnseenLibrary) -> None:
    report = report_of(library)
    assert report["questions"] == len(question_folders(library.questions)) >= 6
    assert isinstance(report["renamed"], int)
    assert report["renamed"] > 500


def test_the_sandbox_holds_the_library_and_neither_the_original_nor_the_map(
    library: UnseenLibrary,
) -> None:
    (name,) = library.packages
    code = f"""
import importlib.util, pathlib, sys


def look():
    import {name}

    site = pathlib.Path({name}.__file__).parents[1]
    return {{
        "original": importlib.util.find_spec("pymatgen.analysis.defects") is not None,
        "add-on": importlib.util.find_spec("pymatgen.analysis.diffusion") is not None,
        "map": [str(path) for path in site.rglob("mapping.json")],
        "metadata": [path.name for path in site.glob("*defects*")],
    }}
"""

    async def run() -> object:
        async with get_sandbox(SandboxConfig(env=library.environment, workers=1)) as sandbox:
            done = await sandbox.run(code, "look", timeout=60)
        assert done.outcome is Outcome.OK, done.error
        return done.result

    assert asyncio.run(run()) == {"original": False, "add-on": True, "map": [], "metadata": []}


@pytest.mark.parametrize("level", ["goal", "scaffold"])
def test_the_benchmark_asks_about_it(level: str) -> None:
    benchmark = LiveBenchmark(level=level, library="unseen", seed=1)  # type: ignore[arg-type]
    tasks = benchmark.load()
    name = benchmark.packages[-1]
    assert len(tasks) >= 6
    for task in tasks:
        assert name in task.question.prompt
        assert "analysis.defects" not in task.question.prompt
        assert Path(task.environment).name == "environment"
        assert task.labels["library"] == "unseen 1"
        assert not task.question.mounts or all(
            "/data/" in path for path in task.question.mounts.values()
        )


def test_documentation_is_made_from_it_like_from_any_other(library: UnseenLibrary) -> None:
    from docgen.library import read_library

    (name,) = library.packages
    read = read_library([name], environments.site_packages(library.environment))
    found = {qualname.rpartition(".")[2] for qualname in read.symbols}
    names = library.names
    assert names.identifiers["FormationEnergyDiagram"] in found
    assert "FormationEnergyDiagram" not in found
