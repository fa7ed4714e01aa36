"""What a message holds, as records, keys and clients see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # slow to import
    from langchain_core.messages import BaseMessage


def plain_content(message: BaseMessage) -> str | list[Any]:
    """Content of a message as JSON-able data.

    A picture stands by its key: bytes would make a recording large, and another version of a
    drawing library would make every request a new one.
    """
    if isinstance(message.content, str):
        return message.content
    return [
        {"type": "image", "key": block["extras"]["key"]}
        if isinstance(block, dict) and block.get("type") == "image" and "extras" in block
        else block
        for block in message.content
    ]


def plain_message(message: BaseMessage) -> dict[str, Any]:
    """Role and content of a message as JSON-able data, with the calls or the call of a tool."""
    plain: dict[str, Any] = {"role": message.type, "content": plain_content(message)}
    if calls := getattr(message, "tool_calls", None):
        plain["calls"] = [{key: call[key] for key in ("id", "name", "args")} for call in calls]
    if call_id := getattr(message, "tool_call_id", None):
        plain["call_id"] = call_id
    return plain


def sendable(message: BaseMessage) -> BaseMessage:
    r"""A message that a client can encode: half of a character as Python writes it, ``\ud83d``."""
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": sendable_text(content)})
    blocks = [
        {**block, "text": sendable_text(block["text"])}
        if isinstance(block, dict) and isinstance(block.get("text"), str)
        else block
        for block in content
    ]
    return message.model_copy(update={"content": blocks})


def sendable_text(text: str) -> str:
    """A text that a client can encode."""
    return text.encode("utf-8", "backslashreplace").decode()
