"""What a caller has to know of a symbol: the vocabulary of worlds, documents and references."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from experiments.benchmarks.invented.lexicon import UNITS, Unit

Kind = Literal["function", "class", "method", "property", "constant"]
Result = Literal["float", "int", "str", "list", "dict", "structure"]
ChoiceKind = Literal["mode", "number", "element", "flag"]


@dataclass(frozen=True)
class Convention:
    """How a quantity is given.

    Attributes
    ----------
    family, unit
        Of `lexicon.UNITS`, and the symbol of one of them; empty for a bare number or text.
    polarity, sense
        Which of `lexicon.POLARITIES` the sign follows (-1: it has none) and which of its two
        directions is positive.
    """

    family: str = ""
    unit: str = ""
    polarity: int = -1
    sense: int = 0

    @property
    def measure(self) -> Unit:
        """The unit itself."""
        return next(unit for unit in UNITS[self.family] if unit.symbol == self.unit)

    def factor_to(self, other: Convention) -> float:
        """What a value given so is multiplied by to be given as ``other``."""
        factor = self.measure.size / other.measure.size if self.unit != other.unit else 1.0
        flipped = self.polarity >= 0 and other.polarity >= 0 and self.sense != other.sense
        return -factor if flipped else factor


@dataclass(frozen=True)
class Setting:
    """An option as a text asks for it.

    Attributes
    ----------
    kind, meaning
        Of a mode or flag what holds, of an element the rule, of a number its role.
    value, unit
        Of a number.
    """

    kind: ChoiceKind
    meaning: str
    value: float = 0.0
    unit: str = ""


@dataclass(frozen=True)
class Need:
    """A parameter that takes what another symbol gives.

    Attributes
    ----------
    param, term
        Name of the parameter, and the term of the quantity.
    settings
        Options with which it is to be computed.
    pick
        Which entry of a list (`lexicon.PICKS`) or for which element of a dict or table
        (`lexicon.RULES`), else empty.
    convention, reciprocal
        How it is to be handed over.
    """

    param: str
    term: str
    settings: tuple[Setting, ...] = ()
    pick: str = ""
    convention: Convention = field(default_factory=Convention)
    reciprocal: bool = False


@dataclass(frozen=True)
class Choice:
    """An option.

    Attributes
    ----------
    param, kind
        Its name, and what it decides.
    meanings
        Values with what holds then (modes); one pair for a flag.
    default
        Value of a mode or a number; elements have none, flags are off.
    role, unit
        Of a number.
    """

    param: str
    kind: ChoiceKind
    meanings: tuple[tuple[str, str], ...] = ()
    default: str | float | None = None
    role: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Entry:
    """A symbol as a caller knows it.

    Attributes
    ----------
    path
        Dotted name of the definition.
    term
        The quantity; a class has none.
    subject
        ``structure``, ``lattice`` or ``composition``: the first argument; empty for none.
    owner
        Dotted name of the class, of a method or property.
    needs, choices
        Parameters; a method's or property's needs are those of its class.
    result, convention
        What it gives.
    order
        Of the entries of a list: by ``atomic number`` or ``electronegativity``.
    successor
        Of a deprecated function: name of the one to use.
    """

    path: str
    kind: Kind
    term: str
    subject: str = ""
    owner: str = ""
    needs: tuple[Need, ...] = ()
    choices: tuple[Choice, ...] = ()
    result: Result = "float"
    convention: Convention = field(default_factory=Convention)
    order: str = ""
    successor: str = ""

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rpartition(".")[2]

    def choice(self, setting: Setting) -> Choice:
        """The option that a setting is about."""
        return next(c for c in self.choices if _decides(c, setting))


def _decides(choice: Choice, setting: Setting) -> bool:
    if choice.kind != setting.kind:
        return False
    if choice.kind == "number":
        return choice.role == setting.meaning
    return choice.kind == "element" or setting.meaning in dict(choice.meanings).values()
