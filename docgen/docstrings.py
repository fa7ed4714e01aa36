"""What docstrings say about single names, in the styles of the materials ecosystem."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent

_HEADING = re.compile(
    r"^(?:(?P<listed>Args|Arguments|Parameters|Params|Attributes|Keyword Args|Other Parameters)"
    r"|(?P<returned>Returns?|Yields?)|Raises|Notes?|Examples?|References?|Warnings?|See Also)"
    r":?[ \t]*(?P<rest>.*)$"
)
# a full stop and a blank, but not that of "e.g. "
_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)(?<!et al)(?<!Ref)(?<!vs)\. ")
_GOOGLE = re.compile(r"^\**(?P<name>[A-Za-z_]\w*)(?:[ \t]*\([^)]*\))?:[ \t]*(?P<text>\S.*)?$")
_NUMPY = re.compile(r"^\**(?P<name>[A-Za-z_]\w*)(?:[ \t]*:[ \t]*\S.*)?$")
_SPHINX = re.compile(r"^:(?:param|ivar|var|attr)\s+(?:\S+\s+)?(?P<name>\w+):\s*(?P<text>.*)$")
_DIRECTIVE = re.compile(r"^\.\.[ \t]+attribute:{1,2}[ \t]*(?P<name>\w+)")
_RULE = re.compile(r"^[-=]{3,}$")
_LONGEST = 240  # characters told about one name


def first_sentence(text: str) -> str:
    """First sentence of a docstring on one line; of one that only lists, what is returned."""
    paragraph = text.strip().partition("\n\n")[0]
    heading = _HEADING.match(paragraph.partition("\n")[0].strip())
    if heading and (heading["listed"] or heading["returned"]) and not heading["rest"].strip():
        paragraph = _returned(text)
    return _sentence(" ".join(paragraph.split()))


def described_names(docstring: str) -> dict[str, str]:
    """What a docstring says about attributes and parameters, one line for each name.

    Understood are Google and numpy sections, ``:param name:`` and ``.. attribute:: name``.
    """
    found: dict[str, str] = {}
    for name, lines in _entries(dedent(docstring).splitlines()):
        text = " ".join(" ".join(lines).split())
        if text:
            found.setdefault(name, text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ...")
    return found


def _sentence(line: str) -> str:
    end = _SENTENCE_END.search(line)
    return line[: end.start() + 1] if end else line


def _returned(docstring: str) -> str:
    """The text of the section on what is returned."""
    kept: list[str] = []
    inside = False
    for line in dedent(docstring).splitlines():
        heading = _HEADING.match(line.strip())
        if heading:
            inside = heading["returned"] is not None
            kept += [heading["rest"]] if inside else []
        elif inside and not _RULE.match(line.strip()):
            kept.append(line)
    return " ".join(kept)


def _entries(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Each name with the lines of its text; a line deeper than its name belongs to it."""
    name, text, depth = "", [""], 0
    listing = False
    for line in lines:
        bare, indent = line.strip(), len(line) - len(line.lstrip())
        if not bare:
            continue
        if name and indent > depth:
            text.append(bare)
            continue
        if name:
            yield name, text
            name = ""
        heading = _HEADING.match(bare)
        if heading and not heading["rest"].strip():
            listing = heading["listed"] is not None
            continue
        if _RULE.match(bare):
            continue
        entry = _SPHINX.match(bare) or _DIRECTIVE.match(bare)
        if entry is None and listing:
            entry = _GOOGLE.match(bare) or _NUMPY.match(bare)
        if entry is None:
            continue
        told = entry.groupdict().get("text") or ""
        name, text, depth = entry["name"], [told], indent
    if name:
        yield name, text
