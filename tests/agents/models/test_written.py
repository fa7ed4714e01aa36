"""Calls that models write into their text, in their own marks, whole and broken."""

import json
import time

import pytest

from agents.models import Message, build_model
from agents.models.calls import calls_of
from agents.models.harmony import channels_of, tool_name
from agents.models.written import MAX_CALLS, calls_in_reasoning, read_calls
from tests.support.endpoint import Endpoint, config, message
from tests.support.tools import tool

MESSAGES = [Message("user", "hello")]


TOOLS = [
    tool("look", query="string", count="integer", deep="boolean", words="array"),
    tool("run", code="string"),
]
LOOK = {"query": "ewald sum", "count": 3}
BAR = "\N{FULLWIDTH VERTICAL LINE}"  # of DeepSeek; written as a broken bar below
AS_JSON = json.dumps({"name": "look", "arguments": LOOK})
PARAMETERS = json.dumps({"name": "look", "parameters": LOOK})
ARGUMENTS = json.dumps(LOOK)


def barred(text):
    return text.replace("\N{BROKEN BAR}", BAR)


#: One call, ``look`` with `LOOK`, in the marks of each family.
LOOKS = {
    "Hermes, Qwen": f"<tool_call>\n{AS_JSON}\n</tool_call>",
    "Hermes, not closed": f"<tool_call>\n{AS_JSON}",
    "Hermes, closed by another": f"<tool_call>{AS_JSON}</function>",
    "Hermes, function inside": '<tool_call>{"type": "function", "function": '
    + AS_JSON
    + "}</tool_call>",
    "Jamba": f"<tool_calls>[{AS_JSON}]</tool_calls>",
    "Nemotron": f"<TOOLCALL>[{AS_JSON}]</TOOLCALL>",
    "Granite": f"<|tool_call|>[{AS_JSON}]",
    "Phi": f"functools[{AS_JSON}]",
    "Llama": PARAMETERS,
    "Llama, mark": f"<|python_tag|>{PARAMETERS}<|eom_id|>",
    "Llama, function": f"<function=look>{ARGUMENTS}</function>",
    "Command R": '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "look", "parameters": '
    + ARGUMENTS
    + "}]<|END_ACTION|>",
    "InternLM": f"<|action_start|><|plugin|>{PARAMETERS}<|action_end|>",
    "Mistral": f"[TOOL_CALLS][{AS_JSON}]",
    "Mistral, blank": f"[TOOL_CALLS] [{AS_JSON}]</s>",
    "Mistral, name": f"[TOOL_CALLS]look{ARGUMENTS}",
    "Mistral, marks": f"[TOOL_CALLS]look[CALL_ID]a1[ARGS]{ARGUMENTS}",
    "DeepSeek": "<¦tool▁calls▁begin¦><¦tool▁call▁begin¦>function<¦tool▁sep¦>look\n"
    f"```json\n{ARGUMENTS}\n```<¦tool▁call▁end¦><¦tool▁calls▁end¦><¦end▁of▁sentence¦>",
    "DeepSeek, later": f"<¦tool▁calls▁begin¦><¦tool▁call▁begin¦>look<¦tool▁sep¦>{ARGUMENTS}"
    "<¦tool▁call▁end¦><¦tool▁calls▁end¦>",
    "DeepSeek, not closed": f"<¦tool▁call▁begin¦>look<¦tool▁sep¦>{ARGUMENTS}",
    "DeepSeek, elements": '<¦DSML¦function_calls>\n<¦DSML¦invoke name="look">\n'
    '<¦DSML¦parameter name="query" string="true">ewald sum</¦DSML¦parameter>\n'
    '<¦DSML¦parameter name="count" string="false">3</¦DSML¦parameter>\n'
    "</¦DSML¦invoke>\n</¦DSML¦function_calls>",
    "Kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0"
    f"<|tool_call_argument_begin|>{ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>",
    "Qwen Coder": "<tool_call>\n<function=look>\n<parameter=query>\newald sum\n</parameter>\n"
    "<parameter=count>\n3\n</parameter>\n</function>\n</tool_call>",
    "Qwen Coder, bare": "<function=look>\n<parameter=query>\newald sum\n</parameter>\n"
    "<parameter=count>\n3\n</parameter>\n</function>",
    "Qwen Coder, values not closed": "<tool_call>\n<function=look>\n<parameter=query>\newald sum\n"
    "<parameter=count>\n3\n</function>\n</tool_call>",
    "Qwen Coder, nothing closed": "<tool_call>\n<function=look>\n<parameter=query>ewald sum"
    "</parameter>\n<parameter=count>3",
    "GLM": "<tool_call>look\n<arg_key>query</arg_key>\n<arg_value>ewald sum</arg_value>\n"
    "<arg_key>count</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
    "GLM, not closed": "<tool_call>look<arg_key>query</arg_key><arg_value>ewald sum</arg_value>"
    "<arg_key>count</arg_key><arg_value>3",
    "MiniMax": '<minimax:tool_call>\n<invoke name="look">\n<parameter name="query">ewald sum'
    '</parameter>\n<parameter name="count">3</parameter>\n</invoke>\n</minimax:tool_call>',
    "Claude": '<function_calls>\n<invoke name="look">\n<parameter name="query">ewald sum'
    '</parameter>\n<parameter name="count">3</parameter>\n</invoke>\n</function_calls>',
    "LFM": '<|tool_call_start|>[look(query="ewald sum", count=3)]<|tool_call_end|>',
    "Llama, Python": '[look(query="ewald sum", count=3)]',
    "harmony": "<|channel|>analysis<|message|>Better look.<|end|><|start|>assistant<|channel|>"
    f"commentary to=functions.look <|constrain|>json<|message|>{ARGUMENTS}<|call|>",
    "harmony, recipient first": "<|start|>assistant to=functions.look<|channel|>commentary json"
    f"<|message|>{ARGUMENTS}",
    "our own": f"```tool\n{AS_JSON}\n```",
    "fenced JSON": f"```json\n{AS_JSON}\n```",
}
LOOKS = {family: barred(text) for family, text in LOOKS.items()}


