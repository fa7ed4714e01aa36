"""What decides a world: its knobs, and seeded draws that are the same on every Python version."""

# No deferred annotations: a configuration is checked against those of `Knobs`, also where another
# class inherits them.
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from experiments.benchmarks.invented.lexicon import SEEDS

T = TypeVar("T")
_RANGES = {"seed": (0, SEEDS - 1), "size": (60, 2500), "depth": (1, 10), "breadth": (2, 40),
           "gap": (0, 2), "questions": (1, 200)}  # fmt: skip


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
                raise WorldError(f"{name}={value}: give a whole number from {low} to {high}")


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
