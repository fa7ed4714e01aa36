"""Channels of gpt-oss (the harmony format) that a server left in the text.

Thoughts stand in ``analysis``, calls in ``commentary``, the answer in ``final``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.models.written import WrittenCall

_HEAD = re.compile(
    r"(?:<\|start\|>[a-z]{0,20}(?P<early>\s+to=[\w.]{1,100})?)?\s*"
    r"<\|channel\|>\s*(?P<channel>[a-z]{1,20})(?P<late>\s+to=[\w.]{1,100})?"
    r"[^<\n]{0,100}(?:<\|constrain\|>[^<\n]{0,40})?<\|message\|>"
)
_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
#: What follows a control token in a name is not of the name.
_CONTROL = re.compile(r"<\|.*", re.DOTALL)


@dataclass(frozen=True)
class Channels:
    """What stands in each."""

    final: str
    analysis: str
    calls: tuple[WrittenCall, ...]


def channels_of(text: str) -> Channels | None:
    """The channels of a text; ``None`` where it has no marks of them."""
    heads = list(_HEAD.finditer(text)) if "<|channel|>" in text else []
    if not heads:
        return None
    final, analysis = [text[: heads[0].start()]], list[str]()
    calls: list[WrittenCall] = []
    for head in heads:
        end = _END.search(text, head.end())
        content = text[head.end() : end.start() if end else len(text)]
        recipient = (head["early"] or head["late"] or "").strip().removeprefix("to=")
        if recipient:
            calls.append(WrittenCall(recipient, content))
        elif head["channel"] == "final":
            final.append(content)
        else:
            analysis.append(content)
    return Channels("".join(final).strip(), "\n".join(analysis), tuple(calls))


def tool_name(name: str, offered: frozenset[str]) -> str:
    """The name of a tool without control tokens, namespace and number (``functions.run:0``)."""
    name = _CONTROL.sub("", name).strip()
    if name in offered:
        return name
    bare = re.sub(r"\A(?:functions?|tools?|default_api)[.:]|:\d{1,6}\Z", "", name)
    bare = re.sub(r":\d{1,6}\Z", "", bare)
    return bare if bare in offered else name
