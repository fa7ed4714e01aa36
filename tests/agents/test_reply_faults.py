"""Replies that are no answer: named, counted, and never silently scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from pytest_httpserver import HTTPServer

from agents.budget import Budget
from agents.episode import Parts
from agents.models import ModelConfig, build_model
from agents.models.cache import ReplyCache
from agents.models.reply import fault_of, reasoning_of
from agents.single import Single
from tests.agents.test_failures import QUESTION
from tests.endpoint import (
    Endpoint,
    cut_off,
    filtered,
    message,
    reasoned,
    refusal,
    status,
    text,
    tool_call,
)

MESSAGES = [HumanMessage("hello")]
CODE = "<answer><code>```python\ndef f():\n    return {'a': 1}\n```</code><name>f</name></answer>"


def config(endpoint: Endpoint, **changes: object) -> ModelConfig:
    values = {"provider": "openai", "name": "local", "base_url": endpoint.url, "max_retries": 0}
    return ModelConfig.model_validate(values | changes)


@pytest.mark.parametrize(
    ("play", "fault"),
    [
        (cut_off("def f("), "length"),
        (filtered(), "content_filter"),
        (refusal(), "refusal"),
        (tool_call(), "tool_call"),
        (tool_call(arguments="{no json"), "tool_call"),
        (text(""), "empty"),
        (message(None), "empty"),
        (text(" \n"), "empty"),
        (text("hi"), None),
        (text("hi", ended=None), None),
        (text("hi", ended="tool_calls"), None),
    ],
)
async def test_a_reply_that_is_no_answer_has_a_name(httpserver: HTTPServer, play, fault):
    endpoint = Endpoint(httpserver).play(play)
    reply = await build_model(config(endpoint)).ask(MESSAGES, sample="0")
    assert reply.fault == fault


@pytest.mark.parametrize(
    ("metadata", "fault"),
    [
        ({"stop_reason": "max_tokens"}, "length"),  # Anthropic
        ({"stop_reason": "refusal"}, "refusal"),
        ({"finish_reason": "MAX_TOKENS"}, "length"),  # Google
        ({"finish_reason": "SAFETY"}, "content_filter"),
        ({"done_reason": "length"}, "length"),  # Ollama
        ({"stopReason": "guardrail_intervened"}, "content_filter"),  # Bedrock
        ({"stop_reason": "end_turn"}, None),
        ({"finish_reason": "STOP"}, None),
    ],
)
def test_providers_name_their_endings_differently(metadata, fault):
    assert fault_of(AIMessage("text", response_metadata=metadata)) == fault


async def test_a_cut_reply_is_asked_for_once_more_with_twice_the_limit(httpserver: HTTPServer):
    endpoint = Endpoint(httpserver).play(cut_off("def"), text("whole"))
    reply = await build_model(config(endpoint, max_tokens=100)).ask(MESSAGES, sample="0")
    assert [body["max_completion_tokens"] for body in endpoint.bodies] == [100, 200]
    assert (reply.text, reply.fault, reply.usage.calls) == ("whole", None, 2)
    assert reply.usage.tokens == 20  # both were paid for
    assert "100 -> 200" in " ".join(reply.adjusted)


async def test_doubling_is_bounded_and_only_done_where_there_is_a_limit(httpserver: HTTPServer):
    endpoint = Endpoint(httpserver).play(cut_off("def"))
    reply = await build_model(config(endpoint, max_tokens=100)).ask(MESSAGES, sample="0")
    assert (reply.fault, len(endpoint.bodies)) == ("length", 2)
    endpoint.play(cut_off("def"))
    reply = await build_model(config(endpoint)).ask(MESSAGES, sample="0")
    assert (reply.fault, len(endpoint.bodies)) == ("length", 1)


async def test_a_limit_that_the_endpoint_does_not_accept_leaves_the_first_reply(
    httpserver: HTTPServer,
):
    too_large = status(400, '{"error": {"message": "max_completion_tokens is too large: 200"}}')
    endpoint = Endpoint(httpserver).play(cut_off("def"), too_large)
    reply = await build_model(config(endpoint, max_tokens=100)).ask(MESSAGES, sample="0")
    assert (reply.text, reply.fault, reply.usage.calls) == ("def", "length", 1)
    assert "too large" in " ".join(reply.adjusted)


async def test_reasoning_in_its_own_field_is_kept_apart(httpserver: HTTPServer, tmp_path: Path):
    endpoint = Endpoint(httpserver)
    record = tmp_path / "traffic.jsonl"
    for field in ("reasoning_content", "reasoning"):
        endpoint.play(reasoned("a thought", "the answer", field))
        model = build_model(config(endpoint, record=str(record)), cache=tmp_path / field)
        replies = [await model.ask(MESSAGES, sample="0") for _ in range(2)]
        assert [(r.text, r.reasoning) for r in replies] == [("the answer", "a thought")] * 2
        assert [r.cached for r in replies] == [False, True]
    replayed = build_model(config(endpoint, replay=str(record)))
    assert (await replayed.ask(MESSAGES, sample="0")).reasoning == "a thought"


def test_reasoning_in_blocks_is_no_text():
    blocks = [
        {"type": "thinking", "thinking": "one"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "two"}]},
        {"type": "text", "text": "answer"},
    ]
    reply = AIMessage(blocks)
    assert (str(reply.text), reasoning_of(reply)) == ("answer", "one\ntwo")


def test_hostile_reasoning_ends():
    nested: object = "deep"
    for _ in range(100_000):
        nested = [nested]
    assert reasoning_of(AIMessage("x", additional_kwargs={"reasoning": nested})) == ""


async def test_a_cached_or_recorded_reply_of_an_older_version_is_read(
    httpserver: HTTPServer, tmp_path: Path
):
    endpoint = Endpoint(httpserver).play(text("hi"))
    record = tmp_path / "traffic.jsonl"
    await build_model(config(endpoint, record=str(record)), cache=tmp_path).ask(
        MESSAGES, sample="0"
    )
    new = ("reasoning", "fault", "adjusted")
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    lines[0]["reply"] = {k: v for k, v in lines[0]["reply"].items() if k not in new}
    record.write_text(json.dumps(lines[0]) + "\n")
    database = ReplyCache(tmp_path / "replies.sqlite")
    ((key,),) = database._database.execute("SELECT key FROM replies").fetchall()
    old = database.get(key)
    database.put(key, {"text": old["text"], "usage": old["usage"]})
    database.close()
    cached = await build_model(config(endpoint), cache=tmp_path).ask(MESSAGES, sample="0")
    replayed = await build_model(config(endpoint, replay=str(record))).ask(MESSAGES, sample="0")
    assert (cached.text, cached.cached, cached.fault) == ("hi", True, None)
    assert (replayed.text, replayed.reasoning, replayed.adjusted) == ("hi", "", ())


@pytest.mark.parametrize("usage", [
    None,
    {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    {"prompt_tokens": -5, "completion_tokens": 3, "total_tokens": -2},
    {"prompt_tokens": 7, "completion_tokens": 0, "total_tokens": 7},
    {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None},
])  # fmt: skip
async def test_usage_that_cannot_be_true_is_an_estimate(httpserver: HTTPServer, usage):
    endpoint = Endpoint(httpserver).play(text("hello there", usage=usage))
    model = build_model(config(endpoint, price={"prompt": 1, "completion": 1}))
    reply = await model.ask(MESSAGES, sample="0")
    assert reply.usage.estimated
    assert reply.usage.cost_usd is None
    assert reply.usage.completion_tokens > 0


async def test_a_fault_reaches_the_trajectory_and_its_steps(httpserver: HTTPServer):
    endpoint = Endpoint(httpserver).play(reasoned("I think", "", "reasoning_content"), refusal())
    trajectory = await Single(Parts(build_model(config(endpoint)))).solve(QUESTION)
    assert (trajectory.code, trajectory.stop_reason) == (None, "format_error")
    assert trajectory.fault == "refusal"
    steps = [step.detail for step in trajectory.steps if step.kind == "model"]
    assert [step.get("fault") for step in steps] == ["empty", "refusal"]
    assert [step.get("reasoning") for step in steps] == ["I think", None]


async def test_a_fault_that_cost_no_code_is_not_the_trajectorys(httpserver: HTTPServer):
    endpoint = Endpoint(httpserver).play(cut_off(CODE + " and besides"))
    trajectory = await Single(Parts(build_model(config(endpoint)))).solve(QUESTION)
    assert (trajectory.entry, trajectory.fault) == ("f", None)


async def test_a_second_call_for_a_cut_reply_keeps_to_the_budget(httpserver: HTTPServer):
    endpoint = Endpoint(httpserver).play(cut_off("def"))
    model = build_model(config(endpoint, max_tokens=100))
    await Single(Parts(model, budget=Budget(calls=1))).solve(QUESTION)
    assert len(endpoint.bodies) == 1


async def test_code_in_a_reasoning_field_is_never_the_answer(httpserver: HTTPServer):
    endpoint = Endpoint(httpserver).play(reasoned(CODE, ""))
    trajectory = await Single(Parts(build_model(config(endpoint)))).solve(QUESTION)
    assert (trajectory.code, trajectory.fault) == (None, "empty")
