"""What an endpoint can do to a run: every misbehaviour is a recorded outcome, the run goes on."""

import json
import threading

import pytest
from werkzeug import Request, Response

from experiments.config import validate
from experiments.store import read_rows
from tests.experiments.test_run import run
from tests.experiments.tiny import CODE

GOOD = "<answer><code>```python\n{code}```</code><name>answer</name></answer>"


def completion(text):
    body = {
        "id": "1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop",
                     "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }  # fmt: skip
    return Response(json.dumps(body), content_type="application/json")


@pytest.fixture
def endpoint(httpserver, monkeypatch):
    """Behaves by question: see the answers below."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    release = threading.Event()
    mood = {"well": False}
    useless = iter(["", "\u0000{{{ <answer><code> lorem ipsum"])  # nothing, then garbage

    def answer(request: Request) -> Response:
        text = request.get_data(as_text=True)
        question = next(key for key in CODE if f"Question {key} " in text)
        if mood["well"] or question == "cubic":
            return completion(GOOD.format(code=CODE["cubic"]))
        if question == "formula":
            return completion(next(useless))
        if question == "lists":
            return completion(f"Sure!\n```python\n{CODE['lists']}```\n")
        if question == "loop":
            return Response("slow down", status=429, headers={"retry-after": "0"})
        if question == "plain":
            return Response("<html>oops</html>", status=500)
        release.wait(20)
        return completion("too late")

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)

    def recover() -> None:
        mood["well"] = True
        release.set()  # the server answers one request at a time: nothing may hang in it

    yield httpserver.url_for("/v1"), recover
    release.set()


@pytest.mark.long
async def test_misbehaviour_is_recorded_and_the_run_goes_on(endpoint, tmp_path, configure):
    url, recover = endpoint
    model = {"provider": "openai", "name": "m", "base_url": url, "timeout": 1, "max_retries": 1,
             "cache": False, "price": {"prompt": 1.0, "completion": 2.0}}  # fmt: skip
    plain = configure().plain() | {"model": model}
    plain["system"] = {"_target_": "agents.single.Single", "name": "single"}
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
    assert rows["cubic"].whole
    assert rows["lists"].format_status == "repaired"
    assert rows["lists"].whole
    assert (rows["formula"].outcome, rows["formula"].runnable) == ("no_code", False)
    assert rows["formula"].calls == 2
    for question in ("loop", "plain", "words"):
        assert rows[question].runnable is None
        assert rows[question].error
    assert (summary["answers"], summary["infra"], summary["complete"]) == (3, 3, False)
    assert summary["model_kind"] == "LLM"
    assert summary["cost_usd"] == pytest.approx(4 * (7 * 1 + 3 * 2) / 1e6, abs=1e-6)

    recover()
    _, summary, _ = await run(config)
    assert (summary["answers"], summary["infra"], summary["complete"]) == (6, 0, True)
    assert summary["calls"] == 7
