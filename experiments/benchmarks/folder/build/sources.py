"""Texts of a program: instrumented for a recording, as reference solution, as scaffold."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

from experiments.benchmarks.folder.build.assertions import Assertion
from experiments.benchmarks.folder.build.collect import Program, bound, needed

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
    lines = [_text(program.preamble), _RECORDER, "", f"def {ENTRY}():"]
    for part in program.body:
        if not isinstance(part, Assertion):
            lines.append(_indented(ast.unparse(part)))
        elif part.kind == "raises":
            expected = ast.unparse(part.expected)
            lines += [_INDENT + "try:", *(_indented(ast.unparse(s), 2) for s in part.body)]
            lines += [_INDENT + "except Exception as _error:"]
            lines += [_INDENT * 2 + f'_record("raises", type(_error), {expected})']
            lines += [_INDENT + "else:", _INDENT * 2 + f'_record("raises", object, {expected})']
        else:
            sides = f"{ast.unparse(part.actual)}, {ast.unparse(part.expected)}"
            record = f'_record("{part.kind}", {sides}, {part.rtol!r}, {part.atol!r})'
            lines.append(_indented(record))
    return "\n".join([*lines, f"{_INDENT}return _records", ""])


def reference(program: Program, asked: Mapping[int, tuple[str, str]]) -> str:
    """The reference solution.

    ``asked`` maps the number of each assertion to the name of its property and the code that
    makes the value plain (``float({})``).
    """
    preamble, body = _kept(program, asked)
    taken = {n.id for s in body if isinstance(s, ast.stmt) for n in ast.walk(s)
             if isinstance(n, ast.Name)}  # fmt: skip
    lines = [f'"""Reference solution, made from {program.test}."""', "", _text(preamble), "", ""]
    lines += ["def reference() -> dict:", f'{_INDENT}"""Compute the properties of the question."""']
    returned = {}
    for part, number in _numbered(program, body):
        if isinstance(part, ast.stmt):
            lines.append(_indented(ast.unparse(part)))
            continue
        name, code = asked[number]
        variable = f"asked_{name}" if name in taken else name
        returned[name] = variable
        lines += [_INDENT + line for line in _asking(part, variable, code)]
    pairs = ", ".join(f'"{name}": {variable}' for name, variable in returned.items())
    return "\n".join([*lines, f"{_INDENT}return {{{pairs}}}", ""])


def scaffold(program: Program, asked: Mapping[int, str], masks: Mapping[str, str]) -> str:
    """The code of the scaffold level: the same program, with masks over names of the library."""
    preamble, body = _kept(program, asked)
    lines = [_text(preamble), ""]
    for part, number in _numbered(program, body):
        if isinstance(part, ast.stmt):
            lines.append(ast.unparse(part))
        else:
            lines += _asking(part, asked[number], "{}")
    text = "\n".join(lines).strip()
    for mask, name in masks.items():
        text = re.sub(rf"\b{re.escape(name)}\b", f"[{mask}]", text)
    return text


def maskable(program: Program, asked: Iterable[int], names: frozenset[str]) -> list[str]:
    """Names of the library that give the asked values, and nothing else in the program.

    The outermost name of each value comes first, then the second ones.

    ``asked`` are numbers of assertions, ``names`` the public names of the library.
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


def _asking(part: Assertion, variable: str, code: str) -> list[str]:
    if part.kind != "raises":
        value = ast.unparse(part.actual)
        plain = f"bool({value})" if part.kind == "true" and code == "{}" else code
        return [f"{variable} = {plain.replace('{}', value)}"]
    lines = ["try:", *(_indented(ast.unparse(s)) for s in part.body)]
    lines += [f'{_INDENT}{variable} = ""', "except Exception as error:"]
    flat = [line for text in lines for line in text.splitlines()]
    return [*flat, f"{_INDENT}{variable} = type(error).__name__"]


def _kept(
    program: Program, asked: Iterable[int]
) -> tuple[list[ast.stmt], list[ast.stmt | Assertion]]:
    """Preamble and body without the assertions that are not asked, and what only they use."""
    wanted = {program.assertions[number] for number in asked}
    kept: list[ast.stmt | Assertion] = []
    names: set[str] = set()
    used: list[ast.AST] = []
    for part in reversed(program.body):
        if isinstance(part, Assertion):
            if part not in wanted:
                continue
            nodes: Sequence[ast.AST] = [part.actual, *part.body]
        else:
            nodes = [part]
            targets = part.targets if isinstance(part, ast.Assign) else [
                part.target] if isinstance(part, ast.AnnAssign) else []  # fmt: skip
            plain = all(isinstance(target, ast.Name | ast.Tuple) for target in targets)
            if targets and plain and not set(bound(part)) & names:
                continue  # it served an expected value only
        kept.insert(0, part)
        names |= {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}
        used += nodes
    return needed(program.preamble, used), kept


def _numbered(
    program: Program, body: Sequence[ast.stmt | Assertion]
) -> list[tuple[ast.stmt | Assertion, int]]:
    """Each part with its number among the assertions (-1: it is none)."""
    numbers = {id(assertion): number for number, assertion in enumerate(program.assertions)}
    return [(part, numbers.get(id(part), -1)) for part in body]


def _text(statements: Iterable[ast.stmt]) -> str:
    """Source text of a module, functions and classes set apart."""
    lines = []
    for statement in statements:
        apart = "\n\n" if isinstance(statement, ast.FunctionDef | ast.ClassDef) else ""
        lines.append(f"{apart}{ast.unparse(statement)}{apart}")
    return "\n".join(lines).strip()


def _indented(text: str, levels: int = 1) -> str:
    """Source text moved to the right; a text literal over several lines is not (ast makes none)."""
    return "\n".join(_INDENT * levels + line for line in text.splitlines())
