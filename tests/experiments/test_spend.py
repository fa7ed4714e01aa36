"""What a run spends: one event loop, budgets, and answers that are not finished."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import HumanMessage
from werkzeug import Response

from agents.base import Question, Step, StopReason, Trajectory
from agents.episode import Episode, Parts, run_episode
from experiments.rows import read_rows
from experiments.run import main
from experiments.samples import Sample
from experiments.scorers.properties import PropertyScorer
from indexes import build
from retrieval import evaluate
from sandbox.environments import cache_folder
from tests.agents.scripted import code_reply
from tests.endpoint import Body, Endpoint, KeepAlive, text

CODE = code_reply("return {'volume': 64.0}")
TINY = [
    "benchmark._target_=tests.experiments.tiny.TinyBenchmark",
    "benchmark.name=tiny",
    "sandbox.timeout=3",
    "retrieval=none",
    "limit=2",
]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with KeepAlive() as server:
        yield Endpoint(server).play(CODE)


@pytest.fixture
def real(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Arguments of a run with a real client, whose endpoint is on loopback."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    out = tmp_path / "run"
    return [*TINY, "model=openai", "model.name=local", f"model.base_url={endpoint.url}",
            "model.cache=false", f"out={out}"]  # fmt: skip


def test_every_run_of_a_sweep_has_its_answers(
    real: list[str], endpoint: Endpoint, tmp_path: Path
) -> None:
    assert main([*real, "-m", "system=single,resample"]) == 0
    rows = [row for path in tmp_path.rglob("results.jsonl") for row in read_rows(path)]
    assert len(rows) == 4
    assert [row.error for row in rows] == [None] * 4
    assert len(endpoint.requests) >= 4


def test_a_limit_in_dollars_without_a_price_is_refused_at_the_start(
    real: list[str], endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    for group in ("budget", "run_budget"):
        assert main([*real, "system=single", f"{group}.cost_usd=1"]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert f"{group}.cost_usd=1.0: the price of local is unknown" in said
        assert "model.price='{prompt: USD, completion: USD}'" in said
    assert endpoint.requests == []
    price = "model.price={prompt: 1, completion: 2}"
    assert main([*real, "system=single", "budget.cost_usd=1", price, "limit=1"]) == 0


def test_what_a_limit_ended_is_not_finished_and_waits_for_a_higher_limit(
    real: list[str], endpoint: Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint.play("no code here")
    command = [*real, "system=single", "concurrency=1"]
    assert main([*command, "budget.calls=1"]) == 1
    assert "not finished: 2 questions" in capsys.readouterr().out.splitlines()[-1]
    rows = list(read_rows(tmp_path / "run" / "results.jsonl"))
    assert {row.outcome for row in rows} == {"not_finished"}
    assert [(row.passed, row.values, row.calls, row.limit) for row in rows] == [
        (None, {}, 1, ("calls", 1.0))
    ] * 2
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["not_finished"], summary["answers"], summary["infra"]) == (2, 0, 0)
    assert summary["limits"] == {"budget.calls of 1 is used up": 2}
    stored = json.loads((tmp_path / "run" / "trajectories" / "cubic-0.json").read_text())
    assert "no code here" in json.dumps(stored["steps"])

    assert main([*command, "budget.calls=1"]) == 1  # the same limit: nothing is spent again
    assert len(endpoint.requests) == 2
    endpoint.play("no code here", CODE)
    assert main([*command, "budget.calls=3"]) == 0
    latest = {r.question_id: r for r in read_rows(tmp_path / "run" / "results.jsonl")}
    assert [row.calls for row in latest.values()] == [2, 1]
    assert all(row.scored for row in latest.values())


def test_a_reply_without_usage_ends_the_question_and_is_no_score(
    real: list[str], endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.play(text("no code", usage=None))
    price = "model.price={prompt: 1, completion: 2}"
    assert main([*real, "system=single", "budget.cost_usd=1", price, "limit=1"]) == 1
    (row,) = read_rows(tmp_path / "run" / "results.jsonl")
    assert row.limit == ("cost_usd", 1.0)
    assert "the endpoint reported no usage" in (row.error or "")
    assert row.cost_usd is None


def test_the_last_line_says_when_the_budget_of_the_run_ended_it(
    real: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = [*real, "system=single", "concurrency=1", "run_budget.calls=1"]
    assert main(command) == 1
    assert "stopped: run_budget.calls of 1 is used up" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.long
def test_what_documentation_costs_is_in_the_summary_and_in_the_limits(
    real: list[str], endpoint: Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(body: Body) -> Response:
        return text("## What it does\nA thing.\n" if "<symbol>" in str(body) else CODE)

    endpoint.play(answer)
    words = [
        "model.price={prompt: 1000, completion: 0}", f"model.name=local-{uuid4()}", "writer=model",
        "system=rag", "+benchmark.packages=[latexcodec]", "limit=1",
    ]  # fmt: skip
    command = [*(word for word in real if word != "retrieval=none"), "retrieval=llm_doc", *words]
    assert main([*command, "run_budget.calls=3"]) == 2
    assert "run_budget.calls of 3 is used up" in capsys.readouterr().err
    assert 3 <= len(endpoint.requests) < 3 + 8  # what was in flight
    assert main(command) == 0
    first = json.loads((tmp_path / "run" / "summary.json").read_text())
    documents = sum("<symbol>" in prompt for prompt in endpoint.prompts)
    spent = first["outside"]["documentation"]
    assert (spent["writer"], spent["calls"], first["calls"]) == ("model", documents, 1)
    assert spent["cost_usd"] == pytest.approx(documents * 7e-3)
    assert main(command) == 0  # nothing more is spent, and nothing is forgotten
    again = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert again["outside"] == first["outside"]


class Hostile:
    """A value that cannot be shown."""

    def __repr__(self) -> str:
        raise ValueError("Exceeds the limit for integer string conversion")


class Raises:
    """A system whose answers break one part each: the agent after a call, the record."""

    name = "raises"
    uses_retrieval = False

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """See :class:`agents.base.Agent`."""

        async def steps(episode: Episode) -> StopReason:
            await episode.draft([HumanMessage(question.prompt)])
            if question.id == "formula":
                raise RuntimeError("a planted bug")
            if question.id == "cubic":
                episode.steps.append(Step("execute", {"result": Hostile()}))
            return "answered"

        return await run_episode(self.parts, question, seed, steps)


def test_what_an_answer_breaks_belongs_to_it_and_costs_what_it_cost(
    real: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = PropertyScorer.score

    async def broken(scorer: PropertyScorer, task: Sample, *rest: Any) -> Any:
        if task.question.id == "lists":
            raise RecursionError("nested too deeply")
        return await score(scorer, task, *rest)

    monkeypatch.setattr(PropertyScorer, "score", broken)
    system = ["system._target_=tests.experiments.test_spend.Raises", "system.name=raises"]
    command = [*real, "system=single", *system, "limit=6"]
    assert main(command) == 1
    rows = {row.question_id: row for row in read_rows(tmp_path / "run" / "results.jsonl")}
    assert len(rows) == 6
    for name, told in {
        "formula": "a planted bug",
        "cubic": "integer string conversion",
        "lists": "nested too deeply",
    }.items():
        row = rows[name]
        assert (row.outcome, row.passed, row.calls) == ("infra", None, 1), name
        assert told in (row.error or "")
        stored = json.loads((tmp_path / "run" / "trajectories" / f"{name}-0.json").read_text())
        assert "Traceback" in stored["error"]
    assert [rows[name].scored for name in ("loop", "plain", "words")] == [True] * 3
    assert main(command) == 1  # and none of them stops a resume
    assert len(list(read_rows(tmp_path / "run" / "results.jsonl"))) == 9


def test_an_unknown_id_is_answered_with_those_near_it(
    real: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*real, "system=single", "ids=[cubics]"]) == 2
    assert "ids=cubics: no such question of 6; near: cubic\n" in capsys.readouterr().err


def test_a_home_folder_is_one_cache_for_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MATSMITH_CACHE", "~/kept")
    assert cache_folder() == tmp_path / "kept"
    assert {module.cache_folder for module in (build, evaluate)} == {cache_folder}
