"""Symbols with their formulas, the value of a plan by them, and whether mistakes show in it.

The evaluation shares no code with the package that is written from the same formulas: what a
reference returns in the sandbox is compared with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from experiments.benchmarks.invented import crystals
from experiments.benchmarks.invented.crystals import ELEMENTS, Crystal
from experiments.benchmarks.invented.entries import Call, Choice, Entry, Given, Need
from experiments.benchmarks.invented.lexicon import FAMILY, UNIT, UNITS


@dataclass(frozen=True)
class Ratio:
    """A factor of a formula: something over its usual magnitude, to a power.

    A measurement of the crystal (``raw``, of `crystals.RAWS`), what a parameter takes (``need``),
    or what a function of the package gives for the same subject (``inner``).
    """

    kind: Literal["raw", "need", "inner"]
    name: str
    usual: float
    power: float


@dataclass(frozen=True)
class Formula:
    """How the library computes a symbol; its documentation does not say."""

    scale: float  # value when every ratio is one, in the unit of the result
    ratios: tuple[Ratio, ...] = ()
    #: Of each option: value -> factor of a mode, ``slope`` of a number, ``power`` of an element.
    effects: tuple[Mapping[str, float], ...] = ()
    tick: float = 1.0  # step that whole numbers and labels count
    prefix: str = ""  # of a label
    values: Mapping[str, float] | None = None  # of a table, by element


@dataclass(frozen=True)
class Symbol:
    """A public symbol."""

    entry: Entry
    formula: Formula
    layer: int  # number of calls in its longest chain
    gloss: tuple[int, ...]  # numbers of its phrases in the lexicon
    use: tuple[int, ...]
    core: bool  # whether questions may ask for it
    base: str = ""  # class that a class inherits from


def evaluate(given: Given, crystal: Crystal, symbols: Mapping[str, Symbol]) -> Any:
    """The value of a plan, as its program should return it."""
    value = compute(given.call, crystal, symbols)
    if given.key is not None:
        value = value[given.key]
    if isinstance(value, list):
        return [item * given.factor for item in value]
    if isinstance(value, dict):
        return {key: item * given.factor for key, item in value.items()}
    value = value * given.factor if given.factor != 1.0 else value
    return 1.0 / value if given.reciprocal else value


def compute(call: Call, crystal: Crystal, symbols: Mapping[str, Symbol]) -> Any:
    """What one call gives: a number, text, list, dict, or for a structure a `Crystal`."""
    entry, formula = call.entry, symbols[call.entry.path].formula
    if formula.values is not None:
        return dict(formula.values)
    given = {one.param: evaluate(one, crystal, symbols) for one in call.inputs}
    subject = given.pop("structure", crystal)
    needs = {need.param: need for need in entry.needs}
    value = formula.scale
    for ratio in formula.ratios:
        if ratio.kind == "raw":
            taken = crystals.measure(ratio.name, subject)
        elif ratio.kind == "need":
            taken = _plain(given[ratio.name], needs[ratio.name])
        else:
            taken = compute(Call(symbols[ratio.name].entry, (), ()), crystal, symbols)
        value *= power(taken / ratio.usual, ratio.power)
    for choice, effect in zip(entry.choices, formula.effects, strict=True):
        option = dict(call.settings).get(choice.param, choice.default)
        if choice.kind == "mode":
            value *= effect[str(option)]
        elif choice.kind == "number":
            value *= 1.0 + effect["slope"] * float(str(option))
        else:
            value *= power(ELEMENTS[str(option)][crystals.ELECTRONEGATIVITY] / 2.0, effect["power"])
    return _result(entry, formula, value, subject)


def _result(entry: Entry, formula: Formula, value: float, subject: Crystal) -> Any:
    if entry.result == "structure":
        return subject.scaled(1.0 + value)
    if entry.result in {"int", "str"}:
        count = math.floor(value / formula.tick)
        return count if entry.result == "int" else f"{formula.prefix}-{count:05d}"
    value = -value if entry.convention.sense else value
    if entry.result == "float":
        return value
    by_force = entry.order == "electronegativity"
    place = crystals.ELECTRONEGATIVITY if by_force else crystals.NUMBER
    ordered = sorted(subject.elements, key=lambda e: ELEMENTS[e][place])
    shares = {e: value * ELEMENTS[e][crystals.ELECTRONEGATIVITY] / 2.0 for e in ordered}
    return list(shares.values()) if entry.result == "list" else shares


def power(value: float, exponent: float) -> float:
    """A power that keeps the sign."""
    return math.copysign(abs(value) ** exponent, value)


def counted(value: Any) -> float:
    """A number, or that of a label."""
    return float(value.partition("-")[2] if isinstance(value, str) else value)


def _plain(value: Any, need: Need) -> float:
    """A value as the formula takes it: a number, positive in the first sense, not inverted."""
    number = 1.0 / counted(value) if need.reciprocal else counted(value)
    return -number if need.convention.sense else number


#: Smallest change that counts, with room above the one per cent that is promised.
MOVED = 0.012
#: Relative change of lengths that stands for rounding.
EDGE = 1e-9


def mistakes(
    given: Given, crystal: Crystal, others: Mapping[str, Sequence[Entry]]
) -> Iterator[Given]:
    """Every single mistake of a caller, anywhere in a plan; ``others`` as of `mistakable`."""
    call = given.call
    yield from _misread(given, crystal)
    for other in _other_calls(call, crystal, others.get(call.entry.path, ())):
        yield replace(given, call=other)
    for position, inner in enumerate(call.inputs):
        before, after = call.inputs[:position], call.inputs[position + 1 :]
        for wrong in mistakes(inner, crystal, others):
            yield replace(given, call=replace(call, inputs=(*before, wrong, *after)))
        if inner.param == "structure":  # the crystal itself in its place
            yield replace(given, call=replace(call, inputs=(*before, *after)))


def _misread(given: Given, crystal: Crystal) -> Iterator[Given]:
    """Mistakes about what a call gave: unit, sign, reciprocal, entry or element."""
    convention, factor = given.call.entry.convention, given.factor
    if abs(factor) != 1.0:
        yield replace(given, factor=math.copysign(1.0, factor))
    elif convention.family:
        wrong = _other_unit(convention.family, convention.unit)
        yield replace(given, factor=factor * UNIT[convention.unit].size / wrong)
    if factor < 0 or convention.polarity >= 0:
        yield replace(given, factor=-factor)
    if given.param and convention.family:
        yield replace(given, reciprocal=not given.reciprocal)
    keys = [-1 - given.key] if isinstance(given.key, int) else crystal.elements
    if given.key is not None:
        yield from (replace(given, key=key) for key in keys if key != given.key)


def _other_unit(family: str, symbol: str) -> float:
    return next(unit.size for unit in UNITS[family] if unit.symbol != symbol)


def _other_calls(call: Call, crystal: Crystal, others: Sequence[Entry]) -> Iterator[Call]:
    """Mistakes in a call itself: an option, or the symbol."""
    choices = {choice.param: choice for choice in call.entry.choices}
    for position, (param, value) in enumerate(call.settings):
        before, after = call.settings[:position], call.settings[position + 1 :]
        if choices[param].default is not None:
            yield replace(call, settings=(*before, *after))
        for other in _other_values(choices[param], value, crystal):
            yield replace(call, settings=(*before, (param, other), *after))
    for entry in others:
        yield replace(call, entry=entry, settings=call.settings if entry.successor else ())


def _other_values(choice: Choice, value: Any, crystal: Crystal) -> list[Any]:
    if choice.kind == "number":
        wrong = _other_unit(FAMILY[choice.role], choice.unit)
        return [value * UNIT[choice.unit].size / wrong]
    known = crystal.elements if choice.kind == "element" else [v for v, _ in choice.meanings]
    return [other for other in known if other not in {value, choice.default}]


def mistakable(symbols: Mapping[str, Symbol]) -> dict[str, list[Entry]]:
    """What may be taken for a symbol: deprecated variants, and leaves that are called alike."""
    entries = [s.entry for s in symbols.values() if s.core and s.entry.kind == "function"]
    leaves = [e for e in entries if not (e.needs or e.successor or e.of_element)]
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        variants = [one for one in entries if one.successor and one.term == entry.term]
        alike = [leaf for leaf in leaves if leaf is not entry and not entry.needs
                 and (leaf.subject, leaf.result) == (entry.subject, entry.result)]  # fmt: skip
        found[entry.path] = [] if entry.successor else [*variants, *alike[:2]]
    return found


def all_show(
    given: Given,
    crystal: Crystal,
    symbols: Mapping[str, Symbol],
    others: Mapping[str, Sequence[Entry]],
) -> bool:
    """Whether each mistake moves the value of a plan, or raises."""
    right = evaluate(given, crystal, symbols)
    for wrong in mistakes(given, crystal, others):
        try:
            if not differs(right, evaluate(wrong, crystal, symbols)):
                return False
        except (ArithmeticError, KeyError, TypeError, ValueError):
            continue
    return True


def steady(given: Given, crystal: Crystal, symbols: Mapping[str, Symbol]) -> bool:
    """Whether rounding decides nothing: no count of the chain stands on the edge of the next one.

    Another order of summation moves a length in its last digits; that must not move a value.
    """
    right = evaluate(given, crystal, symbols)
    near = (evaluate(given, crystal.scaled(1.0 + by), symbols) for by in (-EDGE, EDGE))
    if isinstance(right, int | str):
        return all(value == right for value in near)
    return not any(differs(right, value, 1e3 * EDGE) for value in near)


def differs(right: object, wrong: object, share: float = MOVED) -> bool:
    """Whether two values differ by more than a share, in any of their entries."""
    if isinstance(right, dict) and isinstance(wrong, dict):
        return set(right) != set(wrong) or any(differs(right[k], wrong[k], share) for k in right)
    if isinstance(right, list) and isinstance(wrong, list):
        pairs = zip(right, wrong, strict=False)
        return len(right) != len(wrong) or any(differs(one, two, share) for one, two in pairs)
    if isinstance(right, str) and isinstance(wrong, str):
        (label, _, count), (other, _, wrong_count) = right.partition("-"), wrong.partition("-")
        return label != other or differs(int(count), int(wrong_count), share)
    if isinstance(right, int | float) and isinstance(wrong, int | float):
        return not math.isfinite(wrong) or abs(wrong - right) > share * abs(right)
    return True
