"""The texts of a question made from a test: the code says what is asked, the docs say why."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from docgen.assertions import Assertion
from docgen.docstrings import first_sentence
from docgen.programs import Program
from docgen.symbols import Library, Symbol
from experiments.benchmarks.folder.from_tests.sources import maskable, origins
from experiments.benchmarks.folder.from_tests.values import Shape
from experiments.benchmarks.question_format import PropertySpec

#: More masks than this (and than there are properties) hide what the code is about.
MOST_MASKS = 4
_STOPWORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been by each every for from get given has in into is it its of on "
        "or return returns that the their them there these this those to used using which with "
        "when compute computes calculate calculates none true false if all any",
    )
)
_MARKUP = re.compile(r":\w+:`~?([^`]*)`|`+")


@dataclass(frozen=True)
class Asked:
    """An assertion that is to become a property."""

    number: int
    assertion: Assertion
    shape: Shape
    tolerance: tuple[float, float]  # relative and absolute


def masks_of(program: Program, asked: Sequence[int], library: Library) -> dict[str, str]:
    """What the scaffold hides: names of the library that give the asked values."""
    members = {m.name for symbol in library.symbols.values() for m in symbol.members}
    names = frozenset(members | {name.rpartition(".")[2] for name in library.symbols})
    hidden = maskable(program, asked, names)[: max(MOST_MASKS, len(asked))]
    return {f"MASK_{number}": name for number, name in enumerate(hidden, 1)}


def describe(
    program: Program, asked: Sequence[Asked], masks: Mapping[str, str], library: Library
) -> list[PropertySpec]:
    """The properties, named and described by the documentation of what gives their values."""
    properties: list[PropertySpec] = []
    parts = [*program.preamble, *(part for part in program.body if isinstance(part, ast.stmt))]
    taken = {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}
    taken |= set(masks.values())
    for place, one in enumerate(asked, 1):
        summary = _plain(_summary(program, one, library), masks)
        words = [word for word in re.findall(r"[a-z]{2,}", summary.lower())
                 if word not in _STOPWORDS]  # fmt: skip
        name = "_".join(words[:3])
        direct = _is_direct(one, program, library)
        if not (direct and words) or name in taken:
            name = f"{'error' if one.assertion.kind == 'raises' else 'value'}_{place}"
        taken.add(name)
        if summary and not direct:
            summary = f"Made of: {summary}"
        rtol, atol = one.tolerance
        described = _describe(one, name, summary)
        properties.append(
            PropertySpec(
                name=name, description=described, format=one.shape.format, rtol=rtol, atol=atol
            )
        )
    return properties


def introduce(package: str, properties: Sequence[PropertySpec]) -> str:
    """The sentence before the code."""
    listed = ", ".join(f"`{prop.name}`" for prop in properties)
    return f"With the package {package}, completed, this code computes {listed}."


def _is_direct(asked: Asked, program: Program, library: Library) -> bool:
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
    return bool(_candidates(library, node, program))


def _summary(program: Program, asked: Asked, library: Library) -> str:
    """First sentence about what gives the value; empty when nothing is documented."""
    for node in origins(program, asked.assertion):
        symbols = _candidates(library, node, program)
        sentences = {first_sentence(s.docstring) for s in symbols if s.docstring}
        if len(sentences) == 1:
            return sentences.pop()
    return ""


def _describe(asked: Asked, name: str, summary: str) -> str:
    if asked.assertion.kind == "raises":
        caught = f"Name of the class of the exception that is caught as `{name}` in the code"
        return f"{caught}, as text (empty if there is none)."
    what = "Truth of what" if asked.assertion.kind == "true" else "What"
    how = f", {asked.shape.how}" if what == "What" and asked.shape.how else ""
    return f"{summary} {what} the code assigns to `{name}`{how}.".strip()


def _candidates(library: Library, node: ast.AST, program: Program) -> list[Symbol]:
    """Symbols that an attribute or an imported name may mean, near what is imported, else all.

    A variable names nothing of the library.
    """
    imported = {
        alias.name
        for statement in program.preamble
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    if isinstance(node, ast.Attribute):
        name = node.attr
    elif isinstance(node, ast.Name) and node.id in imported:
        name = node.id
    else:
        return []
    found = [s for q, s in library.symbols.items() if q.rpartition(".")[2] == name]
    near = [s for s in found if set(s.qualname.split(".")[:-1]) & imported or name in imported]
    return [s for s in near or found if s.kind != "module"]


def _plain(sentence: str, masks: Mapping[str, str]) -> str:
    text = _MARKUP.sub(lambda match: match.group(1) or "", sentence).strip()
    for mask, name in masks.items():
        if "_" in name or name != name.lower():
            text = re.sub(rf"\b{re.escape(name)}\b", f"[{mask}]", text)
    return text if not text or text.endswith(".") else text + "."
