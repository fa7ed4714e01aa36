"""Decoded results as text: what ``repr`` says, but never an error, and no longer than needed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sandbox.wire import Members, Pairs

_PRINTED_BITS = 4096  # Python refuses to print integers of more than 4300 digits
_DEEP = 120  # levels; a decoded result has fewer


def represent(value: Any, limit: int) -> str:
    """The ``repr`` of a value, or a beginning of it that is longer than ``limit``.

    It takes time for what it shows, not for what the decoded value holds.
    """
    return "".join(_limited(_parts(value, limit, 0), limit))


def _parts(value: Any, limit: int, depth: int) -> Iterator[str]:
    kind = type(value)
    if depth > _DEEP:
        yield "..."
    elif kind is str or kind is bytes:
        yield repr(value if len(value) <= limit else value[: limit + 1])
    elif kind is int and value.bit_length() > _PRINTED_BITS:
        yield f"<int of {value.bit_length()} bits>"
    elif kind is list:
        yield from _listed("[", value, "]", limit, depth)
    elif kind is tuple:
        yield from _listed("(", value, ",)" if len(value) == 1 else ")", limit, depth)
    elif kind is set or kind is frozenset or kind is Members:
        yield from _set_parts(value, limit, depth)
    elif kind is dict or kind is Pairs:
        yield "{"
        for number, (key, item) in enumerate(value.items()):
            yield ", " if number else ""
            yield from _parts(key, limit, depth + 1)
            yield ": "
            yield from _parts(item, limit, depth + 1)
        yield "}"
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield f"{kind.__qualname__}("
        for number, field in enumerate(dataclasses.fields(value)):
            yield f"{', ' if number else ''}{field.name}="
            yield from _parts(getattr(value, field.name), limit, depth + 1)
        yield ")"
    else:
        yield _plain(value, limit, depth)


def _listed(start: str, items: Iterable[Any], end: str, limit: int, depth: int) -> Iterator[str]:
    yield start
    for number, item in enumerate(items):
        yield ", " if number else ""
        yield from _parts(item, limit, depth + 1)
    yield end


def _set_parts(value: Any, limit: int, depth: int) -> Iterator[str]:
    frozen = type(value) is frozenset or (type(value) is Members and value.frozen)
    name = "frozenset" if frozen else "set"
    if not len(value):
        yield f"{name}()"
        return
    yield "frozenset(" if frozen else ""
    yield from _listed("{", value, "}", limit, depth)
    yield ")" if frozen else ""


def _plain(value: Any, limit: int, depth: int) -> str:
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
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


def type_name(value: Any) -> str:
    """The type that the code returned, as far as it is known."""
    if isinstance(value, Pairs):
        return "dict"
    if isinstance(value, Members):
        return "frozenset" if value.frozen else "set"
    return type(value).__name__
