"""What a generated question consists of, and how its gold is rounded."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any

#: A gold this near to a rounding boundary, in quanta, is drawn again.
MARGIN = Fraction(5, 100)


class AmbiguousError(ValueError):
    """A gold so near to a rounding boundary that a careful solver might miss it."""


@dataclass(frozen=True)
class Slot:
    """One thing that is asked for.

    Attributes
    ----------
    symbol
        As formulas have it.
    text
        What it is, with its unit.
    value
        Before rounding; a text for a word.
    decimals, figures
        How a number is rounded; one of them.
    """

    symbol: str
    text: str
    value: float | str
    decimals: int | None = None
    figures: int | None = None

    @property
    def asked(self) -> str:
        """The line of the question."""
        if self.figures is not None:
            how = f" as a x 10^n with {self.figures} significant figures"
        elif self.decimals:
            how = f" rounded to {self.decimals} decimal{'s' * (self.decimals > 1)}"
        elif self.decimals == 0:
            how = " rounded to an integer"
        else:
            how = ""
        return f"{self.symbol} = {self.text},{how}".rstrip(",")

    @property
    def gold(self) -> str:
        """As the answer should read."""
        if isinstance(self.value, str):
            return self.value
        return rounded(self.value, decimals=self.decimals, figures=self.figures)


def rounded(value: float, *, decimals: int | None, figures: int | None) -> str:
    r"""A number as asked for: ``12.30``, or ``1.23 \times 10^{-5}`` for figures.

    Raises
    ------
    AmbiguousError
        Near a rounding boundary.
    """
    exact = Decimal(value)
    power = exact.adjusted() if figures is not None and value else 0
    places = figures - 1 if figures is not None else decimals or 0
    mantissa = exact.scaleb(-power)
    quantum = Decimal(1).scaleb(-places)
    into = Fraction(mantissa) / Fraction(quantum) % 1
    if abs(into - Fraction(1, 2)) < MARGIN:
        raise AmbiguousError(f"{value} to {places} places")
    text = mantissa.quantize(quantum, ROUND_HALF_EVEN)
    if figures is None:
        return str(text or abs(text))
    if abs(text) >= 10:
        raise AmbiguousError(f"{value} rounds to another power of ten")
    return rf"{text} \times 10^{{{power}}}"


@dataclass(frozen=True)
class Picture:
    """What is drawn: a function of `drawings`, and its parameters."""

    kind: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Draft:
    """A question as its template makes it.

    Attributes
    ----------
    story
        What it is about, in whole sentences.
    given
        Symbol to value and unit, as the question states them; one of them is not needed.
    slots
        What is asked for.
    formulas
        ``symbol = expression`` each, from ``given`` and ``seen`` to the slots that are numbers.
    nested
        Lengths of the groups of slots; empty: one flat list.
    picture, seen
        The drawing, and the numbers that it shows.
    """

    story: str
    given: Mapping[str, tuple[float | str, str]]
    slots: Sequence[Slot]
    formulas: Sequence[str]
    nested: Sequence[int] = ()
    picture: Picture | None = None
    seen: Mapping[str, float] = field(default_factory=dict)


#: Makes a question with numbers of its own.
Template = Callable[[random.Random], Draft]


def grouped(values: Sequence[str], nested: Sequence[int]) -> list[Any]:
    """A flat list of slots in the groups of the question."""
    if not nested:
        return list(values)
    left = iter(values)
    return [[next(left) for _ in range(count)] for count in nested]
