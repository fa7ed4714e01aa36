"""Values out of tagged JSON (`.tagged`): from untrusted bytes, under caps, by a closed grammar."""

from __future__ import annotations

import base64
import json
import math
import re
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from sandbox.inside.tagged import BY_TAG, FLOOD, MAX_DEPTH
from sandbox.inside.values import (
    Element,
    EnumMember,
    Members,
    Msonable,
    Opaque,
    Pairs,
    Species,
    hashes_well,
    is_scalar,
    load_numpy,
    type_name,
)

if TYPE_CHECKING:
    import numpy as np

MAX_SECONDS = 20.0  # to decode one result: the largest permitted one takes a few
MAX_NODES = 1_000_000  # values in one result; arrays travel as bytes and count once
MAX_DIMENSIONS = 32  # of an array
#: Numbers, text and times as numpy writes their types; no item of zero bytes, no unit of time that
#: is a multiple: numpy divides by it, also by zero, which ends the process.
_DTYPE = re.compile(
    r"[<>|](?:b1|[iu][1248]|f(?:[248]|12|16)|c(?:8|16|24|32)|[US][1-9]\d{0,7}"
    r"|[mM]8(?:\[(?:Y|M|W|D|h|m|s|ms|us|μs|ns|ps|fs|as)\])?)"
)
_LAST_CODE_POINT = 0x10FFFF
_READY = frozenset({str, int, bool, type(None)})  # what JSON gives is what it means


class WireError(ValueError):
    """Bytes that are not a result: says which rule they break."""


def decode(text: bytes | str) -> Any:
    """Decode a result; in linear time, whatever it holds. Nothing but `WireError` is raised."""
    try:
        raw = (
            text.encode("utf-8", "surrogatepass")
            if isinstance(text, str)
            else bytes(text)
        )
        if len(raw) > FLOOD:
            raise WireError(f"{len(raw)} bytes, at most {FLOOD} are read")  # noqa: TRY301
        nodes = raw.count(b",") + raw.count(b"[") + raw.count(b"{")
        if nodes > MAX_NODES:
            raise WireError(f"about {nodes} values, at most {MAX_NODES} are read")  # noqa: TRY301
        plain = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_constant
        )
        return restore(plain)
    except RecursionError:
        raise WireError("nested too deep") from None
    except UnicodeDecodeError as error:
        raise WireError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except WireError:
        raise
    except Exception as error:  # noqa: BLE001 - what hostile bytes raise is the fault of the answer
        raise WireError(f"{type(error).__name__}: {error!s:.200}") from None


def restore(plain: Any) -> Any:
    """Decode what JSON gave; raises :class:`WireError`."""
    return _Decoder().value(plain)


