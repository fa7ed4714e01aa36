"""Results on the host: tagged JSON from untrusted bytes to values, under caps.

``encode`` runs inside (``sandbox.runner``); this is its counterpart. Nothing here imports a
materials library, calls a constructor that a result names, unpickles or evaluates: an object
of a library stays a :class:`Msonable` with its fields.

========================  ==========================================================
JSON                      value
========================  ==========================================================
plain                     ``None``, ``bool``, ``int``, ``float``, ``str``, ``list``, ``dict``
``int``, ``float``        integers of many digits (hex), ``nan``, ``inf``, ``-inf``
``complex``, ``bytes``    ``complex``, ``bytes``
``tuple``                 ``tuple``
``set``, ``frozenset``    ``set``, ``frozenset``; :class:`Members` where hashing is not safe
``dict``                  ``dict`` whose keys are not all strings, as pairs; or :class:`Pairs`
``scalar``, ``array``     ``numpy`` scalar or array, dtype and shape kept
``element``, ``species``  :class:`Element`, :class:`Species`
``enum``                  :class:`EnumMember`
``msonable``              :class:`Msonable`
``opaque``                :class:`Opaque`: anything else, by its repr
========================  ==========================================================

Hashing: an answer can choose numbers and tuples that all have one hash, and objects hash by
their class alone. A hash table of these takes quadratic time, so none is made of them.
"""

from __future__ import annotations

import base64
import json
import math
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from sandbox.runner import FLOOD, MAX_DEPTH, UnencodableError, dumps, encode

__all__ = [
    "Element", "EnumMember", "Members", "Msonable", "Opaque", "Pairs", "Species",
    "UnencodableError", "WireError", "decode", "dumps", "encode",
]  # fmt: skip

MAX_NODES = 1_000_000  # values in one result; arrays travel as bytes and count once
MAX_SECONDS = 20.0  # to decode one result: the largest permitted one takes a few
_DTYPE = re.compile(r"[<>|][biufcmMUS]\d{1,8}(\[\d{0,9}[a-zA-Zμ]{1,2}\])?")
_LAST_CODE_POINT = 0x10FFFF
_READY = frozenset({str, int, bool, type(None)})  # what JSON gives is what it means


class WireError(ValueError):
    """Bytes that are not a result: says which rule they break."""


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


