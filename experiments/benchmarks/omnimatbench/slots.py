"""Slots: how they are read from a reply, and whether one is right by our rules.

``significant_figures``: right to half of the last digit that the gold writes; ``lenient`` stands
beside it. What the released script does is in `released`. All arithmetic is exact, and everything
here is linear in the length of the texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, DecimalException, localcontext
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import numpy as np

from agents.answer_formats import MAX_CHARACTERS, Json, Reading, escaped, parse_json
from docgen.reading import spoken
from experiments.scorers.quantities import (
    Quantity,
    ReadingError,
    Unit,
    convert,
    exact,
    plain,
    read_unit,
)
from foundation.configuration import data_of

#: Characters of a number.
MAX_NUMBER = 200
_KNOWN = data_of(__file__)
_DROPPED = re.compile(_KNOWN["dropped"])
_WIDE = {0xFF10 + digit: str(digit) for digit in range(10)} | {0xFF0E: "."}
_DRESS = [(re.compile(pattern), meant) for pattern, meant in _KNOWN["dress"]]

#: Slots of an answer that are looked at, nested or not.
MAX_SLOTS = 2000
PERCENT = read_unit("%")
_SYMBOL = re.compile(r"[^\W\d_]+(?:_\w+)?'*(?:\(\w\))?")
_WITH_UNIT = re.compile(
    r"\s*(.*?[\d}.)$])[\s~]*(?:\\[,;: ])?\s*((?:\\?%|[^\d\s{}.%()$^][^\s=]{0,30})?)[.\s$]*"
)
#: LaTeX that JSON took for an escape: a tab and ``imes`` was ``\\times``.
_ESCAPE = re.compile(
    "([\b\f\n\r\t])(imes|ext|au|heta|an|frac|rac|eta|ar|ho|ight|u(?![a-z])|abla)"
)
_MEANT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def flat(value: Any, *, repaired: bool = True) -> list[str]:
    r"""The slots of an answer as texts, in order: whatever is nested is laid out.

    Unless they are not to be ``repaired``, a tab before ``imes`` is ``\times``.
    """
    texts = [text for text, _ in zip(_texts(value, 0), range(MAX_SLOTS), strict=False)]
    return (
        [_ESCAPE.sub(lambda f: _MEANT[f[1]] + f[2], t) for t in texts]
        if repaired
        else texts
    )


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, np.ndarray | np.generic):
        value = value.ravel()[:MAX_SLOTS].tolist()
    if isinstance(value, list | tuple) and depth < 50:
        for item in value:
            yield from _texts(item, depth + 1)
    elif value is None or isinstance(value, str):
        yield value or ""
    elif isinstance(value, bool | float) or (
        isinstance(value, int) and abs(value) < 10**200
    ):
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
    return exact(bare(text).replace(",", "")) if len(text) <= MAX_NUMBER else None


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
    (symbol, wanted), (other, given) = _sides(gold), _sides(answer)
    if symbol and other and symbol != other:
        return False
    right, answer_number = _number_with_unit(wanted), _number_with_unit(given)
    if right is None or answer_number is None:
        return significant_figures(wanted, given) or _words(wanted) == _words(given)
    (number, unit), (value, theirs) = right, answer_number
    if not unit or not theirs or PERCENT in (unit, theirs):
        return _close(number, value.value)
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
    match = _WITH_UNIT.fullmatch(text) if len(text) <= MAX_NUMBER else None
    if match is None or (number := read(match[1])) is None:
        return None
    try:
        return number, read_unit(plain(match[2])) if match[2] else ()
    except ReadingError:
        return None


def _words(text: str) -> str:
    words = re.sub(r"\\(?:text|mathrm)\{([^{}]*)\}", r"\1", text)
    return " ".join(words.casefold().strip(" .;").split())


# What the released scripts accept, faults included (scripts/cal of the authors' repository). Where
# a script would stop with an exception, and with it the scoring of all, texts are compared.

MAX_RELEASED = 5000  # characters; longer texts are compared as texts
#: Of the other score: share of the larger number, and what counts as zero.
NEAR, ZERO = Decimal("0.1"), Decimal("1e-12")

_FONTS = re.compile(
    r"\\(?:mathrm|operatorname|text|textrm|mathbf|mathit|mathrmbf)\{([^{}]*)\}"
)
_INTEGER, _PLAIN = r"[+-]?\d+", r"[+-]?\d+(?:\.\d+)?"
_NUMBER = re.compile(rf"{_PLAIN}(?:[eE]{_INTEGER})?")
_POWER = re.compile(rf"(?:({_PLAIN})x)?10\^?\{{?({_INTEGER})\}}?")
_RATIO = re.compile(rf"\\frac\{{({_PLAIN})\}}\{{({_PLAIN})\}}|({_PLAIN})/({_PLAIN})")
_MIXED = re.compile(r"([+-]?)(\d+)\\frac\{(\d+(?:\.\d+)?)\}\{(\d+(?:\.\d+)?)\}")


def _released_form(text: str) -> str:
    text = re.sub(r"[\x00-\x1f\x7f]", "", text)
    for spelling, plain_one in _KNOWN["released"]:
        text = text.replace(spelling, plain_one)
    text = re.sub(r"(?<!\\)frac", r"\\frac", text)
    return re.sub(r"\\boxed\{([^{}]*)\}", r"\1", _FONTS.sub(r"\1", text))


def _released_number(text: str) -> Decimal | None:
    """The number of a text in their form; the digits of all alphabets count.

    Raises `ArithmeticError` or `ValueError` where the script does.
    """
    if _NUMBER.fullmatch(text):
        return Decimal(text)
    if match := _POWER.fullmatch(text):
        return Decimal(match[1] or 1) * Decimal(10) ** int(match[2])
    if match := _RATIO.fullmatch(text):
        above, below = (Decimal(part) for part in match.groups() if part)
        return above / below if below else None
    if match := _MIXED.fullmatch(text):
        whole, above, below = map(Decimal, match.groups()[1:])
        return Decimal(f"{match[1]}1") * (whole + above / below) if below else None
    return None


def _agree(gold: str, answer: str, rule: Callable[[Decimal, Decimal], bool]) -> bool:
    """Whether two numbers agree by a rule, or the texts are the same."""
    expected, other = _released_form(gold), _released_form(answer)
    try:
        with localcontext(Context(prec=50)):
            if max(len(gold), len(answer)) <= MAX_RELEASED:
                right, given = _released_number(expected), _released_number(other)
                if right is not None and given is not None and rule(right, given):
                    return True
    except (DecimalException, ValueError):
        pass
    return expected == other


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


#: The rule of a box without tags, of which the authors' parser reads nothing.
BARE_BOX = "box"
#: Under which an object may hold the answer.
_KEYS = ("llm_answer", "answer_list", "answer")
_FENCED = re.compile(r"\A```(?:json)?(.*)```\Z", re.DOTALL | re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\{([^{}]+)\}")


@dataclass(frozen=True)
class Slots:
    """A list of slots, in groups or not, in ``<answer>`` tags; ``shape`` has them empty."""

    shape: Sequence[Any]

    @property
    def instruction(self) -> str:
        """See :class:`agents.answer_formats.AnswerFormat`."""
        return Json(self.shape).instruction

    def read(self, reply: str) -> Reading | None:
        r"""The list; ``repaired`` where it is not the list asked for.

        In this order: what stands in (perhaps unclosed) tags, as JSON or as the text of one slot;
        JSON that is the reply or stands in it, also under a key of an object; a box.
        """
        if len(reply) > MAX_CHARACTERS:
            return None
        text = spoken(reply).strip()
        before, tag, tagged = text.rpartition("<answer>")
        if tag and (inner := tagged.partition("</answer>")[0].strip()):
            value = _json(inner)
            boxed = _BOXED.search(inner)
            if value is None:
                value = boxed[1].strip() if boxed else inner
            return self._reading(value, strict=not before.strip(), rule="tags")
        fenced = _FENCED.match(text)
        text = fenced[1].strip() if fenced else text
        for opening, closing in (("", ""), ("[", "]"), ("{", "}")):
            part = (
                text[max(0, text.find(opening)) : text.rfind(closing) + 1]
                if opening
                else text
            )
            if (value := _json(part)) is not None:
                return self._reading(value, strict=False, rule="json")
        boxes = _BOXED.findall(text)
        if not boxes:
            return None
        return self._reading(boxes[-1].strip(), strict=False, rule=BARE_BOX)

    def _reading(self, value: Any, *, strict: bool, rule: str) -> Reading | None:
        if isinstance(value, dict):
            inner = [
                value[key] for key in _KEYS if value.get(key) not in (None, "", [])
            ]
            value, strict = (inner[0] if inner else str(value)), False
        if value in ("", []):
            return None
        exact = strict and empty(value) == self.shape
        return Reading(
            value if isinstance(value, list) else [value],
            "strict" if exact else "repaired",
            rule,
        )


def empty(slots: Any) -> Any:
    """The same groups with nothing in their slots."""
    return [empty(slot) for slot in slots] if isinstance(slots, list) else ""


def _json(text: str) -> Any:
    """JSON with its numbers as they are written, LaTeX in it with single backslashes or not."""
    as_written = {"parse_float": str, "parse_int": str, "parse_constant": str}
    values = (parse_json(meant, **as_written) for meant in (text, escaped(text)))
    return next((value for value in values if value is not None), None)
