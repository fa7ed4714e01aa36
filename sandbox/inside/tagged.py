"""Values as tagged JSON, and back: from untrusted bytes, under caps; limits of a run, and frames.

Nothing here imports a materials library, calls a constructor that a result names, unpickles or
evaluates: an object of a library is decoded to a :class:`Msonable` with its fields. What was
decoded is encoded to the same text again.

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

It is a closed grammar: what Python could not have made is refused, such as a list as a key or
as a member of a set, an item of no bytes, a time that is counted in steps of zero.

Hashing: an answer can choose numbers and tuples that all have one hash, and objects hash by
their class alone. A hash table of these takes quadratic time, so none is made of them.
"""

from __future__ import annotations

import base64
import enum
import json
import math
import re
import struct
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from sandbox.inside.values import (
    Element,
    EnumMember,
    Members,
    Msonable,
    Opaque,
    Pairs,
    Species,
    hashes_well,
    is_array,
    is_scalar,
    load_numpy,
    type_name,
)

if TYPE_CHECKING:
    import numpy as np

MB = 1 << 20
FLOOD = 16 * MB  # bytes of a result
KEEP = 64 << 10  # bytes of each stream that are kept
OUT = "out"  # folder of the run whose content is handed over
OUT_FILES = 32  # of it
OUT_BYTES = 8 * MB  # of it, all files together
MAX_CAUGHT = 20  # exceptions reported that the code caught itself
MAX_MESSAGE = 300  # characters of the message of one of them
MAX_DEPTH = 100  # nesting of a result
MAX_DIMENSIONS = 32  # of an array
MAX_NODES = 1_000_000  # values in one result; arrays travel as bytes and count once
MAX_SECONDS = 20.0  # to decode one result: the largest permitted one takes a few
#: Numbers, text and times as numpy writes their types; no item of zero bytes, no unit of time that
#: is a multiple: numpy divides by it, also by zero, which ends the process.
_DTYPE = re.compile(
    r"[<>|](?:b1|[iu][1248]|f(?:[248]|12|16)|c(?:8|16|24|32)|[US][1-9]\d{0,7}"
    r"|[mM]8(?:\[(?:Y|M|W|D|h|m|s|ms|us|μs|ns|ps|fs|as)\])?)"
)
_LAST_CODE_POINT = 0x10FFFF
_READY = frozenset({str, int, bool, type(None)})  # what JSON gives is what it means


class UnencodableError(Exception):
    """A result that cannot be sent: nested too deep, or too large."""


class WireError(ValueError):
    """Bytes that are not a result: says which rule they break."""


