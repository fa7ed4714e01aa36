"""Questions without a model: names are masked in code, members are told apart by their docs.

Deterministic: the same library gives the same questions in the same order. Wrong choices come
from the namespace of the right one (the same class, module or imported package) and are used in
the same way: called where it is called. No choice, right or wrong, stands in the question.
"""

from __future__ import annotations

import ast
import hashlib
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from docgen.docstrings import first_sentence
from docgen.symbols import Library, Symbol
from experiments.benchmarks.mattools.qa.questions import (
    LETTERS,
    MASK,
    QAQuestion,
    fault,
    stored_line,
)
from sandbox.progress import meter

CALLABLES = frozenset({"function", "method"})
PER_SYMBOL = 5

#: Lines of code that are shown on each side of a mask in a long function.
AROUND = 30

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

#: Stands for an object without a name that the library shares, such as a local variable.
UNNAMED = "?"

#: Of these, several functions fit wherever one does: ``logger.info`` or ``logger.debug``.
MESSAGES = frozenset({"log", "logger", "logging", "warnings"})

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Mask:
    """A name in a piece of code: its line, where it comes from, and whether it is called."""

    line: int
    name: str
    namespace: str
    called: bool


def write_by_rules(
    library: Library,
    symbols: Sequence[Symbol],
    out: Path,
    console: Console,
    *,
    kinds: Collection[str] = ("code", "doc"),
) -> Counter[str]:
    """Write the questions of symbols; the file is replaced when it is whole.

    Returns
    -------
    Counter
        Questions by kind.
    """
    with console.status("Reading the code"):
        writer = RulesWriter(library)
    counts: Counter[str] = Counter()
    fresh = out.with_name(f".{out.name}.new")
    with (
        fresh.open("w", encoding="utf-8") as file,
        meter("symbols", len(symbols), console=console) as progress,
    ):
        for symbol in symbols:
            for question in writer.questions(symbol):
                if question.kind in kinds:
                    file.write(stored_line(question))
                    counts[question.kind] += 1
            progress.advance(note=f"{counts.total()} questions")
    fresh.replace(out)
    return counts


