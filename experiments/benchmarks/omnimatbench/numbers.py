"""Numbers as text writes them, read exactly: the value, and what its last written digit is worth.

Answers are hostile text. A number has at most `MAX_CHARACTERS` characters and an exponent within
`MAX_EXPONENT`; whatever is beyond is text, and nothing of it is computed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

MAX_CHARACTERS = 200
MAX_EXPONENT = 5000

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2060\ufeff]")
_DROPPED = re.compile(r"\$|\\left(?![a-zA-Z])|\\right(?![a-zA-Z])|\s")
_MINUS = re.compile("[\N{MINUS SIGN}\N{EN DASH}\N{EM DASH}\N{FULLWIDTH HYPHEN-MINUS}]")
_TIMES = re.compile(
    "\N{MULTIPLICATION SIGN}|\N{MIDDLE DOT}|\N{DOT OPERATOR}|[*]|" + r"\\cdot(?![a-zA-Z])"
)
_WRAPPED = re.compile(r"\\(?:text|mathrm|boxed)\{([^{}]*)\}")

_PLAIN = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)"
_NUMBER = re.compile(rf"({_PLAIN})(?:[eE]([+-]?\d+))?")
_POWER = re.compile(rf"(?:({_PLAIN})(?:\\times|[xX]))?([+-]?)10\^(?:\{{([+-]?\d+)\}}|([+-]?\d+))")
_FRACTION = re.compile(r"([+-]?)(\d*)\\frac\{(\d+)\}\{(\d+)\}")
_RATIO = re.compile(r"([+-]?\d+)/(\d+)")
_RAISED = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")


@dataclass(frozen=True)
class Number:
    """A number as it was written.

    Attributes
    ----------
    quantum
        Worth of the last written digit; 0 for a ratio of integers, which has none.
    digits
        Significant digits that were written.
    """

    value: Fraction
    quantum: Fraction
    digits: int


def bare(text: str) -> str:
    """What is left of a text without blanks, dollar signs and other dress; commas stay."""
    text = _DROPPED.sub("", _CONTROL.sub("", text))
    text = _TIMES.sub(r"\\times", _MINUS.sub("-", text))
    text = re.sub(r"(?<![\\a-zA-Z])frac(?=\{)", r"\\frac", text)
    return _WRAPPED.sub(r"\1", text)


def read(text: str) -> Number | None:
    """The number that a text is; ``None`` where it is none, too long or out of range."""
    if len(text) > MAX_CHARACTERS:
        return None
    text = bare(text).replace(",", "")
    text = re.sub("10([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda m: f"10^{m[1].translate(_RAISED)}", text)
    if match := _NUMBER.fullmatch(text):
        return _scaled(match[1], match[2] or "0")
    if match := _POWER.fullmatch(text):
        mantissa, sign, *exponents = match.groups()
        if mantissa is not None and sign:
            return None
        return _scaled(mantissa or f"{sign}1", exponents[0] or exponents[1])
    if match := _FRACTION.fullmatch(text):
        sign, whole, above, below = match.groups()
        return _ratio(sign, int(whole or 0) * int(below) + int(above), int(below))
    if match := _RATIO.fullmatch(text):
        return _ratio("", int(match[1]), int(match[2]))
    return None


def _scaled(mantissa: str, exponent: str) -> Number | None:
    power = int(exponent)
    if abs(power) > MAX_EXPONENT:
        return None
    decimals = len(mantissa.partition(".")[2])
    written = mantissa.lstrip("+-").replace(".", "").lstrip("0")
    return Number(
        Fraction(mantissa.rstrip(".") or "0") * Fraction(10) ** power,
        Fraction(10) ** (power - decimals),
        max(1, len(written)),
    )


def _ratio(sign: str, above: int, below: int) -> Number | None:
    if below == 0:
        return None
    value = Fraction(above, below)
    return Number(-value if sign == "-" else value, Fraction(0), len(str(above)))
