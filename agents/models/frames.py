"""Frames of a streamed completion, put together as one that came whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foundation.errors import EndpointError

#: Fields of a frame whose texts follow each other.
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
MAX_INDEX = 10_000  # of a call


def is_stream(sent: object) -> bool:
    """Whether something sent is a list of frames."""
    return (
        isinstance(sent, list)
        and bool(sent)
        and all(
            isinstance(frame, dict) and frame.keys() & {"choices", "error"}
            for frame in sent
        )
    )


def merged(frames: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The completion that frames make up.

    Raises
    ------
    EndpointError
        When they are not parts of a completion.
    """
    message: dict[str, Any] = dict.fromkeys(_TEXTS, "")
    calls: dict[int, dict[str, Any]] = {}
    details: list[Any] = []
    whole: dict[str, Any] = {"usage": None}
    finish: Any = None
    for frame in frames:
        if error := frame.get("error"):
            return {"error": error}
        whole["usage"] = frame.get("usage") or whole["usage"]
        for choice in _list(frame.get("choices"))[:1]:
            if not isinstance(choice, dict):
                raise EndpointError("the endpoint sent a stream of no completion")
            finish = choice.get("finish_reason") or finish
            delta = choice.get("delta") or choice.get("message") or {}
            if not isinstance(delta, dict):
                raise EndpointError("the endpoint sent a stream of no completion")
            for name in _TEXTS:
                message[name] += _text(delta.get(name))
            details += _list(delta.get("reasoning_details"))
            for number, part in enumerate(_list(delta.get("tool_calls"))):
                _add_call(calls, number, part)
    message = {name: text for name, text in message.items() if text}
    message |= {"content": message.get("content")}
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    if details:
        message["reasoning_details"] = details
    return {**whole, "choices": [{"message": message, "finish_reason": finish}]}


def _add_call(calls: dict[int, dict[str, Any]], number: int, part: Any) -> None:
    """One part of a call: the name comes once, the arguments in pieces."""
    if not isinstance(part, dict):
        return
    index = part.get("index", number)
    if not isinstance(index, int) or not 0 <= index <= MAX_INDEX:
        return
    call = calls.setdefault(index, {"function": {"name": "", "arguments": ""}})
    function = part.get("function") or {}
    if not isinstance(function, dict):
        return
    call |= {key: value for key, value in part.items() if key != "function" and value}
    if name := function.get("name"):
        call["function"]["name"] = name
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        call["function"]["arguments"] = arguments
    elif isinstance(call["function"]["arguments"], str):
        call["function"]["arguments"] += _text(arguments)


def _text(value: Any) -> str:
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
