"""The prompt for some symbols: what a writer must know of each, in marked sections."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from docgen import render
from docgen.docstrings import first_sentence
from docgen.facts import seen_from, short
from docgen.replies import first_paragraph, section_of, summary_of
from docgen.symbols import Library, Symbol
from docgen.texts import WrittenText

#: Raise `docgen.texts.VERSION` when these or the sections below change what a writer knows.
INSTRUCTIONS = (Path(__file__).parent / "instructions/document.md").read_text(
    encoding="utf-8"
)

_TOGETHER, _ROOM = (
    10,
    8_000,
)  # small symbols in one request, and characters of their source
_SMALL = 2000  # characters of the source of a symbol that is documented with others
_HELPERS = 2_400  # characters of private code that is shown
_HELPER = 1_200  # of one private function
_BASE = 800  # of a base class: fields and constructor
_CONTEXT = 800  # of constants and imports
_TABLE = 4_000  # of a constant's own lines: data, not code
_MEMBERS = 2_400  # of a module's members
_RELATED = 6  # callees, bases, overriding or overridden members that are shown
_CALLERS = 3
_TEXT = 160  # of what is told about a related symbol
_LINE = 100  # of a line that calls
_NAMES = (
    "symbol",
    "facts",
    "docstring",
    "code",
    "helpers",
    "context",
    "bases",
    "overrides",
    "callees",
    "callers",
)
_TAG = re.compile(rf"^(</?(?:{'|'.join(_NAMES)})>)[ \t]*$", re.MULTILINE)


class Prompter:
    """Builds prompts for the symbols of a library."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._callers = library.callers()
        self._subclasses: dict[str, list[str]] = {}
        for symbol in library.symbols.values():
            for base in symbol.bases:
                self._subclasses.setdefault(base, []).append(symbol.qualname)

    def build(self, names: Sequence[str], texts: Mapping[str, WrittenText]) -> str:
        """The prompt for some symbols, after the ``texts`` that are written so far.

        Code of helpers and bases, constants and imports that one of them needs are shown once.
        """
        earlier: set[str] = set()
        parts: list[str] = []
        for name in names:
            for section, content in self._sections(name, texts, earlier).items():
                if content:
                    indented = _TAG.sub(
                        r" \1", content
                    )  # no source text closes a section
                    parts.append(f"<{section}>\n{indented}\n</{section}>")
        return "\n".join(parts)

    def _sections(
        self, name: str, texts: Mapping[str, WrittenText], earlier: set[str]
    ) -> dict[str, str]:
        symbol = self._library.symbols[name]
        symbols = self._library.symbols
        bases = [base for base in symbol.bases if base in symbols]
        members = [m.qualname for m in symbol.members]
        used = members if symbol.kind == "module" else symbol.calls
        callees = [n for n in used if n in symbols and n not in bases]
        own = _without_docstrings(symbol.source)
        return {
            "symbol": symbol.qualname,
            "facts": _facts(symbol),
            "docstring": symbol.docstring,
            "code": _cut(own, _TABLE)
            if symbol.kind in {"constant", "attribute"}
            else own,
            "helpers": "\n\n".join(_new(self._helpers(symbol), earlier)),
            "context": _cut("\n".join(_new(symbol.context, earlier)), _CONTEXT),
            "bases": "\n".join(_new(self._bases(bases, symbol, texts), earlier)),
            "overrides": "\n".join(self._overrides(symbol, texts)),
            "callees": self._callees(callees, symbol, texts),
            "callers": "\n".join(self._calls(symbol)),
        }

    def _helpers(self, symbol: Symbol) -> Iterator[str]:
        """Code of the private functions that the body uses, and of those that these use."""
        room = _HELPERS
        queue = list(symbol.helpers)
        for name in queue:  # grows meanwhile
            helper = self._library.helpers[name]
            code = _cut(_without_docstrings(helper.source), min(_HELPER, room))
            summary = first_sentence(helper.docstring)
            yield f"# {name}{': ' if summary else ''}{summary}\n{code}"
            room -= len(code)
            if room < _HELPER / 4:
                return
            queue += [
                n for n in helper.calls if n in self._library.helpers and n not in queue
            ]

    def _bases(
        self, bases: Sequence[str], symbol: Symbol, texts: Mapping[str, WrittenText]
    ) -> Iterator[str]:
        """What bases are, and their fields and constructor."""
        for name in bases[:_RELATED]:
            yield self._line(name, symbol, texts)
            source = _without_docstrings(self._library.symbols[name].source)
            if source.count("\n"):
                yield _cut(source, _BASE)

    def _overrides(self, symbol: Symbol, texts: Mapping[str, WrittenText]) -> list[str]:
        """The same member of bases, and of an abstract one those that implement it."""
        owner, _, name = symbol.qualname.rpartition(".")
        above = self._library.symbols.get(owner)
        if above is None or above.kind != "class":
            return []
        related = [("overrides", f"{base}.{name}") for base in above.bases]
        if "abstract" in symbol.modifiers:
            related += [
                ("is implemented by", f"{c}.{name}") for c in self._below(owner)
            ]
        documented = [
            (how, other) for how, other in related if other in self._library.symbols
        ]
        return [
            f"{how} {self._line(other, symbol, texts)}"
            for how, other in documented[:_RELATED]
        ]

    def _below(self, cls: str) -> list[str]:
        classes = list(self._subclasses.get(cls, ()))
        for name in classes:  # grows meanwhile
            classes += [n for n in self._subclasses.get(name, ()) if n not in classes]
        return classes

    def _callees(
        self, names: Sequence[str], symbol: Symbol, texts: Mapping[str, WrittenText]
    ) -> str:
        """What a module holds, or what a body uses with what that returns and raises."""
        if symbol.kind == "module":
            members = (
                (self._library.symbols[name], self._about(name, texts))
                for name in names
            )
            summaries = (
                (m, short(first_sentence(about), _TEXT)) for m, about in members
            )
            lines = [f"{m.name} [{m.kind}] — {about}" for m, about in summaries]
            return _cut("\n".join(lines), _MEMBERS)
        more = ("Returns", "Raises")
        lines = [self._line(name, symbol, texts, more) for name in names[:_RELATED]]
        return "\n".join([*lines, *_more(names, _RELATED)])

    def _about(self, name: str, texts: Mapping[str, WrittenText]) -> str:
        """The summary of what was written about a symbol, else what its docstring says first."""
        written = summary_of(texts[name].text) if name in texts else ""
        return written or first_sentence(self._library.symbols[name].docstring)

    def _line(
        self,
        name: str,
        user: Symbol,
        texts: Mapping[str, WrittenText],
        more: Sequence[str] = (),
    ) -> str:
        """One line about a symbol: how it is called, and what was written about it."""
        symbol = self._library.symbols[name]
        text = texts[name].text if name in texts else ""
        phrases = [short(self._about(name, texts), _TEXT)]
        bodies = ((title, first_paragraph(section_of(text, title))) for title in more)
        phrases += [f"{title}: {short(body, _TEXT)}" for title, body in bodies if body]
        call = f"{seen_from(user, symbol)}{_arguments(symbol)}"
        return f"{call} [{symbol.kind}] — {' '.join(phrases)}"

    def _calls(self, symbol: Symbol) -> Iterator[str]:
        """Who uses the symbol, each with the line that does."""
        named = re.compile(rf"\b{re.escape(symbol.name)}\b")
        callers = self._callers.get(symbol.qualname, ())
        for name in callers[:_CALLERS]:
            caller = self._library.symbols.get(name) or self._library.helpers[name]
            lines = _without_docstrings(caller.source).splitlines()[1:]
            line = next((li.strip() for li in lines if named.search(li)), "")
            yield f"{seen_from(symbol, caller)} — {short(line, _LINE)}"
        yield from _more(callers, _CALLERS)


