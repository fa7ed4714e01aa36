"""Formats that a question asks for (``dict[str, list[float]]``): read, and held against a value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from types import NoneType
from typing import Any, NamedTuple

from sandbox.inside.values import Members, plain, represent, type_name

SHOWN = 60  # characters of a key in a finding
MAX_TEXT = 500  # characters of a format that are read
MAX_DEPTH = 10
MAX_ITEMS = 1000  # of one container that are compared

_TOKEN = re.compile(r"\.\.\.|[a-z_][\w.]*|[\[\],|]|[^\s`*'\"(]")
_PLAIN = (
    "bool",
    "int",
    "float",
    "complex",
    "str",
    "list",
    "dict",
    "tuple",
    "set",
    "none",
)
_KINDS = {
    **{name: name for name in _PLAIN},
    **dict.fromkeys(("ndarray", "np.ndarray", "numpy.ndarray", "sequence"), "list"),
    "frozenset": "set",
    "nonetype": "none",
}
_SEQUENCES = (list, tuple)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "complex": (int, float, complex),
    "str": (str,),
    "none": (NoneType,),
    "set": (set, frozenset, Members),
    "dict": (Mapping,),
}


@dataclass(frozen=True)
class Format:
    """One format: a kind, and formats of its items, keys and values, or places of a tuple.

    Kinds are ``bool``, ``int``, ``float``, ``complex``, ``str``, ``list``, ``tuple``, ``set``,
    ``dict``, ``none``; ``any`` for what is not understood, ``union`` for one of ``inner``.
    """

    kind: str
    inner: tuple[Format, ...] = ()

    def __str__(self) -> str:
        texts = list(map(str, self.inner))
        if self.kind == "union":
            return " | ".join(texts)
        return f"{self.kind}[{', '.join(texts)}]" if texts else self.kind


class Misfit(NamedTuple):
    """Where a value departs from a format: keys and indices, what is wanted, what stands there.

    ``length``: its type is right, but not its number of items.
    """

    place: str
    wanted: Format
    value: Any
    length: bool = False

    def __str__(self) -> str:
        description = (
            f"has {len(self.value)} items"
            if self.length
            else f"is {kind_of(self.value)}"
        )
        return f"{self.place} {description}".strip()


ANY = Format("any")


@lru_cache(maxsize=4096)
def read_format(text: str, *, exactly: bool = False) -> Format:
    """Read a format; what follows it in the text (units, remarks) is not part of it.

    ``list of float`` is ``list[float]``, ``Optional[int]`` and ``int or None`` are ``int | None``.
    What is not understood is ``any``, which every value fits; with ``exactly`` also a format that
    more text follows.
    """
    tokens = _TOKEN.findall(text[:MAX_TEXT].lower())[::-1]  # the next one stands last
    form = _union(tokens, 0)
    return ANY if exactly and (len(text) > MAX_TEXT or tokens) else form


def _take(tokens: list[str], *wanted: str) -> bool:
    taken = bool(tokens) and tokens[-1] in wanted
    if taken:
        tokens.pop()
    return taken


def _union(tokens: list[str], depth: int) -> Format:
    options = [_one(tokens, depth)]
    while _take(tokens, "|", "or"):
        option = _one(tokens, depth)
        if option is ANY:  # "float or the like": a remark
            break
        options.append(option)
    return options[0] if len(options) == 1 else Format("union", tuple(options))


def _one(tokens: list[str], depth: int) -> Format:
    if depth > MAX_DEPTH or not tokens:
        return ANY
    word = tokens.pop().rstrip(".").removeprefix("typing.").removeprefix("t.")
    if word in {"optional", "union"}:
        inner = _parameters(tokens, depth)
        nothing = (Format("none"),) if word == "optional" else ()
        return Format("union", (*inner, *nothing)) if inner else ANY
    kind = _KINDS.get(word) or (_KINDS.get(word.removesuffix("s")) if depth else None)
    return ANY if kind is None else Format(kind, _contents(tokens, kind, depth))


def _contents(tokens: list[str], kind: str, depth: int) -> tuple[Format, ...]:
    if kind not in {"list", "tuple", "set", "dict"}:
        return ()
    if kind != "dict" and _take(tokens, "of"):
        while tokens and tokens[-1].isdecimal():
            tokens.pop()
        item = _one(tokens, depth + 1)
        return () if item is ANY else (item,)
    inner = _parameters(tokens, depth)
    return (
        inner if kind == "tuple" or len(inner) == (2 if kind == "dict" else 1) else ()
    )


def _parameters(tokens: list[str], depth: int) -> tuple[Format, ...]:
    """What stands in brackets; nothing where they are not closed."""
    inner: list[Format] = []
    while _take(tokens, "," if inner else "["):
        if _take(tokens, "..."):
            inner.append(Format("..."))
            continue
        inner.append(_union(tokens, depth + 1))
        nested = 0  # past what was not understood, to the end of this parameter
        while tokens and (nested or tokens[-1] not in {",", "]"}):
            sign = tokens.pop()
            nested += (sign == "[") - (sign == "]")
    return tuple(inner) if inner and _take(tokens, "]") else ()


def misfit(value: Any, wanted: Format, place: str = "") -> Misfit | None:
    """Where a value departs from a format, and what stands there; ``None`` when it fits.

    A tuple or an array may stand for a list, an int for a float; ``True`` is not a number. Of a
    container the first ``MAX_ITEMS`` items are looked at.
    """
    kind = wanted.kind
    if kind == "any":
        return None
    if kind == "union":
        faults = [misfit(value, option, place) for option in wanted.inner]
        departures = [fault for fault in faults if fault is not None]
        deepest = max(departures, key=lambda fault: len(fault.place), default=None)
        if len(departures) < len(faults) or deepest is None:
            return None
        return deepest if deepest.place != place else Misfit(place, wanted, value)
    wrong, value = Misfit(place.strip(), wanted, value), plain(value)
    truth = isinstance(value, bool) and kind != "bool"
    if truth or not isinstance(value, _TYPES.get(kind, _SEQUENCES)):
        return wrong
    return _contents_misfit(value, wanted, place) if wanted.inner else None


def _contents_misfit(value: Any, wanted: Format, place: str) -> Misfit | None:
    inner = wanted.inner
    parts: list[tuple[str, Any, Format]] = []
    if wanted.kind == "dict":
        for key, item in islice(value.items(), MAX_ITEMS):
            parts += [(f"{place} key {represent(key, SHOWN)}", key, inner[0])]
            parts += [(f"{place}[{represent(key, SHOWN)}]", item, inner[1])]
    elif wanted.kind == "set":
        parts = [(f"{place} item", item, inner[0]) for item in islice(value, MAX_ITEMS)]
    else:
        items = list(islice(value, MAX_ITEMS))
        each = inner[:1] * len(items)
        if wanted.kind == "tuple" and Format("...") not in inner:
            if len(items) != len(inner):
                return Misfit(place, wanted, value, length=True)
            each = inner
        pairs = zip(items, each, strict=True)
        parts = [(f"{place}[{n}]", item, form) for n, (item, form) in enumerate(pairs)]
    faults = (misfit(item, form, where.strip()) for where, item, form in parts)
    return next((fault for fault in faults if fault is not None), None)


def kind_of(value: Any) -> str:
    """Type of a value, as a finding names it."""
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        return f"{type_name(value)} of {type_name(value[0])}"
    return type_name(value)
