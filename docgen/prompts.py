"""The prompt for one symbol: marked sections of bounded size, and what a reply must look like."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from docgen.facts import render_facts
from docgen.reading import spoken
from docgen.symbols import Library, Symbol, digest

VERSION = "1"  # part of every item's hash: a changed prompt regenerates

SECTIONS = (
    "What it does",
    "Parameters",
    "Returns",
    "Raises",
    "Details",
    "Relations",
    "Notes",
    "Example",
)

INSTRUCTIONS = """\
You document a Python library for scientists who write code against it.
Write the documentation of the one symbol given below, in Markdown, with exactly these headings,
in this order, leaving out those that have nothing to say (never the first):

## What it does
One paragraph: what it computes or represents, in the vocabulary of the field.
## Parameters
(for a class or module: Attributes) name, type, unit, default, meaning.
## Returns
Type, shape, unit, ordering and sign conventions.
## Raises
Exceptions and when.
## Details
Behaviour in detail: algorithm, branches, special cases, side effects.
## Relations
How it uses its callees and bases, and what its callers use it for.
## Notes
Pitfalls, units, conventions.
## Example
A short usage example with realistic values.

State only what the code and the sections below show. Do not repeat the facts' member list.
"""

_CODE = 8_000  # characters of a symbol's own code
_DOCSTRING = 6_000
_RELATED = 8  # callees, bases or callers that are shown
_RELATED_TEXT = 400  # characters of documentation shown of each
_NAMES = ("symbol", "facts", "docstring", "code", "bases", "callees", "callers")
_TAG = re.compile(rf"^(</?(?:{'|'.join(_NAMES)})>)[ \t]*$", re.MULTILINE)


def build_prompt(
    symbol: Symbol, library: Library, texts: Mapping[str, str], callers: Sequence[str]
) -> str:
    """The sections for one symbol.

    Parameters
    ----------
    texts
        Documentation written so far, by qualified name.
    callers
        Qualified names of the symbols that use this one; the first few are shown by signature.
    """
    bases = [base for base in symbol.bases if base in library.symbols]
    callees = [name for name in symbol.calls if name in library.symbols and name not in bases]
    if symbol.kind == "module":
        callees = [m.qualname for m in symbol.members if m.qualname in library.symbols]
    sections = {
        "symbol": symbol.qualname,
        "facts": render_facts(symbol),
        "docstring": _cut(symbol.docstring, _DOCSTRING),
        "code": _cut(symbol.source, _CODE),
        "bases": _related(bases, library, texts),
        "callees": _related(callees, library, texts),
        "callers": _signatures(callers, library),
    }
    return "\n".join(
        f"<{name}>\n{_escape(content)}\n</{name}>" for name, content in sections.items() if content
    )


def read_sections(text: str) -> dict[str, str]:
    """The marked sections of a prompt; empty when it is not a documentation prompt."""
    found: dict[str, str] = {}
    name, start = "", 0
    for tag in _TAG.finditer(text):
        if not name and not tag[1].startswith("</"):
            name, start = tag[1].strip("<>"), tag.end() + 1
        elif name and tag[1] == f"</{name}>":
            found[name] = text[start : tag.start()].rstrip("\n")
            name = ""
    return found


def is_documentation_prompt(text: str) -> bool:
    """Whether a prompt asks for the documentation of a symbol."""
    return {"symbol", "facts"} <= read_sections(text).keys()


def item_hash(symbol: Symbol) -> str:
    """Hash of everything about the symbol itself that its documentation depends on.

    Neither the version of the package nor the text of related symbols is part of it: a new
    release regenerates what changed and nothing else.
    """
    return digest(VERSION, render_facts(symbol), symbol.docstring, symbol.source)


def check_reply(text: str) -> str | None:
    """Why a reply cannot be used, or ``None`` when it can."""
    stripped = spoken(text).strip()
    if not stripped:
        return "empty reply"
    heading = f"## {SECTIONS[0]}"
    if heading not in stripped:
        return f"no heading {heading!r}"
    body = stripped.rpartition(heading)[2].partition("\n## ")[0].strip()
    return None if body else f"nothing under {heading!r}"


def clean_reply(text: str) -> str:
    """The reply from its last first heading on (models introduce, fence and redo their text)."""
    whole = text.encode(errors="replace").decode()  # JSON can hold half a character
    stripped = spoken(whole).strip()
    if stripped.startswith("```") and stripped.endswith("```"):
        stripped = stripped.removesuffix("```").rstrip()
    return stripped[stripped.rfind(f"## {SECTIONS[0]}") :]


def summary_of(text: str) -> str:
    """First paragraph of a written document."""
    body = text.partition(f"## {SECTIONS[0]}")[2].strip()
    return " ".join(body.partition("\n\n")[0].split())


def _escape(content: str) -> str:
    """Indent lines that look like a section tag, so that source text cannot close a section."""
    return _TAG.sub(r" \1", content)


def _related(names: Sequence[str], library: Library, texts: Mapping[str, str]) -> str:
    lines: list[str] = []
    for name in names[:_RELATED]:
        symbol = library.symbols[name]
        summary = summary_of(texts[name]) if name in texts else "(not documented yet)"
        lines.append(f"{name} [{symbol.kind}] {symbol.signature}: {_cut(summary, _RELATED_TEXT)}")
    if len(names) > _RELATED:
        lines.append(f"and {len(names) - _RELATED} more")
    return "\n".join(lines)


def _signatures(names: Sequence[str], library: Library) -> str:
    lines = [f"{n} [{library.symbols[n].kind}]" for n in names[:_RELATED] if n in library.symbols]
    if len(names) > _RELATED:
        lines.append(f"and {len(names) - _RELATED} more")
    return "\n".join(lines)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    kept = text[:limit].rpartition("\n")[0] or text[:limit]
    return f"{kept}\n... ({len(text) - len(kept)} more characters)"
