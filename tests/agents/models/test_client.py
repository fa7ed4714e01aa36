"""The model client against a real HTTP server on loopback, and replies that are no answer."""

import asyncio
import json
import threading
import time

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from agents.base import Question
from agents.budget import Budget, Meter
from agents.episode import Context
from agents.models import Message, ModelClient, ModelConfig, ModelError, build_model
from agents.models.cache import ReplyCache
from agents.models.chat import Chat, open_chat
from agents.models.reply import read, sent_of
from agents.systems.single import Single
from tests.support.endpoint import (
    Endpoint,
    config,
    cut_off,
    message,
    reasoned,
    refusal,
    refusing,
    text,
)
from tests.support.scripted import ScriptedModel, client, code_reply

MESSAGES = [Message("user", "hello")]
USAGE = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}

QUESTION = Question("q", "- `a`: the answer. Format: `int`.", {"a": "int"})


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
    assert (
        await build_model(config(httpserver), cache=tmp_path).ask(MESSAGES, sample="1")
    ).cached
    warmer = build_model(config(httpserver, temperature=1.0), cache=tmp_path)
    assert (await warmer.ask(MESSAGES, sample="0")).text == "three"
    endpoint.play(text(""))  # an empty reply is not kept
    for _ in range(2):
        await warmer.ask(MESSAGES, sample="1")
    assert len(endpoint.bodies) == 2


async def test_as_many_requests_as_allowed_are_in_flight_and_never_more():
    """Replies come only once as many wait as may be in flight at all."""
    full, lock = threading.Event(), threading.Lock()
    peak = waiting = 0

    def play(_):
        nonlocal peak, waiting
        with lock:
            waiting += 1
            peak = max(peak, waiting)
            if peak == 3:
                full.set()
        full.wait(60)
        time.sleep(0.05)
        with lock:
            waiting -= 1
        return text("hi")

    with HTTPServer(threaded=True) as server:
        model = build_model(config(Endpoint(server).play(play)), concurrency=3)
        await asyncio.gather(*(model.ask(MESSAGES, sample=str(n)) for n in range(9)))
        await model.close()
    assert peak == 3


def test_no_key_and_no_endpoint_says_what_to_do():
    with pytest.raises(ValueError, match="model=recorded"):
        build_model(ModelConfig(provider="openai", name="gpt-4o"))


TOP = [{"token": " good", "logprob": -0.5}, {"token": "ok", "logprob": -1.5}]


def judged(body):
    """A reply with log-probabilities where they were asked for."""
    response = message(" good")
    if body.get("logprobs"):
        plain = json.loads(response.get_data())
        first = {
            "token": " good",
            "logprob": -0.5,
            "top_logprobs": TOP[: body["top_logprobs"]],
        }
        plain["choices"][0]["logprobs"] = {"content": [first]}
        response = Response(json.dumps(plain), content_type="application/json")
    return response


async def test_alternatives_of_the_first_token_are_cached(httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(judged)
    model = build_model(config(endpoint), cache=tmp_path / "cache")
    plain = await model.ask(MESSAGES, sample="0")
    reply = await model.ask(MESSAGES, sample="0", logprobs=5)
    assert (plain.logprobs, reply.logprobs) == (None, ({" good": -0.5, "ok": -1.5},))
    assert [body.get("top_logprobs") for body in endpoint.bodies] == [None, 5]
    again = await model.ask(MESSAGES, sample="0", logprobs=5)
    assert again.cached
    assert again.logprobs == reply.logprobs
    assert len(endpoint.bodies) == 2


@pytest.mark.parametrize("play", ["good", refusing("logprobs", then="good")])
async def test_an_endpoint_without_them_answers_all_the_same(httpserver, play):
    endpoint = Endpoint(httpserver).play(play)
    model = build_model(config(endpoint))
    replies = [await model.ask(MESSAGES, sample=str(n), logprobs=5) for n in range(2)]
    assert [(reply.text, reply.logprobs) for reply in replies] == [("good", None)] * 2
    assert len(endpoint.bodies) == (
        2 if isinstance(play, str) else 3
    )  # refused once, remembered


CODE = code_reply("return {'a': 1}")


def read_choice(**message):
    body = {"choices": [{"message": message, "finish_reason": "stop"}]}
    return read(sent_of(body, offered=False, logprobs=False), MESSAGES, ())


async def test_reasoning_in_its_own_field_is_kept_apart(httpserver, tmp_path):
    endpoint = Endpoint(httpserver)
    for field in ("reasoning_content", "reasoning"):
        endpoint.play(reasoned("a thought", "the answer", field))
        model = build_model(config(endpoint), cache=tmp_path / field)
        replies = [await model.ask(MESSAGES, sample="0") for _ in range(2)]
        assert [(r.text, r.reasoning) for r in replies] == [
            ("the answer", "a thought")
        ] * 2
        assert [r.cached for r in replies] == [False, True]


def test_reasoning_in_blocks_is_no_text():
    blocks = [
        {"type": "thinking", "thinking": "one"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "two"}]},
        {"type": "text", "text": "answer"},
    ]
    made = read_choice(content=blocks)
    assert (made.text, made.reasoning) == ("answer", "one\ntwo")


