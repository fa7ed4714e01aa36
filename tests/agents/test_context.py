"""A prompt beyond the model's window is a wrong answer, not a failed endpoint."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import HumanMessage
from pytest_httpserver import HTTPServer
from werkzeug import Response

from agents.models import ContextError, ModelError, build_model
from experiments.rows import read_rows
from experiments.run import main
from tests.agents.test_reply_faults import config
from tests.endpoint import Endpoint
from tests.experiments.test_kinds_of_answers import command

ASKED = [HumanMessage("word " * 2000)]
SAYINGS = [
    (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "9000 tokens. Please reduce the length of the messages."
    ),
    "the request exceeds the available context size, try increasing it",
    "prompt is too long: 200001 tokens > 200000 maximum",
    "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
    (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
        "context length"
    ),
    "Input is too long for requested model.",
]


def refused(text: str, code: int = 400) -> Response:
    body = {"error": {"message": text, "type": "invalid_request_error"}}
    return Response(json.dumps(body), status=code, content_type="application/json")


@pytest.mark.parametrize("saying", SAYINGS)
async def test_what_endpoints_say_about_a_prompt_that_is_too_long(httpserver: HTTPServer, saying):
    model = build_model(config(Endpoint(httpserver).play(refused(saying))))
    with pytest.raises(ContextError, match=saying.split(":", maxsplit=1)[0][:20]):
        await model.ask(ASKED, sample="0")


@pytest.mark.parametrize("saying", [
    ("'max_tokens' is too large: 90000. This model's maximum context length is 8192 tokens and "
    "your request has 12 input tokens"),
    "the context is fine, the image is not", "Invalid value for 'temperature'",
])  # fmt: skip
async def test_other_errors_are_still_failures(httpserver: HTTPServer, saying):
    model = build_model(config(Endpoint(httpserver).play(refused(saying))))
    with pytest.raises(ModelError) as caught:
        await model.ask(ASKED, sample="0")
    assert not isinstance(caught.value, ContextError)


async def test_a_limit_of_tokens_per_minute_is_no_window(httpserver: HTTPServer):
    limited = refused("Request too large: maximum context length in a minute", 429)
    model = build_model(config(Endpoint(httpserver).play(limited)))
    with pytest.raises(ModelError) as caught:
        await model.ask(ASKED, sample="0")
    assert not isinstance(caught.value, ContextError)


async def test_it_replays_as_what_it_was(httpserver: HTTPServer, tmp_path):
    endpoint = Endpoint(httpserver).play(refused(SAYINGS[0]))
    live = build_model(config(endpoint, record=tmp_path / "t.jsonl"))
    with pytest.raises(ContextError):
        await live.ask(ASKED, sample="0")
    with pytest.raises(ContextError):
        await build_model(config(endpoint, replay=tmp_path / "t.jsonl")).ask(ASKED, sample="0")


async def test_beyond_the_configured_window_nothing_is_sent(httpserver: HTTPServer):
    endpoint = Endpoint(httpserver)
    model = build_model(config(endpoint, context_tokens=1000))
    with pytest.raises(ContextError, match=r"model\.context_tokens=1000"):
        await model.ask(ASKED, sample="0")
    assert endpoint.bodies == []
    assert (await model.ask([HumanMessage("short")], sample="0")).text == "hi"


def test_in_a_run_it_is_scored_and_counted(httpserver: HTTPServer, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    endpoint = Endpoint(httpserver).play(refused(SAYINGS[0]))
    assert main(command("Objects", endpoint.url, tmp_path / "run", "model.cache=false")) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["answers"], summary["infra"], summary["metrics"][0]["sum"]) == (4, 0, 0)
    assert summary["reply_faults"] == {"context": 4}
    assert summary["stop_reasons"] == {"context": 4}
    rows = list(read_rows(tmp_path / "run" / "results.jsonl"))
    assert {row.fault for row in rows} == {"context"}
    assert "maximum context length" in rows[0].error
