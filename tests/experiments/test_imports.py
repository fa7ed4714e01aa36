"""What the import contracts cannot see: classes that a configuration names as a text."""

import ast
import re
import subprocess
import sys
import threading

import networkx as nx
import pytest
import yaml

from experiments.command import main as run
from experiments.run.loop import Work
from sandbox import shipping
from tests.support.paths import ROOT

CONF = ROOT / "conf"
_OURS = re.compile(r"(?:agents|docgen|experiments|indexes|retrieval|sandbox)(?:\.\w+)+")
#: Which package a group's ``_target_`` may lie in.
_HOMES = {
    "benchmark": "experiments.benchmarks.",
    "system": ("agents.", "experiments.baselines."),
    "conf": "agents.models.",
    "model": "agents.models.",
    "reranker": "retrieval.",
}
FILES = sorted(CONF.rglob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(CONF)))
def test_a_configuration_names_its_own_class_and_no_other_code(file):
    """An import by another key would go past import-linter, as ``_gold_`` once did."""
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    named = {key: value for key, value in _texts(content) if _OURS.fullmatch(value)}
    key = "path" if file.parent.name == "model" else "_target_"
    assert set(named) <= {key}
    assert named or file.parent.name != "benchmark"
    for target in named.values():
        assert target.startswith(_HOMES[file.parent.name])


def _texts(content, key=""):
    if isinstance(content, dict):
        return [
            pair for name, value in content.items() for pair in _texts(value, str(name))
        ]
    if isinstance(content, list):
        return [pair for value in content for pair in _texts(value, key)]
    return [(key, content)] if isinstance(content, str) else []


ROOT = CONF.parent
PACKAGES = tuple(sorted(shipping.PACKAGES - {"tests"}))
MOST = 88  # of 161 before
LOADED = """
import sys
from agents.config import load_system
from experiments.run import loop
from experiments.command import read_runs
from experiments.run.setup import build_benchmark
((_, config),) = read_runs(["system=rag", "benchmark=live"])
load_system(config), build_benchmark(config)
assert not {{"openai", "docker", "chromadb", "griffe"}} & set(sys.modules)
print(*[name for name in sys.modules if name.split(".")[0] in {packages!r}])
"""


def test_a_run_needs_few_modules():
    """What is loaded until questions are asked; report and retriever come later."""
    code = LOADED.format(packages=PACKAGES)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split()
    assert "agents.systems.single" in loaded
    assert "docgen.sources" not in loaded
    assert len(loaded) <= MOST, loaded


def _imports():
    """Who imports whom among our modules, imports inside of functions too."""
    graph = nx.DiGraph()
    files = {}
    for path in (path for name in PACKAGES for path in (ROOT / name).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if "questions" not in parts:
            files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    for module, path in files.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                below = [f"{node.module}.{alias.name}" for alias in node.names]
                named = [name for name in below if name in files] or [node.module]
                graph.add_edges_from((module, name) for name in named if name in files)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def test_no_modules_import_each_other_in_a_circle():
    circles = [c for c in nx.strongly_connected_components(_imports()) if len(c) > 1]
    assert [sorted(circle) for circle in circles] == []


@pytest.mark.long
def test_a_question_passes_through_few_files_and_the_docs_name_each(
    tmp_path, monkeypatch
):
    """From where it is handed out until its line is stored, in this process."""
    seen, files = set(), set()

    def call(frame, event, _):
        if (
            event == "call" and frame.f_code.co_flags & 2
        ):  # of functions: no module, no class body
            seen.add(frame.f_code.co_filename)

    async def do(work, job, answer=Work._do):
        seen.clear()
        sys.setprofile(call)
        await answer(work, job)
        sys.setprofile(None)
        files.update(name.removeprefix(f"{ROOT}/") for name in seen)

    monkeypatch.setattr(Work, "_do", do)
    threading.setprofile(call)
    run(["system=rag", "benchmark=live", "limit=1", "concurrency=1", f"out={tmp_path}"])
    threading.setprofile(None)
    ours = sorted(name for name in files if name.startswith(PACKAGES))
    assert 20 < len(ours) <= 47, "\n".join(ours)
    table = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert [name for name in ours if f"`{name}`" not in table] == []