def decode(text: bytes | str) -> Any:
    """Decode a result; in linear time, whatever it holds.

    Raises
    ------
    WireError
        When it is too large, too deep, not UTF-8, not JSON, has a key twice, a bare ``NaN``,
        or a tag that does not hold what it should. Nothing else is raised.
    """
    try:
        raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
        if len(raw) > FLOOD:
            raise WireError(f"{len(raw)} bytes, at most {FLOOD} are read")  # noqa: TRY301
        nodes = raw.count(b",") + raw.count(b"[") + raw.count(b"{")
        if nodes > MAX_NODES:
            raise WireError(f"about {nodes} values, at most {MAX_NODES} are read")  # noqa: TRY301
        plain = json.loads(raw.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant)
        return _Decoder().value(plain)
    except RecursionError:
        raise WireError("nested too deep") from None
    except UnicodeDecodeError as error:
        raise WireError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except WireError:
        raise
    except Exception as error:  # noqa: BLE001 - what hostile bytes raise is the fault of the answer
        raise WireError(f"{type(error).__name__}: {error!s:.200}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise WireError("a key occurs twice in one object")
    return result


def _constant(name: str) -> NoReturn:
    raise WireError(f"{name} is not JSON")


class _Decoder:
    """Decodes one result; knows how deep it is and how long it may still take."""

    def __init__(self) -> None:
        self._depth = 0
        self._end = time.monotonic() + MAX_SECONDS

    def value(self, plain: Any) -> Any:
        if not isinstance(plain, list | dict):
            if isinstance(plain, float) and not math.isfinite(plain):
                raise WireError("a number too large for a float")
            return plain
        if self._depth > 2 * MAX_DEPTH:  # an object counts twice: itself, and its fields
            raise WireError("nested too deep")
        if time.monotonic() > self._end:
            raise WireError(f"takes longer than {MAX_SECONDS:.0f} s to read")
        self._depth += 1
        value = self.items(plain) if isinstance(plain, list) else self._mapping(plain)
        self._depth -= 1
        return value

    def items(self, plain: list[Any]) -> list[Any]:
        return [item if type(item) in _READY else self.value(item) for item in plain]

    def _mapping(self, plain: dict[str, Any]) -> Any:
        if "$" not in plain:
            return {
                key: item if type(item) in _READY else self.value(item)
                for key, item in plain.items()
            }
        kind = plain["$"]
        decoder = _DECODERS.get(kind) if isinstance(kind, str) else None
        if decoder is None:
            raise WireError(f"unknown tag {kind!r:.100}")
        try:
            return decoder(self, plain)
        except (WireError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001 - see `decode`
            raise WireError(f"a malformed {kind}: {type(error).__name__}: {error!s:.200}") from None

    def inner(self, plain: Mapping[str, Any]) -> list[Any]:
        return self.items(_typed(plain, "v", list))


def _hashes_well(value: Any) -> bool:
    """Whether nobody can make many different ones with the same hash."""
    if isinstance(value, np.generic):
        return value.dtype.kind in "biuf" and value.dtype.itemsize <= 8
    if type(value) is int:
        return value.bit_length() <= 64
    return value is None or type(value) in {str, bytes, bool, float, Element, Species}


def _set(decoder: _Decoder, plain: Mapping[str, Any]) -> Any:
    items = decoder.inner(plain)
    frozen = plain["$"] == "frozenset"
    if not all(map(_hashes_well, items)):
        return Members(tuple(items), frozen)
    return frozenset(items) if frozen else set(items)


def _dict(decoder: _Decoder, plain: Mapping[str, Any]) -> Any:
    pairs = [(decoder.value(key), decoder.value(item)) for key, item in _typed(plain, "v", list)]
    return dict(pairs) if all(_hashes_well(key) for key, _ in pairs) else Pairs(tuple(pairs))


def _typed(plain: Mapping[str, Any], key: str, kind: type) -> Any:
    value = plain[key]
    if type(value) is not kind:
        raise WireError(f"{plain['$']}.{key} is not a {kind.__name__}")
    return value


def _number(plain: Mapping[str, Any]) -> float:
    text = _typed(plain, "v", str)
    if text not in {"nan", "inf", "-inf"}:
        raise WireError("only nan, inf and -inf are tagged floats")
    return float(text)


def _complex(decoder: _Decoder, plain: Mapping[str, Any]) -> complex:
    real, imaginary = decoder.inner(plain)
    if type(real) is not float or type(imaginary) is not float:
        raise WireError("the parts of a complex number are floats")
    return complex(real, imaginary)


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _dtype(plain: Mapping[str, Any]) -> np.dtype[Any]:
    text = _typed(plain, "dtype", str)
    if _DTYPE.fullmatch(text) is None:
        raise WireError(f"dtype {text!r:.40} is not sent")
    dtype: np.dtype[Any] = np.dtype(text)
    return dtype


def _scalar(decoder: _Decoder, plain: Mapping[str, Any]) -> Any:
    dtype = _dtype(plain)
    if "raw" in plain:
        return _buffer(_bytes(plain["raw"]), dtype, ())[()]
    value = decoder.value(plain["v"])
    expected = {"b": bool, "i": int, "u": int, "f": float}.get(dtype.kind)
    if expected is None or type(value) is not expected:
        raise WireError(f"not a {dtype.name}")
    return dtype.type(value)


def _array(decoder: _Decoder, plain: Mapping[str, Any]) -> Any:
    shape = tuple(_typed(plain, "shape", list))
    if len(shape) > 32 or not all(type(size) is int and size >= 0 for size in shape):
        raise WireError("a shape is a list of lengths")
    if plain["dtype"] == "object":
        items = decoder.inner(plain)
        if math.prod(shape) != len(items):
            raise WireError("shape and number of items differ")
        array = np.empty(len(items), dtype=object)
        for index, item in enumerate(items):
            array[index] = item
        return array.reshape(shape)
    return _buffer(_bytes(plain["raw"]), _dtype(plain), shape)


def _buffer(raw: bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    if math.prod(shape) * dtype.itemsize != len(raw):
        raise WireError("shape and number of bytes differ")
    if not raw:  # an item size of 0 would let any shape pass
        return np.empty(shape if 0 in shape else (), dtype)
    if dtype.kind == "U" and np.frombuffer(raw, f"{dtype.str[0]}u4").max() > _LAST_CODE_POINT:
        raise WireError("text that is not Unicode")  # numpy cannot make strings of it
    return np.frombuffer(raw, dtype).reshape(shape).copy()


_DECODERS: dict[str, Callable[[_Decoder, dict[str, Any]], Any]] = {
    "int": lambda _, plain: int(_typed(plain, "v", str), 16),
    "float": lambda _, plain: _number(plain),
    "complex": _complex,
    "bytes": lambda _, plain: _bytes(plain["v"]),
    "tuple": lambda decoder, plain: tuple(decoder.inner(plain)),
    "set": _set,
    "frozenset": _set,
    "dict": _dict,
    "scalar": _scalar,
    "array": _array,
    "element": lambda _, plain: Element(_typed(plain, "v", str)),
    "species": lambda _, plain: Species(_typed(plain, "v", str)),
    "enum": lambda decoder, plain: EnumMember(
        _typed(plain, "class", str), _typed(plain, "name", str), decoder.value(plain["v"])
    ),
    "msonable": lambda decoder, plain: Msonable(
        _typed(plain, "class", str), decoder.value(_typed(plain, "v", dict))
    ),
    "opaque": lambda _, plain: Opaque(_typed(plain, "class", str), _typed(plain, "v", str)),
}
