"""The model client against a real HTTP server on loopback."""

import pytest

from agents.models import Message, ModelConfig, build_model
from tests.endpoint import Endpoint, config, status, text

MESSAGES = [Message("user", "hello")]
USAGE = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}


async def test_reply_usage_and_price_come_from_the_endpoint(httpserver):
    endpoint = Endpoint(httpserver).play(text("hi", usage=USAGE))
    model = build_model(config(httpserver, price={"prompt": 2.0, "completion": 10.0}))
    reply = await model.ask(MESSAGES, sample="0")
    assert reply.text == "hi"
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (1000, 500)
    assert reply.usage.estimated is False
    assert reply.usage.cost_usd == pytest.approx((1000 * 2 + 500 * 10) / 1e6)
    (sent,) = endpoint.bodies
    assert (sent["model"], sent["temperature"]) == ("local", 0.7)


async def test_an_unknown_price_is_null_and_never_invented(httpserver):
    Endpoint(httpserver).play(text("hi"))
    model = build_model(config(httpserver, name="gpt-4o"))  # a local server with a famous name
    assert (await model.ask(MESSAGES, sample="0")).usage.cost_usd is None


async def test_a_429_is_retried(httpserver):
    endpoint = Endpoint(httpserver).play(status(429, retry_after="0"), text("ok"))
    model = build_model(config(httpserver, max_retries=1))
    assert (await model.ask(MESSAGES, sample="0")).text == "ok"
    assert len(endpoint.bodies) == 2


async def test_the_cache_keeps_samples_apart(httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(text("one"), text("two"), text("three"))
    model = build_model(config(httpserver), cache=tmp_path)
    first = await model.ask(MESSAGES, sample="0")
    again = await model.ask(MESSAGES, sample="0")
    other = await model.ask(MESSAGES, sample="1")
    assert [first.text, again.text, other.text] == ["one", "one", "two"]
    assert (again.cached, again.usage.calls, again.usage.cached_calls) == (True, 0, 1)
    assert again.usage.cost_usd == 0.0
    assert len(endpoint.bodies) == 2
    # A new process finds the same replies; another temperature is another request.
    assert (await build_model(config(httpserver), cache=tmp_path).ask(MESSAGES, sample="1")).cached
    warmer = build_model(config(httpserver, temperature=1.0), cache=tmp_path)
    assert (await warmer.ask(MESSAGES, sample="0")).text == "three"


async def test_an_empty_reply_is_not_cached(httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(text(""))
    model = build_model(config(httpserver), cache=tmp_path)
    await model.ask(MESSAGES, sample="0")
    await model.ask(MESSAGES, sample="0")
    assert len(endpoint.bodies) == 2


def test_no_key_and_no_endpoint_says_what_to_do():
    with pytest.raises(ValueError, match="model=recorded"):
        build_model(ModelConfig(provider="openai", name="gpt-4o"))
