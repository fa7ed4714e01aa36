"""What a model's documentation looks like, and what can be read out of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from docgen.reading import spoken

SECTIONS = (
    "What it does",
    "Parameters",
    "Returns",
    "Raises",
    "Details",
    "Relations",
    "Notes",
    "Example",
    "Asked as",
)
_FIRST = f"## {SECTIONS[0]}"
_HEADING = re.compile(r"^## (\S.*)$", re.MULTILINE)
#: The name of a symbol, right above its first heading: a comment in an example is none.
_NAME = re.compile(rf"^# `?([\w.]+)`?[ \t]*+\n\s*+(?={_FIRST})", re.MULTILINE)


def split_reply(text: str, names: Sequence[str]) -> dict[str, str]:
    """The documents of several symbols, each behind a line ``# qualified.name``.

    A reply for one symbol need not name it. What stands behind no name that was asked for is
    dropped; of a name that stands there twice, the last one counts.
    """
    whole = _unfenced(text)
    marks = list(_NAME.finditer(whole))
    if len(names) == 1 and not any(mark[1] in names for mark in marks):
        return {names[0]: whole}
    return {name: text for name, text in _behind(marks, whole) if name in names}


def check_reply(text: str) -> str | None:
    """Why the document of a symbol cannot be used, or ``None`` when it can."""
    stripped = spoken(text).strip()
    if not stripped:
        return "empty reply"
    if _FIRST not in stripped:
        return f"no heading {_FIRST!r}"
    body = stripped.rpartition(_FIRST)[2].partition("\n## ")[0].strip()
    return None if body else f"nothing under {_FIRST!r}"


def clean_reply(text: str) -> str:
    """The document from its last first heading on (models introduce, fence and redo it)."""
    stripped = _unfenced(text)
    return stripped[stripped.rfind(_FIRST) :].strip()


def summary_of(text: str) -> str:
    """First paragraph of a written document."""
    return first_paragraph(section_of(text, SECTIONS[0]))


def section_of(text: str, title: str) -> str:
    """What stands under a heading of a written document, empty when it has none of that name."""
    found = _behind(list(_HEADING.finditer(text)), text)
    return next((body.strip() for heading, body in found if heading.strip() == title), "")


def first_paragraph(body: str) -> str:
    """The first paragraph on one line."""
    return " ".join(body.strip().partition("\n\n")[0].split())


def _behind(marks: Sequence[re.Match[str]], text: str) -> Iterator[tuple[str, str]]:
    """What each mark names, and the text from it to the next one."""
    for mark, after in zip_longest(marks, marks[1:]):
        yield mark[1], text[mark.end() : after.start() if after else len(text)]


def _unfenced(text: str) -> str:
    """Without thoughts, and without a fence around all of it."""
    whole = text.encode(errors="replace").decode()  # JSON can hold half a character
    stripped = spoken(whole).strip()
    if stripped.startswith("```") and stripped.endswith("```"):
        stripped = stripped.removesuffix("```").rstrip()
    return stripped
