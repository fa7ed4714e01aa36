"""The formats that a question asks for (``dict[str, list[float]]``), read and compared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from sandbox.inside.values import Members, plain, represent, type_name

SHOWN = 60  # characters of a key in a finding
MAX_TEXT = 500  # characters of a format that are read
MAX_DEPTH = 10
MAX_ITEMS = 1000  # of one container that are compared

_TOKEN = re.compile(r"\.\.\.|[a-z_][\w.]*|[\[\],|]|[^\s`*'\"(]")
_KINDS = {
    **{name: name for name in ("bool", "int", "float", "complex", "str", "list", "dict", "tuple")},
    "set": "set",
    "frozenset": "set",
    "none": "none",
    "nonetype": "none",
    "ndarray": "list",
    "np.ndarray": "list",
    "numpy.ndarray": "list",
    "sequence": "list",
}
_SCALARS: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "complex": (int, float, complex),
    "str": (str,),
}
_SEQUENCES = (list, tuple)


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
        found = f"has {len(self.value)} items" if self.length else f"is {kind_of(self.value)}"
        return f"{self.place} {found}".strip()


ANY = Format("any")


@lru_cache(maxsize=4096)
def read_format(text: str) -> Format:
    """Read a format; what follows it in the text (units, remarks) is not part of it.

    ``list of float`` is ``list[float]``, ``Optional[int]`` and ``int or None`` are ``int | None``.
    What is not understood is ``any``, which every value fits.
    """
    return _Reader(_TOKEN.findall(text[:MAX_TEXT].lower())).union(0)


@lru_cache(maxsize=4096)
def read_exactly(text: str) -> Format:
    """Read a text that is a format and nothing else; others are ``any``."""
    reader = _Reader(_TOKEN.findall(text.lower()) if len(text) <= MAX_TEXT else [])
    found = reader.union(0)
    return found if reader.ended else ANY


class _Reader:
    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return self._at == len(self._tokens)

    @property
    def _next(self) -> str:
        return "" if self.ended else self._tokens[self._at]

    def _take(self, *wanted: str) -> bool:
        taken = self._next in wanted
        self._at += taken
        return taken

    def union(self, depth: int) -> Format:
        options = [self._one(depth)]
        while self._take("|", "or"):
            option = self._one(depth)
            if option is ANY:  # "float or the like": a remark
                break
            options.append(option)
        return options[0] if len(options) == 1 else Format("union", tuple(options))

    def _one(self, depth: int) -> Format:
        if depth > MAX_DEPTH or self.ended:
            return ANY
        word = self._next.rstrip(".").removeprefix("typing.").removeprefix("t.")
        self._at += 1
        if word in {"optional", "union"}:
            inner = self._parameters(depth)
            nothing = (Format("none"),) if word == "optional" else ()
            return Format("union", (*inner, *nothing)) if inner else ANY
        kind = _KINDS.get(word) or (_KINDS.get(word.removesuffix("s")) if depth else None)
        return ANY if kind is None else Format(kind, self._contents(kind, depth))

    def _contents(self, kind: str, depth: int) -> tuple[Format, ...]:
        if kind not in {"list", "tuple", "set", "dict"}:
            return ()
        if kind != "dict" and self._take("of"):
            while self._next.isdecimal():
                self._at += 1
            one = self._one(depth + 1)
            return () if one is ANY else (one,)
        inner = self._parameters(depth)
        return inner if kind == "tuple" or len(inner) == (2 if kind == "dict" else 1) else ()

    def _parameters(self, depth: int) -> tuple[Format, ...]:
        """What stands in brackets; nothing where they are not closed."""
        if not self._take("["):
            return ()
        inner = [self._parameter(depth)]
        while self._take(","):
            inner.append(self._parameter(depth))
        return tuple(inner) if self._take("]") else ()

    def _parameter(self, depth: int) -> Format:
        if self._take("..."):
            return Format("...")
        found = self.union(depth + 1)
        nested = 0  # past what was not understood, to the end of this parameter
        while not self.ended and (nested or self._next not in {",", "]"}):
            nested += (self._next == "[") - (self._next == "]")
            self._at += 1
        return found


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
        found = [fault for fault in faults if fault is not None]
        deepest = max(found, key=lambda fault: len(fault.place), default=None)
        if len(found) < len(faults) or deepest is None:
            return None
        return deepest if deepest.place != place else Misfit(place, wanted, value)
    wrong, value = Misfit(place.strip(), wanted, value), plain(value)
    if kind == "none" or value is None:
        return None if kind == "none" and value is None else wrong
    if kind == "bool" or isinstance(value, bool):
        return None if kind == "bool" and isinstance(value, bool) else wrong
    if kind in _SCALARS:
        return None if isinstance(value, _SCALARS[kind]) else wrong
    kinds = {"set": (set, frozenset, Members), "dict": (Mapping,)}.get(kind, _SEQUENCES)
    if not isinstance(value, kinds):
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
