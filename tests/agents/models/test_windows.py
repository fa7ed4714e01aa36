"""Prompts and limits that do not fit: said in whatever words, or not at all."""

import json

import pytest

from agents.models import ContextError, Message, ModelError, build_model
from agents.models.windows import excess_of, was_cut
from foundation.errors import EndpointError
from tests.support.endpoint import Endpoint, config, status, text, tool_calls
from tests.support.samples import table
from tests.support.tools import tool

LONG = [Message("user", "How dense is quartz? " * 2000)]  # 42 000 characters
SAYINGS = table("too_long_errors")
TOO_HIGH = (
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. "
    "Given: {} `inputs` tokens and {} `max_new_tokens`"
)


@pytest.mark.parametrize(("expected", "code", "saying"), SAYINGS)
def test_what_is_too_long(expected, code, saying):
    excess = excess_of(EndpointError(f"m: {saying}", code))
    room = "" if excess is None or excess.room is None else f" {excess.room}"
    assert (f"{excess.what}{room}" if excess else "other") == expected


def beside(window, prompt):
    """A server that takes what fits its window beside a prompt of so many tokens."""

    def play(body):
        limit = body["max_completion_tokens"]
        if prompt + limit > window:
            return status(422, TOO_HIGH.format(prompt, limit))
        return text("42")

    return play


async def test_a_limit_that_does_not_fit_beside_the_prompt_is_lowered_for_it(
    httpserver,
):
    endpoint = Endpoint(httpserver).play(beside(4096, 900))
    model = build_model(config(endpoint, max_tokens=8192))
    assert (await model.ask(LONG, sample="0")).text == "42"
    limits = [body["max_completion_tokens"] for body in endpoint.bodies]
    assert limits[0] == 8192
    assert 3000 < limits[1] <= 3196
    endpoint.play(beside(16384, 900))  # another prompt leaves other room
    await model.ask(LONG, sample="1")
    assert [body["max_completion_tokens"] for body in endpoint.bodies] == [8192]


async def test_a_limit_that_stays_refused_is_the_users_setting(httpserver):
    refuse = status(422, TOO_HIGH.format(900, 8192))
    endpoint = Endpoint(httpserver).play(refuse)
    model = build_model(config(endpoint, max_tokens=8192))
    with pytest.raises(ModelError, match=r"model\.max_tokens=8192") as caught:
        await model.ask(LONG, sample="0")
    assert not isinstance(caught.value, ContextError)
    assert len(endpoint.bodies) == 2


async def test_a_highest_limit_is_kept_from_then_on(httpserver):
    def play(body):
        too_large = body["max_completion_tokens"] > 4096
        saying = "max_tokens is too large: 8192. This model supports at most 4096 completion tokens"
        return status(400, saying) if too_large else text("42")

    endpoint = Endpoint(httpserver).play(play)
    model = build_model(config(endpoint, max_tokens=8192))
    for sample in "01":
        reply = await model.ask(LONG, sample=sample)
        assert "max_completion_tokens sent as 4096" in reply.adjusted[0]
    assert len(endpoint.bodies) == 3


async def test_too_little_room_is_the_prompts_doing(httpserver):
    endpoint = Endpoint(httpserver).play(status(422, TOO_HIGH.format(4000, 8192)))
    with pytest.raises(ContextError):
        await build_model(config(endpoint, max_tokens=8192)).ask(LONG, sample="0")


@pytest.mark.parametrize(
    ("texts", "tokens", "cut"),
    [
        (["How dense is quartz? " * 2000], 2051, True),  # 10 000 tokens
        (["How dense is quartz? " * 2000], 4096, True),
        (["How dense is quartz? " * 2000], 10_005, False),
        (["How dense is quartz? " * 2000], 7400, False),  # a frugal tokenizer
        (["How dense is quartz? "] * 2000, 2051, True),  # in many messages
        (["short"], 1, False),
        ([" " * 100_000], 20, False),  # tokenizers join blanks
        (["=" * 100_000], 800, False),
        (["x = 1\n" + " " * 40 + "return x\n" for _ in range(500)], 4500, False),
        (["How dense is quartz? " * 2000], 0, False),  # nobody counted
    ],
)
def test_a_count_that_cannot_be_the_prompts(texts, tokens, cut):
    assert was_cut(texts, tokens) is cut


async def test_a_prompt_that_was_cut_is_named_with_what_to_set(httpserver, caplog):
    usage = {"prompt_tokens": 2051, "completion_tokens": 5}
    Endpoint(httpserver).play(text("Which mineral?", usage=usage))
    model = build_model(config(httpserver))
    for sample in "01":
        reply = await model.ask(LONG, sample=sample)
        assert (reply.fault, reply.usage.prompt_tokens) == ("context", 2051)
    assert caplog.text.count("model.context_tokens=2051") == 1
    assert "OLLAMA_CONTEXT_LENGTH" in caplog.text


TOOLS = [tool(f"tool_{n}", query="string", words="array") for n in range(20)]


async def test_tools_that_a_template_drops_are_told_of_in_the_text(httpserver):
    def play(body):
        if "tools" in body:
            return text("I have no tools.", usage=count(body["messages"]))
        call = {"name": "tool_3", "arguments": {"query": "a"}}
        return text(f"```tool\n{json.dumps(call)}\n```", usage=count(body["messages"]))

    def count(messages):
        tokens = sum(len(str(message["content"])) for message in messages) // 4
        return {"prompt_tokens": tokens, "completion_tokens": 5}

    endpoint = Endpoint(httpserver).play(play)
    model = build_model(config(endpoint, price={"prompt": 1, "completion": 1}))
    ask = [Message("user", "Find it, please. " * 5)]
    reply = await model.ask(ask, sample="0", tools=TOOLS)
    assert [call.name for call in reply.tool_calls] == ["tool_3"]
    assert reply.adjusted == ("tools sent as text: the endpoint's template drops them",)
    assert ["tools" in body for body in endpoint.bodies] == [True, False]
    prompts = [count(body["messages"])["prompt_tokens"] for body in endpoint.bodies]
    assert reply.usage.prompt_tokens == sum(prompts)  # both are paid for
    assert reply.usage.calls == 2


async def test_tools_that_are_counted_or_called_stay_native(httpserver):
    few = {"prompt_tokens": 40, "completion_tokens": 5}
    many = {"prompt_tokens": 900, "completion_tokens": 5}
    endpoint = Endpoint(httpserver)
    model = build_model(config(endpoint))
    for play in (
        text("No need.", usage=many),
        tool_calls(("tool_3", "{}"), usage=few),
        text("No count.", usage=None),
    ):
        endpoint.play(play)
        await model.ask([Message("user", "Find it.")], sample="0", tools=TOOLS)
        assert len(endpoint.bodies) == 1
    assert model.adjustments == []
