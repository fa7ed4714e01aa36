"""Texts of a question made from a test: what is recorded, reference, scaffold, properties.

The code says what is asked, the documentation of the library what it means.
"""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from docgen.assertions import Assertion
from docgen.docstrings import first_sentence
from docgen.programs import Program, bound, kept, text_of
from docgen.symbols import Library, Symbol
from experiments.benchmarks.folder.from_tests.values import Shape
from experiments.benchmarks.question_format import PropertySpec

#: More masks than this (and than there are properties) hide what the code is about.
MOST_MASKS = 4
_MARKUP = re.compile(r":\w+:`~?([^`]*)`|`+")


@dataclass(frozen=True)
class Asked:
    """An assertion that is to become a property."""

    number: int
    assertion: Assertion
    shape: Shape
    tolerance: tuple[float, float]  # relative and absolute


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


def masks_of(program: Program, asked: Sequence[int], library: Library) -> dict[str, str]:
    """What the scaffold hides: names of the library that give the asked values, and nothing else.

    The outermost name of each value comes first, then the second ones.
    """
    members = {m.name for symbol in library.symbols.values() for m in symbol.members}
    names = members | {name.rpartition(".")[2] for name in library.symbols}
    text = scaffold(program, dict.fromkeys(asked, "_"), {})
    columns = []
    for number in sorted(asked):
        assertion = program.assertions[number]
        own = [n for part in (assertion.actual, *assertion.body) for n in ast.walk(part)]
        hidden = _hideable(own, names, text)
        columns.append(hidden or _hideable(origins(program, assertion), names, text))
    ranked = (name for rank in itertools.zip_longest(*columns) for name in rank if name)
    hidden = list(dict.fromkeys(ranked))[: max(MOST_MASKS, len(asked))]
    return {f"MASK_{number}": name for number, name in enumerate(hidden, 1)}


def _hideable(nodes: Iterable[ast.AST], names: set[str], text: str) -> list[str]:
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


def describe(
    program: Program, asked: Sequence[Asked], masks: Mapping[str, str], library: Library
) -> list[PropertySpec]:
    """The properties, described by the documentation of what their values are computed with."""
    properties = []
    for place, one in enumerate(asked, 1):
        kind, form = one.assertion.kind, one.shape.format
        name = f"{'error' if kind == 'raises' else 'value'}_{place}"
        if kind == "raises":
            told = (
                f"Name of the class of the exception that is caught as `{name}` in the code, as "
                "text (empty if there is none)."
            )
        else:
            what = "Truth of what" if kind == "true" else "What"
            how = f", {one.shape.how}" if kind != "true" and one.shape.how else ""
            told = f"{what} the code assigns to `{name}`{how}."
            if summary := _plain(_summary(program, one, library), masks):
                told = f"From the documentation: {summary} {told}"
        rtol, atol = one.tolerance
        properties.append(
            PropertySpec(name=name, description=told, format=form, rtol=rtol, atol=atol)
        )
    return properties


def _summary(program: Program, asked: Asked, library: Library) -> str:
    """First sentence about what gives the value; empty when nothing is documented."""
    for node in origins(program, asked.assertion):
        symbols = _candidates(library, node, program)
        sentences = {first_sentence(s.docstring) for s in symbols if s.docstring}
        if len(sentences) == 1:
            return sentences.pop()
    return ""


def _candidates(library: Library, node: ast.AST, program: Program) -> list[Symbol]:
    """Symbols that an attribute or an imported name may mean, near what is imported, else all.

    A variable names nothing of the library.
    """
    imports = (part for part in program.preamble if isinstance(part, ast.ImportFrom))
    imported = {alias.name for part in imports for alias in part.names}
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    if not isinstance(node, ast.Attribute) and name not in imported:
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
