"""Tool calls: as an endpoint returns them, and as text for models that have no tool calling.

Both are read into the same :class:`ToolCall`, so that whoever asks need not know which protocol
was used. Names and arguments are hostile text: they are parsed under caps, and what cannot be
parsed is a value with an ``error``, never an exception.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from docgen.reading import fences, spoken, tagged

if TYPE_CHECKING:  # slow to import
    from langchain_core.messages import AIMessage, BaseMessage

MAX_ARGUMENTS = 200_000  # characters of the arguments of one call
MAX_NAME = 100  # characters of a tool's name
SHOWN = 300  # characters of arguments that could not be read
BODY = "code"  # the argument that the text protocol writes plainly, below the JSON

_MARKS = frozenset({"tool", "tool_call"})
_UNMARKED = frozenset({"json", ""})

PROTOCOL = """\
You have tools. To call one, end your reply with one fenced block: JSON with the tool's name and \
its arguments and, for an argument called `{body}`, a line `---` and then the code as it is:

```tool
{{"name": "NAME", "arguments": {{"ARGUMENT": "VALUE"}}}}
---
print("only where the tool takes `{body}`")
```

One call in a reply; its result is in the next message. The tools, each with the JSON schema of \
its arguments:

{tools}"""


@dataclass(frozen=True)
class ToolCall:
    """A call that a model made.

    Attributes
    ----------
    id
        Unique among the calls of its reply; the result is sent back under it.
    arguments
        Parsed JSON, not yet checked against the tool's schema; empty when ``error`` is set.
    error
        Why the arguments could not be read.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


def calls_of(message: AIMessage) -> tuple[ToolCall, ...]:
    """The calls that an endpoint returned, those with unreadable arguments last."""
    found = [
        (call.get("id"), call.get("name"), call.get("args"))
        for call in (*message.tool_calls, *message.invalid_tool_calls)
    ]
    return _calls(found)


def read_calls(text: str, tools: Sequence[Mapping[str, Any]]) -> tuple[str, tuple[ToolCall, ...]]:
    """The first call that a text makes, and what the text says before it.

    What follows a call was written without its result, and is dropped. A block in tags
    ``<tool_call>``, which some chat templates use, counts as well.
    """
    said = spoken(text)
    names = {tool["function"]["name"] for tool in tools}
    whole = f"{said}\n```"  # the last block may not be closed
    for language, content in fences(whole):
        head, _, body = content.partition("\n---\n")
        value = _json(head)
        named = isinstance(value, dict) and {"name", "arguments"} <= value.keys()
        if language in _MARKS or (language in _UNMARKED and named and value["name"] in names):
            return _before(whole, content), _calls([_request(value, head, body)])
    for content in tagged(said, "tool_call")[:1]:
        before = said.lower().partition("<tool_call>")[0]
        return said[: len(before)].strip(), _calls([_request(_json(content), content, "")])
    return text, ()


def told(tools: Sequence[Mapping[str, Any]]) -> str:
    """What a model without tool calling is told about its tools."""
    listed = [
        f"- {tool['function']['name']}: {tool['function']['description']}\n"
        f"  {json.dumps(tool['function']['parameters'], ensure_ascii=False)}"
        for tool in tools
    ]
    return PROTOCOL.format(body=BODY, tools="\n".join(listed))


def as_text(
    messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]]
) -> list[BaseMessage]:
    """A conversation with tool calls as plain messages."""
    from langchain_core.messages import (  # noqa: PLC0415 - slow to import
        AIMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
    )

    plain: list[BaseMessage] = []
    names: dict[str, str] = {}
    results: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            name = names.get(message.tool_call_id, "")
            results.append(f'<result tool="{name}">\n{message.text}\n</result>')
            continue
        if results:
            plain.append(HumanMessage("\n".join(results)))
            results = []
        if isinstance(message, AIMessage) and message.tool_calls:
            names.update({str(call["id"]): call["name"] for call in message.tool_calls})
            blocks = [_block(call["name"], call["args"]) for call in message.tool_calls]
            plain.append(AIMessage("\n\n".join(filter(None, [message.text, *blocks]))))
        else:
            plain.append(message)
    if results:
        plain.append(HumanMessage("\n".join(results)))
    if plain and isinstance(plain[0], SystemMessage):
        return [SystemMessage(f"{plain[0].text}\n\n{told(tools)}"), *plain[1:]]
    return [SystemMessage(told(tools)), *plain]


