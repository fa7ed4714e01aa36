"""Symbols: what a caller has to know of them, their formulas, plans, and what mistakes change.

A plan (which calls give a quantity) is made from entries alone. The value of a plan shares no code
with the package that is written from the same formulas: what a reference returns in the sandbox is
compared with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from experiments.benchmarks.invented.crystals import (
    ELECTRONEGATIVITY,
    ELEMENTS,
    WorldCrystal,
    measure,
)
from experiments.benchmarks.invented.lexicon import FAMILY, RULES, UNIT, UNITS

Kind = Literal["function", "class", "method", "property", "constant"]
Result = Literal["float", "int", "str", "list", "dict", "structure"]
ChoiceKind = Literal["mode", "number", "element"]
_KEYS: Mapping[str, int | str] = {"first": 0, "last": -1}  # of what is picked of a list


@dataclass(frozen=True)
class Convention:
    """How a quantity is given."""

    family: str = ""  # of lexicon.UNITS; empty for a bare number or text
    unit: str = ""  # symbol
    polarity: int = -1  # which of lexicon.POLARITIES the sign follows; -1: it has none
    sense: int = 0  # which of its two directions is positive

    def factor_to(self, other: Convention) -> float:
        """What a value given so is multiplied by to be given as ``other``."""
        if not (self.family and other.family):
            return 1.0
        factor = UNIT[self.unit].size / UNIT[other.unit].size
        flipped = (
            self.polarity >= 0 and other.polarity >= 0 and self.sense != other.sense
        )
        return -factor if flipped else factor


@dataclass(frozen=True)
class Setting:
    """An option as a text asks for it."""

    kind: ChoiceKind
    meaning: str  # of a mode what holds, of an element the rule, of a number its role
    value: float = 0.0  # of a number
    unit: str = ""


@dataclass(frozen=True)
class Need:
    """What is wanted of another symbol: by a parameter, or (without its name) by a question."""

    param: str  # "structure" where another crystal is to be given than that of the question
    term: str  # the quantity
    settings: tuple[Setting, ...] = ()  # with which it is to be computed
    pick: str = (
        ""  # entry of a list (lexicon.PICKS), or element of a dict (lexicon.RULES)
    )
    convention: Convention = field(
        default_factory=Convention
    )  # in which it is handed over
    reciprocal: bool = False  # then inverted


@dataclass(frozen=True)
class Choice:
    """An option."""

    param: str
    kind: ChoiceKind
    meanings: tuple[tuple[str, str], ...] = ()  # of a mode: values, and what holds then
    default: str | float | None = None  # of a mode or number; an element has none
    role: str = ""  # of a number
    unit: str = ""

    def decides(self, setting: Setting) -> bool:
        """Whether this is the option that a setting is about."""
        if self.kind == "number":
            return setting.kind == "number" and setting.meaning == self.role
        applies = self.kind == "element" or setting.meaning in [
            m for _, m in self.meanings
        ]
        return setting.kind == self.kind and applies


@dataclass(frozen=True)
class Entry:
    """A symbol as a caller knows it."""

    path: str  # dotted name
    kind: Kind
    term: str  # the quantity; a class has none
    subject: str = (
        ""  # first argument: structure, lattice or composition; empty for none
    )
    owner: str = ""  # dotted name of the class, of a method or property
    needs: tuple[Need, ...] = ()  # of a method or property, those of its class
    choices: tuple[Choice, ...] = ()
    result: Result = "float"
    convention: Convention = field(default_factory=Convention)
    order: str = ""  # of the entries of a list: by atomic number or electronegativity
    successor: str = ""  # name of the function to use instead of a deprecated one

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rpartition(".")[2]

    @property
    def of_element(self) -> bool:
        """Whether an option of it is an element."""
        return any(choice.kind == "element" for choice in self.choices)


@dataclass(frozen=True)
class SymbolCall:
    """A call of a symbol (or a constant or table that is read)."""

    entry: Entry
    settings: tuple[tuple[str, Any], ...]  # options that are given, and their values
    inputs: tuple[Edge, ...]  # parameters that take what others give


@dataclass(frozen=True)
class Edge:
    """What a call gives, as it is handed over."""

    param: str
    call: SymbolCall
    key: int | str | None = None  # entry of a list or dict
    factor: float = 1.0  # change of unit and sign
    reciprocal: bool = False  # inverted after that


def plan(need: Need, crystal: WorldCrystal, by_term: Mapping[str, Entry]) -> Edge:
    """The calls that give what is needed; raises where entries do not say where it comes from."""
    entry = by_term[need.term]
    key = _KEYS.get(need.pick)
    settings = tuple(
        (choice.param, _value(choice, setting, crystal))
        for choice in entry.choices
        for setting in filter(choice.decides, need.settings)
        if choice.kind != "mode" or _value(choice, setting, crystal) != choice.default
    )
    call = SymbolCall(
        entry, settings, tuple(plan(need, crystal, by_term) for need in entry.needs)
    )
    if need.pick in RULES:
        key = crystal.element(need.pick)
    factor = entry.convention.factor_to(need.convention)
    return Edge(need.param, call, key, factor, need.reciprocal)


def _value(choice: Choice, setting: Setting, crystal: WorldCrystal) -> Any:
    """The value of an option that a setting asks for."""
    if choice.kind == "mode":
        return next(
            value for value, meaning in choice.meanings if meaning == setting.meaning
        )
    if choice.kind == "number":
        return float(
            f"{setting.value * UNIT[setting.unit].size / UNIT[choice.unit].size:.12g}"
        )
    return crystal.element(setting.meaning)


def calls_of(call: SymbolCall) -> Iterator[SymbolCall]:
    """All calls that one needs, what others need first, and itself at the end."""
    for given in call.inputs:
        yield from calls_of(given.call)
    yield call


def symbols_of(call: SymbolCall) -> set[str]:
    """Dotted names of everything that a call uses, classes included."""
    entries = [inner.entry for inner in calls_of(call)]
    return {name for entry in entries for name in (entry.path, entry.owner) if name}


def depth_of(call: SymbolCall) -> int:
    """Number of calls in the longest chain; what is only read counts as none."""
    own = 0 if call.entry.kind == "constant" else 1
    return own + max((depth_of(given.call) for given in call.inputs), default=0)


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
class WorldSymbol:
    """A public symbol."""

    entry: Entry
    formula: Formula
    layer: int  # number of calls in its longest chain
    gloss: tuple[int, ...]  # numbers of its phrases in the lexicon
    use: tuple[int, ...]
    core: bool  # whether questions may ask for it
    base: str = ""  # class that a class inherits from


#: By dotted name; and what may be taken for each, see `mistakable`.
Symbols = Mapping[str, WorldSymbol]
Others = Mapping[str, Sequence[Entry]]


def evaluate(given: Edge, crystal: WorldCrystal, symbols: Symbols) -> Any:
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


def compute(call: SymbolCall, crystal: WorldCrystal, symbols: Symbols) -> Any:
    """What one call gives: a number, text, list, dict, or for a structure a `Crystal`."""
    entry = call.entry
    formula = symbols[call.entry.path].formula
    if formula.values is not None:
        return dict(formula.values)
    given = {edge.param: evaluate(edge, crystal, symbols) for edge in call.inputs}
    subject = given.pop("structure", crystal)
    needs = {need.param: need for need in entry.needs}
    value = formula.scale
    for ratio in formula.ratios:
        if ratio.kind == "raw":
            taken = measure(ratio.name, subject)
        elif ratio.kind == "need":
            taken = _plain(given[ratio.name], needs[ratio.name])
        else:
            taken = compute(
                SymbolCall(symbols[ratio.name].entry, (), ()), crystal, symbols
            )
        value *= power(taken / ratio.usual, ratio.power)
    for choice, effect in zip(entry.choices, formula.effects, strict=True):
        option = dict(call.settings).get(choice.param, choice.default)
        if choice.kind == "mode":
            value *= effect[str(option)]
        elif choice.kind == "number":
            value *= 1.0 + effect["slope"] * float(str(option))
        else:
            value *= power(
                ELEMENTS[str(option)][ELECTRONEGATIVITY] / 2.0, effect["power"]
            )
    return _result(entry, formula, value, subject)


def _result(entry: Entry, formula: Formula, value: float, subject: WorldCrystal) -> Any:
    if entry.result == "structure":
        return subject.scaled(1.0 + value)
    if entry.result in {"int", "str"}:
        count = math.floor(value / formula.tick)
        return count if entry.result == "int" else f"{formula.prefix}-{count:05d}"
    value = -value if entry.convention.sense else value
    if entry.result == "float":
        return value
    force = {e: ELEMENTS[e][ELECTRONEGATIVITY] for e in subject.elements}
    ordered = (
        sorted(force, key=lambda e: force[e])
        if entry.order == "electronegativity"
        else force
    )
    shares = {e: value * force[e] / 2.0 for e in ordered}
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


MOVED = 0.012  # smallest change that counts, with room above the one per cent that is promised
EDGE = 1e-9  # relative change of lengths that stands for rounding


def mistakes(given: Edge, crystal: WorldCrystal, others: Others) -> Iterator[Edge]:
    """Every single mistake of a caller, anywhere in a plan."""
    call = given.call
    yield from _misread(given, crystal)
    for other in _other_calls(call, crystal, others.get(call.entry.path, ())):
        yield replace(given, call=other)
    for position, inner in enumerate(call.inputs):
        before = call.inputs[:position]
        after = call.inputs[position + 1 :]
        for wrong in mistakes(inner, crystal, others):
            yield replace(given, call=replace(call, inputs=(*before, wrong, *after)))
        if inner.param == "structure":  # the crystal itself in its place
            yield replace(given, call=replace(call, inputs=(*before, *after)))


def _misread(given: Edge, crystal: WorldCrystal) -> Iterator[Edge]:
    """Mistakes about what a call gave: unit, sign, reciprocal, entry or element."""
    convention = given.call.entry.convention
    factor = given.factor
    if abs(factor) != 1.0:
        yield replace(given, factor=math.copysign(1.0, factor))
    elif convention.family:
        yield replace(
            given, factor=factor * _misread_unit(convention.family, convention.unit)
        )
    if factor < 0 or convention.polarity >= 0:
        yield replace(given, factor=-factor)
    if given.param and convention.family:
        yield replace(given, reciprocal=not given.reciprocal)
    keys = [-1 - given.key] if isinstance(given.key, int) else crystal.elements
    if given.key is not None:
        yield from (replace(given, key=key) for key in keys if key != given.key)


def _misread_unit(family: str, symbol: str) -> float:
    """The factor that comes of taking one unit for another."""
    return UNIT[symbol].size / next(u.size for u in UNITS[family] if u.symbol != symbol)


def _other_calls(
    call: SymbolCall, crystal: WorldCrystal, others: Sequence[Entry]
) -> Iterator[SymbolCall]:
    """Mistakes in a call itself: an option, or the symbol."""
    choices = {choice.param: choice for choice in call.entry.choices}
    for position, (param, value) in enumerate(call.settings):
        before = call.settings[:position]
        after = call.settings[position + 1 :]
        if choices[param].default is not None:
            yield replace(call, settings=(*before, *after))
        for other in _other_values(choices[param], value, crystal):
            yield replace(call, settings=(*before, (param, other), *after))
    for entry in others:
        yield replace(
            call, entry=entry, settings=call.settings if entry.successor else ()
        )


def _other_values(choice: Choice, value: Any, crystal: WorldCrystal) -> list[Any]:
    if choice.kind == "number":
        return [value * _misread_unit(FAMILY[choice.role], choice.unit)]
    values = (
        crystal.elements
        if choice.kind == "element"
        else [v for v, _ in choice.meanings]
    )
    return [other for other in values if other not in {value, choice.default}]


def mistakable(symbols: Symbols) -> Others:
    """What may be taken for a symbol: deprecated variants, and leaves that are called alike."""
    entries = [
        s.entry for s in symbols.values() if s.core and s.entry.kind == "function"
    ]
    leaves = [e for e in entries if not (e.needs or e.successor or e.of_element)]
    similar = {}
    for entry in entries:
        variants = [
            candidate
            for candidate in entries
            if candidate.successor and candidate.term == entry.term
        ]
        alike = [
            leaf
            for leaf in leaves
            if leaf is not entry
            and not entry.needs
            and (leaf.subject, leaf.result) == (entry.subject, entry.result)
        ]
        similar[entry.path] = [] if entry.successor else [*variants, *alike[:2]]
    return similar


def all_show(
    given: Edge, crystal: WorldCrystal, symbols: Symbols, others: Others
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


def steady(given: Edge, crystal: WorldCrystal, symbols: Symbols) -> bool:
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
        return set(right) != set(wrong) or any(
            differs(right[k], wrong[k], share) for k in right
        )
    if isinstance(right, list) and isinstance(wrong, list):
        pairs = zip(right, wrong, strict=False)
        return len(right) != len(wrong) or any(
            differs(first, second, share) for first, second in pairs
        )
    if isinstance(right, str) and isinstance(wrong, str):
        (label, _, count), (other, _, wrong_count) = (
            right.partition("-"),
            wrong.partition("-"),
        )
        counted = wrong_count[:9].isdecimal()  # a trace can be forged
        return (
            label != other
            or not counted
            or differs(int(count), int(wrong_count[:9]), share)
        )
    if isinstance(right, int | float) and isinstance(wrong, int | float):
        return not abs(wrong) < 1e308 or abs(wrong - right) > share * abs(right)
    return True
