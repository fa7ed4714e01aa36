"""Translates texts: docstrings, messages, questions. Domain words stay, names do not."""

from __future__ import annotations

import re

from experiments.benchmarks.unseen.mapping import NameMap
from experiments.benchmarks.unseen.names import is_distinctive

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_WORD = re.compile(_NAME)
_DOTTED = re.compile(rf"{_NAME}(?:\.{_NAME})+")
_FORMULA = re.compile(r":math:`[^`]*`")
#: `code` and ``code``: the name it begins with is meant, and its keywords.
CODE = re.compile(r"(?P<ticks>`{1,2})(?P<code>[^`]+)(?P=ticks)")
#: Fields of a docstring.
FIELD = re.compile(rf"(?P<before>:param |\.\.[ \t]+attribute::?[ \t]*)(?P<name>{_NAME})")
#: A line of a docstring that may begin with a parameter; the section says whether it does.
ENTRY = re.compile(
    rf"^(?P<before>[ \t]*)(?P<name>{_NAME})(?=[ \t]*(?:\([^)\n]*\))?[ \t]*:)", re.MULTILINE
)
_SECTION = re.compile(
    r"^[ \t]*(?:(?P<names>(?:Other )?Parameters|Attributes?|[\w ]*Arg(?:ument)?s?|[\w ]*[Kk]wargs)"
    r"|Returns?|Yields?|Raises|Examples?|Notes?)[ \t]*:?[ \t]*$",
    re.MULTILINE,
)
#: The arguments of a call, where a shape that no word has says that it is one.
CALL = re.compile(rf"(?P<name>{_NAME}(?:\.{_NAME})*)(?P<arguments>\((?:[^()]|\([^()]*\))*\))")
_KEYWORD = re.compile(rf"(?P<name>\b{_NAME})(?==[^=\s])")
#: Outside of code a keyword is told by its value: G=0 is a formula, smoothed=False is none.
KEYWORD = re.compile(
    rf"(?P<name>\b(?:{_NAME}(?==(?:[\"'\[]|True\b|False\b|None\b))|[A-Za-z_]\w{{2,}}(?==[-+.\d])))"
)
_SHORTEST_CLASS = 3  # E.g. is not a member of a class
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
    formulas = _FORMULA.findall(text)
    text = _FORMULA.sub("\0", text)
    text = _DOTTED.sub(lambda found: _dotted(found.group(), names), text)
    for old, new in names.distributions.items():
        text = text.replace(old, new)
    if marked:
        text = _translate_marked(text, names)
    text = _WORD.sub(lambda found: _word(found.group(), names), text)
    text = translate_proper(text, names)
    for formula in formulas:
        text = text.replace("\0", formula, 1)
    return text


def _translate_marked(text: str, names: NameMap) -> str:
    """Plain words too, where the text says that they are names."""

    def name(found: re.Match[str]) -> str:
        return names.identifiers.get(found["name"], found["name"])

    def code(found: re.Match[str]) -> str:
        inside = found["code"]
        if first := _WORD.match(inside):
            inside = names.identifiers.get(first[0], first[0]) + inside[first.end() :]
        inside = _KEYWORD.sub(name, inside)
        return f"{found['ticks']}{inside}{found['ticks']}"

    def call(found: re.Match[str]) -> str:
        if not tells_code(found["name"]):
            return found[0]
        return found["name"] + _KEYWORD.sub(name, found["arguments"])

    text = CODE.sub(code, text)
    text = FIELD.sub(lambda found: found["before"] + name(found), text)
    named = entries(text)
    text = ENTRY.sub(
        lambda found: found["before"] + (name(found) if found.start() in named else found["name"]),
        text,
    )
    return KEYWORD.sub(name, CALL.sub(call, text))


def entries(text: str) -> set[int]:
    """Where the lines begin that explain a parameter or attribute, or a class that is returned."""
    sections = [(found.end(), found["names"]) for found in _SECTION.finditer(text)]
    return {
        found.start()
        for found in ENTRY.finditer(text)
        for above in [[names for end, names in sections if end <= found.start()]]
        if above and (above[-1] or _may_be_class(found["name"]))
    }


def tells_code(name: str) -> bool:
    """Whether a name in prose cannot be a word: it is dotted, or distinctive."""
    return "." in name or is_distinctive(name)


def _may_be_class(name: str) -> bool:
    return name[:1].isupper() and len(name) >= _SHORTEST_CLASS


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
    if _may_be_class(parts[0]) and parts[0] in names.identifiers:
        return ".".join(names.identifiers.get(part, part) for part in parts)
    for package in names.packages:
        if dotted == package or dotted.startswith(f"{package}."):
            rest = parts[package.count(".") + 1 :]
            new = [names.identifiers.get(part, part) for part in rest]
            return ".".join([names.packages[package], *new])
    return dotted


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
