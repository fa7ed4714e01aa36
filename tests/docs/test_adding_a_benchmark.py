"""docs/adding-a-benchmark.md, followed literally."""

import json
import re
import runpy
import sys

import pytest

from experiments.command import main
from experiments.record import read_rows
from experiments.regrade import main as regrade
from experiments.run.config import read_run
from experiments.run.setup import build_benchmark, load_samples
from experiments.scorers.properties import verify_here
from foundation.configuration import Conf
from sandbox.inside.tagged import dumps
from tests.support.paths import ROOT

GUIDE = ROOT / "docs" / "adding-a-benchmark.md"
OURS, THEIRS, MIXED, CODE = re.findall(
    r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL
)
(DATA,) = re.findall(r"```json\n(.*?)```", GUIDE.read_text(), re.DOTALL)
(CONFIG,) = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
REPLIES = {
    "quartz": "It is <answer>2.6</answer>",
    "gold": "<answer>18</answer>",
    "galena": "7.6 perhaps",
}


@pytest.fixture
def guide(tmp_path, monkeypatch):
    """A folder with what the guide writes."""
    for name, text in (
        ("densities", OURS),
        ("theirs", THEIRS),
        ("several", MIXED),
        ("mine", CODE),
    ):
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "densities.jsonl").write_text(DATA)
    (tmp_path / "conf" / "benchmark").mkdir(parents=True)
    (tmp_path / "conf" / "benchmark" / "mine.yaml").write_text(CONFIG)
    answers = "".join(
        f"{json.dumps({'id': n, 'answer': t})}\n" for n, t in REPLIES.items()
    )
    (tmp_path / "answers.jsonl").write_text(answers)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("densities", "several", "mine"):
        sys.modules.pop(name, None)


def ours(folder):
    assert (
        regrade(["benchmark=densities:densities", "answers=answers.jsonl", "out=out"])
        == 0
    )
    rows = read_rows(folder / "out" / "results.jsonl")
    return {row.question_id: row.values["score"] for row in rows}


def test_one_file_of_at_most_25_lines(guide):
    assert OURS.count("\n") <= 25
    assert ours(guide) == {"quartz": 1.0, "gold": 0.0, "galena": 0.0}


@pytest.mark.long
def test_inspect_ai_gives_the_same_scores(guide):
    inspect_ai = pytest.importorskip(
        "inspect_ai", reason="the extra 'interop' is not installed"
    )
    from tests.support.interop import said

    made = runpy.run_path("theirs.py")["densities"](str(guide / "densities.jsonl"))
    (log,) = inspect_ai.eval(made, model=said(REPLIES), display="none", log_dir="logs")
    scores = {sample.id: next(iter(sample.scores.values())) for sample in log.samples}
    assert {name: score.as_float() for name, score in scores.items()} == ours(guide)


def test_a_benchmark_of_code_with_a_name(guide):
    configuration = read_run(
        ["benchmark=mine", "system=single", "benchmark.level=hard"]
    )
    benchmark = build_benchmark(configuration)
    (task,) = load_samples(benchmark, configuration)
    assert (benchmark.name, benchmark.level) == ("mine", "hard")
    assert benchmark.scorer.criteria(task) == ["volume"]
    assert verify_here(task.properties, dumps({"volume": 64.01}))["volume"] == (
        True,
        "",
    )
    assert not verify_here(task.properties, dumps({"volume": 64.64}))["volume"][0]
    assert "mine" in Conf.of(())[0].groups()["benchmark"]


@pytest.mark.parametrize(("system", "right"), [("oracle", 3), ("empty", 0)])
def test_several_kinds_of_answers(guide, system, right):
    words = [f"system={system}", "retrieval=none", "model=none", "out=out"]
    assert main(["benchmark=several:mixed", *words]) == 0
    rows = read_rows(guide / "out" / "results.jsonl")
    assert sum(row.all_correct for row in rows) == right
    assert all(row.scored for row in rows)


@pytest.mark.long
def test_the_reference_of_code_is_right(guide):
    words = ["system=oracle", "retrieval=none", "model=none", "out=out"]
    assert main(["benchmark=mine", *words]) == 0
    (row,) = read_rows(guide / "out" / "results.jsonl")
    assert row.all_correct
