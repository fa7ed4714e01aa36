"""Who writes the texts of a task: rules, from the library's own documentation.

The chat model's counterpart is `model_writer`; both see the same `Excerpt`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from docgen.docstrings import first_sentence
from docgen.symbols import Library, Symbol
from experiments.benchmarks.folder.build.assertions import Assertion
from experiments.benchmarks.folder.build.collect import Program
from experiments.benchmarks.folder.build.sources import maskable, origins
from experiments.benchmarks.folder.build.values import Shape, Tolerance

#: More masks than this (and than there are properties) hide what the code is about.
MOST_MASKS = 4
_NAMESAKES = 3
_STOPWORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been by each every for from get given has in into is it its of on "
        "or return returns that the their them there these this those to used using which with "
        "when compute computes calculate calculates none true false if all any",
    )
)
_MARKUP = re.compile(r":\w+:`~?([^`]*)`|`+")


class WriterError(Exception):
    """The writer gave nothing that can be used for this test."""


@dataclass(frozen=True)
class Asked:
    """An assertion that is to become a property."""

    number: int
    assertion: Assertion
    shape: Shape
    tolerance: Tolerance

    @property
    def expression(self) -> str:
        """What gives the value, as the test writes it."""
        if self.assertion.kind == "raises":
            return "; ".join(map(ast.unparse, self.assertion.body))
        return ast.unparse(self.assertion.actual)


@dataclass(frozen=True)
class Excerpt:
    """What a writer sees of a task: the test, and what is asked; no value of the execution."""

    program: Program
    asked: tuple[Asked, ...]
    masks: Mapping[str, str]
    package: str


@dataclass(frozen=True)
class PropertyText:
    """Name and description of a property."""

    name: str
    description: str


@dataclass(frozen=True)
class QuestionText:
    """The words of both levels; an empty ``goal`` is not offered."""

    introduction: str
    goal: str


class TaskWriter(Protocol):
    """Writes the texts of a task; `WriterError` when there are none that can be used."""

    name: str

    async def properties(self, draft: Excerpt, /) -> Sequence[PropertyText]:
        """Names and descriptions, in the order of ``draft.asked``."""
        ...

    async def question(
        self, draft: Excerpt, properties: Sequence[PropertyText], code: str, /
    ) -> QuestionText:
        """The words around ``code``, the scaffold with its masks."""
        ...

    async def verification(
        self, draft: Excerpt, properties: Sequence[PropertyText], /
    ) -> Sequence[Tolerance]:
        """How each property is compared."""
        ...


def masks_of(program: Program, asked: Sequence[int], library: Library) -> dict[str, str]:
    """What the scaffold hides: names of the library that give the asked values."""
    members = {m.name for symbol in library.symbols.values() for m in symbol.members}
    names = frozenset(members | {name.rpartition(".")[2] for name in library.symbols})
    hidden = maskable(program, asked, names)[: max(MOST_MASKS, len(asked))]
    return {f"MASK_{number}": name for number, name in enumerate(hidden, 1)}


class RulesWriter:
    """Plain but complete texts without a model: the code says what is asked, the docs say why."""

    name = "rules"

    def __init__(self, library: Library) -> None:
        self._library = library

    async def properties(self, draft: Excerpt) -> Sequence[PropertyText]:
        """See `TaskWriter`."""
        texts: list[PropertyText] = []
        taken = set(draft.masks.values()) | _names(draft.program)
        for place, asked in enumerate(draft.asked, 1):
            summary = self._summary(draft, asked)
            words = [word for word in re.findall(r"[a-z]{2,}", summary.lower())
                     if word not in _STOPWORDS]  # fmt: skip
            name = "_".join(words[:3])
            direct = self._is_direct(asked, draft.program)
            if not (direct and words) or name in taken:
                name = f"{'error' if asked.assertion.kind == 'raises' else 'value'}_{place}"
            taken.add(name)
            if summary and not direct:
                summary = f"Made of: {summary}"
            texts.append(PropertyText(name, _describe(asked, name, summary)))
        return texts

    async def question(
        self, draft: Excerpt, properties: Sequence[PropertyText], _code: str
    ) -> QuestionText:
        """See `TaskWriter`; rules cannot put code into words, so there is no goal."""
        listed = ", ".join(f"`{prop.name}`" for prop in properties)
        given = "the code below computes" if not draft.masks else "completed, this code computes"
        return QuestionText(f"With the package {draft.package}, {given} {listed}.", "")

    async def verification(
        self, draft: Excerpt, _properties: Sequence[PropertyText]
    ) -> Sequence[Tolerance]:
        """See `TaskWriter`: as the assertions say."""
        return [asked.tolerance for asked in draft.asked]

    def _is_direct(self, asked: Asked, program: Program) -> bool:
        """Whether the value is what the library returns, not something made of it."""
        node = asked.assertion.actual
        assigned = {
            part.targets[0].id: part.value
            for part in program.body
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
        }
        while isinstance(node, ast.Name) and node.id in assigned:
            node = assigned.pop(node.id)
        if isinstance(node, ast.Call):
            node = node.func
        imported = _imported(program)
        return bool(_candidates(self._library, _named(node, imported), imported))

    def _summary(self, draft: Excerpt, asked: Asked) -> str:
        """First sentence about what gives the value; empty when nothing is documented."""
        for symbols in _described(self._library, draft.program, asked):
            sentences = {first_sentence(symbol.docstring) for symbol in symbols}
            if len(sentences) == 1:
                return _plain(sentences.pop(), draft.masks)
        return ""


def documented(library: Library, program: Program, asked: Asked) -> list[Symbol]:
    """Symbols with a docstring that the value comes from; of namesakes only the first few."""
    return [s for symbols in _described(library, program, asked) for s in symbols[:_NAMESAKES]]


def _described(library: Library, program: Program, asked: Asked) -> Iterator[list[Symbol]]:
    """For each name that the value comes from, what it may mean, as far as documented."""
    imported = _imported(program)
    for node in origins(program, asked.assertion):
        symbols = _candidates(library, _named(node, imported), imported)
        if found := [symbol for symbol in symbols if symbol.docstring]:
            yield found


def _describe(asked: Asked, name: str, summary: str) -> str:
    if asked.assertion.kind == "raises":
        caught = f"Name of the class of the exception that is caught as `{name}` in the code"
        return f"{caught}, as text (empty if there is none)."
    what = "Truth of what" if asked.assertion.kind == "true" else "What"
    how = f", {asked.shape.how}" if what == "What" and asked.shape.how else ""
    return f"{summary} {what} the code assigns to `{name}`{how}.".strip()


def _named(node: ast.AST, imported: set[str]) -> str | None:
    """An attribute's name, or an imported one; a variable names nothing of the library."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) and node.id in imported else None


def _candidates(library: Library, name: str | None, imported: set[str]) -> list[Symbol]:
    """Symbols that ``name`` may mean: those of imported classes and modules, else all."""
    if not name:
        return []
    found = [s for q, s in library.symbols.items() if q.rpartition(".")[2] == name]
    near = [s for s in found if set(s.qualname.split(".")[:-1]) & imported or name in imported]
    return [s for s in near or found if s.kind != "module"]


def _imported(program: Program) -> set[str]:
    return {
        alias.name
        for statement in program.preamble
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def _names(program: Program) -> set[str]:
    parts = [*program.preamble, *(part for part in program.body if isinstance(part, ast.stmt))]
    return {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}


def _plain(sentence: str, masks: Mapping[str, str]) -> str:
    text = _MARKUP.sub(lambda match: match.group(1) or "", sentence).strip()
    for mask, name in masks.items():
        if "_" in name or name != name.lower():
            text = re.sub(rf"\b{re.escape(name)}\b", f"[{mask}]", text)
    return text if not text or text.endswith(".") else text + "."