def message_of(
    text: str, calls: Sequence[ToolCall], raw: Mapping[str, Any] | None = None
) -> AIMessage:
    """A reply with calls as it stands in the conversation.

    ``raw`` is what some providers want back unchanged: signed thoughts, for example.
    """
    from langchain_core.messages import AIMessage  # noqa: PLC0415 - slow to import

    return AIMessage(
        content=raw["content"] if raw else text,
        additional_kwargs=dict(raw["additional_kwargs"]) if raw else {},
        tool_calls=[
            {"name": call.name, "args": dict(call.arguments), "id": call.id, "type": "tool_call"}
            for call in calls
        ],
    )


def raw_of(message: AIMessage) -> dict[str, Any] | None:
    """What of a reply with calls must be sent back as it came; ``None`` for a plain one."""
    extra = {k: v for k, v in message.additional_kwargs.items() if k != "tool_calls" and v}
    if not message.tool_calls or (isinstance(message.content, str) and not extra):
        return None
    given = {"content": message.content, "additional_kwargs": extra}
    whole: dict[str, Any] = json.loads(_valid(json.dumps(given, default=str, ensure_ascii=False)))
    return whole


def _calls(found: Sequence[tuple[object, object, object]]) -> tuple[ToolCall, ...]:
    calls: list[ToolCall] = []
    for number, (given, name, arguments) in enumerate(found):
        taken = {call.id for call in calls}
        known = str(given) if given and len(str(given)) <= MAX_NAME else ""
        ident = known if known and known not in taken else f"call_{number}"
        while ident in taken:
            ident += "_"
        parsed, error = _arguments(arguments)
        calls.append(ToolCall(_valid(ident), _valid(str(name or "")[:MAX_NAME]), parsed, error))
    return tuple(calls)


def _request(value: object, head: str, body: str) -> tuple[object, object, object]:
    """Id, name and arguments of a call that was written as text."""
    if not isinstance(value, dict):
        return None, "", head
    arguments = value.get("arguments", {})
    if body.strip() and isinstance(arguments, dict):
        arguments = {**arguments, BODY: body.removesuffix("\n")}
    return None, value.get("name"), arguments


def _arguments(given: object) -> tuple[Mapping[str, Any], str | None]:
    """Arguments as plain JSON, or why they are none."""
    shown = ""
    try:
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        shown = _valid(text[:SHOWN])
        if len(text) > MAX_ARGUMENTS:
            return {}, f"the arguments are longer than {MAX_ARGUMENTS} characters: {shown}..."
        value = json.loads(_valid(text or "{}"), parse_constant=lambda _: None)
    except (ValueError, TypeError, RecursionError) as error:
        return {}, f"the arguments are not JSON ({str(error)[:SHOWN]}): {shown}"
    if not isinstance(value, dict):
        return {}, f"the arguments are not a JSON object: {shown}"
    return json.loads(_valid(json.dumps(value, ensure_ascii=False))), None


def _json(text: str) -> Any:
    """Parsed JSON; ``None`` for what is none."""
    try:
        return json.loads(text) if len(text) <= MAX_ARGUMENTS else None
    except (ValueError, RecursionError):
        return None


def _before(said: str, content: str) -> str:
    return said[: said.index(content)].rpartition("```")[0].strip()


def _block(name: str, arguments: Mapping[str, Any]) -> str:
    body = arguments.get(BODY)
    rest = {k: v for k, v in arguments.items() if k != BODY or not isinstance(body, str)}
    head = json.dumps({"name": name, "arguments": rest}, ensure_ascii=False)
    below = f"---\n{body}\n" if isinstance(body, str) else ""
    return f"```tool\n{head}\n{below}```"


def _valid(text: str) -> str:
    """Without halves of characters, which no request, file or hash takes."""
    return text.encode("utf-8", "replace").decode()
