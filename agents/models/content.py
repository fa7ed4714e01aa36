"""What a message holds, as records and keys see it: pictures by their stable key."""

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
