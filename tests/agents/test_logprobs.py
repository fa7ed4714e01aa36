"""Log-probabilities: of the first tokens of a reply, and of a given text."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from agents.models import ModelConfig, ModelError, build_model
from tests.agents.test_reply_faults import config
from tests.endpoint import Endpoint, message, refusing, status

ASKED = [HumanMessage("good, ok or bad?")]
TOP = [{"token": " good", "logprob": -0.5}, {"token": "ok", "logprob": -1.5}]


def judged(body: dict[str, Any]) -> Response:
    """A reply with log-probabilities where they were asked for."""
    response = message(" good")
    if body.get("logprobs"):
        plain = json.loads(response.get_data())
        first = {"token": " good", "logprob": -0.5, "top_logprobs": TOP[: body["top_logprobs"]]}
        plain["choices"][0]["logprobs"] = {"content": [first]}
        response = Response(json.dumps(plain), content_type="application/json")
    return response


async def test_alternatives_of_the_first_token_are_cached_recorded_and_replayed(
    httpserver: HTTPServer, tmp_path
):
    endpoint = Endpoint(httpserver).play(judged)
    kept = config(endpoint, record=tmp_path / "traffic.jsonl")
    model = build_model(kept, cache=tmp_path / "cache")
    plain = await model.ask(ASKED, sample="0")
    reply = await model.ask(ASKED, sample="0", logprobs=5)
    assert (plain.logprobs, reply.logprobs) == (None, ({" good": -0.5, "ok": -1.5},))
    assert [body.get("top_logprobs") for body in endpoint.bodies] == [None, 5]
    again = await model.ask(ASKED, sample="0", logprobs=5)
    assert again.cached
    assert again.logprobs == reply.logprobs
    replayed = build_model(config(endpoint, replay=tmp_path / "traffic.jsonl"))
    assert (await replayed.ask(ASKED, sample="0", logprobs=5)).logprobs == reply.logprobs
    assert len(endpoint.bodies) == 2


@pytest.mark.parametrize("play", ["good", refusing("logprobs", then="good")])
async def test_an_endpoint_without_them_answers_all_the_same(httpserver: HTTPServer, play):
    endpoint = Endpoint(httpserver).play(play)
    model = build_model(config(endpoint))
    replies = [await model.ask(ASKED, sample=str(n), logprobs=5) for n in range(2)]
    assert [(reply.text, reply.logprobs) for reply in replies] == [("good", None)] * 2
    assert len(endpoint.bodies) == (2 if isinstance(play, str) else 3)  # refused once, remembered


async def test_a_model_that_has_none_is_not_asked_for_them():
    model = build_model(ModelConfig(provider="rules", name="rules"))
    assert (await model.ask(ASKED, sample="0", logprobs=5)).logprobs is None
    assert (await model.read("some text")).tokens is None


class Completions:
    """``/v1/completions`` as told."""

    def __init__(self, server: HTTPServer, answer) -> None:
        self.bodies: list[dict[str, Any]] = []

        def handle(request: Request) -> Response:
            body = json.loads(request.get_data())
            self.bodies.append(body)
            said = answer(body)
            if isinstance(said, Response):
                return said
            whole = {"id": "c", "object": "text_completion", "created": 1, "model": "m",
                     "choices": [{"index": 0, "text": "x", "finish_reason": "length", **said}],
                     "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
            }  # fmt: skip
            return Response(json.dumps(whole), content_type="application/json")

        server.expect_request("/v1/completions", method="POST").respond_with_handler(handle)


def ranked(body):
    return {"prompt_logprobs": [None,
            {"7": {"logprob": -0.1, "rank": 1, "decoded_token": "b"}},
            {"9": {"logprob": -9.0, "rank": 4711, "decoded_token": "c"},
             "1": {"logprob": -0.2, "rank": 1, "decoded_token": "z"}}]}  # fmt: skip


def echoed(body):
    if "prompt_logprobs" in body:
        return Response(json.dumps({"error": {"message": "unknown argument"}}), status=400)
    top = {f"t{n}": -float(n) for n in range(1, 6)}
    return {"logprobs": {"tokens": ["a", "b", "c", "x"], "text_offset": [0, 1, 2, 3],
                         "token_logprobs": [None, -2.0, -30.0, -1.0],
                         "top_logprobs": [None, top, top | {"c": -30.0}, top]}}  # fmt: skip


async def test_every_token_of_a_text_has_its_rank(httpserver: HTTPServer, tmp_path):
    completions = Completions(httpserver, ranked)
    kept = config(Endpoint(httpserver), record=tmp_path / "t.jsonl")
    model = build_model(kept, cache=tmp_path / "cache")
    reply = await model.read("abc")
    assert [(t.text, t.logprob, t.rank) for t in reply.tokens] == [
        ("b", -0.1, 1),
        ("c", -9.0, 4711),
    ]
    assert reply.usage.prompt_tokens == 3
    assert (await model.read("abc")).cached
    assert completions.bodies[0]["prompt"] == "abc"
    assert len(completions.bodies) == 1
    replayed = build_model(config(Endpoint(httpserver), replay=tmp_path / "t.jsonl"))
    assert (await replayed.read("abc")).tokens == reply.tokens


async def test_with_echo_a_rank_below_the_alternatives_is_unknown(httpserver: HTTPServer):
    completions = Completions(httpserver, echoed)
    reply = await build_model(config(Endpoint(httpserver))).read("abc")
    assert [(t.text, t.logprob, t.rank) for t in reply.tokens] == [
        ("b", -2.0, 2),
        ("c", -30.0, None),
    ]
    assert len(completions.bodies) == 2


@pytest.mark.parametrize("said", [
    {}, {"logprobs": None}, {"prompt_logprobs": [None]}, {"prompt_logprobs": [None, {}]},
    {"prompt_logprobs": [None, {"7": {"logprob": math.nan, "rank": 1, "decoded_token": "b"}}]},
    {"logprobs": {"tokens": ["a", "b"], "token_logprobs": [None]}},
    {"logprobs": {"tokens": "ab", "token_logprobs": 3, "text_offset": {}}},
])  # fmt: skip
async def test_half_of_a_text_is_none_of_it(httpserver: HTTPServer, said):
    Completions(httpserver, lambda body: said)
    assert (await build_model(config(Endpoint(httpserver))).read("abc")).tokens is None


async def test_no_such_door_is_unavailable_and_a_failure_is_one(httpserver: HTTPServer):
    model = build_model(config(Endpoint(httpserver)))
    Completions(httpserver, lambda body: status(404))
    assert (await model.read("abc")).tokens is None
    httpserver.clear()
    Completions(httpserver, lambda body: status(503))
    with pytest.raises(ModelError):
        await model.read("abc")
