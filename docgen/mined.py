"""Examples out of a library's own unit tests: the statements that an asserted value comes from.

Facts and calls only: no comment, message or expected value of the test is taken over. What is
printed is what the library gives now. Who measures with questions made of the same tests must not
give an agent these examples.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from docgen.assertions import Assertion
from docgen.programs import Program, bound, collect, needed
from docgen.symbols import Library
from docgen.usage import CodeResolver

_LONGEST = 2_000  # characters of a script


def scripts(tests: Path, resolver: CodeResolver, library: Library) -> dict[str, list[str]]:
    """Symbol -> scripts that use it and print a value, the shortest first."""
    found: dict[str, set[str]] = {}
    programs, _ = collect(tests)
    for program in programs:
        for number, assertion in enumerate(program.assertions):
            code = "" if assertion.kind == "raises" else script(program, number)
            if 0 < len(code) <= _LONGEST:
                for name in resolver.symbols(code).keys() & library.symbols.keys():
                    found.setdefault(name, set()).add(code)
    return {name: sorted(codes, key=lambda c: (len(c), c)) for name, codes in found.items()}


def script(program: Program, number: int) -> str:
    """What one assertion of a test looks at, printed."""
    assertion = program.assertions[number]
    before = program.body[: program.body.index(assertion) + 1]
    preamble, body = kept(replace(program, body=before), [number])
    shown = [ast.unparse(part) for part, _ in body if isinstance(part, ast.stmt)]
    printed = f"print({ast.unparse(assertion.actual)})"
    return "\n".join([text_of(preamble), "", *shown, printed, ""]).lstrip()


def kept(
    program: Program, asked: Iterable[int]
) -> tuple[list[ast.stmt], list[tuple[ast.stmt | Assertion, int]]]:
    """Preamble and body without the assertions that are not asked, and what only they use.

    Each part of the body has its number among the assertions (-1: it is none).
    """
    wanted = {id(program.assertions[number]): number for number in asked}
    made = {name for part in program.body if isinstance(part, ast.Assign) for name in bound(part)}
    parts: list[tuple[ast.stmt | Assertion, int]] = []
    names: set[str] = set()
    used: list[ast.AST] = []
    for part in reversed(program.body):
        if isinstance(part, Assertion):
            if id(part) not in wanted:
                continue
            nodes: Sequence[ast.AST] = [part.actual, *part.body]
        else:
            nodes = [part]
            targets = part.targets if isinstance(part, ast.Assign) else [
                part.target] if isinstance(part, ast.AnnAssign) else []  # fmt: skip
            plain = all(isinstance(target, ast.Name | ast.Tuple) for target in targets)
            if targets and plain and not set(bound(part)) & names:
                continue  # it served an expected value only
            if _receiver(part) in made - names:
                continue  # it changes what is not looked at
        parts.insert(0, (part, wanted.get(id(part), -1)))
        names |= {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}
        used += nodes
    return needed(program.preamble, used), parts


def _receiver(statement: ast.stmt) -> str:
    """``tree`` of the statement ``tree.trunk.grow()``, else empty."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=node))):
            while isinstance(node, ast.Attribute):
                node = node.value
            return node.id if isinstance(node, ast.Name) else ""
    return ""


def text_of(statements: Iterable[ast.stmt]) -> str:
    """Source text of a module, functions and classes set apart."""
    lines = []
    for statement in statements:
        apart = "\n\n" if isinstance(statement, ast.FunctionDef | ast.ClassDef) else ""
        lines.append(f"{apart}{ast.unparse(statement)}{apart}")
    return "\n".join(lines).strip()
