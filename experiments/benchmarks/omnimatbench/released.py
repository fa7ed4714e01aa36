"""What the released scripts accept, faults included (scripts/cal of the authors' repository).

Where a script would stop with an exception, and with it the scoring of everything, texts are
compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, DecimalException, localcontext
from itertools import zip_longest

from experiments.samples import data_of

#: Longer texts are compared as texts.
MAX_CHARACTERS = 5000
#: Of the other score: share of the larger number, and what counts as zero.
NEAR, ZERO = Decimal("0.1"), Decimal("1e-12")

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
#: One after the other, as the script does.
_REPLACED = data_of(__file__, "slots")["released"]
_FONTS = re.compile(r"\\(?:mathrm|operatorname|text|textrm|mathbf|mathit|mathrmbf)\{([^{}]*)\}")
_BOXED = re.compile(r"\\boxed\{([^{}]*)\}")

_INTEGER, _PLAIN = r"[+-]?\d+", r"[+-]?\d+(?:\.\d+)?"
_EXPONENT = rf"10\^?\{{?({_INTEGER})\}}?"
_NUMBER = re.compile(rf"{_PLAIN}(?:[eE]{_INTEGER})?")
_SCIENTIFIC = re.compile(rf"({_PLAIN})x{_EXPONENT}")
_POWER = re.compile(_EXPONENT)
_FRACTION = re.compile(rf"\\frac\{{({_PLAIN})\}}\{{({_PLAIN})\}}")
_MIXED = re.compile(r"([+-])?(\d+)\\frac\{(\d+(?:\.\d+)?)\}\{(\d+(?:\.\d+)?)\}")
_RATIO = re.compile(rf"({_PLAIN})/({_PLAIN})")


def clean(text: str) -> str:
    """A text in the scripts' normal form."""
    text = _CONTROL.sub("", text)
    for spelling, plain in _REPLACED:
        text = text.replace(spelling, plain)
    text = re.sub(r"(?<!\\)frac", r"\\frac", text)
    return _BOXED.sub(r"\1", _FONTS.sub(r"\1", text))


def number(text: str) -> Decimal | None:
    """The number of a cleaned text; the digits of all alphabets count.

    Raises
    ------
    ArithmeticError, ValueError
        Where the script does.
    """
    if _NUMBER.fullmatch(text):
        return Decimal(text)
    if match := _SCIENTIFIC.fullmatch(text):
        return Decimal(match[1]) * Decimal(10) ** int(match[2])
    if match := _POWER.fullmatch(text):
        return Decimal(10) ** int(match[1])
    if match := _FRACTION.fullmatch(text) or _RATIO.fullmatch(text):
        below = Decimal(match[2])
        return Decimal(match[1]) / below if below else None
    if match := _MIXED.fullmatch(text):
        below = Decimal(match[4])
        sign = -1 if match[1] == "-" else 1
        return sign * (Decimal(match[2]) + Decimal(match[3]) / below) if below else None
    return None


def _agree(gold: str, answer: str, rule: Callable[[Decimal, Decimal], bool]) -> bool:
    """Whether two numbers agree by a rule, or the texts are the same."""
    one, other = clean(gold), clean(answer)
    try:
        with localcontext(Context(prec=50)):
            if max(len(gold), len(answer)) <= MAX_CHARACTERS:
                right, given = number(one), number(other)
                if right is not None and given is not None and rule(right, given):
                    return True
    except (DecimalException, ValueError):
        pass
    return one == other


def published(gold: str, answer: str) -> bool:
    """The exact score: rounded to as many decimals as follow the first point of the gold's text."""
    point = re.search(r"\.(\d+)", gold.strip())
    quantum = Decimal(f"1e-{len(point[1]) if point else 0}")
    return _agree(gold, answer, lambda right, given: given.quantize(quantum) == right)


def threshold(gold: str, answer: str) -> bool:
    """The other score: apart by at most a tenth of the larger one."""

    def near(right: Decimal, given: Decimal) -> bool:
        most = max(abs(right), abs(given))
        return abs(right - given) <= (NEAR * most if right and given else ZERO)

    return _agree(gold, answer, near)


def published_slots(golds: Sequence[str], answers: Sequence[str]) -> tuple[int, int]:
    """Right slots of all; missing and surplus ones are compared with an empty text."""
    pairs = list(zip_longest(golds, answers, fillvalue=""))
    return sum(published(gold, answer) for gold, answer in pairs), len(pairs)
