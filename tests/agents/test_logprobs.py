"""Log-probabilities: of the first tokens of a reply."""

import json

import pytest
from werkzeug import Response

from agents.models import Message, build_model
from tests.endpoint import Endpoint, config, message, refusing

ASKED = [Message("user", "good, ok or bad?")]
TOP = [{"token": " good", "logprob": -0.5}, {"token": "ok", "logprob": -1.5}]


def judged(body):
    """A reply with log-probabilities where they were asked for."""
    response = message(" good")
    if body.get("logprobs"):
        plain = json.loads(response.get_data())
        first = {"token": " good", "logprob": -0.5, "top_logprobs": TOP[: body["top_logprobs"]]}
        plain["choices"][0]["logprobs"] = {"content": [first]}
        response = Response(json.dumps(plain), content_type="application/json")
    return response


async def test_alternatives_of_the_first_token_are_cached(httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(judged)
    model = build_model(config(endpoint), cache=tmp_path / "cache")
    plain = await model.ask(ASKED, sample="0")
    reply = await model.ask(ASKED, sample="0", logprobs=5)
    assert (plain.logprobs, reply.logprobs) == (None, ({" good": -0.5, "ok": -1.5},))
    assert [body.get("top_logprobs") for body in endpoint.bodies] == [None, 5]
    again = await model.ask(ASKED, sample="0", logprobs=5)
    assert again.cached
    assert again.logprobs == reply.logprobs
    assert len(endpoint.bodies) == 2


@pytest.mark.parametrize("play", ["good", refusing("logprobs", then="good")])
async def test_an_endpoint_without_them_answers_all_the_same(httpserver, play):
    endpoint = Endpoint(httpserver).play(play)
    model = build_model(config(endpoint))
    replies = [await model.ask(ASKED, sample=str(n), logprobs=5) for n in range(2)]
    assert [(reply.text, reply.logprobs) for reply in replies] == [("good", None)] * 2
    assert len(endpoint.bodies) == (2 if isinstance(play, str) else 3)  # refused once, remembered
