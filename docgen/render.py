"""Makes the text of a symbol that readers, models and indexes see.

Documents, shorter forms of them, single lines, what is indexed. Nothing parses these texts again:
whoever wants a part of a symbol takes it from the symbol. The text of chunks of source pages is
made where they are cut (`indexes.chunks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from docgen.symbols import Chunk, Entry, Member, Parameter, Section, Signature, Symbol

RELATIONS = "Relations"  # title of the section about related symbols
_SEPARATOR = "\n---\n"  # between facts and written text
_BY_NAME = "  and by name: "
_MEMBER_CHARACTERS = 24_000  # beyond this, members are listed by name only
_TEXT_SHARE = 4  # one part of so many of a short document is for its written text
_SUMMARY = 400  # characters of an entry on one line
_CALLED = ("kind", "signature", "value", "bases")  # facts about a call
_LINE, _UNIT = 100, 60  # characters of what a symbol is, and of what its result is

Relevance = Callable[[str], int]
"""How much of a query a text holds."""


# -- signatures


def signature(symbol: Symbol) -> str:
    """``from_file(filename: PathLike, ...) -> Structure``; empty where there is none."""
    if symbol.signature is None:
        return ""
    return f"{symbol.name}{signature_text(symbol.signature)}"


def signature_text(given: Signature) -> str:
    """What follows the name: ``(a: int, b=1) -> str``, or only `` -> str``."""
    called = ""
    if given.parameters is not None:
        called = f"({', '.join(_listed(given.parameters, _declared))})"
    return f"{called} -> {given.returns}" if given.returns else called


def arguments(given: Signature) -> str:
    """``(a, b=1)``: how it is called; empty for what is not."""
    if given.parameters is None:
        return ""
    return f"({', '.join(_listed(given.parameters, _named))})"


def _listed(
    parameters: Iterable[Parameter], line_of: Callable[[Parameter], str]
) -> Iterator[str]:
    """Parameters with the marks between their kinds."""
    before, starred = "", False
    for parameter in parameters:
        if before == "positional-only" and parameter.kind != before:
            yield "/"
        starred = starred or parameter.kind == "variadic positional"
        if parameter.kind == "keyword-only" and not starred:
            yield "*"
            starred = True
        yield line_of(parameter)
        before = parameter.kind
    if before == "positional-only":
        yield "/"


_STARS = {"variadic positional": "*", "variadic keyword": "**"}


def _declared(parameter: Parameter) -> str:
    name = f"{_STARS.get(parameter.kind, '')}{parameter.name}"
    text = f"{name}: {parameter.type}" if parameter.type else name
    if parameter.default is None:
        return text
    return f"{text}{' = ' if parameter.type else '='}{parameter.default}"


def _named(parameter: Parameter) -> str:
    name = f"{_STARS.get(parameter.kind, '')}{parameter.name}"
    return name if parameter.default is None else f"{name}={parameter.default}"


# -- documents


def document(entry: Entry) -> str:
    """All of it: facts, separator, written text; of a chunk its text."""
    if isinstance(entry, Chunk):
        return entry.text
    return f"{facts(entry)}{_SEPARATOR}{prose(entry)}\n"


def facts(symbol: Symbol) -> str:
    """The facts of a symbol, one per line."""
    lines = [*_head(symbol), *_members(symbol.members).lines]
    return "\n".join(lines)


def prose(symbol: Symbol) -> str:
    """What is written about a symbol."""
    return "".join(map(_section, symbol.sections)).strip()


def indexed(entry: Entry) -> str:
    """What is indexed: all but the names of related symbols.

    A document that lists its callers is otherwise found for what they do.
    """
    if isinstance(entry, Chunk):
        return entry.text if entry.indexed is None else entry.indexed
    parts = list(map(_section, entry.sections)) or [""]
    # Spaced as in `document`, where blanks around the whole text are taken off.
    parts[0] = parts[0].lstrip()
    parts[-1] = f"{parts[-1].rstrip()}\n"
    titles = [section.title for section in entry.sections] or [""]
    sections = (p for p, title in zip(parts, titles, strict=True) if title != RELATIONS)
    return f"{facts(entry)}{_SEPARATOR}{''.join(sections)}"


def _section(section: Section) -> str:
    heading = f"## {section.title}" if section.title else ""
    return "".join([heading, section.text, *(item.text for item in section.items)])


def _head(symbol: Symbol) -> list[str]:
    """What is known besides members, a line each."""
    return [symbol.qualname, *_fact_lines(symbol).values()]


def _fact_lines(symbol: Symbol) -> dict[str, str]:
    parent, _, name = symbol.import_path.rpartition(".")
    moved = symbol.import_path != symbol.qualname
    imported = moved and symbol.kind in {"class", "function", "constant"}
    bases = (
        base.rpartition(".")[2] if "(" not in base else base for base in symbol.bases
    )
    facts_by_key = {
        "kind": symbol.kind,
        "import": f"from {parent} import {name}" if imported else "",
        "modifiers": ", ".join(symbol.modifiers),
        "signature": signature(symbol),
        "value": symbol.value,
        "bases": ", ".join(bases),
        "raises": ", ".join(symbol.raises),
    }
    return {key: f"{key}: {text}" for key, text in facts_by_key.items() if text}


# -- members


@dataclass(frozen=True)
class _Form:
    """A member by name, as it is called, and with all that is known of it."""

    name: str
    call: str
    whole: str


@dataclass(frozen=True)
class _MemberList:
    """Members that are shown whole, and the names of those that are too many."""

    forms: Sequence[_Form]
    names: str

    @property
    def lines(self) -> list[str]:
        """The list as a document shows it."""
        if not self.forms and not self.names:
            return []
        more = [f"{_BY_NAME}{self.names}"] if self.names else []
        return ["members:", *(form.whole for form in self.forms), *more]


def _members(members: Sequence[Member]) -> _MemberList:
    forms = [_Form(m.name, _call(m), f"  {member_line(m)}") for m in members]
    ends = accumulate(len(form.whole) for form in forms)
    count = sum(end <= _MEMBER_CHARACTERS for end in ends)
    return _MemberList(forms[:count], ", ".join(form.name for form in forms[count:]))


def member_line(member: Member) -> str:
    """A member with its signature, kind and first sentence."""
    line = f"{member.name}{signature_text(member.signature)} [{member.kind}]"
    origin = f"(from {member.origin})" if member.origin else ""
    about = " ".join(filter(None, [member.summary, origin]))
    return f"{line}: {about}" if about else line


def _call(member: Member) -> str:
    """``name(argument, argument=default)``; the name alone of what is not called so."""
    given = member.signature
    return f"{member.name}{arguments(given) if given.is_python else ''}"


# -- shorter forms


def condensed(entry: Entry, room: int, relevance: Relevance) -> str:
    """A document of at most ``room`` characters.

    Of a long member list the lines that are most relevant stay whole; the other members
    stay as they are called, ``name(argument, argument=default)``, or where even that is
    too long by name. Then the written text is cut, then everything.
    """
    text = document(entry)
    if len(text) <= room:
        return text
    if isinstance(entry, Symbol) and entry.members:
        text = _with_fewer_members(entry, room, relevance)
    return text if len(text) <= room else _cut(text, room)


def _with_fewer_members(symbol: Symbol, room: int, relevance: Relevance) -> str:
    listed = _members(symbol.members)
    head = "\n".join([*_head(symbol), "members:"])
    text = f"{_SEPARATOR}{prose(symbol)}\n"
    written = len(text) - len(_SEPARATOR)
    frame = len(head) + len(_SEPARATOR) + len(_BY_NAME) + 1
    left = room - frame - min(written, room // _TEXT_SHARE)
    forms = [*listed.forms]
    if (
        listed.names
    ):  # what is only named anyway counts as one more form, and stays as it is
        forms.append(_Form(listed.names, "", ""))
    lines = _chosen_forms(forms, left, relevance)
    whole = [s for s, form in zip(lines, forms, strict=True) if s == form.whole]
    others = [s for s, form in zip(lines, forms, strict=True) if s != form.whole]
    by_name = [f"{_BY_NAME}{', '.join(others)}"] if others else []
    return "\n".join([head, *whole, *by_name]) + text


def _chosen_forms(
    forms: Sequence[_Form], room: int, relevance: Relevance
) -> Sequence[str]:
    """For each member the form that is shown, all of them in ``room`` characters."""
    lines = [form.name for form in forms]
    left = room - sum(len(form.name) + 2 for form in forms)
    weights = [relevance(form.whole) for form in forms]
    order = sorted(range(len(forms)), key=lambda i: (-weights[i], i))

    def improve(better: Callable[[_Form], str], reserve: int) -> None:
        nonlocal left
        for i in order:
            gain = len(better(forms[i])) - len(lines[i])
            if 0 < gain <= left - reserve:
                lines[i] = better(forms[i])
                left -= gain

    # whole lines in half of the room, then calls for as many as can be, then lines again
    improve(lambda form: form.whole, left // 2)
    improve(lambda form: form.call, 0)
    improve(lambda form: form.whole, 0)
    return lines


def _cut(text: str, room: int) -> str:
    note = "\n..."
    head = text[: max(0, room - len(note))]
    return (head.rpartition("\n")[0] or head) + note


def one_line(entry: Entry, text: str, characters: int = _SUMMARY) -> str:
    """What is shown of an entry on one line, for a choice between many."""
    name = entry.qualname
    text = " ".join(text.removeprefix(name).split())
    return f"{name}: {text[:characters]}{' ...' if len(text) > characters else ''}"


def map_line(entry: Entry) -> str:
    """Name and signature, what it is, and what is said of its result."""
    short = entry.qualname.rpartition(".")[2]
    if isinstance(entry, Chunk):
        return f"{short}: "
    about = " ".join(entry.what.split())
    result = " ".join(entry.section("Returns").split())[:_UNIT]
    returned = f" ({result})" if " " in result else ""  # one word is only its type
    return f"{signature(entry) or short}: {about[:_LINE]}{returned}"


# -- what symbols need


def noted(symbol: Symbol, sentences: Iterable[str]) -> str:
    """A symbol with everything that is said of it."""
    kind = "" if symbol.kind == "function" else f" [{symbol.kind}]"
    called = signature(symbol) or symbol.name
    return f"{symbol.qualname}{kind}\n{called}\n{' '.join(sentences)}"


def noted_module(name: str, sentences: Iterable[str]) -> str:
    """A module with what it says of no symbol in particular."""
    return f"{name} [module]\n{' '.join(sentences)}"


# -- pages of the toolbox


def page(entry: Entry) -> dict[str, Any]:
    """What tools show of an entry, as the fields of :class:`indexes.pages.Page`."""
    text = document(entry)
    shared = {
        "name": entry.qualname,
        "kind": entry.kind,
        "text": text,
        "covers": entry.covers,
    }
    if isinstance(entry, Chunk):
        own = {"facts": text, "called": (), "sections": {"": text}, "members": ()}
    else:
        fact_lines = _fact_lines(entry)
        own = {
            "facts": facts(entry),
            "called": [line for key, line in fact_lines.items() if key in _CALLED],
            "sections": entry.bodies or {"": text},
            "members": [member.qualname for member in entry.members],
        }
    return {**shared, **own}
