"""Translates texts: docstrings, messages, questions. Domain words stay, names do not."""

from __future__ import annotations

import re

from experiments.benchmarks.unseen.mapping import NameMap
from experiments.benchmarks.unseen.names import is_distinctive

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)+")
#: What is marked as code in prose: `name`, ``name``, name=..., and the entries of a docstring.
_MARKED = re.compile(
    r"(?P<before>`|^[ \t]*(?=[A-Za-z_][A-Za-z0-9_]*[ \t]*(?:\([^)\n]*\))?:)|:param |:attr:`"
    r"|\.\.[ \t]+attribute::?[ \t]*)"
    r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<keyword>\b[A-Za-z_][A-Za-z0-9_]*)(?==[^=\s])",
    re.MULTILINE,
)
_SOURCES = re.compile(
    r"(?:(?:see|from|in)\s+)?(?:(?:https?://|www\.)\S+|\bdoi:?\s*10\.\d{4,}\S*|\b10\.\d{4,}/\S+|arXiv:\S+"
    r"|[A-Z][\w.]*(?:\s[A-Z][\w.]*)*\.\s(?:Rev|Lett|Phys|Chem|Mater)\.[^\n]*"
    r"|(?-i:[A-Z][\w.-]*(?:\s+[A-Z][\w.-]*)?)\s+et\s+al\.?[,:]?)",
    re.IGNORECASE,
)
#: A request to cite, with what is to be cited: up to the next section of the docstring.
_CITING = re.compile(
    r"If you use\b(?:(?!\n[ \t]*\n).)*?\bcit(?:e|ing)\b"
    r"(?:(?!\n[ \t]*(?:Args|Attributes|Parameters|Returns|Raises|Examples?|Notes?)\b).)*",
    re.DOTALL,
)


def translate(text: str, names: NameMap, *, marked: bool = True, sources: bool = True) -> str:
    """The text with every name of the libraries translated.

    Parameters
    ----------
    marked
        Whether plain words are names where the text marks them as code.
    sources
        Whether to remove addresses and citations, by which a library can be recognised.
    """
    if sources:
        text = _SOURCES.sub("", _CITING.sub("", text))
    text = _DOTTED.sub(lambda found: _dotted(found.group(), names), text)
    for old, new in names.distributions.items():
        text = text.replace(old, new)
    if marked:
        text = _MARKED.sub(lambda found: _marked(found, names), text)
    text = _WORD.sub(lambda found: _word(found.group(), names), text)
    return translate_proper(text, names)


def translate_proper(text: str, names: NameMap) -> str:
    """The text with the names of people and methods replaced, in the case they are written."""
    if names.proper_pattern is None:
        return text
    by_lower = {old.lower(): new for old, new in names.proper.items()}

    def replace(found: re.Match[str]) -> str:
        old = found.group()
        new = by_lower[old.lower()]
        return new.upper() if old.isupper() else new.lower() if old.islower() else new.capitalize()

    return names.proper_pattern.sub(replace, text)


def _dotted(dotted: str, names: NameMap) -> str:
    """A module path of a renamed package, or a member of a renamed class; all else stays."""
    parts = dotted.split(".")
    if parts[0][:1].isupper() and parts[0] in names.identifiers:
        return ".".join(names.identifiers.get(part, part) for part in parts)
    for package in names.packages:
        if dotted == package or dotted.startswith(f"{package}."):
            rest = parts[package.count(".") + 1 :]
            new = [names.identifiers.get(part, part) for part in rest]
            return ".".join([names.packages[package], *new])
    return dotted


def _marked(found: re.Match[str], names: NameMap) -> str:
    if found["keyword"]:
        return names.identifiers.get(found["keyword"], found["keyword"])
    return found["before"] + names.identifiers.get(found["name"], found["name"])


def _word(word: str, names: NameMap) -> str:
    if word in names.keys:
        return names.keys[word] if is_distinctive(word) else word
    if (old := old_name(word, names)) is not None:
        return names.identifiers[old] + word[len(old) :]
    return word


def old_name(word: str, names: NameMap) -> str | None:
    """The distinctive name that a word of prose is, also as a plural, ``None`` for other words."""
    for candidate in (word, word.removesuffix("s")):
        if candidate in names.identifiers and is_distinctive(candidate):
            return candidate
    return None
