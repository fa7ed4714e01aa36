"""Exports: read by the projects whose formats they are, with the scores and tokens of the run."""

import json
import subprocess
import sys

import pytest

from experiments.command import main as run
from experiments.export.command import main as export
from experiments.export.task import grade, inspect_task
from experiments.files import read_json
from experiments.record import read_rows
from experiments.run.config import read_run
from experiments.run.setup import build_benchmark, load_samples
from sandbox import environments
from tests.support.paths import DATA

STONES = ["benchmark=quarry:stones", "model=none", "retrieval=none"]
TOOLS = [
    "system=tools",
    "benchmark=invented",
    "benchmark.seed=101",
    "limit=2",
    "model=recorded",
]


@pytest.fixture(autouse=True)
def quarry(monkeypatch):
    monkeypatch.syspath_prepend(DATA / "quarry")
    yield
    sys.modules.pop("quarry", None)


@pytest.fixture
def stones(tmp_path):
    folder = tmp_path / "stones (recorded)"
    assert run([*STONES, "system=quarry:Stubborn", f"out={folder}"]) == 0
    return folder


def exported(folder, form):
    assert export([str(folder), "--to", form]) == 0
    return sorted((folder / "export").rglob("*.json*"))


def test_every_format_holds_the_scores_of_a_run(stones):
    (log,) = exported(stones, "inspect")
    samples = {sample["id"]: sample for sample in read_json(log)["samples"]}
    assert {name: s["scores"]["score"]["value"] for name, s in samples.items()} == {
        "board": 1.0,
        "stone": 0.0,
    }
    assert [m["content"] for m in samples["board"]["messages"]][
        -1
    ] == "<answer>A</answer>"
    trajectory = read_json(exported(stones, "atif")[0])
    assert trajectory["final_metrics"]["extra"]["scores"] == {"score": 1.0}


