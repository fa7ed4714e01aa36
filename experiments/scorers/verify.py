"""Compares an answer with the expected values: tagged JSON in, verdicts out.

This file runs inside a sandbox, as source text, and may import the standard library only. It
handles data: no class that an answer names is ever looked up or built.
"""

from __future__ import annotations

import base64
import cmath
import json
import math
import re
import struct
from typing import Any, NamedTuple

#: What hostile tagged JSON can raise while it is read.
_UNREADABLE = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
    struct.error,
)  # fmt: skip

#: Characters of a reason.
REASON = 1000


class Items(NamedTuple):
    """A sequence; ``kind`` is list, tuple or ndarray."""

    kind: str
    values: list[Any]


class Collection(NamedTuple):
    """A set, in no particular order."""

    values: list[Any]


class Pairs(NamedTuple):
    """A dict as key and value pairs."""

    values: list[tuple[Any, Any]]


class Thing(NamedTuple):
    """Any other object: the name of its class and its data (``None``: only known by repr)."""

    kind: str
    data: Any


class Rule(NamedTuple):
    """How numbers are compared; ``None`` tolerances: exactly."""

    rtol: float = 0.0
    atol: float = 0.0


def verify(wanted: str, payload: str) -> dict[str, list[Any]]:
    """Judge every property.

    Parameters
    ----------
    wanted
        JSON list of properties: ``name``, ``format``, ``expected`` (tagged JSON as text),
        ``compare``, ``rtol``, ``atol``.
    payload
        The returned dict as tagged JSON.

    Returns
    -------
    dict
        Property name to ``[passed, reason]``; the reason is empty for a pass.
    """
    properties = json.loads(wanted)
    answers: dict[str, list[Any]] = {}
    try:
        for key, value in read(json.loads(payload)).values:
            if isinstance(key, str):
                answers.setdefault(key, []).append(value)
    except _UNREADABLE as error:
        # Only a forged result gets here: the sandbox's own encoder writes nothing like it.
        reason = f"the result cannot be read ({type(error).__name__})"
        return {prop["name"]: [False, reason] for prop in properties}
    verdicts = {}
    for prop in properties:
        gold = read(json.loads(prop["expected"]))  # a broken one is no fault of the answer
        try:
            fault = judge(prop, gold, answers.get(prop["name"], []))
        except _UNREADABLE as error:
            fault = f"cannot be compared ({type(error).__name__})"
        verdicts[prop["name"]] = [fault is None, (fault or "")[:REASON]]  # it may quote the answer
    return verdicts


def judge(prop: dict[str, Any], gold: Any, answers: list[Any]) -> str | None:
    """Why the value given for a property is wrong, ``None`` when it is right."""
    if not answers:
        return "missing key"
    if len(answers) > 1:
        return "the key occurs more than once"
    answer = answers[0]
    if answer is None and gold is not None:
        return "None"
    rule = Rule(prop["rtol"], prop["atol"]) if prop["compare"] == "close" else Rule()
    return misfit(prop["format"], answer) or differ(gold, answer, rule)


def read(node: Any) -> Any:
    """Tagged JSON (`sandbox.wire`) as plain values and the four shapes above.

    numpy scalars become Python's, arrays nested `Items`: it is their content that counts.
    """
    if isinstance(node, list):
        return Items("list", [read(item) for item in node])
    if not isinstance(node, dict):
        return node
    if "$" not in node:
        return Pairs([(key, read(value)) for key, value in node.items()])
    reader = _READERS.get(str(node["$"]))
    if reader is None:
        raise ValueError(f"unknown tag {node['$']!r:.100}")
    return reader(node)


def _read_object(node: dict[str, Any]) -> Thing:
    kind = str(node["class"]).rpartition(".")[2]
    if node["$"] == "opaque":
        return Thing(kind, None)
    data = read(node["v"])
    if isinstance(data, Pairs):
        # The version of the library is no part of the value.
        data = Pairs([pair for pair in data.values if pair[0] != "@version"])
    return Thing(kind, data)


def _read_scalar(node: dict[str, Any]) -> Any:
    if "v" in node:
        return read(node["v"])
    return _unpack(node["dtype"], base64.b64decode(node["raw"]))[0]


def _read_array(node: dict[str, Any]) -> Any:
    if "v" in node:
        flat = [read(item) for item in node["v"]]
    else:
        flat = _unpack(node["dtype"], base64.b64decode(node["raw"]))
    shape = [int(length) for length in node["shape"]]
    if len(flat) != math.prod(shape):
        raise ValueError("an array whose shape and content disagree")
    return _fold(flat, shape)