class RulesWriter:
    """Makes questions of the symbols of a library."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._children: dict[str, list[Symbol]] = defaultdict(list)
        for symbol in library.symbols.values():
            self._children[symbol.qualname.rpartition(".")[0]].append(symbol)
        self._trees = {name: _parse(symbol) for name, symbol in library.symbols.items()
                       if symbol.kind in CALLABLES or symbol.kind == "property"}  # fmt: skip
        self._used = self._used_names()

    def questions(self, symbol: Symbol) -> Iterator[QAQuestion]:
        """Up to five questions on the code of a symbol and up to five on its documentation."""
        for make in (self._code_questions, self._doc_questions):
            seen: set[tuple[str, ...]] = set()
            for question in make(symbol):
                # One and the same sentence can describe several members.
                content = (question.question, *question.choices.values())
                if fault(question, kind=question.kind) is None and content not in seen:
                    seen.add(content)
                    yield question
                if len(seen) == PER_SYMBOL:
                    break

    # --- code --------------------------------------------------------------------------------

    def _code_questions(self, symbol: Symbol) -> Iterator[QAQuestion]:
        tree = self._trees.get(symbol.qualname)
        if tree is None:
            return
        source = textwrap.dedent(symbol.source)
        about = f"{symbol.path} {symbol.qualname}"
        words = set(_WORD.findall(f"{source} {about}"))
        told = set(_WORD.findall(about))
        asked: set[str] = set()
        for mask in self._masks(symbol, tree):
            if mask.name in asked | told or mask.name.startswith("__"):
                continue
            others = [name for name in self._names(mask) if name not in words]
            others = list(_alike(others, mask.name))
            asked.add(mask.name)
            text = (
                f"In `{symbol.path}`, one name of the following code of `{symbol.qualname}` is "
                f"replaced by {MASK} wherever it stands. Which name is it?\n"
                f"```python\n{_masked(source, mask, tree)}\n```"
            )
            yield from _offer(text, mask.name, others, symbol, kind="code")

    def _masks(self, symbol: Symbol, tree: ast.AST) -> Iterator[Mask]:
        resolved = {name.rpartition(".")[2]: name for name in symbol.calls}
        owner = symbol.qualname.rpartition(".")[0] if symbol.kind != "function" else ""
        for name, base, line, called in _uses(tree):
            if not base:
                if called and name in resolved:
                    yield Mask(line, name, resolved[name].rpartition(".")[0], called)
            elif base in ("self", "cls") and owner:
                yield Mask(line, name, f"members of {owner}", called)
            elif name in resolved:
                yield Mask(line, name, resolved[name].rpartition(".")[0], called)
            elif base != UNNAMED and base.rpartition(".")[2] not in MESSAGES:
                yield Mask(line, name, f"imported {base}", called)

    def _names(self, mask: Mask) -> list[str]:
        """What could stand at the mask, as far as its namespace and its use tell."""
        names = set(self._used[mask.namespace, mask.called])
        owner = mask.namespace.removeprefix("members of ")
        kinds = {*CALLABLES, "class"} if mask.called else {"property", "attribute", "enum"}
        names.update(s.name for s in self._children[owner] if s.kind in kinds)
        cls = self._library.symbols.get(owner)
        if cls is not None:
            names.update(member.name for member in cls.members if member.kind in kinds)
        return sorted(name for name in names if not name.startswith("__"))

    def _used_names(self) -> Mapping[tuple[str, bool], set[str]]:
        """What code uses of a namespace, called or not: ``imported np.linalg`` -> ``norm``."""
        table: dict[tuple[str, bool], set[str]] = defaultdict(set)
        for qualname, tree in self._trees.items():
            for name, base, _, called in _uses(tree) if tree is not None else ():
                if base in ("self", "cls"):
                    table[f"members of {qualname.rpartition('.')[0]}", called].add(name)
                elif base and base != UNNAMED:
                    table[f"imported {base}", called].add(name)
        return table

    # --- documentation -----------------------------------------------------------------------

    def _doc_questions(self, symbol: Symbol) -> Iterator[QAQuestion]:
        if symbol.kind == "module" or not symbol.public:
            return
        parent = symbol.qualname.rpartition(".")[0]
        siblings = [
            other for other in self._children[parent]
            if other.name != symbol.name and other.public and other.kind != "module"
        ]  # fmt: skip
        if len(siblings) < 3:
            parent_module = parent.rpartition(".")[0]
            siblings += [
                other for sibling in self._children[parent_module]
                for other in self._children[sibling.qualname]
                if other.public and other.name != symbol.name
                and not other.qualname.startswith(f"{parent}.")
            ]  # fmt: skip
        yield from self._by_summary(symbol, siblings)
        yield from _by_parameter(symbol, siblings)
        yield from _by_result(symbol, siblings)

    def _by_summary(self, symbol: Symbol, siblings: Sequence[Symbol]) -> Iterator[QAQuestion]:
        summary = _summary(symbol)
        if summary is None:
            return
        described = {other.name: text for other in siblings if (text := _summary(other))}
        if not re.search(rf"\b{re.escape(symbol.name)}\b", summary):
            text = (
                f"Which {symbol.kind} that pymatgen defines in "
                f"`{symbol.qualname.rpartition('.')[0]}` is for this: {summary}"
            )
            names = [
                other.name for other in siblings
                if other.kind == symbol.kind and described.get(other.name) != summary
            ]  # fmt: skip
            yield from _offer(text, symbol.name, names, symbol)
        others = [text for text in described.values() if text != summary]
        yield from _offer(f"What is {_called(symbol)} for?", summary, others, symbol)


def _by_parameter(symbol: Symbol, siblings: Sequence[Symbol]) -> Iterator[QAQuestion]:
    own = _parameters(symbol)
    others = sorted({name for other in siblings for name in _parameters(other)} - set(own))
    for name in _pick(own, 2, symbol.qualname, "own parameters"):
        text = f"Which of these is a parameter of {_called(symbol)}?"
        yield from _offer(text, name, others, symbol)


def _by_result(symbol: Symbol, siblings: Sequence[Symbol]) -> Iterator[QAQuestion]:
    result = _annotation(symbol)
    if result is None:
        return
    others = sorted({kind for other in siblings if (kind := _annotation(other))} - {result})
    text = f"What type is declared for the result of {_called(symbol)}?"
    yield from _offer(text, result, others, symbol)


# --- choices ---------------------------------------------------------------------------------


def _offer(
    text: str, right: str, others: Sequence[str], symbol: Symbol, *, kind: str = "doc"
) -> Iterator[QAQuestion]:
    """The question with three of the others; none when a choice would stand in its text."""
    shown = set(_WORD.findall(text))
    wrong = _pick([other for other in others if other not in shown], 3, text, right)
    if right in shown or len({right, *wrong}) < len(LETTERS):
        return
    place = int(_digest(text, right), 16) % len(LETTERS)
    choices = dict(zip(LETTERS, [*wrong[:place], right, *wrong[place:]], strict=True))
    yield QAQuestion(text, choices, LETTERS[place], kind, f"{symbol.path}/{symbol.qualname}")


def _pick(names: Sequence[str], count: int, *salt: str) -> list[str]:
    """``count`` of the names, the same ones every time, in no order that tells anything."""
    return sorted(set(names), key=lambda name: _digest(*salt, name))[:count]


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


# --- reading code ----------------------------------------------------------------------------


def _parse(symbol: Symbol) -> ast.AST | None:
    try:
        return ast.parse(textwrap.dedent(symbol.source))
    except SyntaxError:  # a definition cut out of a context that it needs
        return None


def _dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _local_names(tree: ast.AST) -> set[str]:
    """Names that the code itself binds: parameters, targets, loop variables, ..."""
    names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return names | {
        node.id for node in ast.walk(tree)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }  # fmt: skip


def _uses(tree: ast.AST) -> Iterator[tuple[str, str, int, bool]]:
    """Names that code uses: name, what it is taken from, line, and whether it is called.

    Taken from nothing: a plain name that is called. `UNNAMED`: what only a run would tell.
    """
    local = _local_names(tree) - {"self", "cls"}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) in called:
            yield node.id, "", node.lineno, True
        elif isinstance(node, ast.Attribute):
            base = ast.unparse(node.value) if _dotted(node.value) else UNNAMED
            base = UNNAMED if base.partition(".")[0] in local else base
            yield node.attr, base, node.end_lineno or node.lineno, id(node) in called


def _masked(source: str, mask: Mask, tree: ast.AST) -> str:
    """The code around a mask, with the signature; the name is masked wherever it stands."""
    lines = re.sub(rf"\b{re.escape(mask.name)}\b", MASK, source).split("\n")
    first, last = max(mask.line - 1 - AROUND, 0), mask.line + AROUND
    body = next(node.body[0].lineno - 1 for node in ast.walk(tree) if isinstance(node, FUNCTIONS))
    head = [*lines[:body], "    ..."] if first > body else lines[:first]
    tail = ["    ..."] if last < len(lines) else []
    return "\n".join([*head, *lines[first:last], *tail]).rstrip()


def _alike(names: Sequence[str], right: str) -> Sequence[str]:
    """The names written like the right one (private, capitalised), if there are enough."""

    def form(name: str) -> tuple[bool, bool, bool]:
        return name.startswith("_"), name.lstrip("_")[:1].isupper(), name.isupper()

    same = [name for name in names if form(name) == form(right)]
    return same if len(same) >= 3 else names


def _summary(symbol: Symbol) -> str | None:
    text = first_sentence(symbol.docstring)
    if re.match(r"(args|arguments|parameters|returns?|yields|raises|todo)\b", text, re.IGNORECASE):
        return None  # no summary, but the first section
    return text if len(text.split()) >= 4 and len(text) < 300 else None


def _called(symbol: Symbol) -> str:
    return f"{symbol.qualname.partition('.')[0]}'s `{symbol.qualname}`"


def _parameters(symbol: Symbol) -> list[str]:
    if symbol.kind not in (*CALLABLES, "class"):
        return []
    try:
        tree = ast.parse(f"def {symbol.signature.partition(' -> ')[0]}: ...")
    except SyntaxError:
        return []
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.arg)]
    names = [node.arg for node in nodes if node.arg not in ("self", "cls", "args", "kwargs")]
    return [name for name in names if not name.startswith("_")]


def _annotation(symbol: Symbol) -> str | None:
    """The declared type of a result; none where it says little."""
    result = symbol.signature.rpartition(" -> ")[2] if " -> " in symbol.signature else ""
    result = result.replace('"', "").replace("'", "")
    return None if result in ("", "None", "Any", "Self") else result
