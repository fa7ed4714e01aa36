"""The head of a document: what the source itself says, in a fixed layout no model writes."""

from __future__ import annotations

from typing import Literal

from docgen.symbols import Member, Symbol

SEPARATOR = "---"
_MEMBER_CHARACTERS = 24_000  # beyond this, members are listed by name only

#: ``written``: as it was written; ``facts``: docstring and signature; ``examples``: with examples
#: that ran; ``prose``: what a model wrote, without its example; ``all``: with examples that ran.
Content = Literal["written", "facts", "examples", "prose", "all"]


def render_facts(symbol: Symbol) -> str:
    """The facts of a symbol, one per line; the layout is fixed in ``docs/architecture.md``."""
    lines = [symbol.qualname, f"kind: {symbol.kind}"]
    if symbol.import_path != symbol.qualname and symbol.kind in {
        "class",
        "function",
        "constant",
    }:
        parent, _, name = symbol.import_path.rpartition(".")
        lines.append(f"import: from {parent} import {name}")
    if symbol.modifiers:
        lines.append(f"modifiers: {', '.join(symbol.modifiers)}")
    if symbol.signature:
        lines.append(f"signature: {symbol.signature}")
    if symbol.value:
        lines.append(f"value: {symbol.value}")
    if symbol.bases:
        bases = (base.rpartition(".")[2] if "(" not in base else base for base in symbol.bases)
        lines.append(f"bases: {', '.join(bases)}")
    if symbol.raises:
        lines.append(f"raises: {', '.join(symbol.raises)}")
    if symbol.members:
        lines.append("members:")
        lines += _member_lines(symbol.members)
    return "\n".join(lines)


def render_document(facts: str, text: str) -> str:
    """Facts, separator, written text."""
    return f"{facts}\n{SEPARATOR}\n{text.strip()}\n"


def render_member(member: Member) -> str:
    """One line of a member list."""
    joint = "" if not member.signature or member.signature.startswith("(") else " "
    line = f"{member.name}{joint}{member.signature} [{member.kind}]"
    told = [member.summary, f"(from {member.origin})" if member.origin else ""]
    return f"{line}: {' '.join(filter(None, told))}" if any(told) else line


def _member_lines(members: tuple[Member, ...]) -> list[str]:
    lines: list[str] = []
    spent = 0
    for position, member in enumerate(members):
        line = f"  {render_member(member)}"
        spent += len(line)
        if spent > _MEMBER_CHARACTERS:
            rest = ", ".join(m.name for m in members[position:])
            lines.append(f"  and by name: {rest}")
            break
        lines.append(line)
    return lines
