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
``tuple``, ``set``, ...   ``tuple``, ``set``, ``frozenset``
``dict``                  ``dict`` whose keys are not all strings, as pairs
``scalar``, ``array``     ``numpy`` scalar or array, dtype and shape kept
``element``, ``species``  :class:`Element`, :class:`Species`
``enum``                  :class:`EnumMember`
``msonable``              :class:`Msonable`
``opaque``                :class:`Opaque`: anything else, by its repr
========================  ==========================================================
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from sandbox.runner import FLOOD, UnencodableError, dumps, encode

__all__ = [
    "Element", "EnumMember", "Msonable", "Opaque", "Species", "UnencodableError", "WireError",
    "decode", "dumps", "encode",
]  # fmt: skip

MAX_NODES = 1_000_000  # values in one result; arrays travel as bytes and count once
_KINDS = frozenset("biufcmMUS")


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

    def __hash__(self) -> int:  # the value may be a list
        return hash((self.class_name, self.name))


@dataclass(frozen=True)
class Msonable:
    """An object by its dotted class name and the fields of its ``as_dict()``."""

    class_name: str
    fields: Mapping[str, Any]

    def __hash__(self) -> int:  # compositions and sites are kept in sets and as keys
        return hash((self.class_name, frozenset(self.fields)))


@dataclass(frozen=True)
class Opaque:
    """An object that only has a ``repr`` (cut at 2000 characters)."""

    class_name: str
    text: str


def decode(text: bytes | str) -> Any:
    """Decode a result.

    Parameters
    ----------
    text
        Tagged JSON, from anywhere.

    Raises
    ------
    WireError
        When it is too large, too deep, not UTF-8, not JSON, has a key twice, a bare ``NaN``,
        or a tag that does not hold what it should.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
    if len(raw) > FLOOD:
        raise WireError(f"{len(raw)} bytes, at most {FLOOD} are read")
    nodes = raw.count(b",") + raw.count(b"[") + raw.count(b"{")
    if nodes > MAX_NODES:
        raise WireError(f"about {nodes} values, at most {MAX_NODES} are read")
    try:
        plain = json.loads(raw.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant)
        return _value(plain)
    except RecursionError:
        raise WireError("nested too deep") from None
    except UnicodeDecodeError as error:
        raise WireError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except WireError:
        raise
    except ValueError as error:  # JSON syntax, and integers of more than 4300 digits
        raise WireError(str(error)) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise WireError("a key stands twice in one object")
    return result


def _constant(name: str) -> NoReturn:
    raise WireError(f"{name} is not JSON")


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(item) for item in plain]
    if not isinstance(plain, dict):
        if isinstance(plain, float) and not math.isfinite(plain):
            raise WireError("a number too large for a float")
        return plain
    if "$" not in plain:
        return {key: _value(item) for key, item in plain.items()}
    kind = plain["$"]
    decoder = _DECODERS.get(kind) if isinstance(kind, str) else None
    if decoder is None:
        raise WireError(f"unknown tag {kind!r:.100}")
    try:
        return decoder(plain)
    except WireError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise WireError(f"a malformed {kind}: {type(error).__name__}: {error!s:.200}") from None


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


def _complex(plain: Mapping[str, Any]) -> complex:
    real, imaginary = (_value(part) for part in plain["v"])
    if type(real) is not float or type(imaginary) is not float:
        raise WireError("the parts of a complex number are floats")
    return complex(real, imaginary)


def _bytes(text: Any) -> bytes:
    if not isinstance(text, str):
        raise WireError("base64 text is a string")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise WireError(f"not base64: {error}") from None


def _items(plain: Mapping[str, Any]) -> list[Any]:
    return [_value(item) for item in _typed(plain, "v", list)]


def _dtype(plain: Mapping[str, Any]) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(_typed(plain, "dtype", str))
    if dtype.kind not in _KINDS or dtype.fields is not None or dtype.shape:
        raise WireError(f"dtype {dtype.str} is not sent")
    return dtype


def _scalar(plain: Mapping[str, Any]) -> Any:
    dtype = _dtype(plain)
    if "raw" in plain:
        return _buffer(_bytes(plain["raw"]), dtype, ())[()]
    value = _value(plain["v"])
    expected = {"b": bool, "i": int, "u": int, "f": float}.get(dtype.kind)
    if expected is None or type(value) is not expected:
        raise WireError(f"not a {dtype.name}")
    return dtype.type(value)


def _array(plain: Mapping[str, Any]) -> Any:
    shape = tuple(_typed(plain, "shape", list))
    if len(shape) > 32 or not all(type(size) is int and size >= 0 for size in shape):
        raise WireError("a shape is a list of lengths")
    if plain["dtype"] == "object":
        items = _items(plain)
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
    return np.frombuffer(raw, dtype).reshape(shape).copy()


_DECODERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "int": lambda plain: int(_typed(plain, "v", str), 16),
    "float": _number,
    "complex": _complex,
    "bytes": lambda plain: _bytes(plain["v"]),
    "tuple": lambda plain: tuple(_items(plain)),
    "set": lambda plain: set(_items(plain)),
    "frozenset": lambda plain: frozenset(_items(plain)),
    "dict": lambda plain: {_value(key): _value(item) for key, item in _typed(plain, "v", list)},
    "scalar": _scalar,
    "array": _array,
    "element": lambda plain: Element(_typed(plain, "v", str)),
    "species": lambda plain: Species(_typed(plain, "v", str)),
    "enum": lambda plain: EnumMember(
        _typed(plain, "class", str), _typed(plain, "name", str), _value(plain["v"])
    ),
    "msonable": lambda plain: Msonable(
        _typed(plain, "class", str), _value(_typed(plain, "v", dict))
    ),
    "opaque": lambda plain: Opaque(_typed(plain, "class", str), _typed(plain, "v", str)),
}
