"""Values that stand for objects of libraries, and for sets and dicts that are not hashed.

All of them as text, too: what ``repr`` says, but never an error, and no longer than needed.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import (
    Collection,
    ItemsView,
    Iterable,
    Iterator,
    Mapping,
    ValuesView,
)
from dataclasses import dataclass
from itertools import chain
from typing import Any

_PRINTED_BITS = 4096  # Python refuses to print integers of more than 4300 digits
_DEEP = 120  # levels; a decoded result has fewer


@dataclass(frozen=True)
class Element:
    """A chemical element, by its symbol."""

    symbol: str


@dataclass(frozen=True)
class Species:
    """An element with oxidation state (and spin), as pymatgen prints it: ``Fe2+,spin=5``."""

    text: str


@dataclass(frozen=True)
class EnumMember:
    """A member of an enumeration: dotted class name, member name, value."""

    class_name: str
    name: str
    value: Any


@dataclass(frozen=True)
class Msonable:
    """An object by its dotted class name and the fields of its ``as_dict()``."""

    class_name: str
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Opaque:
    """An object that only has a ``repr`` (cut at 2000 characters)."""

    class_name: str
    text: str


@dataclass(frozen=True, eq=False)
class Members(Collection[Any]):
    """A set that is not hashed: its items in the order in which they came, not compared."""

    items: tuple[Any, ...]
    frozen: bool = False

    def __contains__(self, item: object) -> bool:
        return any(_equal_keys(mine, item) for mine in self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class PairsView(ItemsView[Any, Any]):
    """Keys with their values as they stand: no key is looked up, so none is compared."""

    _mapping: Pairs

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._mapping.pairs)


@dataclass(frozen=True, eq=False)
class Pairs(Mapping[Any, Any]):
    """A dict that is not hashed: looking a key up takes time in the number of pairs.

    Only scalars and tuples of them are found: keys of other kinds are shown, and compared by
    `.compare`, never by their own ``==``.
    """

    pairs: tuple[tuple[Any, Any], ...]

    def __getitem__(self, key: Any) -> Any:
        for mine, value in self.pairs:
            if _equal_keys(mine, key):
                return value
        raise KeyError(key)

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def items(self) -> ItemsView[Any, Any]:
        """See :class:`PairsView`."""
        return PairsView(self)

    def values(self) -> ValuesView[Any]:
        """See :class:`collections.abc.Mapping`."""
        return dict(enumerate(value for _, value in self.pairs)).values()


#: Types with an ``==`` of their own that compares content, and cannot fail.
_SCALARS = frozenset({type(None), bool, int, float, str, bytes, Element, Species})


def _equal_keys(one: object, other: object) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_equal_keys, one, other))
    return type(one) is type(other) and type(one) in _SCALARS and one == other


def load_numpy() -> Any:
    """The module; only values that need it import it."""
    import numpy  # noqa: PLC0415 - see above

    return numpy


def is_scalar(value: Any) -> bool:
    """Whether it is a numpy scalar; there is none while numpy is not loaded."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def is_array(value: Any) -> bool:
    """Whether it is a numpy array."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def hashes_well(value: Any) -> bool:
    """Whether nobody can make many different ones with the same hash."""
    if type(value) is int:
        return value.bit_length() <= 64
    if value is None or type(value) in {str, bytes, bool, float, Element, Species}:
        return True
    return (
        is_scalar(value)
        and value.dtype.kind in "biuf"
        and bool(value.dtype.itemsize <= 8)
    )


def plain(value: Any) -> Any:
    """What numpy made, as Python has it: scalars, arrays as lists. Anything else is itself."""
    if (not is_scalar(value) and not is_array(value)) or value.dtype.kind in "mM":
        return value
    wide = {"f": float, "c": complex}.get(value.dtype.kind)
    if wide is not None:  # of extended precision, Python has none
        value = value.astype(wide)
    return value.tolist()


def type_name(value: Any) -> str:
    """The type that the code returned, as far as it is known."""
    if isinstance(value, Pairs):
        return "dict"
    if isinstance(value, Members):
        return "frozenset" if value.frozen else "set"
    return type(value).__name__


def class_name(value: Any) -> str:
    """See `type_name`; an object's by its own class, without the modules that lead to it."""
    if isinstance(value, Msonable | EnumMember | Opaque):
        return value.class_name.rpartition(".")[2]
    return type_name(value)


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
        yield from (
            _listed(start, map(inner, value), end) if len(value) else (f"{name}()",)
        )
    elif kind is dict or kind is Pairs:
        pairs = (chain(inner(key), ": ", inner(item)) for key, item in value.items())
        yield from _listed("{", pairs, "}")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (
            (field.name, getattr(value, field.name))
            for field in dataclasses.fields(value)
        )
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