def _unique(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
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
        if (
            self._depth > 2 * MAX_DEPTH
        ):  # an object counts twice: itself, and its fields
            raise WireError("nested too deep")
        if time.monotonic() > self._end:
            raise WireError(f"takes longer than {MAX_SECONDS:.0f} s to read")
        self._depth += 1
        value = self.items(plain) if isinstance(plain, list) else self._mapping(plain)
        self._depth -= 1
        return value

    def items(self, plain: Iterable[Any]) -> list[Any]:
        return [item if type(item) in _READY else self.value(item) for item in plain]

    def _mapping(self, plain: dict[str, Any]) -> Any:
        if "$" not in plain:
            return dict(zip(plain, self.items(plain.values()), strict=True))
        try:
            return self._tagged(plain)
        except (WireError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001 - see `decode`
            reason = f"{type(error).__name__}: {error!s:.200}"
            raise WireError(f"a malformed {plain['$']}: {reason}") from None

    def _tagged(self, plain: dict[str, Any]) -> Any:
        match plain["$"]:
            case "int":
                return int(_typed(plain, "v", str), 16)
            case "float":
                text = _typed(plain, "v", str)
                if text not in {"nan", "inf", "-inf"}:
                    raise WireError("only nan, inf and -inf are tagged floats")
                return float(text)
            case "complex":
                real, imaginary = self._inner(plain)
                if type(real) is not float or type(imaginary) is not float:
                    raise WireError("the parts of a complex number are floats")
                return complex(real, imaginary)
            case "bytes":
                return _bytes(plain["v"])
            case "tuple":
                return tuple(self._inner(plain))
            case "set" | "frozenset" as kind:
                items = self._inner(plain)
                _check_hashable(items, kind)
                if not all(map(hashes_well, items)):
                    return Members(tuple(items), kind == "frozenset")
                return set(items) if kind == "set" else frozenset(items)
            case "dict":
                listed = _typed(plain, "v", list)
                pairs = [(self.value(key), self.value(item)) for key, item in listed]
                _check_hashable([key for key, _ in pairs], "dict")
                well = all(hashes_well(key) for key, _ in pairs)
                return _unique(pairs) if well else Pairs(tuple(pairs))
            case "scalar":
                return self._scalar(plain)
            case "array":
                return self._array(plain)
            case str(tag) if tag in BY_TAG:
                kind, keys = BY_TAG[tag]
                parts = [
                    self.value(_typed(plain, key, wanted))
                    for key, wanted in keys.items()
                ]
                if kind is Msonable and not _is_record(parts[-1]):
                    raise WireError("the fields of an object are a dict with names")
                return kind(*parts)
            case unknown:
                raise WireError(f"unknown tag {unknown!r:.100}")

    def _inner(self, plain: Mapping[str, Any]) -> list[Any]:
        return self.items(_typed(plain, "v", list))

    def _scalar(self, plain: Mapping[str, Any]) -> Any:
        dtype = _dtype(plain)
        if "raw" in plain:
            return _buffer(_bytes(plain["raw"]), dtype, ())[()]
        value = self.value(plain["v"])
        expected = {"b": bool, "i": int, "u": int, "f": float}.get(dtype.kind)
        if expected is None or type(value) is not expected:
            raise WireError(f"not a {dtype.name}")
        return dtype.type(value)

    def _array(self, plain: Mapping[str, Any]) -> Any:
        shape = tuple(_typed(plain, "shape", list))
        lengths = all(type(size) is int and size >= 0 for size in shape)
        if len(shape) > MAX_DIMENSIONS or not lengths:
            raise WireError("a shape is a list of lengths")
        if math.prod(size or 1 for size in shape) > FLOOD:  # also of what holds nothing
            raise WireError("an array of too many items")
        if plain["dtype"] != "object":
            return _buffer(_bytes(plain["raw"]), _dtype(plain), shape)
        items = self._inner(plain)
        if math.prod(shape) != len(items):
            raise WireError("shape and number of items differ")
        array = load_numpy().empty(len(items), dtype=object)
        for index, item in enumerate(items):
            array[index] = item
        return array.reshape(shape)


#: What Python hashes, of all that a result can be: keys of a dict, members of a set.
_HASHABLE = (
    *(type(None), bool, int, float, complex, str, bytes),
    *(Element, Species, EnumMember, Msonable, Opaque),
)


def _check_hashable(items: Iterable[Any], owner: str) -> None:
    """Refuse what Python would not have taken; content of tuples and frozen sets counts too."""
    rest = list(items)
    while rest:
        item = rest.pop()
        if isinstance(item, tuple):
            rest += item
        elif isinstance(item, Members) and not item.frozen:
            raise WireError(f"a set cannot be in a {owner}")
        # Frozen sets were looked at when they were made.
        elif not isinstance(item, (*_HASHABLE, frozenset, Members)) and not is_scalar(
            item
        ):
            raise WireError(
                f"a {type_name(item)} cannot be a key or member of a {owner}"
            )


def _is_record(fields: Any) -> bool:
    return type(fields) is dict and all(type(name) is str for name in fields)


def _typed(plain: Mapping[str, Any], key: str, kind: type) -> Any:
    value = plain[key]
    if kind is not object and type(value) is not kind:
        raise WireError(f"{plain['$']}.{key} is not a {kind.__name__}")
    return value


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _dtype(plain: Mapping[str, Any]) -> np.dtype[Any]:
    text = _typed(plain, "dtype", str)
    if _DTYPE.fullmatch(text) is None:
        raise WireError(f"dtype {text!r:.40} is not sent")
    dtype: np.dtype[Any] = load_numpy().dtype(text)
    return dtype


def _buffer(raw: bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    numpy = load_numpy()
    if math.prod(shape) * dtype.itemsize != len(raw):
        raise WireError("shape and number of bytes differ")
    if not raw:
        return numpy.empty(shape, dtype)
    if (
        dtype.kind == "U"
        and numpy.frombuffer(raw, f"{dtype.str[0]}u4").max() > _LAST_CODE_POINT
    ):
        raise WireError("text that is not Unicode")  # numpy cannot make strings of it
    return numpy.frombuffer(raw, dtype).reshape(shape).copy()
