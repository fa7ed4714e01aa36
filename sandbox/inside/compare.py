"""Compares an answer with the expected values: decoded data, no class that it names is looked up.

numpy scalars count as Python's, arrays and tuples as lists: it is their content that matters. The
formats that a question asks for (``dict[str, list[float]]``) are read and compared, too.
"""

from __future__ import annotations

import cmath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from types import NoneType
from typing import Any, NamedTuple

from sandbox.inside.tagged import WireError, decode
from sandbox.inside.values import (
    Element,
    EnumMember,
    Members,
    Msonable,
    Species,
    class_name,
    is_scalar,
    plain,
    represent,
    type_name,
)

REASON = 1000  # characters of a reason
#: What numbers and objects of any size can raise while they are compared.
_INCOMPARABLE = (ArithmeticError, AttributeError, RecursionError, TypeError, ValueError)
_SETS = (set, frozenset, Members)
SHOWN = 60  # characters of a value in a reason, of a key in a finding
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
    "set": _SETS,
    "dict": (Mapping,),
}


class Rule(NamedTuple):
    """How numbers are compared; zero tolerances: exactly."""

    rtol: float = 0.0
    atol: float = 0.0


def verify(wanted: Sequence[Mapping[str, Any]], payload: str) -> dict[str, list[Any]]:
    """Property name -> ``[passed, reason]`` for the returned dict, which is tagged JSON.

    Properties have ``name``, ``format``, ``expected`` (tagged JSON as text), ``compare``, ``rtol``
    and ``atol``; the reason is empty for a pass.
    """
    try:
        answers = decode(payload)
        if not isinstance(answers, Mapping):
            raise WireError("no dict")  # noqa: TRY301
    except WireError as error:
        # Only a forged result gets here: the sandbox's own encoder writes nothing like it.
        reason = f"the result cannot be read ({error})"[:REASON]
        return {prop["name"]: [False, reason] for prop in wanted}
    verdicts = {}
    for prop in wanted:
        gold = decode(prop["expected"])  # a broken one is no fault of the answer
        try:
            fault = judge(prop, gold, answers)
        except _INCOMPARABLE as error:
            fault = f"cannot be compared ({type(error).__name__})"
        verdicts[prop["name"]] = [
            fault is None,
            (fault or "")[:REASON],
        ]  # it may quote the answer
    return verdicts


def judge(prop: Mapping[str, Any], gold: Any, answers: Mapping[Any, Any]) -> str | None:
    """Why the value given for a property is wrong, ``None`` when it is right."""
    if prop["name"] not in answers:
        return "missing key"
    answer = answers[prop["name"]]
    if answer is None and gold is not None:
        return "None"
    rule = Rule(prop["rtol"], prop["atol"]) if prop["compare"] == "close" else Rule()
    return wrong_format(prop["format"], answer) or differ(gold, answer, rule)


def wrong_format(form: str, value: Any) -> str | None:
    """Why ``value`` is not in the format asked for; what is more than a format fits everything."""
    found = misfit(value, read_format(form, exactly=True))
    if found is None:
        return None
    if found.length:
        reason = f"expected tuple of {len(found.wanted.inner)}, got {len(found.value)}"
    else:
        wanted = found.wanted if found.wanted.kind == "union" else found.wanted.kind
        reason = f"expected {wanted}, got {class_name(found.value)}"
    return f"{found.place}: {reason}" if found.place else reason


def differ(gold: Any, answer: Any, rule: Rule) -> str | None:
    """Why ``answer`` is not ``gold``, ``None`` when it is."""
    gold, answer = plain(gold), plain(answer)
    if gold is None or isinstance(gold, bool | str):
        same = type(gold) is type(answer) and gold == answer
        return None if same else f"expected {show(gold)}, got {show(answer)}"
    if isinstance(gold, int | float | complex):
        return _differ_number(gold, answer, rule)
    if isinstance(gold, list | tuple):
        return _differ_items(gold, answer, rule)
    if isinstance(gold, Mapping):
        return _differ_pairs(gold, answer, rule)
    if isinstance(gold, _SETS):
        return _differ_members(gold, answer, rule)
    known, data = _data(gold)
    both, other = _data(answer)
    if not known or not both or class_name(gold) != class_name(answer):
        return f"expected {show(gold)}, got {show(answer)}"
    reason = differ(data, other, rule)
    return f"{class_name(gold)} {reason}" if reason else None


