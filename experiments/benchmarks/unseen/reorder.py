"""Puts definitions into another order, so that a file's order tells nothing about its origin."""

from __future__ import annotations

import ast
import random
from collections.abc import Sequence

import libcst as cst

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def reorder(text: str, seed: int | str) -> str:
    """The same module with functions, classes and methods in another legal order.

    Only neighbours change places: statements between them stay where they are. A definition
    comes after everything that its decorators, defaults, bases and class-level statements use.
    """
    module = cst.parse_module(text)
    chance = random.Random(str(seed))  # noqa: S311 - an order, not a secret
    eager = "from __future__ import annotations" not in text
    return module.with_changes(body=_shuffled(module.body, chance, eager=eager)).code


def _shuffled(
    body: Sequence[cst.BaseStatement], chance: random.Random, *, eager: bool
) -> list[cst.BaseStatement]:
    done: list[cst.BaseStatement] = []
    run: list[cst.FunctionDef | cst.ClassDef] = []
    for statement in body:
        if not isinstance(statement, cst.FunctionDef | cst.ClassDef):
            done += _rearranged(run, chance, eager=eager)
            run = []
            done.append(statement)
            continue
        if isinstance(statement, cst.ClassDef) and isinstance(statement.body, cst.IndentedBlock):
            inner = _shuffled(list(statement.body.body), chance, eager=eager)
            statement = statement.with_deep_changes(statement.body, body=inner)  # noqa: PLW2901
        run.append(statement)
    return done + _rearranged(run, chance, eager=eager)


def _rearranged(
    run: Sequence[cst.FunctionDef | cst.ClassDef], chance: random.Random, *, eager: bool
) -> list[cst.BaseStatement]:
    order = _order([_syntax(node) for node in run], chance, eager=eager)
    # Blank lines belong to the place, not to the definition.
    return [
        run[index].with_changes(leading_lines=place.leading_lines)
        for index, place in zip(order, run, strict=True)
    ]


def _syntax(node: cst.FunctionDef | cst.ClassDef) -> _Definition:
    found = ast.parse(cst.Module([node]).code).body[0]
    assert isinstance(found, _Definition)
    return found


def _order(run: Sequence[_Definition], chance: random.Random, *, eager: bool) -> list[int]:
    names = [node.name for node in run]
    needs = []
    for index, node in enumerate(run):
        used = _evaluated(node, eager=eager) | {node.name}
        needs.append({other for other in range(index) if names[other] in used})
    placed: list[int] = []
    while len(placed) < len(run):
        ready = [i for i in range(len(run)) if i not in placed and needs[i] <= set(placed)]
        placed.append(chance.choice(ready))
    return placed


def _evaluated(node: _Definition, *, eager: bool) -> set[str]:
    """Names that are looked up when the definition is executed."""
    parts: list[ast.AST] = list(node.decorator_list)
    found: set[str] = set()
    if isinstance(node, ast.ClassDef):
        parts += [*node.bases, *node.keywords]
        for statement in node.body:
            if isinstance(statement, _Definition):
                found |= _evaluated(statement, eager=eager)
            else:
                parts.append(statement)
    else:
        parts += [*node.args.defaults, *(value for value in node.args.kw_defaults if value)]
        if eager:
            parts += [argument for argument in ast.walk(node.args) if isinstance(argument, ast.arg)]
            parts += [node.returns] if node.returns else []
    return found | {
        inner.id for part in parts for inner in ast.walk(part) if isinstance(inner, ast.Name)
    }