async def asked(httpserver, play, **fields):
    httpserver.clear()
    Endpoint(httpserver).play(message(play, **fields))
    client = build_model(config(httpserver))
    try:
        return await client.ask(MESSAGES, sample="0", tools=TOOLS)
    finally:
        await client.close()


@pytest.mark.parametrize("family", LOOKS)
async def test_a_call_is_read_and_what_was_said_before_it(httpserver, family):
    reply = await asked(httpserver, f"I look.\n\n{LOOKS[family]}")
    if family in {"Llama", "Llama, Python"}:  # only where it is all of a reply
        assert reply.tool_calls == ()
        reply = await asked(httpserver, LOOKS[family])
    else:
        assert reply.text == "I look."
    (call,) = reply.tool_calls
    assert (call.name, dict(call.arguments), call.error) == ("look", LOOK, None)
    assert reply.fault is None


@pytest.mark.parametrize(
    "family", [f for f in LOOKS if "closed" not in f and "harmony" not in f]
)
async def test_a_call_that_ends_the_thoughts_is_made(httpserver, family):
    if family in {"our own", "fenced JSON", "Llama", "Llama, Python"}:
        pytest.skip("nothing marks it as a call")
    thoughts = f"I should look.\n{LOOKS[family]}\n"
    for fields in ({"reasoning": thoughts}, {"reasoning_content": thoughts}):
        reply = await asked(httpserver, "", **fields)
        (call,) = reply.tool_calls
        assert (call.name, dict(call.arguments)) == ("look", LOOK)
    reply = await asked(httpserver, f"<think>{thoughts}")
    assert len(reply.tool_calls) == 1
    considered = await asked(httpserver, "", reasoning=f"{thoughts} No, better not.")
    assert (considered.tool_calls, considered.fault) == ((), "empty")
    answered = await asked(httpserver, "It is 42.", reasoning=thoughts)
    assert (answered.tool_calls, answered.text) == ((), "It is 42.")


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>{AS_JSON}</tool_call>\n<tool_call>{AS_JSON}</tool_call>",
        f"<tool_call>{AS_JSON}\n<tool_call>{AS_JSON}",
        f"<tool_call>\n{AS_JSON}\n{AS_JSON}\n</tool_call>",
        f"[TOOL_CALLS][{AS_JSON}, {AS_JSON}]",
        f"[TOOL_CALLS]look{ARGUMENTS}[TOOL_CALLS]look{ARGUMENTS}",
        "<function=look>\n<parameter=query>ewald sum</parameter><parameter=count>3</parameter>\n"
        "</function>\n" * 2,
        barred(f"<¦tool▁call▁begin¦>look<¦tool▁sep¦>{ARGUMENTS}<¦tool▁call▁end¦>") * 2,
    ],
)
def test_calls_that_follow_each_other_are_parallel(text):
    assert [call.name for call in read_calls(text, TOOLS)[1]] == ["look"] * 2
    made_up = (
        f"{text}\n<tool_response>7</tool_response>\n<tool_call>{AS_JSON}</tool_call>"
    )
    assert len(read_calls(made_up, TOOLS)[1]) == 2


def test_values_are_of_the_kinds_that_the_schema_asks_for():
    text = (
        "<function=look><parameter=query>\n12\n</parameter><parameter=deep>true</parameter>"
        '<parameter=words>["a", "b"]</parameter><parameter=count>many</parameter></function>'
    )
    ((call,),) = (read_calls(text, TOOLS)[1],)
    assert call.arguments == {
        "query": "12",
        "deep": True,
        "words": ["a", "b"],
        "count": "many",  # refused by the tool, which tells the model
    }


