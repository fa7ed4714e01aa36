"""Documents without a model: facts, docstring, signature and call graph of a symbol, arranged.

Deterministic. Nothing is invented; where the source has no docstring the document says so. What a
model wrote, and examples that ran, are put in their places.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Literal

from docgen.docstrings import Described, described, first_sentence
from docgen.replies import SECTIONS, sections_of, summary_of
from docgen.symbols import Library, Member, Symbol
from docgen.texts import VERSION, Text, source_hash

SEPARATOR = "---"
NAME = "facts"  # of this writer; what it wrote is never kept, as it costs nothing
FELL_BACK = "(The example of this symbol fails, or its source has changed since: only facts here.)"
_MEMBER_CHARACTERS = 24_000  # beyond this, members are listed by name only
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_RELATED, _CALLERS, _TEXT = (
    6,
    3,
    160,
)  # symbols that are named, and characters about one
_LINE, _LINES = 160, 8  # characters and lines of a definition that are shown

#: ``written``: as it was written; ``facts``: docstring and signature; ``examples``: with examples
#: that ran; ``prose``: what a model wrote, without its example; ``all``: with examples that ran.
Content = Literal["written", "facts", "examples", "prose", "all"]


def render_facts(symbol: Symbol) -> str:
    """The facts of a symbol, one per line; the layout is fixed in ``docs/architecture.md``."""
    parent, _, name = symbol.import_path.rpartition(".")
    moved = symbol.import_path != symbol.qualname
    imported = moved and symbol.kind in {"class", "function", "constant"}
    bases = (
        base.rpartition(".")[2] if "(" not in base else base for base in symbol.bases
    )
    told = {
        "kind": symbol.kind,
        "import": f"from {parent} import {name}" if imported else "",
        "modifiers": ", ".join(symbol.modifiers),
        "signature": symbol.signature,
        "value": symbol.value,
        "bases": ", ".join(bases),
        "raises": ", ".join(symbol.raises),
    }
    lines = [symbol.qualname, *(f"{key}: {text}" for key, text in told.items() if text)]
    if symbol.members:
        lines.append("members:")
        shown = [f"  {_member(member)}" for member in symbol.members]
        fit = sum(end <= _MEMBER_CHARACTERS for end in accumulate(map(len, shown)))
        lines += shown[:fit]
        if rest := symbol.members[fit:]:
            lines.append(f"  and by name: {', '.join(member.name for member in rest)}")
    return "\n".join(lines)


def render_document(facts: str, text: str) -> str:
    """Facts, separator, written text."""
    return f"{facts}\n{SEPARATOR}\n{text.strip()}\n"


def _member(member: Member) -> str:
    """One line of a member list."""
    joint = "" if not member.signature or member.signature.startswith("(") else " "
    line = f"{member.name}{joint}{member.signature} [{member.kind}]"
    told = [member.summary, f"(from {member.origin})" if member.origin else ""]
    return f"{line}: {' '.join(filter(None, told))}" if any(told) else line


def contents(
    content: Content,
    library: Library,
    written: Mapping[str, Text],
    examples: Mapping[str, Text],
) -> dict[str, Text]:
    """The text of every symbol: of its facts, and of what was written about some."""
    found = FactsWriter(library, written if content == "written" else {}).all()
    for name, fact in found.items() if content != "written" else ():
        text, example = fact, examples.get(name)
        if content in {"prose", "all"} and name in written:
            text = replace(
                written[name], text=_with(written[name].text, ""), example=None
            )
        if content in {"examples", "all"} and example is not None:
            body = sections_of(example.text).get("Example", "")
            if example.example != "runs":
                needs = (
                    body
                    if body.startswith("Needs ") and example.example != "fails"
                    else ""
                )
                body = (
                    f"{needs or FELL_BACK}\n{sections_of(fact.text).get('Example', '')}"
                )
            text = replace(text, text=_with(text.text, body), example=example.example)
        found[name] = text
    return found


def _with(text: str, example: str) -> str:
    """A text with another example, or none."""
    sections = {**sections_of(text), "Example": example.strip()}
    order = sorted(
        sections, key=lambda t: SECTIONS.index(t) if t in SECTIONS else len(SECTIONS)
    )
    return "\n\n".join(
        f"## {title}\n{sections[title]}" for title in order if sections[title]
    )


class FactsWriter:
    """Documents the symbols of a library; a model wrote the ``texts`` of some."""

    def __init__(self, library: Library, texts: Mapping[str, Text]) -> None:
        self._library, self._texts = library, texts
        self._callers = library.callers()

    def all(self) -> dict[str, Text]:
        """The text of every symbol: the model's where there is one, else by facts."""
        return {
            name: self._texts.get(name) or self.text(name)
            for name in self._library.symbols
        }

    def text(self, name: str) -> Text:
        """The documentation of one symbol."""
        symbol = self._library.symbols[name]
        written = "\n\n".join(
            f"## {title}\n{body}" for title, body in self.sections(symbol)
        )
        return Text(name, source_hash(symbol), VERSION, NAME, "", written + "\n")

    def sections(self, symbol: Symbol) -> Iterator[tuple[str, str]]:
        """Headings with what stands below each, in the order of a written document."""
        said = described(symbol.docstring)
        node = definition(symbol)
        listed = "Attributes" if symbol.kind in {"class", "module"} else "Parameters"
        inputs = "\n".join(
            f"{name}{f' ({i.type})' if i.type else ''}: {i.text}".replace(
                "\n", "\n    "
            )
            for name, i in said.inputs.items()
        )
        found = (
            ("What it does", said.summary or _named(symbol, said)),
            (listed, inputs),
            ("Returns", said.returns or _returned(node)),
            ("Raises", said.raises or ", ".join(symbol.raises)),
            ("Details", said.details or _assignment(symbol)),
            ("Relations", "\n".join(self._relations(symbol))),
            ("Notes", said.notes),
            ("Example", said.example or _example(symbol, node)),
        )
        return ((title, body) for title, body in found if body)

    def _relations(self, symbol: Symbol) -> Iterator[str]:
        known = self._library.symbols
        bases = [base for base in symbol.bases if base in known]
        callees = [name for name in symbol.calls if name in known and name not in bases]
        for label, names in (
            ("Built on", bases[:_RELATED]),
            ("Uses", callees[:_RELATED]),
        ):
            for name in names:
                told = self._summary(known[name])
                yield f"- {label} `{seen_from(symbol, known[name])}`{told and f': {told}'}"
        if len(callees) > _RELATED:
            yield f"- and {len(callees) - _RELATED} more"
        callers = self._callers.get(symbol.qualname, ())
        for name in callers[:_CALLERS]:
            caller = known.get(name) or self._library.helpers[name]
            yield f"- Used by `{seen_from(symbol, caller)}`"
        if len(callers) > _CALLERS:
            yield f"- and {len(callers) - _CALLERS} more"

    def _summary(self, symbol: Symbol) -> str:
        written = self._texts.get(symbol.qualname)
        summary = (
            summary_of(written.text) if written else first_sentence(symbol.docstring)
        )
        return short(summary, _TEXT)


