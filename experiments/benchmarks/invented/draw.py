"""Seeded draws that are the same on every Python version, and words that no other seed has."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
_ONSETS = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z",
           "br", "dr", "gr", "kl", "kr", "pl", "pr", "sk", "sn", "st", "tr", "vl")  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u", "ai", "eo", "ua")
_CODAS = ("b", "d", "k", "l", "m", "n", "r", "sk", "t", "x")
_PARTS = (_ONSETS, _VOWELS, _ONSETS, _VOWELS, _ONSETS, _VOWELS, _CODAS)
_WORDS = math.prod(map(len, _PARTS))  # that there are
#: Words that a seed has for itself, and the number of seeds that there are words for.
WORDS = 32_768
_STEP = 48_271_019  # scatters neighbours; prime, so no two numbers meet
SEEDS = 2000


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


def words(seed: int, start: int, count: int) -> list[str]:
    """Words of a seed from number ``start`` on: each number of each seed is a word of its own."""
    found = []
    for number in range(start, start + count):
        rest, word = (seed * WORDS + number) * _STEP % _WORDS, ""
        for parts in _PARTS:
            rest, place = divmod(rest, len(parts))
            word += parts[place]
        found.append(word)
    return found
