"""What a caller has to know of a symbol: the vocabulary of worlds, documents and references."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from experiments.benchmarks.invented.lexicon import UNIT

Kind = Literal["function", "class", "method", "property", "constant"]
Result = Literal["float", "int", "str", "list", "dict", "structure"]
ChoiceKind = Literal["mode", "number", "element"]


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
        same = self.unit == other.unit
        factor = 1.0 if same else UNIT[self.unit].size / UNIT[other.unit].size
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
    """A parameter that takes what another symbol gives."""

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
