"""NovelAPIBench out of a checkout: a made one of the same form, with a harness of its own."""

import json
import re

import pytest

from agents.answer_formats import Reading
from experiments.benchmarks.novelapi.benchmark import Completion, NovelApiBenchmark
from experiments.benchmarks.release import ReleaseError
from experiments.run.__main__ import main
from tests.endpoint import Endpoint, text

HARNESS = """
from __future__ import annotations

def build_setup(api_name, setup_code, context_code, bind_target_leaf=False):
    module, _, leaf = api_name.rpartition(".")
    bound = f"from {module} import {leaf}" if bind_target_leaf else ""
    return "\\n".join([f"import {module}", setup_code, context_code, bound, "seen.clear()"])
"""
CALLS = """
def build_setup(api_name, setup_code, context_code, bind_target_leaf=True, prelude=""):
    from novelapibench.evaluation.harness import build_setup as plain
    return plain(api_name, setup_code, context_code, bind_target_leaf)

def build_test(execution_test, expected):
    return f"{execution_test}\\nassert {expected!r}[0]['args'] in seen, 'no such call'"
"""
RUNNER = """
import subprocess

def infer_cli_argv(test):
    return ["--five"] if "argv" in test else None

def execute_code(code, timeout=30, argv=None):
    raise OSError("no process is started here")

def execute_test_harness(setup_code, solution_code, test_code, timeout=30, argv=None):
    combined = "\\n\\n".join([setup_code, solution_code, test_code])
    return execute_code(combined, timeout=timeout, argv=argv)
"""
SPY = """
import statistics
seen, plain = [], statistics.fmean
def spy(*a):
    seen.append(list(map(list, a)))
    return plain(*a)
statistics.fmean = spy
"""
TEST = "assert seen, 'solution did not call it'\nassert mean == 2.0, mean"
ARGV = "import sys\nassert sys.argv[1:] == ['--five']"
RIGHT = "mean = fmean(numbers)"


def task(name, **changes):
    harness = {"setup_code": SPY, "execution_test": TEST, "mock_test": "1 / 0"}
    return {"task_id": name, "api_name": "statistics.fmean", "library": "statistics", "domain": "d",
            "difficulty": "easy", "description": "Put their mean into `mean`.",
            "context_code": "numbers = [1, 2, 3]", "masked_region": RIGHT,
            "reference_solution": f"numbers = [1, 2, 3]\n{RIGHT}",
            "test_harness": harness, **changes}  # fmt: skip


@pytest.fixture
def checkout(tmp_path):
    """A folder in the layout of the authors' repository."""
    root = tmp_path / "checkout"
    cli = {
        "setup_code": SPY,
        "execution_test": f"{TEST}\n{ARGV}",
    }
    lines = {
        "tasks": [task("a"), task("out"), task("unknown"), task("cli", test_harness=cli),
                  task("other", library="ase", api_name="ase.Atoms")],
        "expected_calls": [
            {"task_id": n, "status": "ok", "expected": [{"kind": "call", "args": [[1, 2, 3]]}],
             "reference_source": "masked_region"} for n in ("a", "out", "cli", "other")],
        "bundles": [{"api_name": "statistics.fmean", "s_name": "statistics.fmean",
                     "s_param": [{"name": "data", "default": 5}], "is_modified": True,
                     "examples": [{"code": "fmean([1])", "status": "executed"}],
                     "mechanism": {"text": "It adds up."}, "implementation": "def fmean(): ..."}],
    }  # fmt: skip
    files = {f"data/benchmark/{name}.jsonl": "".join(json.dumps(row) + "\n" for row in rows)
             for name, rows in lines.items()}  # fmt: skip
    files |= {"data/benchmark/excluded_tasks.tsv": "task_id\treason\nout\tunsolved\n",
              "data/benchmark/instances/tiny.txt": "a\nother\n",
              "novelapibench/evaluation/harness.py": HARNESS,
              "novelapibench/evaluation/call_check.py": CALLS,
              "novelapibench/runtime/sandbox.py": RUNNER}  # fmt: skip
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return root


def run(checkout, out, *more, ends=0):
    given = ["benchmark=novelapi", f"benchmark.path={checkout}", "benchmark.libraries=[statistics]",
             f"out={out}"]  # fmt: skip
    assert main([*given, *more]) == ends
    rows = map(json.loads, (out / "results.jsonl").read_text().splitlines())
    return {row["question_id"]: row for row in rows}


@pytest.mark.long
def test_the_reference_passes(checkout, tmp_path):
    rows = run(checkout, tmp_path / "out", "system=oracle")
    assert {name: row["passed"] for name, row in rows.items() if name != "unknown"} == {
        name: {"completion": True} for name in ("a", "cli")
    }


