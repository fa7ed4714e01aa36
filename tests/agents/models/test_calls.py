"""Tool calls through the client: native or as text, cached, recorded, replayed, metered."""

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.models import Message, ModelError, build_model
from agents.models.calls import calls_of
from agents.models.written import MAX_ARGUMENTS, MAX_CALLS, read_calls
from tests.support.endpoint import (
    Endpoint,
    config,
    message,
    refusing,
    status,
    text,
    tool_calls,
)
from tests.support.samples import table

IN_TEXT = table("tool_calls")["in_text"]
MESSAGES: list[Message] = [Message("user", "hello")]


def tool(name, **parameters):
    schema = {"type": "object", "properties": parameters}
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Does {name}.",
            "parameters": schema,
        },
    }


TOOLS = [tool("search", query={"type": "string"}), tool("run", code={"type": "string"})]


async def test_parallel_calls_come_back_in_order_and_their_results_are_sent(httpserver):
    first = tool_calls(
        ("search", '{"query": "a"}'), ("run", '{"code": "1"}'), content="both"
    )
    endpoint = Endpoint(httpserver).play(first, "done")
    model = build_model(config(httpserver))
    reply = await model.ask(MESSAGES, sample="0", tools=TOOLS)
    assert [(c.id, c.name, dict(c.arguments)) for c in reply.tool_calls] == [
        ("call_1", "search", {"query": "a"}),
        ("call_2", "run", {"code": "1"}),
    ]
    assert (reply.text, reply.fault, reply.usage.tokens) == ("both", None, 10)
    results = [Message("tool", "found", call_id=call.id) for call in reply.tool_calls]
    second = await model.ask(
        [*MESSAGES, reply.message, *results], sample="1", tools=TOOLS
    )
    assert (second.text, second.tool_calls, second.fault) == ("done", (), None)
    assert [t["function"]["name"] for t in endpoint.bodies[0]["tools"]] == [
        "search",
        "run",
    ]
    sent = endpoint.bodies[1]["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "tool"]
    assert [c["id"] for c in sent[1]["tool_calls"]] == ["call_1", "call_2"]
    assert [m["tool_call_id"] for m in sent[2:]] == ["call_1", "call_2"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"query": "a', "not JSON"),
        ("[1, 2]", "not a JSON object"),
        ("[" * 50_000, "not JSON"),
        (json.dumps({"query": "x" * MAX_ARGUMENTS}), "longer than"),
    ],
)
async def test_malformed_arguments_are_values(httpserver, arguments, reason, tmp_path):
    Endpoint(httpserver).play(
        tool_calls(("search", arguments), ("run", '{"code": "1"}'))
    )
    model = build_model(config(httpserver), cache=tmp_path)
    reply = await model.ask(MESSAGES, sample="0", tools=TOOLS)
    broken = next(call for call in reply.tool_calls if call.name == "search")
    assert broken.error is not None
    assert reason in broken.error
    assert dict(broken.arguments) == {}
    assert len(broken.error) < 1000
    sound = next(call for call in reply.tool_calls if call.name == "run")
    assert (dict(sound.arguments), sound.error) == ({"code": "1"}, None)


async def test_ids_are_made_unique_and_half_characters_whole(httpserver):
    function = {"name": "run", "arguments": '{"code": "\\ud83d"}'}
    same = [{"id": "same", "type": "function", "function": function}] * 2
    Endpoint(httpserver).play(message(None, ended="tool_calls", tool_calls=same))
    reply = await build_model(config(httpserver)).ask(MESSAGES, sample="0", tools=TOOLS)
    one, two = reply.tool_calls
    assert one.id != two.id
    json.dumps(asdict(reply), ensure_ascii=False, default=str).encode()


