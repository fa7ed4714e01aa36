r"""Numbers with units as answers write them, read exactly; units are pint's.

The one reader of all benchmarks. It knows the dress of numbers (LaTeX, Markdown, thousands, powers
of ten, ratios, uncertainties, a sentence around them), and what is no single number (``9 12``,
``1.05-1.15``, ``2 sqrt(3)``, ``> 3``). Answers are hostile text: at most `MAX_CHARACTERS` are
looked at, exponents stay within `MAX_EXPONENT`, patterns are linear, nothing is evaluated, and
pint sees one known name at a time.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pint

from foundation.configuration import data_of

MAX_CHARACTERS = 300
MAX_EXPONENT = 5000
MAX_POWER = 12  # of a unit
_EQUAL = Fraction(1, 10**12)  # what a change of units and binary fractions may round

_RAISED = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
#: Notations and units.
_KNOWN = data_of(__file__)
_DRESS = [(re.compile(pattern), plain) for pattern, plain in _KNOWN["dress"]]
#: Kept as thousands: 1,100 and 1 100.
_THOUSANDS = re.compile(
    r"(?<![\w.,^-])-?[1-9]\d{0,2}(?:(?:,\d{3})+|(?:\s\d{3})+)(?![\d,]*\d)"
)
_PLAIN = r"(?:\d+(?:\.\d*)?|\.\d+)"
_TEN = r"10\s*(?:\^\s*|(?=[-+]\d))"
_VALUE = re.compile(
    r"(?<![\w.^])(?<![A-Za-z]-)(?<!\^[-+])(?P<sign>(?:^\s*[-+]\s*)|[-+])?(?:"
    r"(?:(?P<whole>\d+)\+)?(?P<above>\d+)/(?P<below>\d+)"
    r"|10\s*\^\s*(?P<bare>[-+]?\d+)"
    rf"|(?P<mantissa>{_PLAIN})(?:[eE](?P<exponent>[-+]?\d+))?"
    rf"(?:\s*[xX*]\s*{_TEN}(?P<power>[-+]?\d+))?)",
    re.ASCII,
)
_ERROR = re.compile(rf"\s*±\s*{_PLAIN}(?:[eE][-+]?\d+)?\s*")
_IN_DIGITS = re.compile(r"(\d\.\d+)\(\d{1,3}\)")
_LONE = re.compile(
    rf"(?<![/\w])\(\s*([-+]?{_PLAIN}(?:[eE][-+]?\d+|\s*[xX*]\s*{_TEN}[-+]?\d+)?)\s*\)"
)
_NO_NUMBER_BEFORE = re.compile(
    r"(?:[<>*/^√+±]|\b(?:sqrt|log|ln|exp|sin|cos|tan|pi|not|least|most|than|up to|between|below"
    r"|above|under|over))\s*\(?\s*$",
    re.IGNORECASE,
)

_TOKEN = re.compile(
    r"\s*(?P<by>/|per\b|[*]|-(?=[A-Za-z]))?\s*(?P<open>\()?\s*"
    r"(?P<name>1(?=\s*/)|[%Ω'\"]|[A-Za-zµÅ_]+(?:-[A-Za-z]{3,})?)"
    r"(?:\s*\^\s*(?P<raised>[-+]?\d{1,3})|(?P<direct>-?\d)(?![\d.]))?\s*(?P<close>\))?"
)
_WORDS, _MATHEMATICS = _KNOWN["words"].split(), _KNOWN["mathematics"].split()
_NAMES = frozenset(_KNOWN["units"].split())
_ALIASES: Mapping[str, str] = {
    **_KNOWN["aliases"],
    **dict.fromkeys(_KNOWN["counted"].split(), "count"),
}
#: Names of pint with their powers.
Unit = tuple[tuple[str, int], ...]


class ReadingError(ValueError):
    """An answer is no single number in this unit; the text names the verdict.

    ``NoNumber``, ``SeveralNumbers``, ``UnknownUnit``, ``WrongUnit``, ``NotFinite``,
    ``NotAnInteger`` or ``TooLong``.
    """


@dataclass(frozen=True)
class Quantity:
    """A number as it was written.

    ``quantum`` is the worth of the last written digit (0 for a ratio of integers, which has none),
    ``digits`` the number of significant ones, ``whole`` whether it is written as an integer.
    """

    value: Fraction
    quantum: Fraction
    digits: int
    whole: bool
    unit: Unit = ()

    def to(self, unit: str) -> Fraction:
        """The value in another unit; without one of its own it is in that unit."""
        return (
            convert(self.value, self.unit, read_unit(unit)) if self.unit else self.value
        )


def read_number(value: Any, unit: str = "", *, strict_integer: bool = False) -> float:
    """The number of an answer (text, or what code returned), in the ``unit`` of the question.

    ``strict_integer`` refuses whatever is not written as an integer; what is no number is a
    `ReadingError`.
    """
    if isinstance(value, np.generic | np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ReadingError("NoNumber")
    if not isinstance(value, str):
        return _finite(value, whole=isinstance(value, int) or not strict_integer)
    read = read_quantity(value, unit)
    return _finite(read.to(unit), whole=read.whole or not strict_integer)


def read_uncertainty(value: Any, unit: str = "") -> float:
    """The uncertainty that a text states behind its number (``±``), in ``unit``; 0 without one."""
    error = _ERROR.search(_undressed(_boxed(value))) if isinstance(value, str) else None
    if error is None:
        return 0.0
    number = read_quantity(value, unit)
    deviation = Fraction(error[0].strip(" ±\n\t"))
    upper = replace(number, value=number.value + deviation)
    return _finite(upper.to(unit) - number.to(unit), whole=True)


def _finite(value: float | Fraction, *, whole: bool) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ReadingError("NotFinite")
    if not whole:
        raise ReadingError("NotAnInteger")
    return number


def within(number: float, low: float, high: float) -> bool:
    """Whether a number lies in an interval, ends included, whatever binary fractions round."""
    slack = float(_EQUAL) * max(abs(low), abs(high))
    return low - slack <= number <= high + slack


def read_quantity(text: str, unit: str = "") -> Quantity:
    """The one number that a text states, with its unit.

    Of a chain of equations the last side counts. A number that is stated again in brackets
    (``1.1 eV (1100 meV)``) is one number. Where the question asks for no ``unit``, words behind
    a number may be a counted thing (``9 k-points``).
    """
    if len(text) > MAX_CHARACTERS:
        raise ReadingError("TooLong")
    text = _last_side(plain(text))
    again = re.search(r"(?<!^)(?<![/\w^])\(([^()]*\d[^()]*)\)", text)
    if again and re.search(r"\d", text[: again.start()]):
        first = read_quantity(text[: again.start()] + text[again.end() :], unit)
        second = read_quantity(
            re.sub(r"^\s*(?:i\.e\.|or|about)\W*", "", again[1]), unit
        )
        apart = abs(first.to(unit) - second.to(unit))
        if second.unit and apart <= convert(
            second.quantum, second.unit, read_unit(unit)
        ):
            return first
        raise ReadingError("SeveralNumbers")
    found = _only(text)
    before, rest = text[: found.start()], text[found.end() :]
    if _NO_NUMBER_BEFORE.search(before) or re.match(r"\.\d", rest):
        raise ReadingError("NoNumber")
    return _with_unit(_value(found), rest, unit)


def exact(text: str) -> Quantity | None:
    """The number that a text is and nothing else; ``None``: none, too long or out of range."""
    found = (
        _VALUE.fullmatch(_undressed(text).strip())
        if len(text) <= MAX_CHARACTERS
        else None
    )
    if found is None or abs(_exponent(found)) > MAX_EXPONENT:
        return None
    return _value(found) if int(found["below"] or 1) else None


def _undressed(text: str) -> str:
    text = unicodedata.normalize("NFC", text).replace("\u2126", "Ω")
    text = re.sub(r"[⁺⁻⁰¹²³⁴-⁹]+", lambda m: "^" + m[0].translate(_RAISED), text)
    for pattern, replacement in _DRESS:
        text = pattern.sub(replacement, text)
    return text


def plain(text: str) -> str:
    """A text without LaTeX, Markdown, thousands separators, subscripts and uncertainties."""
    text = re.sub(r"[{}\\]", " ", _undressed(_boxed(text)))
    text = _THOUSANDS.sub(lambda m: re.sub(r"[,\s]", "", m[0]), text)
    text = _IN_DIGITS.sub(r"\1", text)
    error = _ERROR.search(text)
    if error and re.search(r"\d", text[: error.start()]):
        before, rest = text[: error.start()], text[error.end() :]
        if re.search(r"[A-Za-zÅΩ%]$", before):  # its unit is stated twice
            rest = re.sub(r"^[^\s,;.)]+", "", rest)
        text = before + (" " if rest[:1].isalpha() else "") + rest
    return _LONE.sub(r"\1", text).strip().rstrip(". ")


def _boxed(text: str) -> str:
    """What the last box of LaTeX holds; without one the text."""
    inside = text.rpartition("\\boxed{")[2]
    depth = 1
    for end, sign in enumerate(inside):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth == 0 and len(inside) < len(text):
            return inside[:end]
    return inside


def _last_side(text: str) -> str:
    """What stands right of the last equals sign, where all of it is one chain of equations."""
    before, sign, last = text.rpartition("=")
    if not sign or not re.search(r"\d", last):
        return text.replace("=", " ")
    link = before.rpartition("=")
    if re.search(r"\d\S*\s*(?:[,;\n]|\b(?:and|or)\b)", link[2] if link[1] else before):
        raise ReadingError("SeveralNumbers")
    return last.strip()


def _only(text: str) -> re.Match[str]:
    """The only free number of a text; that of a word (``2D``) is none beside another."""
    free, taken = [], 0
    for found in _VALUE.finditer(text):
        if found.start() < taken:
            continue  # an exponent of the unit before it
        free.append(found)
        taken = found.end() + _unit_length(text[found.end() :])
    if len(free) > 1:
        words = (re.match(r"[A-Za-z]+", text[one.end() :]) for one in free)
        known = [word is None or _pint_name(word[0]) is not None for word in words]
        free = [
            one for one, is_known in zip(free, known, strict=True) if is_known
        ] or free
    if not free:
        raise ReadingError("NoNumber")
    if len(free) > 1 or re.match(r"\s*[*^/+]\s*[\d(]", text[free[0].end() :]):
        raise ReadingError("SeveralNumbers")
    return free[0]


def _unit_length(rest: str) -> int:
    return max((end for end, _ in _tokens(rest)), default=0)


def _value(found: re.Match[str]) -> Quantity:
    """See :class:`Quantity`; without its unit."""
    sign = -1 if (found["sign"] or "").strip() == "-" else 1
    if found["below"]:
        above, below = int(found["above"]), int(found["below"])
        if below == 0:
            raise ReadingError("NotFinite")
        value = int(found["whole"] or 0) + Fraction(above, below)
        return Quantity(sign * value, Fraction(0), len(found["above"]), whole=False)
    mantissa, exponent = found["mantissa"] or "1", _exponent(found)
    if exponent > MAX_EXPONENT:
        raise ReadingError("NotFinite")
    decimals = len(mantissa.partition(".")[2])
    scale = Fraction(10) ** max(exponent, -MAX_EXPONENT)
    written = mantissa.replace(".", "").lstrip("0")
    whole = mantissa.isdigit() and not any(found.group("bare", "exponent", "power"))
    value = sign * Fraction(mantissa.rstrip(".")) * scale
    return Quantity(
        value, scale / Fraction(10) ** decimals, max(1, len(written)), whole
    )


def _exponent(found: re.Match[str]) -> int:
    return sum(int(power or 0) for power in found.group("bare", "exponent", "power"))


def _with_unit(number: Quantity, rest: str, asked: str) -> Quantity:
    """A number with the unit that follows it; other words may follow, wrong units may not."""
    wrapped = re.match(r"\s+\(([^()]*)\)", rest)
    if wrapped:  # "1.1 (eV)", "4 (four)"
        inner = (
            wrapped[1] if _unit_length(wrapped[1]) == len(wrapped[1].rstrip()) else ""
        )
        rest = f" {inner} {rest[wrapped.end() :]}"
    bare = rest.strip(" .)")
    if bare and bare == plain(asked):  # whatever it is
        return number
    written = tuple(part for _, part in _tokens(rest))
    following = _TOKEN.match(rest, _unit_length(rest))
    word = following["name"] if following else ""
    if following and not (word in _WORDS or (written and not following["by"])):
        counted = (
            len(word) > 2 and word.lower() not in _MATHEMATICS and rest[:1] in " -"
        )
        if written or asked or not counted:
            raise ReadingError("UnknownUnit")
    elif not (written or following) and re.match(r"\s*[^\s.,;:)?\"']", rest):
        raise ReadingError("UnknownUnit")
    return replace(number, unit=written)


def _tokens(text: str) -> Iterator[tuple[int, tuple[str, int]]]:
    """The units at the beginning of a text, each with where it ends; stops at another word."""
    position, below = 0, False
    while token := _TOKEN.match(text, position):
        name = None if token["name"] in _WORDS else _pint_name(token["name"])
        power = int(token["raised"] or token["direct"] or 1)
        if name is None or not 0 < abs(power) <= MAX_POWER:
            return
        divides = token["by"] in {"/", "per"}
        sign = -1 if divides or below else 1
        below = ((divides and bool(token["open"])) or below) and not token["close"]
        position = token.end()
        yield position, (name, sign * power)


@functools.lru_cache(maxsize=1)
def _registry() -> Any:
    return pint.UnitRegistry(non_int_type=Fraction)


@functools.lru_cache(maxsize=4096)
def _pint_name(name: str) -> str | None:
    """What pint calls a unit; ``None`` for one that is not ours."""
    if len(name) > 30:
        return None
    for spelling in (_ALIASES.get(name, name), name.lower() if len(name) > 3 else ""):
        for prefix, base, _ in (
            _registry().parse_unit_name(spelling) if spelling else ()
        ):
            if base in _NAMES and not (prefix and base == "degree_Celsius"):
                return f"{prefix}{base}"
    return None


def read_unit(text: str) -> Unit:
    """Read a unit such as ``meV``, ``eV/Å^2`` or ``W m^-1 K^-1``."""
    text = plain(text[:MAX_CHARACTERS])
    if _unit_length(text) != len(text):
        raise ReadingError("UnknownUnit")
    return tuple(part for _, part in _tokens(text))


def convert(value: Fraction, unit: Unit, wanted: Unit) -> Fraction:
    """A value in another unit; energies also per mole and as wave numbers."""
    registry = _registry()
    first, second = (
        math.prod(
            (registry.Unit(name) ** power for name, power in each),
            start=registry.Unit(""),
        )
        for each in (unit, wanted)
    )
    quantity = registry.Quantity(value, first)
    energy, mole, wave = (
        registry.Unit(u).dimensionality for u in ("J", "J/mol", "1/m")
    )
    factor = {
        (mole, energy): "1/avogadro_constant",
        (energy, mole): "avogadro_constant",
        (wave, energy): "planck_constant*speed_of_light",
        (energy, wave): "1/planck_constant/speed_of_light",
    }.get((first.dimensionality, second.dimensionality))
    try:
        if factor:
            quantity *= registry.Quantity(Fraction(1), factor)
        return Fraction(quantity.to(second).magnitude)
    except pint.DimensionalityError:
        raise ReadingError("WrongUnit") from None
