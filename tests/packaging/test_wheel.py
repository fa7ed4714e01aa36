"""A wheel of the project, installed into an empty environment and used away from the source.

Beside it is another project whose package is called ``agents``, as that of openai-agents is.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sandbox import environments

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
BELOW = ("agents", "conf", "docgen", "experiments", "indexes", "retrieval", "sandbox")
SMALL = ["system=rag", "retrieval=llm_doc", "model=rules", "limit=1", "out=run"]


def run(*command: str | Path, folder: Path) -> str:
    """Standard output of a command that must succeed, without this process's packages."""
    variables = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    variables["MATSMITH_CACHE"] = str(environments.cache_folder())
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=variables,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    caches = shutil.ignore_patterns("__pycache__", "data", "prebuilt")
    for name in ("matsmith", *BELOW):
        shutil.copytree(ROOT / name, folder / name, ignore=caches)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    run(sys.executable, "-m", "uv", "build", "--wheel", "--out-dir", "dist", folder=folder)
    (built,) = folder.glob("dist/*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` of a virtual environment that holds the wheel and what the lock file pins."""
    folder = tmp_path_factory.mktemp("installed")
    uv = (sys.executable, "-m", "uv")
    run(*uv, "venv", "--quiet", "--python", sys.executable, folder / "venv", folder=folder)
    into = ("pip", "install", "--quiet", "--python", folder / "venv")
    lock = ROOT / "requirements.lock"
    run(*uv, *into, "--require-hashes", "--requirement", lock, folder=folder)
    other = folder / "other"
    (other / "agents").mkdir(parents=True)
    (other / "agents" / "__init__.py").write_text("class Agent: ...\n")
    (other / "pyproject.toml").write_text('[project]\nname = "other-agents"\nversion = "1"\n')
    run(*uv, *into, "--no-deps", wheel, other, folder=folder)
    return folder / "venv" / "bin"


def test_the_wheel_holds_every_file_of_the_packages(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    source = wheel.parents[1]
    there = {
        path.relative_to(source).as_posix()
        for name in ("matsmith", *BELOW)
        for path in (source / name).rglob("*")
        if path.is_file()
    }
    assert len(there) > 300
    below = {name if name.startswith("matsmith/") else f"matsmith/{name}" for name in there}
    assert packed == below


def test_the_wheel_claims_one_name(wheel, installed, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        (top,) = (name for name in archive.namelist() if name.endswith("/top_level.txt"))
        assert archive.read(top).split() == [b"matsmith"]
        codes = {name: archive.read(name).decode() for name in archive.namelist()
                 if name.endswith(".py") and "/questions/" not in name}  # fmt: skip
    for name, code in codes.items():
        for node in ast.walk(ast.parse(code)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not {word.partition(".")[0] for word in names} & set(BELOW), name
    names = ", ".join(map(repr, BELOW))
    look = f"""
import importlib.util, matsmith, agents
print(agents.Agent.__module__, {{n for n in ({names}) if importlib.util.find_spec(n)}})
from matsmith.agents.base import Agent
print(Agent.__module__)
"""
    seen = run(installed / "python", "-c", look, folder=tmp_path).splitlines()
    assert seen == ["agents {'agents'}", "matsmith.agents.base"]


def test_help_away_from_the_source(installed, tmp_path):
    assert "usage: matsmith ask" in run(installed / "matsmith", "ask", "--help", folder=tmp_path)
    assert "usage: matsmith mcp" in run(installed / "matsmith", "mcp", "--help", folder=tmp_path)
    text = run(installed / "python", "-m", "matsmith.experiments.run", "--help", folder=tmp_path)
    assert "usage: python -m matsmith.experiments.run" in text
    assert "choices: adaptive, agentic, " in text
    assert list(tmp_path.iterdir()) == []


def test_a_question_of_live_away_from_the_source(installed, tmp_path):
    run(installed / "python", "-m", "matsmith.experiments.run", *SMALL, folder=tmp_path)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["complete"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert (ROOT / "experiments" / "report" / "page.css").read_text().strip() in page


def test_documentation_away_from_the_source(installed, tmp_path):
    orchard = ROOT / "tests" / "data" / "orchard" / "src"
    command = ("-m", "matsmith.docgen", "package=orchard", f"folder={orchard}", "out=docs.jsonl")
    run(installed / "python", *command, folder=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "docs.jsonl").read_text().splitlines()]
    assert {"orchard"} == {row["qualname"].partition(".")[0] for row in rows}
