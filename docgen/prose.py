"""Reads what is written about a symbol: its first sentence, whether it should not be used."""

from __future__ import annotations

import re

from docgen.symbols import FIRST, Chunk, Entry

_SENTENCE = re.compile(r"(?<=[.!?]) ")
_DEPRECATED = re.compile(
    r"\b(?:deprecated|superseded|obsolete|no longer maintained)\b", re.IGNORECASE
)
_LONGEST = 300  # characters of such a sentence behind the word


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
