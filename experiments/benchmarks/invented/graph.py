"""Symbols with their formulas, and the value of a plan by them.

The evaluation shares no code with the package that is written from the same formulas: what a
reference returns in the sandbox is compared with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from experiments.benchmarks.invented import crystals
from experiments.benchmarks.invented.crystals import ELEMENTS, Crystal
from experiments.benchmarks.invented.entries import Entry, Need
from experiments.benchmarks.invented.plans import Call, Given


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
