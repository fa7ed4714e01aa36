"""Values as tagged JSON (`.decoding` reads it); limits of a run, and frames.

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
import struct
from collections.abc import Mapping
from typing import Any

from sandbox.inside.values import (
    Element,
    EnumMember,
    Members,
    Msonable,
    Opaque,
    Species,
    is_array,
    is_scalar,
    load_numpy,
    type_name,
)

MB = 1 << 20
FLOOD = 16 * MB  # bytes of a result
KEEP = 64 << 10  # bytes of each stream that are kept
OUT = "out"  # folder of the run whose content is handed over
OUT_FILES = 32  # of it
OUT_BYTES = 8 * MB  # of it, all files together
MAX_CAUGHT = 20  # exceptions reported that the code caught itself
MAX_MESSAGE = 300  # characters of the message of one of them
MAX_DEPTH = 100  # nesting of a result


class UnencodableError(Exception):
    """A result that cannot be sent: nested too deep, or too large."""


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
    if kind in TAGS:
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
    tag, keys = TAGS[type(value)]
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
    tagged = {"$": "scalar", "dtype": dtype.str}
    if not scalar:
        tagged = {"$": "array", "dtype": dtype.str, "shape": list(value.shape)}
        if dtype.kind == "O":
            items = [encode(item, depth + 1) for item in value.ravel().tolist()]
            return tagged | {"dtype": "object", "v": items}
    elif dtype.kind in "biu" or (dtype.kind == "f" and dtype.itemsize <= 8):
        return tagged | {"v": encode(value.item())}
    if dtype.kind in "biufcmMUS":
        raw = base64.b64encode(numpy.ascontiguousarray(value).tobytes()).decode()
        return tagged | {"raw": raw}
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
TAGS: dict[type, tuple[str, dict[str, type]]] = {
    Element: ("element", {"v": str}),
    Species: ("species", {"v": str}),
    EnumMember: ("enum", {"class": str, "name": str, "v": object}),
    Msonable: ("msonable", {"class": str, "v": dict}),
    Opaque: ("opaque", {"class": str, "v": str}),
}
BY_TAG = {tag: (kind, keys) for kind, (tag, keys) in TAGS.items()}