def _named(symbol: Symbol, said: Described) -> str:
    if said.returns:
        return first_sentence(said.returns)
    *_, owner, name = ("", *symbol.qualname.split("."))
    inside = symbol.kind in {"method", "property", "attribute"}
    place = f" of {owner}" if inside else f" in {owner}" if owner else ""
    words = " ".join(_WORD.findall(name)).lower()
    return f"{words.capitalize()}{place} (from its name; the source has no docstring)."


def _returned(node: ast.FunctionDef | None) -> str:
    found = ast.unparse(node.returns) if node is not None and node.returns else ""
    return "" if found == "None" else found


def _required(node: ast.FunctionDef | None) -> list[str]:
    """Names of the parameters without a default."""
    if node is None:
        return []
    spec = node.args
    positional = [*spec.posonlyargs, *spec.args]
    keyword = [
        a.arg
        for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
        if d is None
    ]
    return [
        *(a.arg for a in positional[: len(positional) - len(spec.defaults)]),
        *keyword,
    ]


def _assignment(symbol: Symbol) -> str:
    """How a constant comes about; its first lines, when it is a table."""
    if symbol.kind not in {"constant", "attribute"} or not symbol.source:
        return ""
    lines = symbol.source.splitlines()
    shown = "\n".join(line[:_LINE] for line in lines[:_LINES])
    more = f"\n... ({len(lines) - _LINES} more lines)" if len(lines) > _LINES else ""
    return f"```python\n{shown}{more}\n```"


def _example(symbol: Symbol, node: ast.FunctionDef | None) -> str:
    """A call with the required parameters as placeholders."""
    if symbol.kind == "module":
        return ""
    parent, _, name = symbol.import_path.rpartition(".")
    call = f"{name}({', '.join(_required(node))})"
    line = f"from {parent} import {name}\n"
    if symbol.kind == "class":
        body = f"{line}{_variable(name)} = {call}"
    elif symbol.kind == "constant":
        body = f"{line}value = {name}"
    elif symbol.kind == "function":
        body = f"{line}result = {call}"
    else:
        owner = parent.rpartition(".")[2]
        static = {"classmethod", "staticmethod"}.intersection(
            symbol.modifiers
        ) or name.isupper()
        read = symbol.kind in {"property", "attribute"}
        body = (
            f"result = {owner if static else _variable(owner)}.{name if read else call}"
        )
    return f"```python\n{body}\n```"


def _variable(name: str) -> str:
    return "_".join(_WORD.findall(name)).lower() or name.lower()


def seen_from(user: Symbol, symbol: Symbol) -> str:
    """The name of a symbol, without its module where that is the user's."""
    module = symbol.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    same = symbol.path == user.path and symbol.kind != "module"
    return symbol.qualname.removeprefix(f"{module}.") if same else symbol.qualname


def definition(symbol: Symbol) -> ast.FunctionDef | None:
    """A signature as syntax: parameters and return type; ``None`` when there is neither."""
    if "(" not in symbol.signature and "->" not in symbol.signature:
        return None
    head, arrow, result = symbol.signature.partition(" -> ")
    text = symbol.signature if "(" in head else f"{head}(){arrow}{result}"
    try:
        (node,) = ast.parse(f"def {text}: ...").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return node if isinstance(node, ast.FunctionDef) else None


def short(text: str, limit: int) -> str:
    """The text, cut between words where it is longer than ``limit`` characters."""
    return text if len(text) <= limit else f"{text[:limit].rpartition(' ')[0]} ..."