def test_code_keeps_its_blanks_and_signs():
    code = "    for a in x:\n        print(a < 3, '<b>', \"</a>\")\n"
    text = f"<tool_call>\n<function=run>\n<parameter=code>\n{code}\n</parameter>\n</function>"
    ((call,),) = (read_calls(text, TOOLS)[1],)
    assert call.arguments == {"code": code}


@pytest.mark.parametrize(
    "text",
    [
        "I would call look(query='a').",
        "A call begins with <tool_call>, then JSON.",
        '```python\nprint("[TOOL_CALLS]")\n```',
        '{"name": "other", "arguments": {}}',
        '{"query": "a"}',
        "<function=>",
        "[1, 2, 3]",
        "look('ewald sum')",
        "look(query=open('x'))",
    ],
)
def test_what_is_no_call(text):
    assert read_calls(text, TOOLS) == (text, ())


def test_a_complete_call_that_cannot_be_read_is_told_to_the_model():
    _, written = read_calls('<tool_call>{"name": "look", </tool_call>', TOOLS)
    (call,) = calls_of([each.sent for each in written], TOOLS)
    assert "not JSON" in str(call.error)


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ("look<|channel|>commentary", "look"),
        ("look<|constrain|>json", "look"),
        ("functions.look", "look"),
        ("functions.look:3", "look"),
        ("look:12", "look"),
        ("functions.other", "functions.other"),
        ("other", "other"),
    ],
)
def test_names_without_tokens_and_namespaces(sent, name):
    assert tool_name(sent, frozenset({"look", "run"})) == name


def test_only_the_final_channel_is_the_answer():
    text = (
        "<|channel|>analysis<|message|>Six times seven.<|end|>"
        "<|start|>assistant<|channel|>commentary<|message|>I compute.<|end|>"
        "<|start|>assistant<|channel|>final<|message|>It is 42.<|return|>"
    )
    channels = channels_of(text)
    assert channels is not None
    assert (channels.final, channels.calls) == ("It is 42.", ())
    assert channels.analysis == "Six times seven.\nI compute."
    assert channels_of("no marks") is None


@pytest.mark.parametrize("arguments", [None, "", "null", {}, "{}", '"{}"'])
async def test_no_arguments_in_all_ways(httpserver, arguments):
    function = {"name": "run", "arguments": arguments}
    reply = await asked(
        httpserver, None, ended="tool_calls", tool_calls=[{"function": function}]
    )
    (call,) = reply.tool_calls
    assert (call.name, dict(call.arguments), call.error) == ("run", {}, None)


async def test_the_older_form_of_a_call(httpserver):
    called = {"name": "look", "arguments": ARGUMENTS}
    reply = await asked(httpserver, None, ended="function_call", function_call=called)
    (call,) = reply.tool_calls
    assert (call.name, dict(call.arguments), reply.fault) == ("look", LOOK, None)


async def test_more_calls_than_a_reply_may_make_are_the_models_fault(httpserver):
    many = MAX_CALLS + 1
    function = {"name": "run", "arguments": "{}"}
    native = await asked(httpserver, None, tool_calls=[{"function": function}] * many)
    text = f"<tool_call>{AS_JSON}</tool_call>\n"
    written = await asked(httpserver, text * many)
    for reply in (native, written):
        assert (reply.tool_calls, reply.fault) == ((), "too_many_calls")
    allowed = await asked(httpserver, text * MAX_CALLS)
    assert (len(allowed.tool_calls), allowed.fault) == (MAX_CALLS, None)


HOSTILE = {
    **{f"many of {family}": text * 3000 for family, text in LOOKS.items()},
    **{
        f"half of {family}": text[: len(text) // 2] * 6000
        for family, text in LOOKS.items()
    },
    "marks": "<tool_call>" * 30_000,
    "marks and brackets": '<tool_call>{"' * 30_000,
    "keys": "<function=look>" + "<parameter=a>" * 30_000,
    "open arguments": "<tool_call>look" + "<arg_key>a</arg_key><arg_value>" * 10_000,
    "deep": "<tool_call>" + "[" * 300_000,
    "deep Python": "look(query=" + "(" * 100_000,
    "channels": "<|channel|>" * 30_000,
    "blanks": "<tool_call>" + " " * 300_000 + "<function=look>" + "\n" * 300_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_in_little_time(name):
    started = time.process_time()
    text = HOSTILE[name]
    _, written = read_calls(text, TOOLS)
    calls_in_reasoning(text, TOOLS)
    channels_of(text)
    assert len(written) <= MAX_CALLS + 1
    assert time.process_time() - started < 10
