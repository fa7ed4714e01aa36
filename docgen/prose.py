"""Reads what is written about a symbol: what it is, and which names a sentence is about."""

from __future__ import annotations

import re
from collections.abc import Iterable

from docgen.symbols import FIRST, Chunk, Entry, Symbol

_SENTENCE = re.compile(r"(?<=[.!?]) ")
_DEPRECATED = re.compile(
    r"\b(?:deprecated|superseded|obsolete|no longer maintained)\b", re.IGNORECASE
)
_LONGEST = 300  # characters of such a sentence behind the word
_ITEMS = ("Parameters", "Attributes")
_ASIDE = ("Example", "Relations")
_NEXT_ITEM = re.compile(r"\n(?=\S)")
_BEGUN = re.compile(r"(?<=[^.][^.][.!?])\s+")
_CLAUSE = re.compile(r"(?<=[.;])\s+")
_FENCED = re.compile(r"```.*?```", re.DOTALL)
#: ``name``, `name()`, :class:`~package.Name` and the like.
_MARK = re.compile(r"`{1,2}[~!]?([A-Za-z_][\w.]*)(?:\(\))?`{1,2}")
_ITEM = re.compile(r"(\w+)(?: \([^)]*\))?: ")
_RESULT = re.compile(r"\bresults?\b|\breturn")  # of sentences about the form of a value
_OF = re.compile(r"`(\w+)` of `([\w.]+)`")
_POINTER = re.compile(
    r"\b(?:see|(?:[a-z]+ed|told|given) in) (?:`[^`]*`|(?:the|this) [a-z ]{1,40})\.?$",
    re.IGNORECASE,
)


def definition(entry: Entry) -> str:
    """The first sentence of what an entry is."""
    return _SENTENCE.split(" ".join(what(entry).split()), maxsplit=1)[0]


def what(entry: Entry) -> str:
    """What an entry is, in its own words."""
    return entry.text if isinstance(entry, Chunk) else entry.what


def deprecation(entry: Entry) -> str:
    """The sentence that says that a symbol should not be used; empty for a current one."""
    if isinstance(entry, Chunk):
        about = f"{entry.text}\n\n\n"
    else:
        bodies = (entry.section(title) for title in (FIRST, "Details", "Notes"))
        about = "\n".join(["", *bodies])
    word = _DEPRECATED.search(about)
    if word is None:
        return ""
    before = about[: word.start()].rpartition(". ")[2].rpartition("\n\n")[2]
    behind = about[word.start() : word.start() + _LONGEST]
    return " ".join((before + behind).split())


# -- sentences


def sentences(symbol: Symbol) -> list[tuple[str, str]]:
    """Sentences of a document, each with the parameter whose item it is (or empty)."""
    items = []
    for title, body in symbol.bodies.items():
        if title in _ASIDE:
            continue
        text = _FENCED.sub("", body)
        if title in _ITEMS:
            for lines in _NEXT_ITEM.split(text):
                line = " ".join(lines.split())
                items += [(item_of(line), line)] if line else []
        else:
            parts = _BEGUN.split(" ".join(text.split()))
            items += [("", part) for part in parts if part]
    return items


def quoting(text: str) -> list[str]:
    """Sentences and clauses that have something in code marks."""
    return [clause for clause in _CLAUSE.split(text) if "`" in clause]


def item_of(text: str) -> str:
    """``x`` of ``x (float): what it is``; empty for other text."""
    match = _ITEM.match(text)
    return match[1] if match else ""


def marked(text: str) -> list[tuple[int, str]]:
    """Names in code marks, with where they stand."""
    return [(match.start(), match[1]) for match in _MARK.finditer(text)]


def without_marked(text: str) -> str:
    """The text with a break for each name in code marks."""
    return _MARK.sub(";", text)


def owned(text: str) -> list[tuple[int, str, str]]:
    """Where a text says "`x` of `y`", with ``x`` and ``y``."""
    return [(match.start(), match[1], match[2]) for match in _OF.finditer(text)]


def pointers(text: str) -> list[tuple[int, int]]:
    """Spans of a text that only say where something is told."""
    return [match.span() for match in _POINTER.finditer(text)]


def tells(text: str) -> bool:
    """Whether a sentence says what a symbol is or serves for, and not how it is given."""
    formal = "`" in text or " " not in text or _RESULT.search(text)
    return not (formal or pointers(text))


def about(text: str, names: Iterable[str]) -> list[str]:
    """Those of some parameters that a sentence is about: in code marks, or as its item."""
    mentioned = {name for _, name in marked(text)} | {item_of(text)}
    return [name for name in names if name in mentioned]