def test_hostile_reasoning_ends():
    nested: object = "deep"
    for _ in range(100_000):
        nested = [nested]
    assert not read_choice(content="x", reasoning=nested).reasoning


async def test_a_fault_reaches_the_trajectory_and_its_steps(httpserver):
    endpoint = Endpoint(httpserver).play(
        reasoned("I think", "", "reasoning_content"), refusal()
    )
    trajectory = await Single(Context(build_model(config(endpoint)))).solve(QUESTION)
    assert (trajectory.code, trajectory.stop_reason) == (None, "format_error")
    assert trajectory.fault == "refusal"
    steps = [step.detail for step in trajectory.steps if step.kind == "model"]
    assert [step.get("fault") for step in steps] == ["empty", "refusal"]
    assert [step.get("reasoning") for step in steps] == ["I think", None]


async def test_a_fault_that_cost_no_code_is_not_the_trajectorys(httpserver):
    endpoint = Endpoint(httpserver).play(cut_off(CODE + " and besides"))
    trajectory = await Single(Context(build_model(config(endpoint)))).solve(QUESTION)
    assert (trajectory.entry, trajectory.fault) == ("f", None)


async def test_code_in_a_reasoning_field_is_never_the_answer(httpserver):
    endpoint = Endpoint(httpserver).play(reasoned(CODE, ""))
    trajectory = await Single(Context(build_model(config(endpoint)))).solve(QUESTION)
    assert (trajectory.code, trajectory.fault) == (None, "empty")


# -- what is asked outside of answers


def cached(path, *script):
    model = ScriptedModel(script)
    config = ModelConfig(provider="class", name="scripted", path="tests")
    return Chat(ModelClient(model, config, cache=ReplyCache(path))), model


async def test_equal_requests_are_different_samples_and_the_same_ones_again(tmp_path):
    first, asked = cached(tmp_path / "r.sqlite", "one", "two", "three")
    assert [(await first.ask("a")).text for _ in range(2)] == ["one", "two"]
    assert (await first.ask("a", "instructed")).text == "three"
    again, unasked = cached(tmp_path / "r.sqlite", "never")
    replies = [await again.ask("a") for _ in range(2)]
    assert [reply.text for reply in replies] == ["one", "two"]
    assert all(reply.cached for reply in replies)
    assert (len(asked.prompts), len(unasked.prompts)) == (3, 0)
    assert (again.usage.calls, again.usage.cached_calls, again.usage.cost_usd) == (
        0,
        2,
        0.0,
    )


async def test_a_limit_refuses_before_anything_is_sent():
    model, asked = client("one")
    meter = Meter(Budget(calls=1), group="run_budget")
    chat = Chat(model, meter)
    said = await chat.ask("a")
    assert (said.prompt_tokens, said.cost_usd) == (None, None)  # nobody told
    assert (chat.name, chat.usage.calls, meter.usage.cost_usd) == ("scripted", 1, None)
    with pytest.raises(ModelError, match=r"not asked: run_budget\.calls of 1"):
        await chat.ask("b")
    assert asked.prompts == ["a"]


@pytest.mark.parametrize(
    ("config", "priced", "message"),
    [
        (
            {"provider": "openai", "name": "m", "base_url": "http://127.0.0.1:9"},
            True,
            "price of m",
        ),
        ({"provider": "none"}, False, "model.name=...: must be given"),
    ],
)
async def test_a_wrong_configuration_is_one_line(config, priced, message):
    with pytest.raises(ValueError, match=message) as raised:
        async with open_chat(config, priced=priced):
            raise AssertionError("not reached")
    assert "\n" not in str(raised.value)
