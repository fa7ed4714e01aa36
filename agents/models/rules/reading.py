"""A prompt as the rules read it: question, documents, attempts."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from agents.models.rules.words import name_words, text_words

MASK = re.compile(r"\[MASK(?:_(\d+))?\]")
_DOCUMENT = re.compile(r'<document name="([^"]{0,1000})"[^>]{0,4000}>\n')
_ATTEMPT = re.compile(r'<attempt number="(\d{1,9})">\n')
_PROPERTY = re.compile(
    r"^[ \t]*[-*][ \t]*`([A-Za-z_][\w.]*)`[ \t]*(\([^()\n]*\))?[ \t]*:[ \t]*(.*)$", re.MULTILINE
)
_FENCE = re.compile(r"```(?:python|py)?[ \t]*+(.*?)```", re.DOTALL)
_PATH = re.compile(r"`([\w.=+-]+(?:/[\w.=+-]+)+/?)`")
_FORMAT = re.compile(r"(?:\bformat\b\s*(?:is|should be|:)?\s*:?\s*)(.*)", re.IGNORECASE | re.DOTALL)
_TYPE = (
    r"(?:numpy array|ndarray|list|dict(?:ionary)?|tuple|set|bool(?:ean)?|int(?:eger)?|float|number"
    r"|str(?:ing)?)"
)
_ITEMS = r"(?:\[[^\]]{0,99}\]|s? (?:of|with) [^()]{0,99})"
#: A type that is given without the word "format": `(int)`, `a float value`, `... as a list.`
_STATED = re.compile(
    rf"\(`?(?P<bracket>{_TYPE}{_ITEMS}?)(?: values?)?`?(?:,[^()]{{0,99}})?\)"
    r"|\b(?:an? )?(?P<value>(?:(?:numpy array|list|tuple|set)s? (?:of|with) ){0,2}"
    rf"{_TYPE}) values?\b"
    rf"|\bas an? (?P<last>{_TYPE}{_ITEMS}?)\.?$",
    re.IGNORECASE,
)
_KINDS = (
    ("bool", "bool"),
    ("list", "list"),
    ("dict", "dict"),
    ("tuple", "tuple"),
    ("set", "set"),
    ("int", "int"),
    ("float", "float"),
    ("number", "float"),
    ("str", "str"),
)


@dataclass(frozen=True)
class Wanted:
    """One property that the question asks for.

    ``kind`` is ``""`` when no format was read; ``inner`` is the kind of the items of a list, or
    of the values of a dict.
    """

    name: str
    description: str
    kind: str
    inner: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """Stems of the name."""
        return name_words(self.name)

    @property
    def about(self) -> frozenset[str]:
        """Stems of the description."""
        return text_words(self.description)


@dataclass(frozen=True)
class Tried:
    """An earlier draft and what became of it."""

    draft: str
    outcome: str
    traceback: str
    returned: str
    printed: str
    checks: tuple[str, ...]


@dataclass(frozen=True)
class Prompt:
    """Everything the rules take from a prompt.

    Attributes
    ----------
    text
        The question itself.
    wanted
        Properties, in order.
    blocks
        Code of the question, dedented, masks still in it.
    paths
        Relative paths that the question names.
    documents
        Name and content of every document.
    """

    text: str
    wanted: tuple[Wanted, ...]
    blocks: tuple[str, ...]
    paths: tuple[str, ...]
    documents: tuple[tuple[str, str], ...]
    tried: tuple[Tried, ...]


def read(prompt: str) -> Prompt | None:
    """Read a prompt; ``None`` when there is no question in it."""
    _, opened, after = prompt.partition("<question>\n")
    text, closed, rest = after.partition("\n</question>")
    if not opened or not closed:
        return None
    return Prompt(
        text=text,
        wanted=tuple(_wanted(text)),
        blocks=tuple(_blocks(text)),
        paths=tuple(dict.fromkeys(_PATH.findall(text))),
        documents=tuple((name, body) for name, body in _sections(rest, _DOCUMENT, "\n</document>")),
        tried=tuple(_tried(body) for _, body in _sections(rest, _ATTEMPT, "\n</attempt>")),
    )


def formats(question: str) -> dict[str, str]:
    """Property name to the type that the question gives for it, empty where it gives none."""
    return {wanted.name: wanted.kind for wanted in _wanted(question)}


def _sections(text: str, head: re.Pattern[str], tail: str) -> Iterator[tuple[str, str]]:
    """What the head captures, and the text between it and the next tail, in order."""
    position = 0
    while (match := head.search(text, position)) is not None:
        end = text.find(tail, match.end())
        if end < 0:
            return
        yield match[1], text[match.end() : end]
        position = end + len(tail)


def _wanted(text: str) -> list[Wanted]:
    """Bullets of the form ``- `name`: description`` that give a type, each name once.

    The type stands after the word "format", or as in ``(int)`` or ``a float value``.
    """
    found: dict[str, Wanted] = {}
    for match in _PROPERTY.finditer(text):
        description = match[3]
        for line in text[match.end() :].splitlines()[1:]:
            if not line.strip() or re.match(r"\s*([-*]\s|```|#)", line):
                break
            description += " " + line.strip()
        if match[2]:
            description += f" {match[2]}"
        form = _FORMAT.search(description)
        kind, inner = _kinds(form[1]) if form is not None else ("", "")
        if not kind and (stated := _STATED.search(description)) is not None:
            form = stated
            kind, inner = _kinds(stated[stated.lastgroup or 0])
        if form is None:
            continue
        found.setdefault(match[1], Wanted(match[1], description[: form.start()], kind, inner))
    return list(found.values())


def _kinds(text: str) -> tuple[str, str]:
    """Kind that the text of a format names first, and the last one that it names of the items.

    ``dict[str, list[float]]`` is a dict of lists: what stands deeper is not looked at.
    """
    lowered = re.sub(r"dict\w*\[\s*\w+\s*,", "dict of ", text.lower())
    lowered = lowered.replace("numpy array", "list").replace("ndarray", "list")
    named = sorted((m.start(), kind) for word, kind in _KINDS for m in re.finditer(word, lowered))
    kinds = [kind for _, kind in named]
    if not kinds:
        return "", ""
    container = kinds[0] in {"list", "dict", "tuple", "set"}
    return kinds[0], kinds[1] if container and len(kinds) > 1 else ""


def _blocks(text: str) -> list[str]:
    blocks = []
    for code in _FENCE.findall(text):
        if "\n" not in code.strip() and "\\n" in code:
            code = code.replace("\\n", "\n")  # noqa: PLW2901 -- written on one line with escapes
        blocks.append(textwrap.dedent(code.strip("\n")).strip())
    return [block for block in blocks if block]


def _tried(body: str) -> Tried:
    def part(tag: str) -> str:
        inside, closed, _ = body.partition(f"<{tag}>")[2].partition(f"</{tag}>")
        return inside.removeprefix("\n").removesuffix("\n") if closed else ""

    checks = tuple(line.removeprefix("- ") for line in part("checks").splitlines())
    return Tried(
        draft=part("draft"),
        outcome=part("outcome"),
        traceback=part("traceback"),
        returned=part("returned"),
        printed=part("printed"),
        checks=checks,
    )
