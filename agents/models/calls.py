"""Messages as plain data; tool calls, as an endpoint returns them and as text for other models.

Both are read into the same :class:`ToolCall`, so that whoever asks need not know which protocol
was used (`agents.models.written` finds those in a text). Names and arguments are hostile text: they
are parsed under caps, and what cannot be parsed is a value with an ``error``, never an exception.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal

from agents.models.harmony import tool_name
from agents.models.written import BODY, MAX_ARGUMENTS, MAX_NAME, ToolSchemas
from foundation.configuration import data_of

#: Roles under which conversations have been recorded.
STORED = {"user": "human", "assistant": "ai"}
SHOWN = 300  # characters of arguments that could not be read
#: What endpoints say, and are told.
ENDPOINTS = data_of(__file__, "endpoints")


@dataclass(frozen=True)
class ToolCall:
    """A call that a model made; its ``id`` is unique among those of its reply.

    ``arguments`` are parsed JSON, not yet checked against the tool's schema, or empty, and then
    ``error`` says why they could not be read.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True)
class Message:
    """One message of a conversation.

    Its content is a text, or blocks of text and pictures: ``{"type": "text", "text": ...}`` and
    ``{"type": "image", "base64": ..., "mime_type": ..., "key": ...}``, recorded under the key.
    ``call_id`` is the call whose result it is; for ``raw`` see `agents.models.reply.Sent`.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]]
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    raw: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """Its text, without pictures."""
        if isinstance(self.content, str):
            return self.content
        return "".join(
            block["text"] for block in self.content if block["type"] == "text"
        )


def protocol_of(tools: ToolSchemas) -> str:
    """What a model without tool calling is told about its tools."""
    listed = [
        f"- {tool['function']['name']}: {tool['function']['description']}\n"
        f"  {json.dumps(tool['function']['parameters'], ensure_ascii=False)}"
        for tool in tools
    ]
    return str(ENDPOINTS["protocol"]).format(body=BODY, tools="\n".join(listed))


def as_text(messages: Sequence[Message], tools: ToolSchemas) -> list[Message]:
    """A conversation with tool calls as plain messages, and what is told about the tools."""
    plain: list[Message] = []
    names: dict[
        str, str
    ] = {}  # of the latest calls: each reply may number its own anew
    for results, group in groupby(messages, lambda message: message.role == "tool"):
        if results:
            results_text = [
                f'<result tool="{names.get(message.call_id, "")}">\n{message.text}\n</result>'
                for message in group
            ]
            plain.append(Message("user", "\n".join(results_text)))
            continue
        for message in group:
            names |= {call.id: call.name for call in message.calls}
            blocks = [_block(call.name, call.arguments) for call in message.calls]
            as_plain = Message(
                message.role, "\n\n".join(filter(None, [message.text, *blocks]))
            )
            plain.append(as_plain if blocks else message)
    first, rest = (
        ([plain[0].text], plain[1:]) if plain[0].role == "system" else ([], plain)
    )
    return [Message("system", "\n\n".join([*first, protocol_of(tools)])), *rest]


def calls_of(
    sent: Sequence[Mapping[str, Any]], tools: ToolSchemas = ()
) -> tuple[ToolCall, ...]:
    """The calls that were sent, by ``id``, ``name`` and ``args``."""
    offered = frozenset(tool["function"]["name"] for tool in tools)
    calls: dict[str, ToolCall] = {}
    for number, call in enumerate(sent):
        sent_id = str(call.get("id") or "")
        ident = (
            sent_id
            if 0 < len(sent_id) <= MAX_NAME and sent_id not in calls
            else f"call_{number}"
        )
        while ident in calls:
            ident += "_"
        parsed, error = _arguments(call.get("args"))
        name = tool_name(str(call.get("name") or "")[:MAX_NAME], offered)
        named = encodable(name)
        calls[ident] = ToolCall(encodable(ident), named, parsed, error)
    return tuple(calls.values())


def _arguments(given: object) -> tuple[Mapping[str, Any], str | None]:
    """Arguments as plain JSON, or why they are none."""
    excerpt = ""
    try:
        text = (
            given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        )
        excerpt = encodable(text[:SHOWN])
        if len(text) > MAX_ARGUMENTS:
            return (
                {},
                f"the arguments are longer than {MAX_ARGUMENTS} characters: {excerpt}...",
            )
        value = plain(json.loads(text or "{}", parse_constant=lambda _: None))
        if isinstance(value, str) and value.lstrip().startswith("{"):  # encoded twice
            value = plain(json.loads(value, parse_constant=lambda _: None))
    except (ValueError, TypeError, RecursionError) as error:
        return {}, f"the arguments are not JSON ({str(error)[:SHOWN]}): {excerpt}"
    if value is None:  # a tool without arguments
        return {}, None
    if not isinstance(value, dict):
        return {}, f"the arguments are not a JSON object: {excerpt}"
    return value, None


def _block(name: str, arguments: Mapping[str, Any]) -> str:
    body = arguments.get(BODY)
    rest = {
        k: v for k, v in arguments.items() if k != BODY or not isinstance(body, str)
    }
    head = json.dumps({"name": name, "arguments": rest}, ensure_ascii=False)
    below = f"---\n{body}\n" if isinstance(body, str) else ""
    return f"```tool\n{head}\n{below}```"


def encodable(text: str, instead: str = "replace") -> str:
    """Without halves of characters, which no request, file or hash takes."""
    return text.encode("utf-8", instead).decode()


def plain(value: object) -> Any:
    """As JSON holds it, without halves of characters."""
    return json.loads(encodable(json.dumps(value, default=str, ensure_ascii=False)))


def plain_calls(message: Message) -> list[dict[str, Any]]:
    """The calls of a message as JSON-able data."""
    return [
        {"id": each.id, "name": each.name, "args": dict(each.arguments)}
        for each in message.calls
    ]


def plain_message(message: Message) -> dict[str, Any]:
    """A message as it is stored, and part of a digest.

    A picture stands by its key: bytes would make a recording large, and another version of a
    drawing library would make every request a new one.
    """
    content = message.content
    if not isinstance(content, str):
        content = [
            {"type": "image", "key": b["key"]} if "key" in b else b for b in content
        ]
    stored = {"role": STORED.get(message.role, message.role), "content": content}
    stored |= {"calls": plain_calls(message)} if message.calls else {}
    return stored | ({"call_id": message.call_id} if message.call_id else {})


def wire(message: Message) -> dict[str, Any]:
    r"""A message as OpenAI's API takes it; half of a character as Python writes it, ``\ud83d``."""
    content: Any = message.content
    if isinstance(content, str):
        content = encodable(content, "backslashreplace")
    else:
        content = [
            {"type": "text", "text": encodable(block["text"], "backslashreplace")}
            if block["type"] == "text"
            else {
                "type": "image_url",
                "image_url": {
                    "url": f"data:{block['mime_type']};base64,{block['base64']}"
                },
            }
            for block in content
        ]
    sent = {"role": message.role, "content": content}
    if message.call_id:
        sent["tool_call_id"] = message.call_id
    if message.calls:
        extras = (message.raw or {}).get("calls") or [{}] * len(message.calls)
        sent |= (message.raw or {}).get("fields", {}) | {"content": content or None}
        sent["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                **extra,
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(call.arguments, ensure_ascii=False),
                },
            }
            for call, extra in zip(message.calls, extras, strict=True)
        ]
    return sent
