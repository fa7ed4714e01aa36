"""One unit behind a number: enough to see that 5000 kPa is 5 MPa."""

from __future__ import annotations

import re
from fractions import Fraction

_PREFIXES = {"": 0, "n": -9, "u": -6, "µ": -6, "μ": -6, "m": -3, "c": -2, "k": 3, "M": 6, "G": 9}
#: Unit -> factor to the base of its dimension, dimension; those with prefixes.
_SCALED = {
    "m": ("1", "length"), "g": ("1", "mass"), "s": ("1", "time"), "Pa": ("1", "pressure"),
    "J": ("1", "energy"), "eV": ("1.602176634e-19", "energy"), "cal": ("4.184", "energy"),
    "K": ("1", "temperature"), "A": ("1", "current"), "V": ("1", "voltage"), "W": ("1", "power"),
    "Hz": ("1", "frequency"), "N": ("1", "force"), "mol": ("1", "amount"), "C": ("1", "charge"),
    "T": ("1", "field"), "F": ("1", "capacity"), "L": ("1", "volume"), "J/mol": ("1", "per mole"),
    "cal/mol": ("4.184", "per mole"), "Ω": ("1", "resistance"),
}  # fmt: skip
_OTHERS = {
    "Å": ("1e-10", "length"), "min": ("60", "time"), "h": ("3600", "time"), "d": ("86400", "time"),
    "bar": ("1e5", "pressure"), "atm": ("101325", "pressure"), "°": ("1", "angle"),
    "°C": ("1", "celsius"), "deg": ("1", "angle"), "rad": ("57.29577951308232", "angle"),
    "g/cm^3": ("1000", "density"), "kg/m^3": ("1", "density"), "%": ("1", "share"),
}  # fmt: skip
_UNITS = {name: (Fraction(factor), dimension) for name, (factor, dimension) in _OTHERS.items()} | {
    prefix + name: (Fraction(factor) * Fraction(10) ** power, dimension)
    for name, (factor, dimension) in _SCALED.items()
    for prefix, power in _PREFIXES.items()
}  # fmt: skip
_TRAILING = re.compile(r"(.*[\d}.])\s*([^\d\s{}.][^\s{}]{0,15})")
_SPELLINGS = {"\\Omega": "Ω", "\\mu": "µ", "^\\circ": "°", "\\AA": "Å", "³": "^3", "{3}": "3"}


def without_unit(text: str) -> tuple[str, tuple[Fraction, str]] | None:
    """A number and the unit behind it (factor to its base, dimension); ``None`` where is none."""
    if len(text) > 200:
        return None
    text = re.sub(r"\\(?:text|mathrm)\{([^{}]*)\}", r" \1", text.replace("\\,", " "))
    for spelling, plain in _SPELLINGS.items():
        text = text.replace(spelling, plain)
    match = _TRAILING.fullmatch(text.strip().strip("$"))
    unit = _UNITS.get(match[2]) if match else None
    return None if match is None or unit is None else (match[1].strip(), unit)
