"""A wheel of the project, installed into an empty environment and used away from the source.

Beside it is another project whose package is called ``agents``, as that of openai-agents is.
"""

import json
import re
import shutil
import sys
import zipfile

import pytest

from tests.support.installation import BELOW, run
from tests.support.paths import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

SMALL = ["limit=1", "model.strict=true", "out=run"]  # what a newcomer runs


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
    below = {
        n if n.startswith("matsmith/") else f"matsmith/_packages/{n}" for n in there
    }
    shim = {"matsmith/_wheel/run.py"}
    assert packed == below - shim | {"experiments/run.py"}


def test_the_wheel_claims_one_name(wheel, installed, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
    outside = {
        name for name in files if not name.startswith(("matsmith/", "matsmith-"))
    }
    assert outside == {"experiments/run.py"}  # of a namespace: claims no name
    look = f"""
import importlib.util, agents
specs = {{name: importlib.util.find_spec(name) for name in {BELOW!r}}}
print({{n for n, spec in specs.items() if spec and spec.origin}}, agents.Agent.__module__)
try:
    import matsmith
except ImportError as error:
    print(error)
"""
    names, refused = run(installed / "python", "-c", look, folder=tmp_path).splitlines()
    assert names == "{'agents'} agents"
    assert refused.startswith("another package called 'agents' is imported already")
    ours = "import matsmith\nfrom agents.base import Agent\nprint(Agent.__module__)"
    assert run(installed / "python", "-c", ours, folder=tmp_path) == "agents.base\n"


def test_a_question_of_live_away_from_the_source(installed, tmp_path):
    run(installed / "matsmith", "run", *SMALL, folder=tmp_path)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["complete"]
    (row,) = (tmp_path / "run" / "results.jsonl").read_text().splitlines()
    assert all(json.loads(row)["passed"].values())
    page = (tmp_path / "run" / "report.html").read_text()
    assert (ROOT / "experiments" / "report" / "page.css").read_text().strip() in page


def test_the_module_of_a_run_works_from_the_wheel(installed, tmp_path):
    module = (installed / "python", "-m", "experiments.run")
    assert "usage: matsmith run" in run(*module, "--help", folder=tmp_path)
    run(*module, "system=reflect", "retrieval=llm_doc", *SMALL, folder=tmp_path)
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["complete"]
    own = tmp_path / "own" / "experiments"
    own.mkdir(parents=True)
    (own / "__init__.py").write_text("")
    (own / "run.py").write_text("print('theirs')")
    module = (installed / "python", "-m", "experiments.run")
    assert run(*module, folder=own.parent) == "theirs\n"


def test_a_plug_in_beside_the_wheel(installed, tmp_path):
    source = shutil.copytree(ROOT / "tests" / "data" / "quarry", tmp_path / "source")
    into = ("pip", "install", "--quiet", "--no-deps", "--python", installed / "python")
    run(sys.executable, "-m", "uv", *into, source, folder=tmp_path)
    run(
        installed / "python", "-c", "import quarry", folder=tmp_path
    )  # before matsmith is
    assert "usage: matsmith ask" in run(
        installed / "matsmith", "ask", "--help", folder=tmp_path
    )
    text = run(installed / "matsmith", "run", "--help", folder=tmp_path)
    for name in ("stubborn", "stones", "ledger"):
        assert re.search(rf"choices: .*\b{name}\b", text)
    keys = run(
        installed / "matsmith", "run", "system=stubborn", "--help", folder=tmp_path
    )
    assert re.search(r"system\.letter +The reply\. \[A\]", keys)
    words = (
        "system=stubborn",
        "letter=B",
        "benchmark=stones",
        "retrieval=ledger",
        "pages=3",
    )
    run(installed / "matsmith", "run", *words, "model=none", "out=run", folder=tmp_path)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["complete"]
    assert [(m["title"], m["sum"], m["total"]) for m in summary["metrics"]] == [
        ("accuracy", 1, 2)
    ]
    assert summary["config"]["retrieval"]["params"] == {"pages": 3}
    board, stone = (
        json.loads((tmp_path / "run" / "trajectories" / f"{name}-0.json").read_text())
        for name in ("board", "stone")
    )
    (picture,) = board["question"]["images"].values()
    assert (tmp_path / "run" / picture).read_bytes() == (
        source / "quarry/board.png"
    ).read_bytes()
    assert len(stone["steps"][0]["hits"]) == 1
    assert "accuracy" in (tmp_path / "run" / "report.html").read_text()


def test_parts_from_another_package(installed, tmp_path):
    """An embedding, a reranker, a backend and prompts of a package that knows only the wheel."""
    source = shutil.copytree(ROOT / "tests" / "data" / "foundry", tmp_path / "source")
    into = ("pip", "install", "--quiet", "--no-deps", "--python", installed / "python")
    run(sys.executable, "-m", "uv", *into, source, folder=tmp_path)
    matsmith = installed / "matsmith"
    lines = run(matsmith, "plugins", folder=tmp_path, code=1).splitlines()
    ours = [line for line in lines if "foundry 1.2" in line]
    assert [line.split()[0] for line in ours] == [
        "embedding=letters",
        "prompts=terse",
        "reranker=absent",
        "reranker=short",
        "sandbox=counted",
    ]
    (fault,) = [line for line in lines if "cannot be used" in line]
    assert "No module named 'foundry.absent'" in fault
    words = (
        "embedding=letters",
        "reranker=short",
        "sandbox=counted",
        "prompts=terse",
        "retrieval=llm_doc_dense",
        "system=rag",
        "benchmark=invented",
        "benchmark.seed=101",
        "benchmark.size=60",
        "benchmark.questions=2",
        "model=foundry:Parrot",
    )
    run(matsmith, "run", *words, "out=run", folder=tmp_path)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["complete"]
    assert summary["sandbox_tier"] == ["counted-bubblewrap"]
    config = summary["config"]
    assert config["embedding"]["alphabet"] == "abcdefghijklmnopqrstuvwxyz"
    assert config["reranker"]["candidates"] == 20
    assert re.fullmatch("terse-[0-9a-f]{8}", config["prompts"]["name"])
    record = next((tmp_path / "run" / "trajectories").glob("*.json")).read_text()
    assert "You write short Python with" in record
    run(matsmith, "report", "run", "latex=t.tex", "svg=f.svg", folder=tmp_path)
    assert r"\toprule" in (tmp_path / "t.tex").read_text()
    assert "<svg" in (tmp_path / "f.svg").read_text()
    name = config["prompts"]["name"]
    assert name in run(matsmith, "run", *words, "--cfg", folder=tmp_path)


def test_what_is_installed_is_the_checkout(wheel):
    with zipfile.ZipFile(wheel) as archive:
        for name in ("agents/base.py", "experiments/run/loop.py", "conf/config.yaml"):
            assert (
                archive.read(f"matsmith/_packages/{name}") == (ROOT / name).read_bytes()
            )
