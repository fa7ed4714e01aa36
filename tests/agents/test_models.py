"""The model client against a real HTTP server on loopback."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from pytest_httpserver import HTTPServer
from werkzeug import Response

from agents.models import ModelConfig, ModelError, build_model
from tests.endpoint import Body, Endpoint, closed, status, text

MESSAGES = [HumanMessage("hello")]
USAGE = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}


def config(server: HTTPServer, **changes: object) -> ModelConfig:
    values = {
        "provider": "openai",
        "name": "local",
        "base_url": server.url_for("/v1"),
        "timeout": 0.5,
        "max_retries": 1,
    }
    return ModelConfig.model_validate(values | changes)


async def test_reply_usage_and_price_come_from_the_endpoint(httpserver: HTTPServer):
    endpoint = Endpoint(httpserver).play(text("hi", usage=USAGE))
    model = build_model(config(httpserver, price={"prompt": 2.0, "completion": 10.0}))
    reply = await model.ask(MESSAGES, sample="0")
    assert reply.text == "hi"
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (1000, 500)
    assert reply.usage.estimated is False
    assert reply.usage.cost_usd == pytest.approx((1000 * 2 + 500 * 10) / 1e6)
    (sent,) = endpoint.bodies
    assert (sent["model"], sent["temperature"]) == ("local", 0.7)


async def test_an_unknown_price_is_null_and_never_invented(httpserver: HTTPServer):
    Endpoint(httpserver).play(text("hi"))
    model = build_model(config(httpserver, name="gpt-4o"))  # a local server with a famous name
    assert (await model.ask(MESSAGES, sample="0")).usage.cost_usd is None


async def test_without_reported_usage_the_count_says_it_is_an_estimate(httpserver: HTTPServer):
    Endpoint(httpserver).play(text("hi there", usage=None))
    model = build_model(config(httpserver, price={"prompt": 1, "completion": 1}))
    usage = (await model.ask(MESSAGES, sample="0")).usage
    assert usage.estimated
    assert usage.completion_tokens == 2
    assert usage.cost_usd is None


async def test_a_429_is_retried(httpserver: HTTPServer):
    endpoint = Endpoint(httpserver).play(status(429, retry_after="0"), text("ok"))
    model = build_model(config(httpserver))
    assert (await model.ask(MESSAGES, sample="0")).text == "ok"
    assert len(endpoint.bodies) == 2


@pytest.mark.parametrize(
    "response",
    [
        status(429, retry_after="0"),
        status(500, "boom"),
        Response("<html>not an endpoint</html>", content_type="text/html"),
        Response("{", content_type="application/json"),
        Response("{}", content_type="application/json"),
        Response('{"choices": []}', content_type="application/json"),
        status(401),
        closed(),
    ],
    ids=["429 storm", "500", "html", "cut json", "empty json", "no choices", "401", "cut"],
)
async def test_what_is_no_reply_is_a_model_error(httpserver: HTTPServer, response: Response):
    endpoint = Endpoint(httpserver).play(response)
    with pytest.raises(ModelError, match="local"):
        await build_model(config(httpserver)).ask(MESSAGES, sample="0")
    assert 1 <= len(endpoint.bodies) <= 2  # bounded retries


async def test_a_hang_ends_in_a_model_error(httpserver: HTTPServer):
    import threading

    release = threading.Event()

    def hang(_: Body) -> Response:
        release.wait(20)
        return text("late")

    Endpoint(httpserver).play(hang)
    try:
        with pytest.raises(ModelError, match=r"[Tt]ime"):
            await build_model(config(httpserver, max_retries=0)).ask(MESSAGES, sample="0")
    finally:
        release.set()


async def test_a_server_that_is_not_there_is_a_model_error(httpserver: HTTPServer):
    address = httpserver.url_for("/v1")
    httpserver.stop()
    try:
        model = build_model(
            ModelConfig(provider="openai", name="gone", base_url=address, max_retries=0, timeout=2)
        )
        with pytest.raises(ModelError, match="gone"):
            await model.ask(MESSAGES, sample="0")
    finally:
        httpserver.start()


async def test_the_cache_keeps_samples_apart(httpserver: HTTPServer, tmp_path: Path):
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


async def test_an_empty_reply_is_not_cached(httpserver: HTTPServer, tmp_path: Path):
    endpoint = Endpoint(httpserver).play(text(""))
    model = build_model(config(httpserver), cache=tmp_path)
    await model.ask(MESSAGES, sample="0")
    await model.ask(MESSAGES, sample="0")
    assert len(endpoint.bodies) == 2


def test_no_key_and_no_endpoint_says_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ValueError, match="model=rules"):
        build_model(ModelConfig(provider="openai", name="gpt-4o"))