def _data(value: Any) -> tuple[bool, Any]:
    if isinstance(value, Element | Species | EnumMember):
        return True, list(vars(value).values())[
            -1
        ]  # symbol, text, or the member's value
    if isinstance(
        value, Msonable
    ):  # the version of the library is no part of the value
        fields = value.fields.items()
        return True, {key: item for key, item in fields if key != "@version"}
    if isinstance(value, bytes):
        return True, value.hex()
    return is_scalar(value), str(value)  # times


def _differ_number(gold: complex, answer: Any, rule: Rule) -> str | None:
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


def _differ_items(gold: Sequence[Any], answer: Any, rule: Rule) -> str | None:
    if not isinstance(answer, list | tuple) or len(gold) != len(answer):
        got = len(answer) if isinstance(answer, list | tuple) else show(answer)
        return f"expected {class_name(gold)} of {len(gold)}, got {got}"
    for index, (left, right) in enumerate(zip(gold, answer, strict=True)):
        reason = differ(left, right, rule)
        if reason:
            return f"[{index}]{_join(reason)}"
    return None


def _differ_pairs(gold: Mapping[Any, Any], answer: Any, rule: Rule) -> str | None:
    if not isinstance(answer, Mapping):
        return f"expected a dict of {len(gold)}, got {show(answer)}"
    rest = list(answer.items())
    for key, value in gold.items():
        index = _find(key, [other for other, _ in rest], Rule())
        if index is None:
            return f"[{show(key)}] is missing"
        reason = differ(value, rest.pop(index)[1], rule)
        if reason:
            return f"[{show(key)}]{_join(reason)}"
    return f"[{show(rest[0][0])}] is unexpected" if rest else None


def _differ_members(gold: Any, answer: Any, rule: Rule) -> str | None:
    if not isinstance(answer, _SETS) or len(gold) != len(answer):
        got = len(answer) if isinstance(answer, _SETS) else show(answer)
        return f"expected a set of {len(gold)}, got {got}"
    rest = list(answer)
    for item in gold:
        index = _find(item, rest, rule)
        if index is None:
            return f"the set lacks {show(item)}"
        del rest[index]
    return None


def _find(wanted: Any, items: Sequence[Any], rule: Rule) -> int | None:
    found = (
        index for index, item in enumerate(items) if differ(wanted, item, rule) is None
    )
    return next(found, None)


def _join(reason: str) -> str:
    return reason if reason.startswith("[") else f": {reason}"


def show(value: Any) -> str:
    """A value as a reason shows it."""
    value = plain(value)
    if isinstance(value, list | tuple | Mapping | set | frozenset | Members):
        text = f"{class_name(value)} of {len(value)}"
    elif (
        isinstance(value, int)
        and not isinstance(value, bool)
        and value.bit_length() > 200
    ):
        text = f"an int of {value.bit_length()} bits"
    elif value is None or isinstance(value, bool | int | float | complex | str):
        text = repr(value)
    else:
        text = class_name(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 4] + " ..."


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
        found = (
            f"has {len(self.value)} items"
            if self.length
            else f"is {kind_of(self.value)}"
        )
        return f"{self.place} {found}".strip()


ANY = Format("any")


@lru_cache(maxsize=4096)
def read_format(text: str, *, exactly: bool = False) -> Format:
    """Read a format; what follows it in the text (units, remarks) is not part of it.

    ``list of float`` is ``list[float]``, ``Optional[int]`` and ``int or None`` are ``int | None``.
    What is not understood is ``any``, which every value fits; with ``exactly`` also a format that
    more text follows.
    """
    tokens = _TOKEN.findall(text[:MAX_TEXT].lower())[::-1]  # the next one stands last
    found = _union(tokens, 0)
    return ANY if exactly and (len(text) > MAX_TEXT or tokens) else found


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
        one = _one(tokens, depth + 1)
        return () if one is ANY else (one,)
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
        found = [fault for fault in faults if fault is not None]
        deepest = max(found, key=lambda fault: len(fault.place), default=None)
        if len(found) < len(faults) or deepest is None:
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
