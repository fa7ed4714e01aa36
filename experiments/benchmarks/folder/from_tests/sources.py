"""Texts of a program: instrumented for a recording, as reference solution, as scaffold."""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Iterable, Mapping

from docgen.assertions import Assertion
from docgen.mined import kept, text_of
from docgen.programs import Program, bound

#: Name of the function that an instrumented program offers.
ENTRY = "recorded"
_INDENT = "    "
_RECORDER = """
import copy as _copy

_records = []


def _leaves(value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return [leaf for key in sorted(value, key=str) for leaf in _leaves(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _close(actual, expected, rtol, atol):
    left, right = _leaves(actual), _leaves(expected)
    if len(right) == 1:
        right = right * len(left)
    if len(left) != len(right):
        return False
    return all(a == b or abs(a - b) <= atol + rtol * abs(b) for a, b in zip(left, right))


def _equal(actual, expected):
    same = actual == expected
    return bool(same.all()) if hasattr(same, "all") else bool(same)


def _record(kind, actual, expected, rtol=0.0, atol=0.0):
    if kind == "true":
        actual = bool(actual)
    try:
        value = _copy.deepcopy(actual)
    except Exception:
        value = actual
    try:
        holds = (
            issubclass(actual, expected) if kind == "raises"
            else _close(actual, expected, rtol, atol) if kind == "close"
            else actual is expected if kind == "same"
            else _equal(actual, expected)
        )
    except (TypeError, ValueError):
        holds = False
    if kind == "raises":
        value = actual.__name__
    _records.append({"value": value, "holds": holds, "expected": repr(expected)[:200]})
"""


def instrumented(program: Program) -> str:
    """A program whose function `ENTRY` runs the test and returns what each assertion saw."""
    body = [_recording(p) if isinstance(p, Assertion) else ast.unparse(p) for p in program.body]
    text = textwrap.indent("\n".join([*body, "return _records"]), _INDENT)
    return "\n".join([text_of(program.preamble), _RECORDER, "", f"def {ENTRY}():", text, ""])


def reference(program: Program, asked: Mapping[int, tuple[str, str]]) -> str:
    """The reference solution.

    ``asked`` maps the number of each assertion to the name of its property and the code that
    makes the value plain (``float({})``).
    """
    preamble, body = kept(program, asked)
    statements = [part for part, _ in body if isinstance(part, ast.stmt)]
    taken = {n.id for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)}
    variables = {n: f"asked_{name}" if name in taken else name for n, (name, _) in asked.items()}
    lines = _lines(body, {n: (variables[n], code) for n, (_, code) in asked.items()})
    returned = ", ".join(f'"{name}": {variables[n]}' for n, (name, _) in sorted(asked.items()))
    text = "\n".join(['"""Compute the properties of the question."""', *lines,
                      f"return {{{returned}}}"])  # fmt: skip
    head = f'"""Reference solution, made from {program.test}."""'
    parts = [head, "", text_of(preamble), "", "", "def reference() -> dict:"]
    return "\n".join([*parts, textwrap.indent(text, _INDENT), ""])


def scaffold(program: Program, asked: Mapping[int, str], masks: Mapping[str, str]) -> str:
    """The code of the scaffold level: the same program, with masks over names of the library."""
    preamble, body = kept(program, asked)
    lines = _lines(body, {number: (name, "{}") for number, name in asked.items()})
    text = "\n".join([text_of(preamble), "", *lines]).strip()
    for mask, name in masks.items():
        text = re.sub(rf"\b{re.escape(name)}\b", f"[{mask}]", text)
    return text


def maskable(program: Program, asked: Iterable[int], names: frozenset[str]) -> list[str]:
    """Public ``names`` of the library that give the asked values, and nothing else in the program.

    The outermost name of each value comes first, then the second ones.
    """
    wanted = set(asked)
    text = scaffold(program, dict.fromkeys(wanted, "_"), {})
    columns: list[list[str]] = []
    for number, assertion in enumerate(program.assertions):
        if number in wanted:
            own = [n for part in (assertion.actual, *assertion.body) for n in ast.walk(part)]
            hidden = _hideable(own, names, text)
            columns.append(hidden or _hideable(origins(program, assertion), names, text))
    ranked = (name for rank in itertools.zip_longest(*columns) for name in rank if name)
    return list(dict.fromkeys(ranked))


def _hideable(nodes: Iterable[ast.AST], names: frozenset[str], text: str) -> list[str]:
    used = [n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in nodes]
    return [n for n in used if n in names and len(n) > 3 and _only_of_the_library(n, text)]


def origins(program: Program, assertion: Assertion) -> list[ast.AST]:
    """Every node that the value of an assertion comes from: its expression, then its variables."""
    before = program.body[: program.body.index(assertion)]
    assigned = {
        name: part.value for part in before if isinstance(part, ast.Assign) for name in bound(part)
    }
    waiting: list[ast.AST] = [assertion.actual, *assertion.body]
    found: list[ast.AST] = []
    while waiting:
        nodes = list(ast.walk(waiting.pop(0)))
        found += nodes
        names = [node.id for node in nodes if isinstance(node, ast.Name)]
        waiting += [assigned.pop(name) for name in names if name in assigned]
    return found


def _only_of_the_library(name: str, text: str) -> bool:
    tree = ast.parse(text)
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
    proper = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            proper += node.attr == name
        elif isinstance(node, ast.ImportFrom):
            proper += sum(alias.name == name and alias.asname is None for alias in node.names)
        elif isinstance(node, ast.Name) and node.id == name and name in imported:
            proper += isinstance(node.ctx, ast.Load)
    return proper == len(re.findall(rf"\b{re.escape(name)}\b", text)) > 0


def _lines(
    body: Iterable[tuple[ast.stmt | Assertion, int]], asked: Mapping[int, tuple[str, str]]
) -> list[str]:
    """A body as text; each assertion as what sets a variable to its value, made plain by code."""
    lines = []
    for part, number in body:
        if isinstance(part, ast.stmt):
            lines.append(ast.unparse(part))
            continue
        variable, code = asked[number]
        if part.kind == "raises":
            lines.append(_trying(part, f'{variable} = ""', f"{variable} = type(error).__name__"))
        else:
            value = ast.unparse(part.actual)
            plain = f"bool({value})" if part.kind == "true" and code == "{}" else code
            lines.append(f"{variable} = {plain.replace('{}', value)}")
    return lines


def _recording(part: Assertion) -> str:
    expected = ast.unparse(part.expected)
    if part.kind == "raises":
        silent, caught = (f'_record("raises", {c}, {expected})' for c in ("object", "type(error)"))
        return _trying(part, silent, caught)
    sides = f"{ast.unparse(part.actual)}, {expected}"
    return f'_record("{part.kind}", {sides}, {part.rtol!r}, {part.atol!r})'


def _trying(part: Assertion, silent: str, caught: str) -> str:
    """What happens when the statements of an assertion raise nothing, and when they raise."""
    body = textwrap.indent("\n".join([*map(ast.unparse, part.body), silent]), _INDENT)
    return f"try:\n{body}\nexcept Exception as error:\n{_INDENT}{caught}"
