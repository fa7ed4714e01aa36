"""What a model's reply says: thoughts taken off, tags and fenced code found, in linear time.

Replies are hostile text of any size. Nothing here backtracks over what it has read: a pattern
either has a bounded length or gives back nothing (``*+``). Of several matches the last one counts,
because models think aloud and correct themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_THOUGHT = re.compile(r"<(/?)(think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"```[ \t]{0,9}(\w{0,20})[ \t]{0,99}\r?\n(.*?)```", re.DOTALL)
_OPENED = re.compile(r"```[ \t]{0,9}(\w{0,20})[ \t]{0,99}\r?\n(.*)\Z", re.DOTALL)


def spoken(reply: str) -> str:
    """The reply without its thoughts (``<think>``, ``<thinking>``, ``<reasoning>``).

    Thoughts that are not closed last to the end of the reply; those that are not opened (some
    chat templates write the opening tag themselves) began with it.
    """
    parts: list[str] = []
    position, inside = 0, ""
    for tag in _THOUGHT.finditer(reply):
        closing = tag[1]
        name = tag[2].lower()
        if not closing and not inside:
            parts.append(reply[position : tag.start()])
            inside = name
        elif closing and not inside:
            parts.clear()
            position = tag.end()
        elif closing and name == inside:
            position = tag.end()
            inside = ""
    return "".join(parts) if inside else "".join([*parts, reply[position:]])


def tagged(text: str, tag: str) -> list[str]:
    """What stands between each ``<tag>`` and the ``</tag>`` after it, in order.

    A tag that is opened again before it is closed begins anew.
    """
    contents = []
    start = None
    for match in re.finditer(rf"<(/?){re.escape(tag)}>", text, re.IGNORECASE):
        if not match[1]:
            start = match.end()
        elif start is not None:
            contents.append(text[start : match.start()])
            start = None
    return contents


def after_tag(text: str, tag: str) -> str | None:
    """What stands behind the last ``<tag>``, if that is never closed; ``None`` elsewhere."""
    opening = text.lower().rfind(f"<{tag.lower()}>")
    if opening < 0:
        return None
    content = text[opening + len(tag) + 2 :]
    return None if f"</{tag.lower()}>" in content.lower() else content


def last_tagged(reply: str, tag: str) -> str | None:
    """The last complete ``<tag>`` of a reply, outer blanks off; ``None`` when there is none."""
    contents = tagged(spoken(reply), tag)
    return contents[-1].strip() if contents else None


def unclosed_fence(text: str) -> tuple[str, str] | None:
    """Language and content of a fence that the text opens last and never closes."""
    marks = text.count("```")
    match = _OPENED.match(text, text.rfind("```")) if marks % 2 else None
    return (match[1].lower(), match[2]) if match else None


def fences(text: str) -> Iterator[tuple[str, str]]:
    """Language (lower case, perhaps empty) and content of every fenced block, in order."""
    for match in _FENCE.finditer(text):
        yield match[1].lower(), match[2]