#: Completion -> why it does not pass.
COMPLETIONS = {
    RIGHT: None,
    "from statistics import fmean as f\nmean = f([1, 2, 3])": None,
    "mean = 2.0": "AssertionError: solution did not call it",
    "mean = fmean([2, 2])": "AssertionError: no such call",
    "mean = fmean(4)": "TypeError",
    "raise SystemExit(0)": "SystemExit",
    "import os; os._exit(0)": "no_result",
    "while True: pass": "timeout",
    "mean =": "the reply holds no Python",
}


@pytest.mark.parametrize("calls", [True, False])
@pytest.mark.long
def test_a_completion_is_judged_as_published(checkout, tmp_path, httpserver, calls):
    expected = [{"kind": "call", "args": [[1, 2, 3]]}]
    tasks = [task(str(n), description=f"Case {n}.") for n, _ in enumerate(COMPLETIONS)]
    records = [{"task_id": one["task_id"], "status": "ok", "expected": expected} for one in tasks]
    for name, rows in (("tasks", tasks), ("expected_calls", records)):
        file = checkout / f"data/benchmark/{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def play(body):
        case = int(re.search(r"Case (\d+)", body["messages"][-1]["content"])[1])
        return text(f"```python\n{list(COMPLETIONS)[case]}\n```")

    made = Endpoint(httpserver).play(play)
    rows = run(checkout, tmp_path / "out", f"benchmark.calls={calls}", "model=openai",
               "model.name=m", f"model.base_url={made.url}", "model.cache=false",
               "sandbox.timeout=5")  # fmt: skip
    for case, (completion, reason) in enumerate(COMPLETIONS.items()):
        said = rows[str(case)]["reasons"].get("completion")
        passes = reason is None or (not calls and "[2, 2]" in completion)
        assert said is None if passes else reason in said, completion


def test_a_harness_that_fails_is_no_failure_of_the_completion(checkout, tmp_path):
    (checkout / "novelapibench/evaluation/call_check.py").write_text("def build_test(*_): 1 / 0")
    row = run(checkout, tmp_path / "out", "system=oracle", "ids=[a]", ends=1)["a"]
    assert row["passed"] is None
    assert "the authors' harness" in row["error"]


def test_what_is_chosen_and_shown(checkout):
    def loaded(**keys):
        benchmark = NovelApiBenchmark(str(checkout), libraries=("statistics",), **keys)
        return {sample.question.id: sample for sample in benchmark.load()}

    samples = loaded(knowledge="S+E")
    assert {name: s.unavailable is None for name, s in samples.items()} == {
        "a": True, "unknown": False, "cli": True}  # fmt: skip
    shown = samples["a"].question.prompt
    assert all(part in shown for part in ("- data = 5", "fmean([1])", "numbers = [1, 2, 3]"))
    assert not any(part in shown for part in ("It adds up", "def fmean", RIGHT))
    assert samples["a"].labels["novelty"] == "changed"
    assert "It adds up" in loaded(knowledge="Full")["a"].question.prompt
    assert loaded(calls=False)["unknown"].unavailable is None
    assert set(loaded(instance="tiny")) == {"a"}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"libraries": ["numpy"]}, "there are ase, statistics"),
        ({"instance": "x"}, "choose one of tiny"),
        ({"instance": "../instances/tiny"}, "choose one of tiny"),
        ({"path": None}, "CHECKOUT"),
        ({"path": "nowhere"}, "no data/benchmark/tasks.jsonl"),
    ],
)
def test_a_mistake_is_named(checkout, keys, said):
    with pytest.raises(ReleaseError, match=said):
        NovelApiBenchmark(**{"path": str(checkout), "libraries": ("statistics",), **keys}).load()


def test_a_broken_line_is_named(checkout):
    (checkout / "data/benchmark/tasks.jsonl").write_text('{"task_id": "a"}\n')
    with pytest.raises(ReleaseError, match=r"tasks.jsonl:1: an entry lacks api_name"):
        NovelApiBenchmark(str(checkout)).load()


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        (
            "```python\nx = 1\n```\n```python\nx = 1\ny = 2\n```",
            Reading("x = 1\ny = 2\n", "strict"),
        ),
        ("```\nx = 1\n```", Reading("x = 1\n", "repaired")),
        ("x = 1", Reading("x = 1", "repaired")),
        ("<think>```python\nx = 1\n```</think> No.", None),
        ("```python\nx = \n```", None),
        ("```python\n" + "(" * 50_000 + "\n```", None),
    ],
)
def test_the_longest_python_is_read(reply, read):
    assert Completion().read(reply) == read
