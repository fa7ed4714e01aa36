"""Decoded results as text: what ``repr`` says, but never an error, and no longer than needed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from sandbox.inside.values import Members, Pairs, is_array, type_name

_PRINTED_BITS = 4096  # Python refuses to print integers of more than 4300 digits
_DEEP = 120  # levels; a decoded result has fewer


def represent(value: Any, limit: int) -> str:
    """The ``repr`` of a value, or a beginning of it that is longer than ``limit``.

    It takes time for what it shows, not for what the decoded value holds.
    """
    return "".join(_limited(_parts(value, limit, 0), limit))


def _parts(value: Any, limit: int, depth: int) -> Iterator[str]:
    kind = type(value)

    def inner(item: Any) -> Iterator[str]:
        return _parts(item, limit, depth + 1)

    if depth > _DEEP:
        yield "..."
    elif kind is str or kind is bytes:
        yield repr(value if len(value) <= limit else value[: limit + 1])
    elif kind is int and value.bit_length() > _PRINTED_BITS:
        yield f"<int of {value.bit_length()} bits>"
    elif kind is list:
        yield from _listed("[", map(inner, value), "]")
    elif kind is tuple:
        yield from _listed("(", map(inner, value), ",)" if len(value) == 1 else ")")
    elif kind is set or kind is frozenset or kind is Members:
        name = type_name(value)
        start, end = ("{", "}") if name == "set" else ("frozenset({", "})")
        yield from _listed(start, map(inner, value), end) if len(value) else (f"{name}()",)
    elif kind is dict or kind is Pairs:
        pairs = (chain(inner(key), ": ", inner(item)) for key, item in value.items())
        yield from _listed("{", pairs, "}")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        named = (chain((f"{name}=",), inner(item)) for name, item in fields)
        yield from _listed(f"{kind.__qualname__}(", named, ")")
    else:
        yield _plain(value, limit, depth)


def _listed(start: str, items: Iterable[Iterable[str]], end: str) -> Iterator[str]:
    yield start
    for number, item in enumerate(items):
        yield ", " if number else ""
        yield from item
    yield end


def _plain(value: Any, limit: int, depth: int) -> str:
    if is_array(value) and value.dtype.kind == "O":
        text = "".join(_limited(_parts(value.tolist(), limit, depth + 1), limit))
        return f"array({text}, dtype=object)"
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - showing a value never costs more than its text
        return f"<{type(value).__name__}, not to be shown ({type(error).__name__})>"


def _limited(parts: Iterable[str], limit: int) -> Iterator[str]:
    size = 0
    for part in parts:
        yield part
        size += len(part)
        if size > limit:
            return