async def test_a_reply_is_graded_by_the_benchmark_itself():
    config = read_run([*STONES, "system=empty"])
    board, stone = load_samples(build_benchmark(config), config)
    assert await grade(config, board, "<answer>A</answer>") == {"score": 1.0}
    assert await grade(config, stone, "a plant") == {"score": 0.0}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run with tool calls, tokens and code, without an endpoint."""
    folder = tmp_path_factory.mktemp("recorded") / "run"
    assert run([*TOOLS, f"out={folder}"]) == 0
    rows = {row.question_id: row for row in read_rows(folder / "results.jsonl")}
    assert all(row.prompt_tokens for row in rows.values())
    return folder, rows, read_json(folder / "summary.json")


@pytest.mark.long
def test_inspect_reads_the_log(recorded):
    log = pytest.importorskip(
        "inspect_ai.log", reason="the extra 'interop' is not installed"
    )
    folder, rows, summary = recorded
    (path,) = exported(folder, "inspect")
    assert len(log.list_eval_logs(str(path.parent))) == 1
    found = log.read_eval_log(str(path))
    assert found.status == "success"
    for metric, result in zip(summary["metrics"], found.results.scores, strict=True):
        assert result.metrics["share"].value == metric["sum"] / metric["total"]
    usage = found.stats.model_usage[summary["model"]]
    counted = (summary["prompt_tokens"], summary["completion_tokens"])
    assert (usage.input_tokens, usage.output_tokens) == counted
    for sample in found.samples:
        row = rows[sample.id]
        assert sample.output.usage.input_tokens == row.prompt_tokens
        assert sample.scores["criteria"].as_float() == row.passed_count / row.criteria
        asked = [
            getattr(message, "tool_calls", None) or () for message in sample.messages
        ]
        calls = [call.id for several in asked for call in several]
        results = [m.tool_call_id for m in sample.messages if m.role == "tool"]
        assert sorted(calls) == sorted(set(results)) == sorted(results) != []


@pytest.mark.long
def test_harbor_reads_the_trajectories(recorded):
    validator = pytest.importorskip(
        "harbor.utils.trajectory_validator", reason="no harbor here"
    )
    folder, rows, _ = recorded
    for path in (
        path for path in exported(folder, "atif") if path.parent.name == "atif"
    ):
        checked = validator.TrajectoryValidator()
        assert checked.validate(path), checked.errors
        found = validator.Trajectory.model_validate(read_json(path))
        row, totals = rows[found.extra["question"]], found.final_metrics
        counted = (totals.total_prompt_tokens, totals.total_completion_tokens)
        assert counted == (row.prompt_tokens, row.completion_tokens)
        assert (
            sum(s.metrics.prompt_tokens for s in found.steps if s.metrics)
            == row.prompt_tokens
        )
        assert totals.extra["scores"]["criteria"] == row.passed_count / row.criteria


@pytest.mark.long
def test_a_benchmark_of_ours_is_a_task_of_inspect(tmp_path):
    inspect_ai = pytest.importorskip(
        "inspect_ai", reason="the extra 'interop' is not installed"
    )
    from tests.support.interop import said

    replies = {"picture": "It is <answer>A</answer>", "gabbro": "<answer>A</answer>"}
    task = inspect_task("benchmark=quarry:stones")
    (log,) = inspect_ai.eval(
        task, model=said(replies), display="none", log_dir=str(tmp_path)
    )
    assert log.status == "success", log.error
    scores = {
        sample.id: sample.scores["verdict"].value["score"] for sample in log.samples
    }
    assert scores == {"board": 1.0, "stone": 0.0}
    (image,) = [
        part for part in log.samples[0].messages[-2].content if part.type == "image"
    ]
    shown = log.samples[0].attachments[image.image.removeprefix("attachment://")]
    assert shown.startswith("data:image/png;base64,")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    """Two questions of ``live`` as tasks of Harbor."""
    folder = tmp_path_factory.mktemp("tasks") / "run"
    words = ["system=oracle", "model=none", "retrieval=none", "benchmark=live"]
    assert run([*words, "limit=2", f"out={folder}"]) == 0
    assert export([str(folder), "--to", "harbor"]) == 0
    return sorted((folder / "export" / "harbor").iterdir())


def graded(task, reply, folder):
    """The rewards of a reply, by the task's own tests and with the environment's packages."""
    (folder / "answer.md").write_text(reply)
    python = environments.build("live").folder / "bin" / "python"
    variables = {
        "MATSMITH_ANSWER": str(folder / "answer.md"),
        "MATSMITH_LOGS": str(folder / "logs"),
        "MATSMITH_USER": "",
    }
    done = subprocess.run(
        [python, "-I", task / "tests" / "grade.py"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return read_json(folder / "logs" / "reward.json")


@pytest.mark.long
def test_a_task_rewards_its_reference_and_nothing_else(tasks, tmp_path):
    right = {"reward": 1.0, "properties": 1.0}
    wrong = {"reward": 0.0, "properties": 0.0}
    for task in tasks:
        reference = (task / "solution" / "answer.md").read_text()
        assert graded(task, reference, tmp_path) == right
        expected = json.loads((task / "tests" / "expected.json").read_text())
        instruction = (task / "instruction.md").read_text()
        golds = [prop["expected"] for prop in expected["properties"]]
        assert not any(gold in instruction for gold in golds if len(gold) > 6)
    for code in ("return {}", "import os; os._exit(0)", "return"):
        reply = f"```python\ndef answer():\n    {code}\n```"
        assert graded(tasks[0], reply, tmp_path) == wrong
    assert graded(tasks[0], "I cannot say.", tmp_path) == wrong


@pytest.mark.long
def test_harbor_reads_a_task(tasks):
    harbor = pytest.importorskip(
        "harbor.models.task.task", reason="the extra 'interop' is not installed"
    )
    for folder in tasks:
        task = harbor.Task(folder)
        assert task.paths.discovered_test_path.name == "test.sh"
        assert task.paths.discovered_solve_path.name == "solve.sh"
        assert "/app/answer.md" in task.instruction


def test_questions_without_code_are_no_tasks(stones, capsys):
    assert export([str(stones), "--to", "harbor"]) == 2
    assert "answered by code" in capsys.readouterr().err
