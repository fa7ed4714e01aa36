"""Parts of a question made from a test: values as properties, reference, scaffold, description.

The code says what is asked, the documentation of the library what it means.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from docgen.assertions import Assertion, Unusable
from docgen.docstrings import first_sentence
from docgen.programs import Program, bound, only_asked, text_of
from docgen.symbols import Library, Symbol
from experiments.benchmarks.question_format import PropertySpec
from experiments.benchmarks.question_gates import walk
from sandbox.inside.values import Element, EnumMember, Msonable, Opaque, Species

#: More numbers than this in one property tell no more, and each is perturbed in the proof.
MOST_LEAVES = 60
#: Bounds of a relative tolerance: libraries differ in the last digits, and 1 % must fail.
TIGHTEST, LOOSEST = 1e-6, 5e-3
#: Scalars, in the order in which they are told apart, and what each is asked for as.
_PLAIN: Mapping[tuple[type, ...], type[Any]] = {
    (bool, np.bool_): bool,
    (int, np.integer): int,
    (float, np.floating): float,
    (str,): str,
}
#: More masks than this (and than there are properties) hide what the code is about.
MOST_MASKS = 4
_MARKUP = re.compile(r":\w+:`~?([^`]*)`|`+")


@dataclass(frozen=True)
class Shape:
    """How a value is asked for."""

    format: str  # as it stands in the prompt, ``list[float]``
    code: str  # expression that makes it plain, with ``{}`` for the one that gives the value
    value: Any  # plain
    how: str = ""  # what the conversion means in words


def shape(value: Any, depth: int = 0, *, none: bool = False) -> Shape:
    """Choose the format for a value that came out of a sandbox, `Unusable` when there is none.

    With ``none``, ``None`` is asked for as such, by its truth: elsewhere it stands for a failure.
    """
    if isinstance(value, np.ndarray):
        inner = shape(value.tolist(), depth)
        return Shape(inner.format, "({}).tolist()", inner.value)
    for kinds, plain in _PLAIN.items():
        if isinstance(value, kinds):
            if plain is float and not math.isfinite(plain(value)):
                raise Unusable(f"{value} cannot be asked for as a value")
            return Shape(plain.__name__, f"{plain.__name__}({{}})", plain(value))
    if isinstance(value, Element | Species):
        text = value.symbol if isinstance(value, Element) else value.text
        return Shape("str", "str({})", text, "as text")
    if isinstance(value, list | tuple | set | frozenset):
        return _sequence(value, depth)
    if isinstance(value, Mapping):
        return _mapping(value, depth)
    if value is None and none:
        return Shape("bool", "({}) is None", True, "as whether it is None")
    if value is None:
        raise Unusable("the value is None, which stands for a failed property")
    named = isinstance(value, Msonable | Opaque | EnumMember)
    kind = value.class_name.rpartition(".")[2] if named else type(value).__name__
    raise Unusable(f"no plain value stands for a {kind}")


def _sequence(value: Any, depth: int) -> Shape:
    name = f"item_{depth}" if depth else "item"
    form, inner, plain, how = _items(value, name, depth)
    if isinstance(value, set | frozenset):
        code = f"sorted({inner} for {name} in {{}})"
        return Shape(f"list[{form}]", code, sorted(plain), "as a sorted list")
    return Shape(f"list[{form}]", f"[{inner} for {name} in {{}}]", plain, how)


def _mapping(value: Mapping[Any, Any], depth: int) -> Shape:
    keys = [shape(key, depth + 1) for key in value]
    if any(key.format not in {"str", "int"} for key in keys):
        raise Unusable("a dict with keys that are neither text nor numbers")
    key_name, name = f"key_{depth}", f"item_{depth}"
    form, inner, plain, _ = _items(value.values(), name, depth)
    code = (
        "{" + f"str({key_name}): {inner} for {key_name}, {name} in " + "({}).items()}"
    )
    how = "with its keys as text" if any(type(key) is not str for key in value) else ""
    texts = (str(key.value) for key in keys)
    return Shape(f"dict[str, {form}]", code, dict(zip(texts, plain, strict=True)), how)


def _items(
    values: Iterable[Any], name: str, depth: int
) -> tuple[str, str, list[Any], str]:
    """The common format, code, plain values and words of several values."""
    items = [shape(item, depth + 1) for item in values]
    if not items:
        raise Unusable("the value is empty: any failed search gives the same")
    forms = {item.format for item in items}
    floats = {
        form.replace("int", "float") for form in forms
    }  # among floats, integers are floats
    if len(forms) > 1 and (len(floats) > 1 or not floats <= forms):
        raise Unusable(f"a mixture of {', '.join(sorted(forms))}")
    form = floats.pop() if len(forms) > 1 else forms.pop()
    inner = next(item.code for item in items if item.format == form).replace("{}", name)
    return form, inner, [_as(form, item.value) for item in items], items[0].how


def _as(form: str, value: Any) -> Any:
    """Integers as floats where the format says so."""
    if "float" not in form:
        return value
    if isinstance(value, list):
        return [_as(form, item) for item in value]
    if isinstance(value, Mapping):
        return {key: _as(form, item) for key, item in value.items()}
    return float(value)


def leaves(value: Any) -> list[Any]:
    """Every number and text of a plain value."""
    return [leaf for _, leaf in walk(value)]


def tolerance(found: Shape, assertion: Assertion) -> tuple[float, float]:
    """Relative and absolute, by the assertion; never so loose that a value 1 % off passes."""
    if "float" not in found.format:
        return 1e-3, 0.0
    sizes = [abs(leaf) for leaf in leaves(found.value) if isinstance(leaf, float)]
    rtol, atol = max(assertion.rtol, TIGHTEST), assertion.atol
    if rtol > LOOSEST or any(
        atol + rtol * size > LOOSEST * size for size in sizes if size > 0
    ):
        return 1e-3, 1e-6 * max(sizes)
    return rtol, max(atol, 1e-9 * max(sizes))


def same(first: Any, other: Any) -> bool:
    """Whether two runs gave one value; floats may differ in their last digits."""
    try:
        left, right = shape(first), shape(other)
    except Unusable:
        return type(first) is type(other)
    close = partial(math.isclose, rel_tol=TIGHTEST, abs_tol=1e-9)
    one, two = list(walk(left.value)), list(walk(right.value))
    return (left.format, len(one)) == (right.format, len(two)) and all(
        p == q and (a == b or (isinstance(a, float) and close(a, b)))
        for (p, a), (q, b) in zip(one, two, strict=True)
    )


@dataclass(frozen=True)
class AskedValue:
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
    body = [
        _recording(p) if isinstance(p, Assertion) else ast.unparse(p)
        for p in program.body
    ]
    text = textwrap.indent("\n".join([*body, "return _records"]), _INDENT)
    return "\n".join(
        [text_of(program.preamble), _RECORDER, "", f"def {ENTRY}():", text, ""]
    )


def reference(program: Program, asked: Mapping[int, tuple[str, str]]) -> str:
    """The reference solution.

    ``asked`` maps the number of each assertion to the name of its property and the code that
    makes the value plain (``float({})``).
    """
    preamble, body = only_asked(program, asked)
    statements = [part for part, _ in body if isinstance(part, ast.stmt)]
    taken = {n.id for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)}
    variables = {
        n: f"asked_{name}" if name in taken else name for n, (name, _) in asked.items()
    }
    lines = _lines(body, {n: (variables[n], code) for n, (_, code) in asked.items()})
    returned = ", ".join(
        f'"{name}": {variables[n]}' for n, (name, _) in sorted(asked.items())
    )
    text = "\n".join(
        [
            '"""Compute the properties of the question."""',
            *lines,
            f"return {{{returned}}}",
        ]
    )
    head = f'"""Reference solution, made from {program.test}."""'
    parts = [head, "", text_of(preamble), "", "", "def reference() -> dict:"]
    return "\n".join([*parts, textwrap.indent(text, _INDENT), ""])


def scaffold(
    program: Program, asked: Mapping[int, str], masks: Mapping[str, str]
) -> str:
    """The code of the scaffold level: the same program, with masks over names of the library."""
    preamble, body = only_asked(program, asked)
    lines = _lines(body, {number: (name, "{}") for number, name in asked.items()})
    text = "\n".join([text_of(preamble), "", *lines]).strip()
    for mask, name in masks.items():
        text = re.sub(rf"\b{re.escape(name)}\b", f"[{mask}]", text)
    return text


def masks_of(
    program: Program, asked: Sequence[int], library: Library
) -> dict[str, str]:
    """What the scaffold hides: names of the library that give the asked values, and nothing else.

    The outermost name of each value comes first, then the second ones.
    """
    members = {m.name for symbol in library.symbols.values() for m in symbol.members}
    names = members | {name.rpartition(".")[2] for name in library.symbols}
    text = scaffold(program, dict.fromkeys(asked, "_"), {})
    columns = []
    for number in sorted(asked):
        assertion = program.assertions[number]
        own = [
            n for part in (assertion.actual, *assertion.body) for n in ast.walk(part)
        ]
        hidden = _hideable(own, names, text)
        columns.append(hidden or _hideable(origins(program, assertion), names, text))
    ranked = (name for rank in itertools.zip_longest(*columns) for name in rank if name)
    hidden = list(dict.fromkeys(ranked))[: max(MOST_MASKS, len(asked))]
    return {f"MASK_{number}": name for number, name in enumerate(hidden, 1)}


def _hideable(nodes: Iterable[ast.AST], names: set[str], text: str) -> list[str]:
    used = [
        n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in nodes
    ]
    return [
        n for n in used if n in names and len(n) > 3 and _only_of_the_library(n, text)
    ]


def origins(program: Program, assertion: Assertion) -> list[ast.AST]:
    """Every node that the value of an assertion comes from: its expression, then its variables."""
    before = program.body[: program.body.index(assertion)]
    assigned = {
        name: part.value
        for part in before
        if isinstance(part, ast.Assign)
        for name in bound(part)
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
    imported = {
        a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names
    }
    proper = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            proper += node.attr == name
        elif isinstance(node, ast.ImportFrom):
            proper += sum(
                alias.name == name and alias.asname is None for alias in node.names
            )
        elif isinstance(node, ast.Name) and node.id == name and name in imported:
            proper += isinstance(node.ctx, ast.Load)
    return proper == len(re.findall(rf"\b{re.escape(name)}\b", text)) > 0


def _lines(
    body: Iterable[tuple[ast.stmt | Assertion, int]],
    asked: Mapping[int, tuple[str, str]],
) -> list[str]:
    """A body as text; each assertion as what sets a variable to its value, made plain by code."""
    lines = []
    for part, number in body:
        if isinstance(part, ast.stmt):
            lines.append(ast.unparse(part))
            continue
        variable, code = asked[number]
        if part.kind == "raises":
            lines.append(
                _trying(part, f'{variable} = ""', f"{variable} = type(error).__name__")
            )
        else:
            value = ast.unparse(part.actual)
            plain = "bool({})" if part.kind == "true" and code == "{}" else code
            lines.append(f"{variable} = {plain.replace('{}', value)}")
    return lines


def _recording(part: Assertion) -> str:
    expected = ast.unparse(part.expected)
    if part.kind == "raises":
        silent, caught = (
            f'_record("raises", {c}, {expected})' for c in ("object", "type(error)")
        )
        return _trying(part, silent, caught)
    sides = f"{ast.unparse(part.actual)}, {expected}"
    return f'_record("{part.kind}", {sides}, {part.rtol!r}, {part.atol!r})'


def _trying(part: Assertion, silent: str, caught: str) -> str:
    """What happens when the statements of an assertion raise nothing, and when they raise."""
    body = textwrap.indent("\n".join([*map(ast.unparse, part.body), silent]), _INDENT)
    return f"try:\n{body}\nexcept Exception as error:\n{_INDENT}{caught}"


def describe(
    program: Program,
    asked: Sequence[AskedValue],
    masks: Mapping[str, str],
    library: Library,
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


def _summary(program: Program, asked: AskedValue, library: Library) -> str:
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
    near = [
        s
        for s in found
        if set(s.qualname.split(".")[:-1]) & imported or name in imported
    ]
    return [s for s in near or found if s.kind != "module"]


def _plain(sentence: str, masks: Mapping[str, str]) -> str:
    text = _MARKUP.sub(lambda match: match.group(1) or "", sentence).strip()
    for mask, name in masks.items():
        if "_" in name or name != name.lower():
            text = re.sub(rf"\b{re.escape(name)}\b", f"[{mask}]", text)
    return text if not text or text.endswith(".") else text + "."
