"""Values that stand for objects of libraries, and for sets and dicts that are not hashed."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


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


@dataclass(frozen=True)
class Members(Collection[Any]):
    """A set that is not hashed: its items in the order in which they came, not compared."""

    items: tuple[Any, ...]
    frozen: bool = False

    def __contains__(self, item: object) -> bool:
        return item in self.items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, eq=False)
class Pairs(Mapping[Any, Any]):
    """A dict that is not hashed: looking a key up takes time in the number of pairs."""

    pairs: tuple[tuple[Any, Any], ...]

    def __getitem__(self, key: Any) -> Any:
        for mine, value in self.pairs:
            if type(mine) is type(key) and mine == key:
                return value
        raise KeyError(key)

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pairs) and self.pairs == other.pairs

    __hash__ = None  # type: ignore[assignment]


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
    return is_scalar(value) and value.dtype.kind in "biuf" and bool(value.dtype.itemsize <= 8)


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
