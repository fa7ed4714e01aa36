"""What decides a world: its words and templates, its knobs, and draws that are the same anywhere.

``lexicon.yaml`` holds the words as tables.
"""

# No deferred annotations: a configuration is checked against those of `Knobs`, also where another
# class inherits them.
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from foundation.configuration import data_of

T = TypeVar("T")
_TABLES: Mapping[str, Any] = data_of(__file__)


@dataclass(frozen=True)
class Unit:
    """A unit: symbol, two ways to say it in words, its size in the first unit of its family."""

    symbol: str
    words: str
    other_words: str
    size: float


def _words(name: str) -> dict[str, tuple[str, ...]]:
    return {key: tuple(words) for key, words in _TABLES[name].items()}


UNITS = {
    family: tuple(Unit(*row) for row in rows)
    for family, rows in _TABLES["units"].items()
}
UNIT = {unit.symbol: unit for units in UNITS.values() for unit in units}
NOUNS, RULES, PICKS = map(_words, ("nouns", "rules", "picks"))
#: What an option decides -> meanings of its values; the first wording of each.
MODES = {name: tuple(row[0] for row in rows) for name, rows in _TABLES["modes"].items()}
#: Meaning -> its wordings.
WORDINGS = {row[0]: tuple(row) for rows in _TABLES["modes"].values() for row in rows}
#: Family of units -> what a number that a function takes stands for.
ROLES: Mapping[str, str] = _TABLES["roles"]
FAMILY = {role: family for family, role in ROLES.items()}
POLARITIES = tuple(map(tuple, _TABLES["polarities"]))
#: What a quantity is, and what it is for: three tables each of (documentation, question).
GLOSS, USE = (
    tuple(tuple(_TABLES[name].items()) for name in names)
    for names in (
        ("aspects", "objects", "conditions"),
        ("decisions", "items", "settings"),
    )
)
#: Kind of statement -> ways to say it.
PHRASES: Mapping[str, tuple[str, ...]] = _words("phrases")

_SYLLABLES = [_TABLES["syllables"][part] for part in _TABLES["word"]]
_WORDS = math.prod(map(len, _SYLLABLES))  # that there are
#: Words that a seed has for itself, and the number of seeds that there are words for.
WORDS, SEEDS = 32_768, 2000
_STEP = 48_271_019  # scatters neighbours; prime, so no two numbers meet


def words(seed: int, start: int, count: int) -> list[str]:
    """Words of a seed from number ``start`` on: each number of each seed is a word of its own."""
    result = []
    for number in range(start, start + count):
        rest = (seed * WORDS + number) * _STEP % _WORDS
        word = ""
        for parts in _SYLLABLES:
            rest, place = divmod(rest, len(parts))
            word += parts[place]
        result.append(word)
    return result


@cache
def template(name: str) -> Template:
    """One of ``templates/``."""
    return Environment(  # noqa: S701 - it writes Python
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    ).get_template(name)


_RANGES = {
    "seed": (0, SEEDS - 1),
    "size": (60, 2500),
    "depth": (1, 10),
    "breadth": (2, 40),
    "gap": (0, 2),
    "questions": (1, 200),
}


class WorldError(ValueError):
    """No world can be made with these knobs; says what to change."""


@dataclass(frozen=True)
class Knobs:
    """What decides a world; each varies one thing, as ``conf/benchmark/invented.yaml`` says."""

    seed: int = 1
    size: int = 300
    depth: int = 4
    breadth: int = 20
    gap: Literal[0, 1, 2] = 0
    questions: int = 20

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise WorldError(
                    f"{name}={value}: give a whole number from {low} to {high}"
                )


class Draw:
    """A stream of draws named by what it is for: draws for one purpose do not move another's.

    Only ``random()`` of the standard generator is used; that sequence is guaranteed.
    """

    def __init__(self, *purpose: object) -> None:
        self._random = random.Random("/".join(map(str, purpose)))  # noqa: S311 - no secret

    def number(self) -> float:
        """From 0 to 1."""
        return self._random.random()

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.number() < probability

    def below(self, count: int) -> int:
        """A whole number from 0 to ``count - 1``."""
        return int(self.number() * count)

    def between(self, low: float, high: float, digits: int = 3) -> float:
        """A number of few digits."""
        return round(low + (high - low) * self.number(), digits)

    def choice(self, options: Sequence[T]) -> T:
        """One of them."""
        return options[self.below(len(options))]

    def of(self, *options: T) -> T:
        """One of the arguments."""
        return self.choice(options)

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """All of them in another order."""
        rest = list(options)
        return [rest.pop(self.below(len(rest))) for _ in options]
