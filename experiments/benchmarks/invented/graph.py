"""The vocabulary of worlds: knobs, symbols with their formulas, and their evaluation.

The evaluation shares no code with the package that is written from the same formulas: what a
reference returns in the sandbox is compared with it.
"""

# No deferred annotations: a configuration is checked against those of `Knobs`, also where another
# class inherits them.
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from experiments.benchmarks.invented.crystals import ELEMENTS, Crystal, measure
from experiments.benchmarks.invented.draw import SEEDS
from experiments.benchmarks.invented.entries import Entry, Need
from experiments.benchmarks.invented.plans import Call, Given

SMALLEST, LARGEST, DEEPEST = 60, 2500, 10


class KnobError(ValueError):
    """A knob has a value that there is no world for; says which there are."""


@dataclass(frozen=True)
class Knobs:
    """What decides a world; each varies one thing.

    Attributes
    ----------
    seed
        Which world: all words and values.
    size
        Number of public symbols. The questions stay the same.
    depth
        Longest chain of calls that a question needs.
    breadth
        Number of symbols that a question needs, as far as ``depth`` permits.
    gap
        A question names its quantities by their term (0), by a paraphrase of what the
        documentation says (1), or by what they are used for (2).
    docs
        ``full`` docstrings; ``signatures``: only their first line; ``source``: none (the facts
        are comments in the code); ``outdated``: one in ten says something that is no longer true.
    names
        ``telling`` or ``opaque``.
    results
        ``mixed`` kinds of values, or ``floats`` only.
    questions
        How many.
    """

    seed: int = 1
    size: int = 300
    depth: int = 4
    breadth: int = 8
    gap: Literal[0, 1, 2] = 0
    docs: Literal["full", "signatures", "source", "outdated"] = "full"
    names: Literal["telling", "opaque"] = "telling"
    results: Literal["mixed", "floats"] = "mixed"
    questions: int = 30

    def __post_init__(self) -> None:
        limits = {"seed": (0, SEEDS - 1), "size": (SMALLEST, LARGEST), "depth": (1, DEEPEST),
                  "breadth": (2, 40), "gap": (0, 2), "questions": (1, 200)}  # fmt: skip
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise KnobError(f"{name}={value}: give a whole number from {low} to {high}")
        words = {"docs": ("full", "signatures", "source", "outdated"),
                 "names": ("telling", "opaque"), "results": ("mixed", "floats")}  # fmt: skip
        for name, known in words.items():
            if getattr(self, name) not in known:
                raise KnobError(f"{name}={getattr(self, name)}: choose one of {', '.join(known)}")


@dataclass(frozen=True)
class Formula:
    """How the library computes a symbol; its documentation does not say.

    Attributes
    ----------
    scale
        Value when every ratio is one, in the unit of the result.
    raw, raw_reference, raw_power
        Measurement of the crystal (`crystals.RAWS`).
    inputs
        Parameter -> (usual magnitude, power).
    effects
        Option -> value -> factor (modes, flags), or slope (numbers), or power (elements).
    inner
        Function of the library that is called with the same subject: path, magnitude, power.
    tick
        Step that whole numbers and labels count.
    prefix
        Of a label.
    values
        Of a table, by element.
    """

    scale: float
    raw: str = ""
    raw_reference: float = 1.0
    raw_power: float = 1.0
    inputs: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    effects: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    inner: tuple[str, float, float] | None = None
    tick: float = 1.0
    prefix: str = ""
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Symbol:
    """A public symbol.

    Attributes
    ----------
    layer
        Number of calls in its longest chain.
    gloss, use
        Numbers of its phrases in the lexicon.
    base
        Of a class: the class that it inherits from.
    core
        Whether questions may ask for it.
    """

    entry: Entry
    formula: Formula
    layer: int
    gloss: tuple[int, int, int] = (0, 0, 0)
    use: tuple[int, int, int] = (0, 0, 0)
    base: str = ""
    core: bool = False


def evaluate(given: Given, crystal: Crystal, symbols: Mapping[str, Symbol]) -> Any:
    """The value of a plan, as its program should return it."""
    value = compute(given.call, crystal, symbols)
    if given.key is not None:
        value = value[given.key]
    if isinstance(value, list):
        return [item * given.factor for item in value]
    if isinstance(value, dict):
        return {key: item * given.factor for key, item in value.items()}
    if given.reciprocal:
        return 1.0 / (value * given.factor)
    return value * given.factor if given.factor != 1.0 else value


def compute(call: Call, crystal: Crystal, symbols: Mapping[str, Symbol]) -> Any:
    """What one call gives: a number, text, list, dict, or for a structure a `Crystal`."""
    symbol = symbols[call.entry.path]
    entry, formula = symbol.entry, symbol.formula
    if formula.values:
        return dict(formula.values)
    given = {one.param: evaluate(one, crystal, symbols) for one in call.inputs}
    subject = given.pop("structure", crystal)
    value = formula.scale
    if formula.raw:
        raw = measure(formula.raw, subject)
        value *= power(raw / formula.raw_reference, formula.raw_power)
    for need in entry.needs:
        if need.param in formula.inputs:
            usual, exponent = formula.inputs[need.param]
            value *= power(_plain(given[need.param], need) / usual, exponent)
    if formula.inner is not None:
        path, usual, exponent = formula.inner
        inner = compute(Call(symbols[path].entry, (), ()), crystal, symbols)
        value *= power(inner / usual, exponent)
    value *= _effects(call, symbol)
    if entry.result == "structure":
        return subject.scaled(1.0 + value)
    if entry.result in {"int", "str"}:
        count = math.floor(value / formula.tick)
        return count if entry.result == "int" else f"{formula.prefix}-{count:05d}"
    value = -value if entry.convention.sense else value
    if entry.result == "float":
        return value
    place = 0 if entry.order == "atomic number" else 2
    ordered = sorted(subject.elements, key=lambda e: ELEMENTS[e][place])
    shares = {element: value * ELEMENTS[element][2] / 2.0 for element in ordered}
    return list(shares.values()) if entry.result == "list" else shares


def power(value: float, exponent: float) -> float:
    """A power that keeps the sign."""
    return math.copysign(abs(value) ** exponent, value)


def _plain(value: Any, need: Need) -> float:
    """A value as the formula takes it: a number, positive in the first sense, not inverted."""
    number = float(value.partition("-")[2] if isinstance(value, str) else value)
    number = 1.0 / number if need.reciprocal else number
    return -number if need.convention.sense else number


def _effects(call: Call, symbol: Symbol) -> float:
    settings = dict(call.settings)
    factor = 1.0
    for choice in symbol.entry.choices:
        effect = symbol.formula.effects[choice.param]
        value = settings.get(choice.param, choice.default)
        if choice.kind == "mode":
            factor *= effect[str(value)]
        elif choice.kind == "flag":
            factor *= effect["on"] if value else 1.0
        elif choice.kind == "number":
            factor *= 1.0 + effect["slope"] * float(value or 0.0)
        else:
            factor *= power(ELEMENTS[str(value)][2] / 2.0, effect["power"])
    return factor
