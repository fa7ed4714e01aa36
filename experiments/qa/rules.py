"""Questions without a model: names are masked in code, members are told apart by their docs.

Deterministic: the same library gives the same questions in the same order. Wrong choices come
from the namespace of the right one (the same class, module or imported package) and stand
nowhere in the code that is shown.
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

from docgen.library import first_sentence
from docgen.symbols import Library, Symbol
from experiments.progress import CountProgress
from experiments.qa.questions import LETTERS, MASK, QAQuestion, fault, stored_line

CALLABLES = frozenset({"function", "method"})
PER_SYMBOL = 5

#: Lines of code that are shown on each side of a mask in a long function.
AROUND = 30

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Mask:
    """A name in a piece of code: where it stands (UTF-8 offsets) and what could stand there."""

    line: int
    start: int
    end: int
    name: str
    namespace: str


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
        CountProgress(console, "questions", total=len(symbols), unit="symbols") as progress,
    ):
        for symbol in symbols:
            for question in writer.questions(symbol):
                if question.kind in kinds:
                    file.write(stored_line(question))
                    counts[question.kind] += 1
            progress.advance(f"{counts.total()} questions")
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
        self._imported = self._imported_names()

    def questions(self, symbol: Symbol) -> Iterator[QAQuestion]:
        """Up to five questions on the code of a symbol and up to five on its documentation."""
        for make in (self._code_questions, self._doc_questions):
            seen: set[tuple[str, ...]] = set()
            for question in make(symbol):
                kind = "code" if question.kind == "code" else "doc"
                # One and the same sentence can describe several members.
                content = (question.question, *question.choices.values())
                if fault(question, kind=kind) is None and content not in seen:  # type: ignore[arg-type]
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
        words = set(_WORD.findall(source))
        asked: set[str] = set()
        for mask in self._masks(symbol, tree):
            if mask.name in asked:
                continue
            others = [name for name in self._names(mask.namespace) if name not in words]
            wrong = _pick(others, 3, symbol.qualname, mask.name)
            if len(wrong) < 3:
                continue
            asked.add(mask.name)
            text = (
                f"In `{symbol.path}`, one name of the following code of "
                f"`{symbol.qualname}` is replaced by {MASK}. Which name stands there?\n"
                f"```python\n{_masked(source, mask)}\n```"
            )
            yield _choose(text, mask.name, wrong, kind="code", source=_source(symbol))

    def _masks(self, symbol: Symbol, tree: ast.AST) -> Iterator[Mask]:
        called = {name.rpartition(".")[2]: name for name in symbol.calls}
        local = _local_names(tree)
        owner = symbol.qualname.rpartition(".")[0] if symbol.kind != "function" else ""
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                found = called.get(node.func.id)
                if found is not None:
                    yield _mask(node.func, node.func.id, found.rpartition(".")[0])
            elif isinstance(node, ast.Attribute):
                base = ast.unparse(node.value) if _dotted(node.value) else ""
                if base in ("self", "cls") and owner:
                    yield _mask(node, node.attr, f"members of {owner}")
                elif node.attr in called:
                    yield _mask(node, node.attr, called[node.attr].rpartition(".")[0])
                elif base and base.partition(".")[0] not in local:
                    yield _mask(node, node.attr, f"imported {base}")

    def _names(self, namespace: str) -> list[str]:
        if namespace.startswith("imported "):
            return sorted(self._imported[namespace.removeprefix("imported ")])
        if namespace.startswith("members of "):
            cls = self._library.symbols.get(namespace.removeprefix("members of "))
            return sorted({member.name for member in cls.members}) if cls is not None else []
        kinds = {*CALLABLES, "class", "property"}
        return sorted({s.name for s in self._children[namespace] if s.kind in kinds})

    def _imported_names(self) -> Mapping[str, set[str]]:
        """What the library uses of other packages: ``np.linalg`` -> ``{norm, inv, ...}``."""
        table: dict[str, set[str]] = defaultdict(set)
        for tree in self._trees.values():
            if tree is None:
                continue
            local = _local_names(tree)
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and _dotted(node.value):
                    base = ast.unparse(node.value)
                    if base.partition(".")[0] not in local | {"self", "cls"}:
                        table[base].add(node.attr)
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
        distinct = [name for name, text in described.items() if text != summary]
        if not re.search(rf"\b{re.escape(symbol.name)}\b", summary):
            text = (
                f"Which {symbol.kind} that pymatgen defines in "
                f"`{symbol.qualname.rpartition('.')[0]}` is for this: {summary}"
            )
            names = [o.name for o in siblings if described.get(o.name) != summary]
            wrong = _pick(names, 3, symbol.qualname, "name")
            yield from _offer(text, symbol.name, wrong, symbol)
        wrong = [described[name] for name in _pick(distinct, 3, symbol.qualname, "summary")]
        yield from _offer(f"What is pymatgen's `{symbol.qualname}` for?", summary, wrong, symbol)


def _by_parameter(symbol: Symbol, siblings: Sequence[Symbol]) -> Iterator[QAQuestion]:
    own = _parameters(symbol)
    others = sorted({name for other in siblings for name in _parameters(other)} - set(own))
    for name in _pick(own, 2, symbol.qualname, "own parameters"):
        wrong = _pick(others, 3, symbol.qualname, f"parameters {name}")
        text = f"Which of these is a parameter of pymatgen's `{symbol.qualname}`?"
        yield from _offer(text, name, wrong, symbol)


def _by_result(symbol: Symbol, siblings: Sequence[Symbol]) -> Iterator[QAQuestion]:
    result = _annotation(symbol)
    if result is None or result in ("None", "Any", "Self"):
        return
    others = sorted({kind for other in siblings if (kind := _annotation(other))} - {result})
    wrong = _pick(others, 3, symbol.qualname, "result")
    text = f"What type is declared for the result of pymatgen's `{symbol.qualname}`?"
    yield from _offer(text, result, wrong, symbol)


# --- choices ---------------------------------------------------------------------------------


def _offer(text: str, right: str, wrong: Sequence[str], symbol: Symbol) -> Iterator[QAQuestion]:
    if len({right, *wrong}) == len(LETTERS):
        yield _choose(text, right, wrong, kind="doc", source=_source(symbol))


def _choose(text: str, right: str, wrong: Sequence[str], *, kind: str, source: str) -> QAQuestion:
    place = int(hashlib.sha256(f"{text}\0{right}".encode()).hexdigest(), 16) % len(LETTERS)
    texts = [*wrong[:place], right, *wrong[place:]]
    return QAQuestion(text, dict(zip(LETTERS, texts, strict=True)), LETTERS[place], kind, source)


def _pick(names: Sequence[str], count: int, *salt: str) -> list[str]:
    """``count`` of the names, the same ones every time, in no order that tells anything."""

    def rank(name: str) -> str:
        return hashlib.sha256("\0".join([*salt, name]).encode()).hexdigest()

    return sorted(set(names), key=rank)[:count]


def _source(symbol: Symbol) -> str:
    return f"{symbol.path}/{symbol.qualname}"


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


def _mask(node: ast.Name | ast.Attribute, name: str, namespace: str) -> Mask:
    end = node.end_col_offset or 0
    return Mask(node.end_lineno or node.lineno, end - len(name.encode()), end, name, namespace)


def _masked(source: str, mask: Mask) -> str:
    lines = source.split("\n")
    raw = lines[mask.line - 1].encode()
    if raw[mask.start : mask.end] != mask.name.encode():
        raise ValueError(f"{mask.name} does not stand where it was found")
    lines[mask.line - 1] = (raw[: mask.start] + MASK.encode() + raw[mask.end :]).decode()
    first, last = max(mask.line - 1 - AROUND, 0), mask.line + AROUND
    header = next(i for i, line in enumerate(lines) if line.startswith(("def ", "async def ")))
    head = [*lines[: header + 1], "    ..."] if first > header + 1 else lines[:first]
    tail = ["    ..."] if last < len(lines) else []
    return "\n".join([*head, *lines[first:last], *tail]).rstrip()


def _summary(symbol: Symbol) -> str | None:
    text = first_sentence(symbol.docstring)
    return text if len(text.split()) >= 4 and len(text) < 300 else None


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
    result = symbol.signature.rpartition(" -> ")[2] if " -> " in symbol.signature else ""
    return result or None