def _fold(flat: list[Any], shape: list[int]) -> Any:
    if not shape:
        return flat[0]
    step = math.prod(shape[1:])
    rows = [_fold(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]
    return Items("ndarray", rows)


def _unpack(dtype: str, raw: bytes) -> list[Any]:
    """The elements of a numpy buffer, as Python values."""
    order = ">" if dtype[0] == ">" else "<"
    kind, size = dtype[1], int(dtype[2:].partition("[")[0])
    if kind in _STRUCT and size in _STRUCT[kind]:
        return [item[0] for item in struct.iter_unpack(order + _STRUCT[kind][size], raw)]
    pieces = [raw[start : start + size] for start in range(0, len(raw), size)] if size else []
    if kind == "c":
        parts = _unpack(f"{order}f{size // 2}", raw)
        return [complex(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    if kind == "f":
        return [_long_double(piece if order == "<" else piece[::-1]) for piece in pieces]
    if kind == "U":
        encoding = "utf-32-le" if order == "<" else "utf-32-be"
        pieces = [raw[start : start + 4 * size] for start in range(0, len(raw), 4 * size or 1)]
        return [piece.decode(encoding, "replace").rstrip("\0") for piece in pieces]
    if kind == "S":
        return [Thing("bytes", piece.rstrip(b"\0").hex()) for piece in pieces]
    return [Thing(dtype, piece.hex()) for piece in pieces]


def _long_double(piece: bytes) -> float:
    """Read x86's 80-bit extended precision, padded; other machines send other widths."""
    mantissa = int.from_bytes(piece[:8], "little")
    high = int.from_bytes(piece[8:10], "little")
    sign, exponent = (-1.0 if high >> 15 else 1.0), high & 0x7FFF
    if exponent == 0x7FFF:
        return math.nan if mantissa << 1 & (2**64 - 1) else sign * math.inf
    return sign * math.ldexp(mantissa, exponent - 16383 - 63)


_STRUCT: dict[str, dict[int, str]] = {
    "b": {1: "?"},
    "i": {1: "b", 2: "h", 4: "i", 8: "q"},
    "u": {1: "B", 2: "H", 4: "I", 8: "Q"},
    "f": {2: "e", 4: "f", 8: "d"},
}

_READERS: dict[str, Any] = {
    "int": lambda node: int(node["v"], 16),
    "float": lambda node: float(node["v"]),
    "complex": lambda node: complex(read(node["v"][0]), read(node["v"][1])),
    "bytes": lambda node: Thing("bytes", base64.b64decode(node["v"]).hex()),
    "tuple": lambda node: Items("tuple", [read(item) for item in node["v"]]),
    "set": lambda node: Collection([read(item) for item in node["v"]]),
    "frozenset": lambda node: Collection([read(item) for item in node["v"]]),
    "dict": lambda node: Pairs([(read(key), read(value)) for key, value in node["v"]]),
    "element": lambda node: Thing("Element", node["v"]),
    "species": lambda node: Thing("Species", node["v"]),
    "enum": _read_object,
    "msonable": _read_object,
    "opaque": _read_object,
    "scalar": _read_scalar,
    "array": _read_array,
}


def differ(gold: Any, answer: Any, rule: Rule) -> str | None:
    """Why ``answer`` is not ``gold``, ``None`` when it is."""
    if gold is None or isinstance(gold, bool | str):
        same = type(gold) is type(answer) and gold == answer
        return None if same else f"expected {show(gold)}, got {show(answer)}"
    if isinstance(gold, int | float | complex):
        return _differ_number(gold, answer, rule)
    if isinstance(gold, Items):
        return _differ_items(gold, answer, rule)
    if isinstance(gold, Pairs):
        return _differ_pairs(gold, answer, rule)
    if isinstance(gold, Collection):
        return _differ_collection(gold, answer, rule)
    if (
        not isinstance(answer, Thing) or None in (gold.data, answer.data)
        or gold.kind != answer.kind
    ):  # fmt: skip
        return f"expected {show(gold)}, got {show(answer)}"
    reason = differ(gold.data, answer.data, rule)
    return f"{gold.kind} {reason}" if reason else None


def _differ_number(gold: float | complex, answer: Any, rule: Rule) -> str | None:
    if isinstance(answer, bool) or not isinstance(answer, int | float | complex):
        return f"expected a number, got {show(answer)}"
    if gold == answer:
        return None
    if not cmath.isfinite(gold) or not cmath.isfinite(answer):
        both_nan = cmath.isnan(gold) and cmath.isnan(answer)
        return None if both_nan else f"expected {show(gold)}, got {show(answer)}"
    distance, tolerance = abs(answer - gold), rule.atol + rule.rtol * abs(gold)
    if distance <= tolerance:
        return None
    if tolerance == 0:
        return f"expected {show(gold)}, got {show(answer)}"
    if gold == 0 or rule.rtol == 0:
        return f"off by {distance:.3g} (tolerance {tolerance:.3g})"
    return f"off by {_percent(distance / abs(gold))} (tolerance {_percent(tolerance / abs(gold))})"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 10 else f"a factor of {share + 1:.3g}"


def _differ_items(gold: Items, answer: Any, rule: Rule) -> str | None:
    if not isinstance(answer, Items) or len(gold.values) != len(answer.values):
        got = len(answer.values) if isinstance(answer, Items) else show(answer)
        kind = "list" if gold.kind == "ndarray" else gold.kind
        return f"expected {kind} of {len(gold.values)}, got {got}"
    for index, (left, right) in enumerate(zip(gold.values, answer.values, strict=True)):
        reason = differ(left, right, rule)
        if reason:
            return f"[{index}]{_join(reason)}"
    return None


def _differ_pairs(gold: Pairs, answer: Any, rule: Rule) -> str | None:
    if not isinstance(answer, Pairs):
        return f"expected a dict of {len(gold.values)}, got {show(answer)}"
    rest = list(answer.values)
    for key, value in gold.values:
        found = [pair for pair in rest if differ(key, pair[0], Rule()) is None]
        if not found:
            return f"[{show(key)}] is missing"
        rest.remove(found[0])
        reason = differ(value, found[0][1], rule)
        if reason:
            return f"[{show(key)}]{_join(reason)}"
    return f"[{show(rest[0][0])}] is unexpected" if rest else None


def _differ_collection(gold: Collection, answer: Any, rule: Rule) -> str | None:
    if not isinstance(answer, Collection) or len(gold.values) != len(answer.values):
        got = len(answer.values) if isinstance(answer, Collection) else show(answer)
        return f"expected a set of {len(gold.values)}, got {got}"
    rest = list(answer.values)
    for item in gold.values:
        found = [index for index, other in enumerate(rest) if differ(item, other, rule) is None]
        if not found:
            return f"the set lacks {show(item)}"
        del rest[found[0]]
    return None


def _join(reason: str) -> str:
    return reason if reason.startswith("[") else f": {reason}"


def show(value: Any, limit: int = 60) -> str:
    """A value as a reason shows it."""
    if isinstance(value, Items | Pairs | Collection):
        text = f"{_type_name(value)} of {len(value.values)}"
    elif isinstance(value, Thing):
        text = value.kind
    elif isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        text = f"an int of {value.bit_length()} bits"
    else:
        text = repr(value)
    return text if len(text) <= limit else text[: limit - 4] + " ..."


_TOKEN = re.compile(r"\s*([A-Za-z_][\w.]*|[\[\],])")


def misfit(form: str, value: Any) -> str | None:
    """Why ``value`` is not in the format asked for; formats we do not know fit everything."""
    tree = _parse(form.strip("` "))
    return None if tree is None else _misfit(tree, value)


def _parse(form: str) -> Any:
    """``dict[str, list[float]]`` as ``("dict", [("str", []), ("list", [("float", [])])])``."""
    tokens = _TOKEN.findall(form)
    if "".join(tokens) != form.replace(" ", "") or not tokens:
        return None
    tree, rest = _parse_type(tokens)
    return None if rest else tree


def _parse_type(tokens: list[str]) -> tuple[Any, list[str]]:
    if not tokens or tokens[0] in "[],":
        return None, ["?"]
    name, rest, inner = tokens[0], tokens[1:], []
    if rest and rest[0] == "[":
        while rest and rest[0] in "[,":
            part, rest = _parse_type(rest[1:])
            inner.append(part)
        if not rest or rest[0] != "]":
            return None, ["?"]
        rest = rest[1:]
    return (name, inner), rest


def _misfit(tree: Any, value: Any) -> str | None:
    name, inner = tree
    if name in _FITS and not _FITS[name](value):
        return f"expected {name}, got {_type_name(value)}"
    if name in ("list", "tuple") and len(inner) == 1:
        return _first_misfit(inner * len(value.values), list(enumerate(value.values)))
    if name == "dict" and len(inner) == 2:
        keys = (_misfit(inner[0], key) for key, _ in value.values)
        wrong = next((reason for reason in keys if reason), None)
        if wrong:
            return f"a key: {wrong}"
        return _first_misfit([inner[1]] * len(value.values), value.values)
    return None


def _first_misfit(kinds: list[Any], named: list[tuple[Any, Any]]) -> str | None:
    for kind, (name, value) in zip(kinds, named, strict=False):
        reason = _misfit(kind, value)
        if reason:
            return f"[{show(name)}]{_join(reason)}"
    return None


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_FITS: dict[str, Any] = {
    "bool": lambda value: isinstance(value, bool),
    "int": _is_int,
    "float": lambda value: isinstance(value, float) or _is_int(value),
    "complex": lambda value: isinstance(value, float | complex) or _is_int(value),
    "str": lambda value: isinstance(value, str),
    "list": lambda value: isinstance(value, Items),
    "tuple": lambda value: isinstance(value, Items),
    "dict": lambda value: isinstance(value, Pairs),
    "set": lambda value: isinstance(value, Collection),
}


def _type_name(value: Any) -> str:
    if isinstance(value, Items):
        return value.kind
    if isinstance(value, Pairs):
        return "dict"
    if isinstance(value, Collection):
        return "set"
    return value.kind if isinstance(value, Thing) else type(value).__name__
