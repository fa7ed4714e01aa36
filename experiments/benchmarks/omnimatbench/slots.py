"""Whether the answer to a slot is right by our rules.

``significant_figures``: right to half of the last digit that the gold writes; ``lenient`` stands
beside it. What the released script does is in `released`. All arithmetic is exact, and everything
here is linear in the length of the texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from experiments.scorers.quantities import (
    Quantity,
    ReadingError,
    Unit,
    convert,
    exact,
    plain,
    read_unit,
)

#: Of a number.
MAX_CHARACTERS = 200
_DROPPED = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2060\ufeff]|\$|\\left(?![a-zA-Z])|"
    r"\\right(?![a-zA-Z])|\\[,;:! ()\[\]]|\s"
)
_WIDE = {0xFF10 + digit: str(digit) for digit in range(10)} | {0xFF0E: "."}
#: One after the other: spellings of one sign, and fonts.
_DRESS = [(re.compile(pattern), plain) for pattern, plain in (
    (r"\A\*\*([^*]+)\*\*\Z", r"\1"), (r"\{,\}", ","), (r"\*\*", "^"),
    (r"[\u2010-\u2015\u2212\uff0d]", "-"),
    (r"[\u00d7\u00b7\u2219\u22c5\u2022*]|\\cdot(?![a-zA-Z])", r"\\times"),
    (r"(?<![\\a-zA-Z])[dt]?frac(?=\{)|\\[dt]frac(?=[{\d])", r"\\frac"),
    (r"\\frac(\d)(\d)", r"\\frac{\1}{\2}"),
    (r"\\(?:num|text|textrm|mathrm|mathbf|mathit|operatorname|boxed)\{([^{}]*)\}", r"\1"),
)]  # fmt: skip

#: Slots of an answer that are looked at, nested or not.
MAX_SLOTS = 2000
PERCENT = read_unit("%")
_SYMBOL = re.compile(r"[^\W\d_]+(?:_\w+)?'*(?:\(\w\))?")
_WITH_UNIT = re.compile(
    r"\s*(.*?[\d}.)$])[\s~]*(?:\\[,;: ])?\s*((?:\\?%|[^\d\s{}.%()$^][^\s=]{0,30})?)[.\s$]*"
)
#: LaTeX that JSON took for an escape: a tab and ``imes`` was ``\\times``.
_ESCAPE = re.compile("([\b\f\n\r\t])(imes|ext|au|heta|an|frac|rac|eta|ar|ho|ight|u(?![a-z])|abla)")
_MEANT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def flat(value: Any, *, repaired: bool = True) -> list[str]:
    r"""The slots of an answer as texts, in order: whatever is nested is laid out.

    Unless they are not to be ``repaired``, a tab before ``imes`` is ``\times``.
    """
    texts = [text for text, _ in zip(_texts(value, 0), range(MAX_SLOTS), strict=False)]
    return [_ESCAPE.sub(lambda f: _MEANT[f[1]] + f[2], t) for t in texts] if repaired else texts


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, np.ndarray | np.generic):
        value = value.ravel()[:MAX_SLOTS].tolist()
    if isinstance(value, list | tuple) and depth < 50:
        for item in value:
            yield from _texts(item, depth + 1)
    elif value is None or isinstance(value, str):
        yield value or ""
    elif isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 10**200):
        yield str(value)
    else:  # what code hands back may be anything
        yield f"({type(value).__name__})"


def bare(text: str) -> str:
    """What is left of a text without blanks, dollar signs and other dress; commas stay."""
    text = _DROPPED.sub("", text).translate(_WIDE)
    for pattern, meant in _DRESS:
        text = pattern.sub(meant, text)
    return text


def read(text: str) -> Quantity | None:
    """The number that a slot is; ``None`` for text. Commas and blanks in it do not count."""
    return exact(bare(text).replace(",", "")) if len(text) <= MAX_CHARACTERS else None


def significant_figures(gold: str, answer: str) -> bool:
    """Right to half of the gold's last written digit; text by equality without its dress.

    A ratio of integers is equal, or right to the digits that the answer writes, at least three.
    Questions ask for values without symbols and units: of a gold that has one (``65 %``,
    ``A = 13.60``) the bare number is right as well.
    """
    wanted, given = read(gold), read(answer)
    if given is None or bare(gold) == bare(answer):
        return bare(gold) == bare(answer)
    if wanted is None:
        dressed = _number_with_unit(_sides(gold)[1])
        return dressed is not None and _close(dressed[0], given.value)
    if wanted.quantum:
        return _close(wanted, given.value)
    off = abs(given.value - wanted.value)
    return not off or (given.digits >= 3 and off <= given.quantum / 2)


def _close(wanted: Quantity, value: Fraction) -> bool:
    return abs(value - wanted.value) <= wanted.quantum / 2


def lenient(gold: str, answer: str) -> bool:
    """As `significant_figures`, in spite of a symbol in front, a percent sign, a unit or case.

    A symbol or unit that both have must be the same one, converted where it can be. Formulas are
    another matter.
    """
    if significant_figures(gold, answer):
        return True
    (one, wanted), (other, given) = _sides(gold), _sides(answer)
    if one and other and one != other:
        return False
    right, found = _number_with_unit(wanted), _number_with_unit(given)
    if right is None or found is None:
        return significant_figures(wanted, given) or _words(wanted) == _words(given)
    (number, unit), (value, theirs) = right, found
    if not unit or not theirs or PERCENT in (unit, theirs):
        return number.quantum > 0 and _close(number, value.value)
    try:
        return _close(number, convert(value.value, theirs, unit))
    except ReadingError:
        return False


def _sides(text: str) -> tuple[str, str]:
    """The symbol of ``symbol = value`` in plain writing (else empty), and the value.

    Of several symbols (``A = B = 0``) the first.
    """
    *symbols, value = text.split("=")
    names = [re.sub(r"[{}\\]", "", bare(symbol)) for symbol in symbols]
    if not all(map(_SYMBOL.fullmatch, names)):
        return "", text.strip()
    return (names[0] if names else ""), value.strip()


def _number_with_unit(text: str) -> tuple[Quantity, Unit] | None:
    """A number and nothing behind it but one unit (empty: none)."""
    match = _WITH_UNIT.fullmatch(text) if len(text) <= 200 else None
    if match is None or (number := read(match[1])) is None:
        return None
    try:
        return number, read_unit(plain(match[2])) if match[2] else ()
    except ReadingError:
        return None


def _words(text: str) -> str:
    words = re.sub(r"\\(?:text|mathrm)\{([^{}]*)\}", r"\1", text)
    return " ".join(words.casefold().strip(" .;").split())
