"""Numbers with units, and letters, as answers give them; read in linear time, by no library."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

MAX_CHARACTERS = 200
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_WHOLE = re.compile(
    rf"(?P<number>{_NUMBER})(?:\s*(?:x|\*|\\times|\\cdot|\N{{MULTIPLICATION SIGN}})\s*"
    r"10\s*\^?\s*\{?(?P<power>[-+]?\d{1,4})\}?)?(?P<rest>.*)",
    re.DOTALL,
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")

#: Powers of m, kg, s, A, K, mol.
Dimensions = tuple[int, int, int, int, int, int]
_E = 1.602176634e-19
_BASE: Mapping[str, tuple[float, Dimensions]] = {
    "m": (1.0, (1, 0, 0, 0, 0, 0)), "g": (1e-3, (0, 1, 0, 0, 0, 0)),
    "s": (1.0, (0, 0, 1, 0, 0, 0)), "A": (1.0, (0, 0, 0, 1, 0, 0)),
    "K": (1.0, (0, 0, 0, 0, 1, 0)), "mol": (1.0, (0, 0, 0, 0, 0, 1)),
    "J": (1.0, (2, 1, -2, 0, 0, 0)), "eV": (_E, (2, 1, -2, 0, 0, 0)),
    "N": (1.0, (1, 1, -2, 0, 0, 0)), "Pa": (1.0, (-1, 1, -2, 0, 0, 0)),
    "bar": (1e5, (-1, 1, -2, 0, 0, 0)), "Hz": (1.0, (0, 0, -1, 0, 0, 0)),
    "W": (1.0, (2, 1, -3, 0, 0, 0)), "V": (1.0, (2, 1, -3, -1, 0, 0)),
    "C": (1.0, (0, 0, 1, 1, 0, 0)), "F": (1.0, (-2, -1, 4, 2, 0, 0)),
    "S": (1.0, (-2, -1, 3, 2, 0, 0)), "T": (1.0, (0, 1, -2, -1, 0, 0)),
    "Wb": (1.0, (2, 1, -2, -1, 0, 0)),
}  # fmt: skip
_NONE: Dimensions = (0, 0, 0, 0, 0, 0)
#: Units that take no prefix.
_ALONE: Mapping[str, tuple[float, Dimensions]] = {
    "\N{ANGSTROM SIGN}": (1e-10, _BASE["m"][1]), "\u00c5": (1e-10, _BASE["m"][1]),
    "ang": (1e-10, _BASE["m"][1]), "angstrom": (1e-10, _BASE["m"][1]),
    "Angstrom": (1e-10, _BASE["m"][1]), "angstroms": (1e-10, _BASE["m"][1]),
    "bohr": (5.29177210903e-11, _BASE["m"][1]), "Ha": (27.211386245988 * _E, _BASE["J"][1]),
    "Hartree": (27.211386245988 * _E, _BASE["J"][1]), "Ry": (13.605693122994 * _E, _BASE["J"][1]),
    "ohm": (1.0, (2, 1, -3, -2, 0, 0)),
    "\N{GREEK CAPITAL LETTER OMEGA}": (1.0, (2, 1, -3, -2, 0, 0)),
    "h": (3600.0, _BASE["s"][1]), "min": (60.0, _BASE["s"][1]),
    "\u03bcB": (9.2740100783e-24, (2, 0, 0, 1, 0, 0)),
    "muB": (9.2740100783e-24, (2, 0, 0, 1, 0, 0)),
    "rad": (1.0, _NONE), "deg": (math.pi / 180, _NONE), "degree": (math.pi / 180, _NONE),
    "degrees": (math.pi / 180, _NONE), "\N{DEGREE SIGN}": (math.pi / 180, _NONE),
    "%": (0.01, _NONE), "1": (1.0, _NONE),
    **dict.fromkeys(("atom", "atoms", "cell", "electron", "electrons"), (1.0, _NONE)),
}  # fmt: skip
_PREFIXES = {
    "f": 1e-15, "p": 1e-12, "n": 1e-9, "u": 1e-6, "\u00b5": 1e-6, "\u03bc": 1e-6, "m": 1e-3,
    "c": 1e-2, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
}  # fmt: skip


@dataclass(frozen=True)
class Unit:
    """A factor to SI, and dimensions."""

    factor: float
    dimensions: Dimensions


class ReadingError(ValueError):
    """An answer cannot be read; the text names the verdict."""


def read_unit(text: str) -> Unit:
    """Read a unit such as ``meV``, ``eV/Å^2`` or ``W m^-1 K^-1``.

    Raises
    ------
    ReadingError
        ``UnknownUnit``.
    """
    factor, dimensions = 1.0, list(_NONE)
    parts = re.split(r"(/)|[\s*\N{MIDDLE DOT}]+", text.translate(_SUPERSCRIPTS)[:100])
    sign = 1
    for part in filter(None, parts):
        if part == "/":
            sign = -1
            continue
        match = re.fullmatch(r"([^\d^{}+-]+|1)(?:\^?\{?([-+]?\d)\}?)?", part)
        if match is None:
            raise ReadingError("UnknownUnit")
        power = sign * int(match[2] or 1)
        sign = 1
        one, of = _one(match[1])
        factor *= one**power
        dimensions = [have + power * add for have, add in zip(dimensions, of, strict=True)]
    a, b, c, d, e, f = dimensions
    return Unit(factor, (a, b, c, d, e, f))


def _one(name: str) -> tuple[float, Dimensions]:
    known = _ALONE.get(name) or _BASE.get(name)
    if known is None and name[:1] in _PREFIXES and name[1:] in _BASE:
        base, of = _BASE[name[1:]]
        known = _PREFIXES[name[0]] * base, of
    if known is None:
        raise ReadingError("UnknownUnit")
    return known


def read_number(value: Any, unit: str = "", *, strict_integer: bool = False) -> float:
    """The number of an answer, in ``unit``.

    Parameters
    ----------
    value
        Text, or a number that code returned.
    unit
        What the question asks for; a text without a unit is in it.
    strict_integer
        Refuse whatever is not written as an integer.

    Raises
    ------
    ReadingError
        ``NoNumber``, ``SeveralNumbers``, ``UnknownUnit``, ``WrongUnit``, ``NotFinite``,
        ``NotAnInteger`` or ``TooLong``.
    """
    if isinstance(value, np.generic | np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ReadingError("NoNumber")
    text = value if isinstance(value, str) else repr(value) if abs(value) < 1e300 else "1e999"
    if len(text) > MAX_CHARACTERS:
        raise ReadingError("TooLong")
    text = text.replace("\N{MINUS SIGN}", "-").replace("$", "").rpartition("=")[2].strip(" \t\n*.")
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    text = re.sub(r"\\(?:text|mathrm|,|;)", " ", text)
    match = _WHOLE.fullmatch(re.sub(r"^(?:~|\N{ALMOST EQUAL TO}|about|approximately)\s*", "", text))
    if match is None:
        several = len(re.findall(r"\d+", text)) > 1
        raise ReadingError("SeveralNumbers" if several else "NoNumber")
    if strict_integer and (match["power"] or not re.fullmatch(r"[-+]?\d+", match["number"])):
        raise ReadingError("NotAnInteger")
    try:
        number = float(match["number"]) * 10.0 ** int(match["power"] or 0)
    except OverflowError:
        raise ReadingError("NotFinite") from None
    if not math.isfinite(number):
        raise ReadingError("NotFinite")
    rest = match["rest"].strip(" {}\t\n.")
    return number * _factor(rest, unit) if rest else number


def _factor(rest: str, unit: str) -> float:
    """What a number in one unit is multiplied with to be in another."""
    if rest == unit:  # whatever it is
        return 1.0
    try:
        given = read_unit(rest)
    except ReadingError:
        if re.search(r"(?<![\^\w{-])[-+]?\d", f" {rest}"):
            raise ReadingError("SeveralNumbers") from None
        raise
    wanted = read_unit(unit)
    if given.dimensions != wanted.dimensions:
        raise ReadingError("WrongUnit")
    return given.factor / wanted.factor


def within(number: float, low: float, high: float) -> bool:
    """Whether a number lies in an interval, ends included, whatever a change of units rounds."""
    slack = 1e-12 * max(abs(low), abs(high))
    return low - slack <= number <= high + slack


def choice_share(given: Collection[str], right: Collection[str]) -> float:
    """Share of the right letters that were given; 0 with any wrong one."""
    chosen, wanted = set(given), set(right)
    return len(chosen) / len(wanted) if chosen <= wanted else 0.0
