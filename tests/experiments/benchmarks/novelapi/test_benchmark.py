"""NovelAPIBench out of a checkout: a made one of the same form, with a harness of its own."""

import json
import re

import pytest

from agents.answer_formats import Reading
from experiments.benchmarks.novelapi.benchmark import Completion, novelapi
from experiments.benchmarks.release import ReleaseError
from experiments.command import main
from tests.support.endpoint import Endpoint, text
from tests.support.novelapi import TABLES, task, write, write_checkout

COMPLETIONS = TABLES["completions"]


@pytest.fixture
def checkout(tmp_path):
    return write_checkout(tmp_path)


def run(checkout, out, *more, ends=0):
    given = [
        "benchmark=novelapi",
        f"benchmark.path={checkout}",
        "benchmark.libraries=[statistics]",
        f"out={out}",
    ]
    assert main([*given, *more]) == ends
    rows = map(json.loads, (out / "results.jsonl").read_text().splitlines())
    return {row["question_id"]: row for row in rows}


@pytest.mark.long
def test_the_reference_passes(checkout, tmp_path):
    rows = run(checkout, tmp_path / "out", "system=oracle")
    assert {name: row["passed"] for name, row in rows.items() if name != "unknown"} == {
        name: {"completion": True} for name in ("a", "cli")
    }


@pytest.mark.parametrize("calls", [True, False])
@pytest.mark.long
def test_a_completion_is_judged_as_published(checkout, tmp_path, httpserver, calls):
    tasks = [task(str(n), description=f"Case {n}.") for n, _ in enumerate(COMPLETIONS)]
    records = [{"task_id": one["task_id"], **TABLES["call"]} for one in tasks]
    write(checkout, tasks=tasks, expected_calls=records)

    def play(body):
        case = int(re.search(r"Case (\d+)", body["messages"][-1]["content"])[1])
        return text(f"```python\n{list(COMPLETIONS)[case]}\n```")

    made = Endpoint(httpserver).play(play)
    rows = run(
        checkout,
        tmp_path / "out",
        f"benchmark.calls={calls}",
        "model=openai",
        "model.name=m",
        f"model.base_url={made.url}",
        "model.cache=false",
        "sandbox.timeout=5",
    )
    for case, (completion, reason) in enumerate(COMPLETIONS.items()):
        said = rows[str(case)]["reasons"].get("completion")
        passes = reason is None or (not calls and "[2, 2]" in completion)
        assert said is None if passes else reason in said, completion


@pytest.mark.long
def test_a_harness_that_fails_is_no_failure_of_the_completion(checkout, tmp_path):
    (checkout / "novelapibench/evaluation/call_check.py").write_text(
        "def build_test(*_): 1 / 0"
    )
    row = run(checkout, tmp_path / "out", "system=oracle", "ids=[a]", ends=1)["a"]
    assert row["passed"] is None
    assert row["ending"]["kind"] == "infrastructure"
    assert "check.check fails without the answer, too" in row["ending"]["message"]


def test_what_is_chosen_and_shown(checkout):
    def loaded(**keys):
        benchmark = novelapi(str(checkout), libraries=("statistics",), **keys)
        return {sample.question.id: sample for sample in benchmark.load()}

    samples = loaded(knowledge="S+E")
    assert {name: s.unavailable is None for name, s in samples.items()} == {
        "a": True,
        "unknown": False,
        "cli": True,
    }
    shown = samples["a"].question.prompt
    assert all(
        part in shown for part in ("- data = 5", "fmean([1])", "numbers = [1, 2, 3]")
    )
    assert not any(
        part in shown for part in ("It adds up", "def fmean", "fmean(numbers)")
    )
    assert samples["a"].labels["novelty"] == "changed"
    assert "It adds up" in loaded(knowledge="Full")["a"].question.prompt
    assert loaded(calls=False)["unknown"].unavailable is None
    assert set(loaded(instance="tiny")) == {"a"}


@pytest.mark.parametrize(("keys", "said"), TABLES["mistakes"])
def test_a_mistake_is_named(checkout, keys, said):
    with pytest.raises(ReleaseError, match=said):
        novelapi(**{"path": str(checkout), "libraries": ("statistics",), **keys}).load()
    write(checkout, tasks=[{"task_id": "a"}])
    with pytest.raises(ReleaseError, match=r"tasks.jsonl:1: an entry lacks api_name"):
        novelapi(str(checkout)).load()


@pytest.mark.parametrize(
    ("reply", "read"),
    [*TABLES["replies"], ("```python\n" + "(" * 50_000 + "\n```", None)],
)
def test_the_longest_python_is_read(reply, read):
    assert Completion().read(reply) == (read and Reading(*read))
