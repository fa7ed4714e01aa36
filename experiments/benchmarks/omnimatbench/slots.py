"""Whether the answer to a slot is right, by four rules, and why it is not.

``significant_figures`` is ours: right to half of the last digit that the gold writes. ``published``
is what the released script does, faults included. ``threshold`` and ``lenient`` stand beside.
All arithmetic is exact, and everything here is linear in the length of the texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, DecimalException
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import numpy as np

from experiments.benchmarks.omnimatbench.numbers import MAX_CHARACTERS, MAX_EXPONENT, bare, read
from experiments.benchmarks.omnimatbench.units import without_unit

#: Slots of an answer that are looked at, nested or not.
MAX_SLOTS = 2000
#: Factors by which a wrong number is in another unit, beside powers of ten.
FACTORS = tuple(
    Fraction(text)
    for text in ("60", "3600", "24", "86400", "1.602176634", "4.184", "6.02214076", "0.0821",
                 "8.314462618", "9.80665", "96485.33212", "57.29577951308232", "6.283185307179586",
                 "3.141592653589793", "27.211386", "1.01325", "2.302585092994046", "2", "0.36")
)  # fmt: skip
_CELSIUS = Fraction("273.15")

#: LaTeX that JSON took for an escape: a tab and ``imes`` was ``\\times``.
_ESCAPE = re.compile("([\b\f\n\r\t])(imes|ext|au|heta|an|frac|rac|eta|ar|ho|ight|u(?![a-z])|abla)")
_MEANT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}

# The released number format: digits on both sides of a point.
_PLAIN = r"[+-]?\d+(?:\.\d+)?"
_PUBLISHED = re.compile(rf"({_PLAIN})(?:[eE]([+-]?\d+))?")
_PUBLISHED_POWER = re.compile(rf"(?:({_PLAIN})\\times)?10\^(?:\{{([+-]?\d+)\}}|([+-]?\d+))")
_PUBLISHED_FRACTION = re.compile(r"([+-]?)(\d*)\\frac\{(\d+)\}\{(\d+)\}")
_PUBLISHED_RATIO = re.compile(r"([+-]?\d+)/(\d+)")
_EXACT = Context(prec=50)  # reproduces which golds the script cannot round


def flat(value: Any) -> list[str]:
    """The slots of an answer as texts, in order: whatever is nested is laid out."""
    return [text for text, _ in zip(_texts(value, 0), range(MAX_SLOTS), strict=False)]


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, np.ndarray | np.generic):
        value = value.ravel()[:MAX_SLOTS].tolist()
    if isinstance(value, list | tuple) and depth < 50:
        for item in value:
            yield from _texts(item, depth + 1)
    elif value is None or isinstance(value, str):
        yield _ESCAPE.sub(lambda found: _MEANT[found[1]] + found[2], value or "")
    elif isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 10**200):
        yield str(value)
    else:  # what code hands back may be anything
        yield f"({type(value).__name__})"


# --- published -------------------------------------------------------------------------------


def published(gold: str, answer: str) -> bool:
    """What the released script says; where it would raise an exception, texts are compared."""
    one, other = (bare(text).replace(",", "") for text in (gold, answer))
    try:
        value, given = _decimal(one), _decimal(other)
        if value is not None and given is not None:
            point = re.search(r"\.(\d+)", one)
            places = Decimal(1).scaleb(-len(point[1]) if point else 0)
            if given.quantize(places, ROUND_HALF_EVEN, _EXACT) == value:
                return True
    except DecimalException:
        pass
    return one == other


def published_slots(golds: Sequence[str], answers: Sequence[str]) -> tuple[int, int]:
    """Right slots of all; missing and surplus ones are compared with an empty text."""
    pairs = list(zip_longest(golds, answers, fillvalue=""))
    return sum(published(gold, answer) for gold, answer in pairs), len(pairs)


def _decimal(text: str) -> Decimal | None:
    if len(text) > MAX_CHARACTERS:
        return None
    if match := _PUBLISHED.fullmatch(text):
        return _shifted(match[1], match[2] or "0")
    if match := _PUBLISHED_POWER.fullmatch(text):
        return _shifted(match[1] or "1", match[2] or match[3])
    if match := _PUBLISHED_FRACTION.fullmatch(text):
        value = _EXACT.divide(Decimal(match[3]), Decimal(match[4])) + int(match[2] or 0)
        return -value if match[1] == "-" else value
    if match := _PUBLISHED_RATIO.fullmatch(text):
        return _EXACT.divide(Decimal(match[1]), Decimal(match[2]))
    return None


def _shifted(mantissa: str, exponent: str) -> Decimal | None:
    power = int(exponent)
    return Decimal(mantissa).scaleb(power) if abs(power) <= MAX_EXPONENT else None


# --- ours ------------------------------------------------------------------------------------


def significant_figures(gold: str, answer: str) -> bool:
    """Right to half of the gold's last written digit; text by equality without its dress.

    A ratio of integers is equal, or right to the digits that the answer writes, at least three.
    """
    wanted, given = read(gold), read(answer)
    if wanted is None or given is None:
        return bare(gold) == bare(answer)
    off = abs(given.value - wanted.value)
    if wanted.quantum:
        return off <= wanted.quantum / 2
    return not off or (given.digits >= 3 and off <= given.quantum / 2)


def threshold(gold: str, answer: str) -> bool:
    """Within a tenth of the gold, as the released script has it beside."""
    wanted, given = read(gold), read(answer)
    if wanted is None or given is None:
        return bare(gold) == bare(answer)
    return abs(given.value - wanted.value) <= abs(wanted.value) / 10


def lenient(gold: str, answer: str) -> bool:
    """As `significant_figures`, in spite of a symbol in front, a percent sign, a unit or case.

    Formulas are another matter: see `formulas.py`.
    """
    for one, other in ((gold, answer), (_undressed(gold), _undressed(answer))):
        if significant_figures(one, other):
            return True
    given = without_unit(_undressed(answer))
    wanted = without_unit(_undressed(gold))
    if given is not None:
        number, unit = given
        if wanted is None:
            return significant_figures(_undressed(gold), number)
        if wanted[1] != unit:
            return _converted(wanted, given)
        return significant_figures(wanted[0], number)
    if wanted is not None:
        return significant_figures(wanted[0], _undressed(answer))
    return _words(gold) == _words(answer)


def _undressed(text: str) -> str:
    """A number without ``symbol =`` in front and without a percent sign behind."""
    symbol, sign, number = text.rpartition("=")
    if sign and len(symbol) <= 60:
        text = number
    return text.strip().removesuffix("%").removesuffix("\\").strip()


def _words(text: str) -> str:
    words = re.sub(r"\\(?:text|mathrm)\{([^{}]*)\}", r"\1", text)
    return " ".join(words.casefold().strip(" .;").split())


def _converted(
    wanted: tuple[str, tuple[Fraction, str]], given: tuple[str, tuple[Fraction, str]]
) -> bool:
    (gold, (one, dimension)), (answer, (other, same)) = wanted, given
    number, value = read(gold), read(answer)
    if dimension != same or number is None or value is None:
        return False
    return abs(value.value * other / one - number.value) <= number.quantum / 2


# --- why not ---------------------------------------------------------------------------------


def error_class(golds: Sequence[str], slot: int, answer: str | None) -> str:
    """The kind of a wrong answer to one of the slots, by rules on its number.

    Returns
    -------
    str
        ``missing``, ``format`` (no number where one is wanted), ``text``, ``factor of ten``,
        ``sign``, ``neighbouring slot`` (right for another slot), ``rounding`` (cut, or with fewer
        digits), ``unit`` (off by a known factor) or ``value``.
    """
    if answer is None or not answer.strip():
        return "missing"
    wanted, given = read(golds[slot]), read(answer)
    if wanted is None:
        return "text"
    if given is None:
        return "format"
    gold, value, quantum = wanted.value, given.value, wanted.quantum
    if _tens(value, gold, quantum) not in {None, 0}:
        return "factor of ten"
    if value and abs(value + gold) <= quantum / 2:
        return "sign"
    others = (other for index, other in enumerate(golds) if index != slot and read(other))
    if any(significant_figures(other, answer) for other in others):
        return "neighbouring slot"
    if abs(value - gold) <= max(quantum, given.quantum / 2):
        return "rounding"
    known = abs(gold) >= 100 * quantum and any(
        _tens(shifted, gold, quantum) is not None
        for factor in FACTORS for shifted in (value * factor, value / factor)
    )  # fmt: skip
    return "unit" if known or abs(abs(value - gold) - _CELSIUS) <= quantum / 2 else "value"


def _tens(value: Fraction, gold: Fraction, quantum: Fraction) -> int | None:
    """The power of ten between two numbers that otherwise agree to half a quantum."""
    if not value or not gold:
        return None
    ratio = gold / value
    if abs(ratio.numerator.bit_length() - ratio.denominator.bit_length()) > 100:
        return None  # thirty powers are enough
    power = round(math.log10(abs(ratio)))
    return power if abs(value * Fraction(10) ** power - gold) <= quantum / 2 else None
