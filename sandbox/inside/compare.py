"""Compares an answer with the expected values: decoded data, no class that it names is looked up.

numpy scalars count as Python's, arrays and tuples as lists: it is their content that matters. The
formats that a question asks for (``dict[str, list[float]]``) are read and compared, too.
"""

from __future__ import annotations

import cmath
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sandbox.inside.decoding import WireError, decode
from sandbox.inside.formats import misfit, read_format
from sandbox.inside.values import (
    Element,
    EnumMember,
    Members,
    Msonable,
    Species,
    class_name,
    is_scalar,
    plain,
)

REASON = 1000  # characters of a reason
#: What numbers and objects of any size can raise while they are compared.
_INCOMPARABLE = (ArithmeticError, AttributeError, RecursionError, TypeError, ValueError)
_SETS = (set, frozenset, Members)
SHOWN = 60  # characters of a value in a reason, of a key in a finding


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
    fault = misfit(value, read_format(form, exactly=True))
    if fault is None:
        return None
    if fault.length:
        reason = f"expected tuple of {len(fault.wanted.inner)}, got {len(fault.value)}"
    else:
        wanted = fault.wanted if fault.wanted.kind == "union" else fault.wanted.kind
        reason = f"expected {wanted}, got {class_name(fault.value)}"
    return f"{fault.place}: {reason}" if fault.place else reason


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
    try:
        return _differ_beyond(gold, answer, rule)
    except OverflowError:  # an integer that no float can hold
        return f"expected {show(gold)}, got {show(answer)}"


def _differ_beyond(gold: complex, answer: complex, rule: Rule) -> str | None:
    """Why unequal numbers are further apart than the tolerance; ``None`` where they are not."""
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
    matches = (
        index for index, item in enumerate(items) if differ(wanted, item, rule) is None
    )
    return next(matches, None)


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
