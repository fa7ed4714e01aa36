"""Recorded values as properties: which format they are asked in, and within what tolerance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from docgen.assertions import Assertion, Unusable
from experiments.benchmarks.question_gates import walk
from sandbox.inside.values import Element, EnumMember, Msonable, Opaque, Species

#: More numbers than this in one property tell no more, and each is perturbed in the proof.
MOST_LEAVES = 60
#: Bounds of a relative tolerance: libraries differ in the last digits, and 1 % must fail.
TIGHTEST, LOOSEST = 1e-6, 5e-3
#: Scalars, in the order in which they are told apart, and what each is asked for as.
_PLAIN: Mapping[tuple[type, ...], type[Any]] = {
    (bool, np.bool_): bool, (int, np.integer): int, (float, np.floating): float, (str,): str,
}  # fmt: skip


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
    code = "{" + f"str({key_name}): {inner} for {key_name}, {name} in " + "({}).items()}"
    how = "with its keys as text" if any(type(key) is not str for key in value) else ""
    texts = (str(key.value) for key in keys)
    return Shape(f"dict[str, {form}]", code, dict(zip(texts, plain, strict=True)), how)


def _items(values: Iterable[Any], name: str, depth: int) -> tuple[str, str, list[Any], str]:
    """The common format, code, plain values and words of several values."""
    items = [shape(item, depth + 1) for item in values]
    if not items:
        raise Unusable("the value is empty: any failed search gives the same")
    forms = {item.format for item in items}
    floats = {form.replace("int", "float") for form in forms}  # among floats, integers are floats
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
    if rtol > LOOSEST or any(atol + rtol * size > LOOSEST * size for size in sizes if size > 0):
        return 1e-3, 1e-6 * max(sizes)
    return rtol, max(atol, 1e-9 * max(sizes))


def same(first: Any, other: Any) -> bool:
    """Whether two runs gave one value; floats may differ in their last digits."""
    try:
        left, right = shape(first), shape(other)
    except Unusable:
        return type(first) is type(other)
    one, two = leaves(left.value), leaves(right.value)
    return (left.format, len(one)) == (right.format, len(two)) and all(
        a == b or (isinstance(a, float) and math.isclose(a, b, rel_tol=TIGHTEST, abs_tol=1e-9))
        for a, b in zip(one, two, strict=True)
    )
