"""What a model's documentation looks like, and what can be read out of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from docgen.docstrings import unit_of
from docgen.reading import spoken
from docgen.symbols import FIRST, Section, SectionItem

SECTIONS = (
    FIRST,
    "Parameters",
    "Returns",
    "Raises",
    "Details",
    "Relations",
    "Notes",
    "Example",
    "Asked as",
)
_FIRST = f"## {FIRST}"
_HEADING = re.compile(r"^## (\S.*)$", re.MULTILINE)
#: A parameter at the beginning of a line: ``name (type): ...`` or ``- `name`: ...``.
_ITEM = re.compile(r"^(?:[-*] {1,3})?\*{0,2}`{0,2}([A-Za-z_]\w*)\b", re.MULTILINE)
#: The head of an item with a type; units and shapes in brackets are none.
_TYPED = re.compile(
    r"(?:[-*] {1,3})?[*`]{0,4}[A-Za-z_]\w*[*`]{0,4} \(([^()\n]{1,80})\)"
)
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
    return {name: text for name, text in behind(marks, whole) if name in names}


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
    return first_paragraph(section_of(text, FIRST))


def section_of(text: str, title: str) -> str:
    """What stands under a heading of a written document, empty when it has none of that name."""
    return sections_of(text).get(title, "")


def sections_of(text: str) -> dict[str, str]:
    """What stands under each heading of a written document."""
    bodies: dict[str, str] = {}
    for heading, body in behind(list(_HEADING.finditer(text)), text):
        bodies.setdefault(heading.strip(), body.strip())
    return bodies


def read_sections(text: str) -> tuple[Section, ...]:
    """A written document by its headings; joined they give the text.

    Read here once, for everything that follows documents.
    """
    marks = list(_HEADING.finditer(text))
    before = text[: marks[0].start()] if marks else text
    sections = [Section("", before)] if before else []
    for mark, after in zip_longest(marks, marks[1:]):
        title = mark[1].rstrip()
        start = mark.start(1) + len(title)
        end = after.start() if after else len(text)
        sections.append(section(title, text[start:end]))
    return tuple(sections)


def section(title: str, text: str) -> Section:
    """What stands behind a title, of parameters and attributes item by item."""
    if title not in {"Parameters", "Attributes"}:
        return Section(title, text)
    marks = list(_ITEM.finditer(text))
    items = [
        SectionItem(name, lines, unit_of(lines), _type_of(lines))
        for name, lines in behind(marks, text, whole=True)
    ]
    return Section(title, text[: marks[0].start()] if marks else text, tuple(items))


def _type_of(lines: str) -> str:
    """The type in the head of an item, ``name (type): ...``; empty where there is none."""
    match = _TYPED.match(lines)
    return match[1] if match else ""


def first_paragraph(body: str) -> str:
    """The first paragraph on one line."""
    return " ".join(body.strip().partition("\n\n")[0].split())


def behind(
    marks: Sequence[re.Match[str]], text: str, *, whole: bool = False
) -> Iterator[tuple[str, str]]:
    """What each mark names, and the text from behind it (``whole``: from it) to the next one."""
    for mark, after in zip_longest(marks, marks[1:]):
        start = mark.start() if whole else mark.end()
        yield mark[1], text[start : after.start() if after else len(text)]


def _unfenced(text: str) -> str:
    """Without thoughts, and without a fence around all of it."""
    whole = text.encode(errors="replace").decode()  # JSON can hold half a character
    stripped = spoken(whole).strip()
    if stripped.startswith("```") and stripped.endswith("```"):
        stripped = stripped.removesuffix("```").rstrip()
    return stripped