def encode(value: Any, depth: int = 0) -> Any:  # noqa: PLR0911, PLR0912, C901 - one case per type
    """Turn a value into plain JSON, with ``{"$": kind, ...}`` for what JSON lacks."""
    if depth > MAX_DEPTH:
        raise UnencodableError(f"the result is nested deeper than {MAX_DEPTH} levels")
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        # Python refuses to print integers of more than 4300 digits; hex has no such limit.
        return value if value.bit_length() < 4096 else {"$": "int", "v": hex(value)}
    if kind is float:
        return value if value - value == 0 else {"$": "float", "v": repr(value)}
    if kind in _TAGS:
        return _encode_stand_in(value, depth)
    if kind is complex:
        return {"$": "complex", "v": [encode(value.real), encode(value.imag)]}
    if is_scalar(value) or is_array(value):
        return _encode_numpy(value, depth)
    if isinstance(value, enum.Enum):
        if kind.__name__ == "Element":
            return {"$": "element", "v": value.value}
        return _encode_stand_in(
            EnumMember(_class_name(value), value.name, value.value), depth
        )
    if callable(getattr(kind, "as_dict", None)) and not isinstance(value, type):
        if kind.__name__ in {"Species", "DummySpecies"}:
            return {"$": "species", "v": str(value)}
        return _encode_msonable(value, depth)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return encode(int(value), depth)
    if isinstance(value, float):
        return encode(float(value), depth)
    if isinstance(value, bytes | bytearray):
        return {"$": "bytes", "v": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [encode(item, depth + 1) for item in value]
    for sequence in (tuple, set, frozenset, Members):
        if isinstance(value, sequence):
            name = type_name(value) if sequence is Members else sequence.__name__
            return {"$": name, "v": [encode(item, depth + 1) for item in value]}
    if isinstance(value, dict | Mapping):
        if all(type(key) is str for key in value) and "$" not in value:
            return {key: encode(item, depth + 1) for key, item in value.items()}
        pairs = [
            [encode(key, depth + 1), encode(item, depth + 1)]
            for key, item in value.items()
        ]
        return {"$": "dict", "v": pairs}
    return _opaque(value)


def _class_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _encode_stand_in(value: Any, depth: int) -> dict[str, Any]:
    tag, keys = _TAGS[type(value)]
    parts = zip(keys, vars(value).values(), strict=True)
    return {"$": tag, **{key: encode(part, depth + 1) for key, part in parts}}


def _opaque(value: Any) -> dict[str, Any]:
    try:
        text = repr(value)[:2000]
    except Exception as error:  # noqa: BLE001 - the code's own __repr__ may raise anything
        text = f"<repr failed: {type(error).__name__}>"
    return {"$": "opaque", "class": _class_name(value), "v": text}


def _encode_msonable(value: Any, depth: int) -> Any:
    try:
        fields = value.as_dict()
    except Exception:  # noqa: BLE001 - the code's own as_dict may raise anything
        fields = None
    if not isinstance(fields, dict) or not all(type(key) is str for key in fields):
        return _opaque(value)
    return _encode_stand_in(Msonable(_class_name(value), dict(fields)), depth)


def _encode_numpy(value: Any, depth: int) -> Any:
    numpy, dtype, scalar = load_numpy(), value.dtype, is_scalar(value)
    if isinstance(value, numpy.ma.MaskedArray):
        return _opaque(value)
    if (
        dtype.kind in "US" and dtype.itemsize == 0
    ):  # an empty text still has an item size
        value = numpy.asarray(value).astype(f"{dtype.kind}1")
        dtype = value.dtype
    told = {"$": "scalar", "dtype": dtype.str}
    if not scalar:
        told = {"$": "array", "dtype": dtype.str, "shape": list(value.shape)}
        if dtype.kind == "O":
            items = [encode(item, depth + 1) for item in value.ravel().tolist()]
            return told | {"dtype": "object", "v": items}
    elif dtype.kind in "biu" or (dtype.kind == "f" and dtype.itemsize <= 8):
        return told | {"v": encode(value.item())}
    if dtype.kind in "biufcmMUS":
        raw = base64.b64encode(numpy.ascontiguousarray(value).tobytes()).decode()
        return told | {"raw": raw}
    return _opaque(value)


def dumps(value: Any) -> str:
    """Tagged JSON text of a value; raises :class:`UnencodableError`."""
    text = json.dumps(encode(value), allow_nan=False, separators=(",", ":"))
    if len(text) >= FLOOD:
        raise UnencodableError(f"the result is larger than {FLOOD // MB} MB")
    return text


def frame(header: dict[str, Any], *blobs: bytes) -> bytes:
    """4 bytes big-endian length of a JSON header, which lists lengths of the blobs that follow."""
    text = json.dumps({**header, "blobs": [len(blob) for blob in blobs]}).encode()
    return b"".join([struct.pack(">I", len(text)), text, *blobs])


#: What stands for objects of libraries -> its tag, and key -> type of each of its fields.
_TAGS: dict[type, tuple[str, dict[str, type]]] = {
    Element: ("element", {"v": str}),
    Species: ("species", {"v": str}),
    EnumMember: ("enum", {"class": str, "name": str, "v": object}),
    Msonable: ("msonable", {"class": str, "v": dict}),
    Opaque: ("opaque", {"class": str, "v": str}),
}
_BY_TAG = {tag: (kind, keys) for kind, (tag, keys) in _TAGS.items()}


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
            told = f"{type(error).__name__}: {error!s:.200}"
            raise WireError(f"a malformed {plain['$']}: {told}") from None

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
            case str(tag) if tag in _BY_TAG:
                kind, keys = _BY_TAG[tag]
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
