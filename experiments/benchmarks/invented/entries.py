"""What a caller has to know of a symbol, and plans: which calls give a quantity.

A plan is made from entries alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from experiments.benchmarks.invented.crystals import Crystal
from experiments.benchmarks.invented.lexicon import RULES, UNIT

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
        flipped = self.polarity >= 0 and other.polarity >= 0 and self.sense != other.sense
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
    pick: str = ""  # entry of a list (lexicon.PICKS), or element of a dict (lexicon.RULES)
    convention: Convention = field(default_factory=Convention)  # in which it is handed over
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
        known = self.kind == "element" or setting.meaning in [m for _, m in self.meanings]
        return setting.kind == self.kind and known


@dataclass(frozen=True)
class Entry:
    """A symbol as a caller knows it."""

    path: str  # dotted name
    kind: Kind
    term: str  # the quantity; a class has none
    subject: str = ""  # first argument: structure, lattice or composition; empty for none
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
class Call:
    """A call of a symbol (or a constant or table that is read)."""

    entry: Entry
    settings: tuple[tuple[str, Any], ...]  # options that are given, and their values
    inputs: tuple[Given, ...]  # parameters that take what others give


@dataclass(frozen=True)
class Given:
    """What a call gives, as it is handed over."""

    param: str
    call: Call
    key: int | str | None = None  # entry of a list or dict
    factor: float = 1.0  # change of unit and sign
    reciprocal: bool = False  # inverted after that


def plan(need: Need, crystal: Crystal, by_term: Mapping[str, Entry]) -> Given:
    """The calls that give what is needed; raises where entries do not say where it comes from."""
    entry, key = by_term[need.term], _KEYS.get(need.pick)
    settings = tuple(
        (choice.param, _value(choice, setting, crystal))
        for choice in entry.choices
        for setting in filter(choice.decides, need.settings)
        if choice.kind != "mode" or _value(choice, setting, crystal) != choice.default
    )
    call = Call(entry, settings, tuple(plan(one, crystal, by_term) for one in entry.needs))
    if need.pick in RULES:
        key = crystal.element(need.pick)
    factor = entry.convention.factor_to(need.convention)
    return Given(need.param, call, key, factor, need.reciprocal)


def _value(choice: Choice, setting: Setting, crystal: Crystal) -> Any:
    """The value of an option that a setting asks for."""
    if choice.kind == "mode":
        return next(value for value, meaning in choice.meanings if meaning == setting.meaning)
    if choice.kind == "number":
        factor = UNIT[setting.unit].size / UNIT[choice.unit].size
        return float(f"{setting.value * factor:.12g}")
    return crystal.element(setting.meaning)


def calls_of(call: Call) -> Iterator[Call]:
    """All calls that one needs, what others need first, and itself at the end."""
    for given in call.inputs:
        yield from calls_of(given.call)
    yield call


def symbols_of(call: Call) -> set[str]:
    """Dotted names of everything that a call uses, classes included."""
    entries = [one.entry for one in calls_of(call)]
    return {name for entry in entries for name in (entry.path, entry.owner) if name}


def depth_of(call: Call) -> int:
    """Number of calls in the longest chain; what is only read counts as none."""
    own = 0 if call.entry.kind == "constant" else 1
    return own + max((depth_of(given.call) for given in call.inputs), default=0)
