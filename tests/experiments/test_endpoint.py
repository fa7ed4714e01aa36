"""What an endpoint can do to a run: every misbehaviour is a recorded outcome, the run goes on."""

import threading

import pytest
from rich.console import Console

from experiments.report import print_table
from experiments.run.config import validate
from experiments.run.rows import read_rows
from tests.endpoint import Endpoint, cut_off, refusal, status, text
from tests.experiments.test_run import run
from tests.experiments.tiny import CODE

GOOD = "<answer><code>```python\n{code}```</code><name>answer</name></answer>"


@pytest.fixture
def endpoint(httpserver):
    """Behaves by question: see the answers below."""
    release = threading.Event()
    mood = {"well": False}
    useless = iter([cut_off("\u0000{{{ lorem ipsum"), refusal()])

    def answer(body):
        asked = str(body["messages"])
        question = next(key for key in CODE if f"Question {key} " in asked)
        if mood["well"] or question == "cubic":
            return text(GOOD.format(code=CODE["cubic"]))
        if question == "formula":
            return next(useless)
        if question == "lists":
            return text(f"Sure!\n```python\n{CODE['lists']}```\n")
        if question == "loop":
            return status(429, "slow down", retry_after="0")
        if question == "plain":
            return status(500, "<html>oops</html>")
        release.wait(20)
        return text("too late")

    played = Endpoint(httpserver).play(answer)

    def recover():
        mood["well"] = True
        release.set()  # the server answers one request at a time: nothing may hang in it

    yield played.url, recover
    release.set()


@pytest.mark.long
async def test_misbehaviour_is_recorded_and_the_run_goes_on(endpoint, tmp_path, configure):
    url, recover = endpoint
    model = {"provider": "openai", "name": "m", "base_url": url, "timeout": 1, "max_retries": 1,
             "cache": False, "price": {"prompt": 1.0, "completion": 2.0}}  # fmt: skip
    plain = configure().plain() | {"model": model}
    plain["system"] = {"_target_": "agents.systems.single.Single", "name": "single"}
    config = validate(plain)
    folder, summary, _ = await run(config)
    rows = {row.question_id: row for row in read_rows(folder / "results.jsonl")}
    assert {key: row.stop_reason for key, row in rows.items()} == {
        "cubic": "answered",
        "formula": "format_error",
        "lists": "answered",
        "loop": "model_error",
        "plain": "model_error",
        "words": "model_error",
    }
    assert rows["cubic"].all_correct
    assert rows["lists"].format_status == "repaired"
    assert rows["lists"].all_correct
    assert (rows["formula"].outcome, rows["formula"].values) == ("no_code", {"runnable": 0.0})
    assert rows["formula"].calls == 2
    assert rows["formula"].fault == "refusal"
    assert "refused" in rows["formula"].reasons["reduced"]
    assert summary["reply_faults"] == {"length": 1, "refusal": 1}
    shown = Console(record=True, width=100)
    print_table([folder], shown)
    assert "replies that are not answers: length 1, refusal 1" in shown.export_text()
    for question in ("loop", "plain", "words"):
        assert rows[question].values == {}
        assert rows[question].error
    assert (summary["answers"], summary["infra"], summary["complete"]) == (3, 3, False)
    assert summary["model_kind"] == "LLM"
    assert summary["cost_usd"] == pytest.approx(4 * (7 * 1 + 3 * 2) / 1e6, abs=1e-6)

    recover()
    _, summary, _ = await run(config)
    assert (summary["answers"], summary["infra"], summary["complete"]) == (6, 0, True)
    assert summary["calls"] == 7