def _facts(symbol: Symbol) -> str:
    """The facts without what code and callees show; of inherited members only their names."""
    members = symbol.members if symbol.kind == "class" else ()
    own = tuple(m for m in members if not m.origin and m.kind != "attribute")
    signature = symbol.signature if symbol.kind == "class" else None
    without = replace(symbol, members=own, signature=signature)
    lines = render.facts(without).splitlines()[1:]
    inherited: dict[str, list[str]] = {}
    for member in symbol.members:
        if member.origin:
            inherited.setdefault(member.origin, []).append(member.name)
    for origin, names in inherited.items():
        lines.append(short(f"from {origin}: {', '.join(names)}", 2 * _TEXT))
    return "\n".join(lines)


def _arguments(symbol: Symbol) -> str:
    """``(names, with=defaults) -> type`` of a signature, without the types of parameters."""
    given = symbol.signature
    if given is None or given.parameters is None:
        return ""
    if not given.is_python:
        return "(...)"
    returns = f" -> {given.returns}" if given.returns else ""
    return f"{render.arguments(given)}{returns}"


def _without_docstrings(source: str) -> str:
    """A definition without its own docstring and those of a class's methods."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    lines: list[str | None] = list(source.split("\n"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    tops = [node for node in tree.body if isinstance(node, kinds)]
    for node in [*tops, *(n for top in tops for n in top.body if isinstance(n, kinds))]:
        first = node.body[0]
        if ast.get_docstring(node, clean=False) is None or first.lineno == node.lineno:
            continue
        lines[first.lineno - 1] = (
            " " * first.col_offset + "..." if len(node.body) == 1 else None
        )
        for number in range(first.lineno, first.end_lineno or first.lineno):
            lines[number] = None
    return "\n".join(line for line in lines if line is not None)


def _more(names: Sequence[str], limit: int) -> list[str]:
    return [f"and {len(names) - limit} more"] if len(names) > limit else []


def _new(parts: Iterable[str], earlier: set[str]) -> Iterator[str]:
    for part in parts:
        if part not in earlier:
            earlier.add(part)
            yield part


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = text[:limit].rpartition("\n")[0] or text[:limit]
    return f"{head}\n... ({len(text) - len(head)} more characters)"


def documentation_order(library: Library) -> dict[str, tuple[str, ...]]:
    """Every symbol -> those that must be documented before it, callees first.

    A symbol builds on its callees and bases, a module on its members. Mutually recursive symbols
    stand together, and need of each other only those that stand earlier. Ties are broken by name,
    so the order depends on the source only.
    """
    import networkx as nx  # noqa: PLC0415 - slow

    symbols = library.symbols
    uses = dict[str, Iterable[str]]()
    for name, symbol in symbols.items():
        module = symbol.kind == "module"
        used = (m.qualname for m in symbol.members) if module else symbol.calls
        uses[name] = [n for n in dict.fromkeys(used) if n in symbols and n != name]
    graph: nx.DiGraph[str] = nx.DiGraph(uses)
    condensed = nx.condensation(graph)
    members: dict[int, Sequence[str]] = {
        node: sorted(names, key=lambda n: (symbols[n].path, symbols[n].first_line, n))
        for node, names in condensed.nodes(data="members")
    }
    ranked = nx.lexicographical_topological_sort(
        condensed.reverse(copy=False), key=lambda node: min(members[node])
    )
    needs: dict[str, tuple[str, ...]] = {}
    for name in (name for node in ranked for name in members[node]):
        needs[name] = tuple(n for n in uses[name] if n in needs)
    return needs


def batches(
    library: Library, needs: Mapping[str, Sequence[str]], wanted: Container[str]
) -> list[list[str]]:
    """What is asked for together: one symbol, or small ones of the same module.

    Each builds on earlier ones only, so that they can wait for one another; inside of one a symbol
    may build on another one: the prompt shows both.
    """
    groups: list[list[str]] = []
    number: dict[str, int] = {}
    growing: dict[str, int] = {}  # by module
    for name in (name for name in needs if name in wanted):
        symbol = library.symbols[name]
        last = len(groups)
        if symbol.kind not in {"class", "module"} and len(symbol.source) <= _SMALL:
            last = growing.get(symbol.path, last)
            group = groups[last] if last < len(groups) else []
            room = _ROOM - sum(len(library.symbols[n].source) for n in (*group, name))
            later = any(number.get(need, -1) > last for need in needs[name])
            if later or len(group) == _TOGETHER or (group and room < 0):
                last = len(groups)
            growing[symbol.path] = last
        if last == len(groups):
            groups.append([])
        groups[last].append(name)
        number[name] = last
    return groups