async def test_cached_like_any_request(httpserver, tmp_path):
    played = tool_calls(("search", '{"query": "a"}'), reasoning_content="because")
    endpoint = Endpoint(httpserver).play(played, "two", "three")
    live = build_model(config(httpserver), cache=tmp_path)
    first = await live.ask(MESSAGES, sample="0", tools=TOOLS)
    again = await live.ask(MESSAGES, sample="0", tools=TOOLS)
    assert again.cached
    assert (again.tool_calls, again.message) == (first.tool_calls, first.message)
    assert (again.usage.calls, again.usage.cached_calls) == (0, 1)
    history = [*MESSAGES, first.message, Message("tool", "found", call_id="call_1")]
    await live.ask(history, sample="1", tools=TOOLS)
    assert endpoint.bodies[1]["messages"][1]["reasoning_content"] == "because"
    # Other tools, other results: other requests.
    assert (await live.ask(MESSAGES, sample="0", tools=TOOLS[:1])).text == "three"


BLOCK = '```tool\n{"name": "search", "arguments": {"query": "a"}}\n```'
REFUSALS = [
    refusing("tools", then=BLOCK),
    "registry.example/gemma does not support tools",
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    "tools param requires --jinja flag",
    "No endpoints found that support tool use.",
]


@pytest.mark.parametrize("said", REFUSALS)
async def test_an_endpoint_that_refuses_tools_is_told_of_them_in_text_once(
    httpserver, said
):
    def play(body):
        if callable(said):
            return said(body)
        return status(400, said) if "tools" in body else text(BLOCK)

    endpoint = Endpoint(httpserver).play(play)
    model = build_model(config(httpserver))
    for sample in "01":
        reply = await model.ask(MESSAGES, sample=sample, tools=TOOLS)
        (call,) = reply.tool_calls
        assert (call.name, dict(call.arguments)) == ("search", {"query": "a"})
        assert reply.adjusted == ("tools sent as text: the endpoint refuses them",)
    assert ["tools" in body for body in endpoint.bodies] == [True, False, False]
    assert "Does search." in endpoint.prompts[1]


async def test_native_means_native_and_other_refusals_stay_errors(httpserver):
    endpoint = Endpoint(httpserver).play(refusing("tools"))
    with pytest.raises(ModelError, match="tools"):
        await build_model(config(httpserver, tools="native")).ask(
            MESSAGES, sample="0", tools=TOOLS
        )
    endpoint.play(status(400, "This model's maximum context length is 8192 tokens"))
    with pytest.raises(ModelError, match="context length"):
        await build_model(config(httpserver)).ask(MESSAGES, sample="0", tools=TOOLS)
    assert len(endpoint.bodies) == 1


async def test_a_conversation_in_text(httpserver):
    code = "print('a')\n---\nprint(1)"
    call = '{"name": "run", "arguments": {"entry": ""}}'
    block = f"I run it.\n\n```tool\n{call}\n---\n{code}\n```"
    endpoint = Endpoint(httpserver).play(f"{block}\n<result>made up</result>", "done")
    model = build_model(config(httpserver, tools="text"))
    reply = await model.ask(MESSAGES, sample="0", tools=TOOLS)
    (call,) = reply.tool_calls
    assert (reply.text, reply.adjusted) == ("I run it.", ())
    assert dict(call.arguments) == {"entry": "", "code": code}
    result = Message("tool", "printed", call_id=call.id)
    await model.ask([*MESSAGES, reply.message, result], sample="1", tools=TOOLS)
    sent = endpoint.bodies[1]["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "user"]
    assert sent[2]["content"] == block  # without what the model made up
    assert sent[3]["content"] == '<result tool="run">\nprinted\n</result>'
    assert not any("tools" in body for body in endpoint.bodies)


@pytest.mark.parametrize(("said", "calls"), IN_TEXT)
def test_calls_in_text(said, calls):
    written = read_calls(said, TOOLS)[1]
    found = calls_of([call.sent for call in written], TOOLS)
    assert [[call.name, call.error is None] for call in found] == calls


@given(st.text(alphabet='`tol\n{}[]"-:<>/_cal ', max_size=300))
def test_any_text_is_read(said):
    text_, calls = read_calls(said, TOOLS)
    assert len(calls) <= MAX_CALLS
    assert len(text_) <= max(len(said), 0)
