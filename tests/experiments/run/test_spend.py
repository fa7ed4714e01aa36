"""What a run spends: one event loop, budgets, and answers that are not finished."""

import json
import re
from uuid import uuid4

import pytest

from agents.base import Step, StopReason
from agents.episode import Episode, System
from agents.models import Message
from agents.models.recordings import SHIPPED, read_exchanges
from experiments.command import main
from experiments.files import read_json
from experiments.record import read_rows
from experiments.run.config import read_run
from experiments.run.loop import from_recordings
from experiments.scorers.properties import PropertyScorer
from tests.support.endpoint import Endpoint, KeepAlive, text
from tests.support.runs import openai
from tests.support.scripted import code_reply

CODE = code_reply("return {'volume': 64.0}")
TINY = [
    "benchmark._target_=tests.support.tiny.TinyBenchmark",
    "benchmark.name=tiny",
    "sandbox.timeout=3",
    "retrieval=none",
    "limit=2",
]


@pytest.fixture
def endpoint():
    with KeepAlive() as server:
        yield Endpoint(server).play(CODE)


@pytest.fixture
def real(endpoint, monkeypatch, tmp_path):
    """Arguments of a run with a real client, whose endpoint is on loopback."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    model = openai(endpoint.url, "model.name=local")
    return [*TINY, *model, f"out={tmp_path / 'run'}"]


def rows_of(out):
    return list(read_rows(out / "run" / "results.jsonl"))


def summary_of(out):
    return read_json(out / "run" / "summary.json")


@pytest.mark.long
def test_every_run_of_a_sweep_has_its_answers(real, endpoint, tmp_path):
    assert main([*real, "-m", "system=single,resample"]) == 0
    rows = [row for path in tmp_path.rglob("results.jsonl") for row in read_rows(path)]
    assert [row.error for row in rows] == [None] * 4
    assert len(endpoint.requests) >= 4


def test_a_limit_in_dollars_without_a_price_is_refused_at_the_start(
    real, endpoint, capsys
):
    for group in ("budget", "run_budget"):
        assert main([*real, "system=single", f"{group}.cost_usd=1"]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert f"{group}.cost_usd=1.0: the price of local is unknown" in said
        assert "model.price='{prompt: USD, completion: USD}'" in said
    assert endpoint.requests == []
    price = "model.price={prompt: 1, completion: 2}"
    assert main([*real, "system=single", "budget.cost_usd=1", price, "limit=1"]) == 0


@pytest.mark.long
def test_what_a_limit_ended_is_not_finished_and_waits_for_a_higher_limit(
    real, endpoint, tmp_path, capsys
):
    endpoint.play("no code here")
    command = [*real, "system=single", "concurrency=1"]
    assert main([*command, "budget.calls=1"]) == 1
    assert "not finished: 2 questions" in capsys.readouterr().out.splitlines()[-1]
    assert [
        (r.outcome, r.passed, r.values, r.calls, r.ending.limit)
        for r in rows_of(tmp_path)
    ] == [("not_finished", None, {}, 1, ("calls", 1.0))] * 2
    summary = summary_of(tmp_path)
    assert (summary["not_finished"], summary["answers"], summary["infra"]) == (2, 0, 0)
    assert summary["limits"] == {"budget.calls of 1 is used up": 2}
    stored = read_json(tmp_path / "run" / "trajectories" / "cubic-0.json")
    assert "no code here" in json.dumps(stored["steps"])

    assert (
        main([*command, "budget.calls=1"]) == 1
    )  # the same limit: nothing is spent again
    assert len(endpoint.requests) == 2
    endpoint.play("no code here", CODE)
    assert main([*command, "budget.calls=3"]) == 0
    latest = {row.question_id: row for row in rows_of(tmp_path)}
    assert [row.calls for row in latest.values()] == [2, 1]
    assert all(row.scored for row in latest.values())


def test_a_reply_without_usage_ends_the_question_and_is_no_score(
    real, endpoint, tmp_path
):
    endpoint.play(text("no code", usage=None))
    price = "model.price={prompt: 1, completion: 2}"
    assert main([*real, "system=single", "budget.cost_usd=1", price, "limit=1"]) == 1
    (row,) = rows_of(tmp_path)
    assert (row.ending.limit, row.cost_usd, row.passed) == (
        ("cost_usd", 1.0),
        None,
        None,
    )
    assert "the endpoint reported no usage" in (row.error or "")


@pytest.mark.long
def test_what_documentation_costs_is_in_the_summary_and_in_the_limits(
    real, endpoint, tmp_path, capsys
):
    def answer(body):
        return text("## What it does\nA thing.\n" if "<symbol>" in str(body) else CODE)

    endpoint.play(answer)
    words = [
        "model.price={prompt: 1000, completion: 0}",
        f"model.name=local-{uuid4()}",
        "writer=model",
        "system=rag",
        "+benchmark.packages=[latexcodec]",
        "limit=1",
    ]
    command = [
        *(word for word in real if word != "retrieval=none"),
        "retrieval=llm_doc",
        *words,
    ]
    assert main([*command, "run_budget.calls=3"]) == 2
    assert "run_budget.calls of 3 is used up" in capsys.readouterr().err
    assert 3 <= len(endpoint.requests) < 3 + 8  # what was in flight
    assert main(command) == 0
    first = summary_of(tmp_path)
    documents = sum("<symbol>" in prompt for prompt in endpoint.prompts)
    spent = first["outside"]["documentation"]
    assert (spent["writer"], spent["calls"], first["calls"]) == ("model", documents, 1)
    assert spent["cost_usd"] == pytest.approx(documents * 7e-3)
    assert main(command) == 0  # nothing more is spent, and nothing is forgotten
    assert summary_of(tmp_path)["outside"] == first["outside"]


SECRET = "4711-part-of-a-reply"


class Hostile:
    """A value that cannot be shown."""

    def __repr__(self) -> str:
        raise ValueError("Exceeds the limit for integer string conversion")


class Raises(System):
    """A system whose answers break one part each: the agent after a call, the record."""

    name = "raises"
    uses_retrieval = False

    async def _steps(self, episode: Episode) -> StopReason:
        question = episode.question
        await episode.draft([Message("user", question.prompt)])
        if question.id == "formula":
            try:
                int(SECRET)
            except ValueError as error:
                raise RuntimeError(f"a planted bug: {SECRET}") from error
        if question.id == "cubic":
            episode.steps.append(Step("execute", {"result": Hostile()}))
        return "answered"


@pytest.mark.long
def test_what_an_answer_breaks_belongs_to_it_and_costs_what_it_cost(
    real, tmp_path, monkeypatch
):
    score = PropertyScorer.score

    async def broken(scorer, task, *rest):
        if task.question.id == "lists":
            raise RecursionError(f"nested too deeply: {SECRET}")
        return await score(scorer, task, *rest)

    monkeypatch.setattr(PropertyScorer, "score", broken)
    system = [
        "system._target_=tests.experiments.run.test_spend.Raises",
        "system.name=raises",
    ]
    command = [*real, "system=single", *system, "limit=6"]
    assert main(command) == 1
    rows = {row.question_id: row for row in rows_of(tmp_path)}
    assert len(rows) == 6
    for name, told in {
        "formula": "the agent failed: RuntimeError",
        "cubic": "the record failed: ValueError",
        "lists": "scoring failed: RecursionError",
    }.items():
        row = rows[name]
        assert (row.outcome, row.passed, row.calls) == ("infra", None, 1), name
        assert f"{told} in tests/experiments/run/test_spend.py:" in (row.error or "")
        assert (
            "experiments/run/answering.py:" in row.error
            or "agents/episode.py:" in row.error
        )
    for path in (tmp_path / "run").rglob("*"):
        kept = path.read_bytes() if path.is_file() else b""
        assert SECRET.encode() not in kept, path
        assert b"integer string conversion" not in kept, path
    assert [rows[name].scored for name in ("loop", "plain", "words")] == [True] * 3
    assert main(command) == 1  # and none of them stops a resume
    assert len(rows_of(tmp_path)) == 9


@pytest.mark.long
def test_what_a_run_will_cost_is_told_after_its_first_answers(real, capsys, tmp_path):
    priced = [
        *real,
        "system=single",
        "model.price={prompt: 1000, completion: 0}",
        "concurrency=1",
    ]
    assert main([*priced, "limit=6"]) == 0
    (line,) = (
        line for line in capsys.readouterr().out.splitlines() if "dollars" in line
    )
    each = sum(row.cost_usd or 0 for row in rows_of(tmp_path)[:3]) / 3
    assert line.startswith(f"about {3 * each:.2g} dollars, ")
    assert line.endswith("minutes for the other 3 answers (from the first 3)")
    assert main([*priced, "limit=6", "seeds=2"]) == 0  # in the same folder
    assert "for the other 6 answers (from the first 6)" in capsys.readouterr().out
    assert len(rows_of(tmp_path)) == 12
    assert main([*priced, "limit=1"]) == 0
    assert summary_of(tmp_path)["answers"] == 1


def test_recordings_foretell_a_model_with_a_price():
    words = ["system=tools", "benchmark=invented", "benchmark.seed=101", "model=openai"]
    config = read_run(
        [*words, "model.name=gpt-4o", "model.price={prompt: 0, completion: 1000}"]
    )
    line = from_recordings(config, 20)
    assert line is not None
    found = re.fullmatch(
        r"about (\S+) dollars for 20 answers, from the tokens of (\d+) .*", line
    )
    assert found is not None
    played = read_exchanges(SHIPPED / "invented-101.jsonl.gz")
    written = sum(one.reply["usage"][1] for one in played if one.system == "tools")
    assert float(found[1]) == pytest.approx(
        written * 1000 / 1e6, rel=0.02
    )  # twenty answers
    assert from_recordings(config, 0) is None
    plain = read_run(
        [*words, "model.name=gpt-4o", "model.base_url=http://localhost:1/v1"]
    )
    assert from_recordings(plain, 20) is None
