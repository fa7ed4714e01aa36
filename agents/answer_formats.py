"""Forms of an answer: what a prompt asks for, and how a reply is read.

A format knows nothing of what is right. Replies are hostile text: they are read in linear time,
under caps, and never evaluated.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal, Protocol

from agents.letters import chosen_letter, chosen_letters, letter_in_tags
from docgen.reading import (
    after_tag,
    fences,
    last_tagged,
    spoken,
    tagged,
    unclosed_fence,
)

MAX_CHARACTERS = 1_000_000  # of an answer; longer ones are not read
MAX_DEPTH = 50  # of brackets in JSON
#: How large an uncertainty may be, as a share of a number that is asked for without one.
UNCERTAIN = 0.01

_NUMBERS = re.compile(
    r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?(?![\w]*\d)"
)
_POWER = re.compile(r"\s{0,3}x\s{0,3}10\^?\{?([-+]?\d{1,4})\}?")
#: Signs as they are typed and as they are meant.
_TYPED = {
    "\N{MINUS SIGN}": "-",
    "\N{MULTIPLICATION SIGN}": "x",
    "\\times": "x",
    "+/-": "\N{PLUS-MINUS SIGN}",
    "\\pm": "\N{PLUS-MINUS SIGN}",
    "\\boxed{": " ",
    "\\text{": " ",
    "\\,": " ",
}
_DENIED = re.compile(r"(?i)\b(?:not|isn't|never|cannot|unlike)\b")
_ANSWER = re.compile(r"(?i)\banswer(?:\(s\))?(?: is)?[ \t:*]{1,9}+([^\n]{1,300})")
_OBJECTS = re.compile(r"\{[^{}]{1,2000}\}")


@dataclass(frozen=True)
class Reading:
    """A JSON-able value; ``strict`` when the reply kept the form asked for, else ``repaired``.

    ``rule`` is what of the reply was read: ``tags``, ``fence``, ``box``, ``final line``, ...
    """

    value: Any
    status: Literal["strict", "repaired"]
    rule: str = field(default="", compare=False)


class AnswerFormat(Protocol):
    """The form of an answer."""

    @property
    def instruction(self) -> str:
        """What a prompt says about the form; empty where the question itself says it."""

    def read(self, reply: str) -> Reading | None:
        """Read a reply; ``None`` when it holds no answer in this form."""


@dataclass(frozen=True)
class CodeFormat:
    """A function to be executed; `agents.answer` reads it, `agents.prompts` asks for it."""

    instruction: str = ""

    def read(self, reply: str) -> Reading | None:
        """Not used: code is more than a value, see :func:`agents.answer.read_answer`."""
        raise TypeError(f"code is not read as a value ({len(reply)} characters)")


CODE = CodeFormat()


@dataclass(frozen=True)
class Letters:
    """One of several choices, by its letter in ``<answer>`` tags."""

    letters: str = "ABCD"
    instruction: str = ""  # published questions bring their own

    def read(self, reply: str) -> Reading | None:
        """The letter; ``repaired`` where it is only what the reply means.

        In this order: the last one in (perhaps unclosed) tags; after them the rules of
        `agents.letters.chosen_letter`. What is denied, or one of several, is not read.
        """
        if len(reply) > MAX_CHARACTERS:
            return None
        text = spoken(reply)
        inside = [part for part in tagged(text, "answer") if part.strip()]
        content = inside[-1] if inside else after_tag(text, "answer")
        if content is not None and content.strip():
            letter = letter_in_tags(content, self.letters)
            strict = re.fullmatch(rf"\s*<answer>\s*{letter}\s*</answer>\s*", reply)
            if letter is not None:
                return Reading(letter, "strict" if strict else "repaired", "tags")
            if inside:
                return None
        chosen = chosen_letter(text, self.letters)
        return Reading(chosen[0], "repaired", chosen[1]) if chosen else None


@dataclass(frozen=True)
class Choices:
    """All right ones of several choices, by their letters in ``<answer>`` tags."""

    letters: str = "ABCD"

    @property
    def instruction(self) -> str:
        """See :class:`AnswerFormat`."""
        return (
            "Several choices may be right. Reply with the letters of all that are, such as"
            f" <answer>{', '.join(self.letters[:2])}</answer>"
        )

    def read(self, reply: str) -> Reading | None:
        """The letters in alphabetical order, each once; ``repaired`` where they are only meant.

        In this order: the last list in (perhaps unclosed) tags; else the rules of
        `agents.letters.chosen_letters`. Letters elsewhere are talked about, not chosen.
        """
        if len(reply) > MAX_CHARACTERS:
            return None
        text = spoken(reply)
        inside = last_tagged(reply, "answer")
        content = after_tag(text, "answer") if inside is None else inside
        chosen = chosen_letters(text if content is None else content, self.letters)
        if chosen is None:
            return None
        strict = inside is not None and re.fullmatch(
            r"\s*+<answer>[^<]*+</answer>\s*+", reply
        )
        rule = chosen[1] if content is None else "tags"
        return Reading(chosen[0], "strict" if strict else "repaired", rule)

    def meant(self, text: str) -> str:
        """The letters that a text lists or says to be the answer; empty where there are none."""
        chosen = chosen_letters(text, self.letters)
        return chosen[0] if chosen else ""


@dataclass(frozen=True)
class Block:
    """Text of any kind between ``<tag>`` and ``</tag>``."""

    tag: str
    instructed: bool = (
        True  # whether a prompt is to say so; published ones say it themselves
    )

    @property
    def instruction(self) -> str:
        """See :class:`AnswerFormat`."""
        if not self.instructed:
            return ""
        return (
            f"Put the answer, and nothing else, between <{self.tag}> and </{self.tag}>."
        )

    def read(self, reply: str) -> Reading | None:
        """The last complete block, else what `last_block` finds; a fence within is taken off.

        Tags in backticks are talked about, and are no tags.
        """
        text = spoken(re.sub(rf"`</?{re.escape(self.tag)}>`", "", reply))
        block = last_block(text, self.tag, self.tag)
        if block is None:
            return None
        content, rule = block
        strict = rule == "tags" and reply.strip().startswith(f"<{self.tag}>")
        return _text(unfenced(content).strip(), strict=strict, rule=rule)


@dataclass(frozen=True)
class File:
    """The text of a file, character by character, between ``<file>`` and ``</file>``.

    Code that makes the file answers the same question in the form `CODE`: its function returns
    the text.
    """

    filename: str

    @property
    def instruction(self) -> str:
        """See :class:`AnswerFormat`."""
        return (
            f"Put the text of the file {self.filename}, and nothing else, in\n"
            "<file>\n...\n</file>"
        )

    def read(self, reply: str) -> Reading | None:
        """The last complete block, else what `last_block` finds; its blanks as they are."""
        text = spoken(reply)
        ending = self.filename.rpartition(".")[2].lower()
        block = last_block(text, "file", ending)
        if block is None:
            return None
        inner, rule = block
        content = unfenced(inner).removeprefix("\n")
        size = len(content.encode("utf-8", "replace"))
        if not content.strip() or size > MAX_CHARACTERS:
            return None
        strict = text.strip() == f"<file>{inner}</file>"
        return Reading(content, "strict" if strict else "repaired", rule)


@dataclass(frozen=True)
class Text:
    """The whole reply, as prose."""

    instruction: str = ""

    def read(self, reply: str) -> Reading | None:
        """The reply without its thoughts."""
        return _text(spoken(reply).strip(), strict=True)


@dataclass(frozen=True)
class Number:
    """A number in a stated unit, in ``<answer>`` tags."""

    unit: str = ""

    @property
    def instruction(self) -> str:
        """See :class:`AnswerFormat`."""
        where = f" in {self.unit}" if self.unit else ""
        return (
            f"Reply with one number{where}, without its unit: <answer>number</answer>"
        )

    def read(self, reply: str) -> Reading | None:
        """The number; ``repaired`` where more than it had to be taken off.

        In this order: the last one in (perhaps unclosed) tags, in a box, under ``answer`` in JSON,
        after "answer is", on the last line, the only one of a short reply. Of two numbers, of one
        that is denied, and of one that is uncertain by more than `UNCERTAIN`, none is read.
        """
        text = spoken(reply[-MAX_CHARACTERS:]).strip()
        inside = last_tagged(reply, "answer")
        if inside is not None:
            number = self._number(inside)
            if number is None:
                return None
            bare = _plain_float(inside) == number
            return Reading(number, "strict" if bare else "repaired", "tags")
        for rule, part in statements(text):
            number = self._number(part)
            if number is not None:
                return Reading(number, "repaired", rule)
            if rule != "final line":
                return None
        return None

    def _number(self, text: str) -> float | None:
        """The one number that a text states in this unit."""
        if len(text) > 200 or _DENIED.search(text):
            return None
        text = text.rpartition("=")[2] if text.count("=") == 1 else text
        for mark, meant in _TYPED.items():
            text = text.replace(mark, meant)
        text = _POWER.sub(r"e\1", text)
        text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
        value, sign, error = text.partition("\N{PLUS-MINUS SIGN}")
        numbers = _NUMBERS.findall(value)
        if len(numbers) != 1:
            return None
        rest = value[value.rindex(numbers[0]) + len(numbers[0]) :].strip(" *_`$.}")
        if rest not in {"", self.unit}:
            return None
        number = _plain_float(numbers[0])
        uncertain = _plain_float((_NUMBERS.findall(error) or [""])[0]) if sign else 0.0
        if number is None or uncertain is None:
            return None
        return number if abs(uncertain) <= UNCERTAIN * abs(number) else None


@dataclass(frozen=True)
class Json:
    """A JSON object or array.

    Attributes
    ----------
    shape
        What it looks like, as JSON: its keys are required, a text is a remark, a list of one
        element stands for any number of its kind. Shown in the instruction.
    """

    shape: Mapping[str, Any] | Sequence[Any] = field(default_factory=dict)

    @property
    def instruction(self) -> str:
        """See :class:`AnswerFormat`."""
        example = json.dumps(self.shape, ensure_ascii=False, indent=1)
        return f"Reply with JSON of this shape:\n<answer>\n{example}\n</answer>"

    def read(self, reply: str) -> Reading | None:
        """The last JSON that has the shape: in tags, in a fenced block, or as the whole reply."""
        text = spoken(reply)
        inside = last_tagged(reply, "answer")
        fenced = [*fences(text), unclosed_fence(text) or ("", "")]
        blocks = [content for language, content in fenced if language in {"", "json"}]
        candidates = [
            ("tags", inside),
            *(("fence", block) for block in blocks[::-1]),
            ("open tag", after_tag(text, "answer")),
            ("whole reply", text),
        ]
        for rule, candidate in candidates:
            for meant in (candidate or "", escaped(candidate or "")):
                value = parse_json(meant.strip(), parse_constant=lambda _: None)
                if value is not None and _fits(value, self.shape):
                    strict = rule == "tags" and meant == candidate
                    return Reading(value, "strict" if strict else "repaired", rule)
        return None


#: Where a file begins that stands in a reply without tags and fences, by its kind.
_BARE = {
    "cif": re.compile(r"(?m)^data_\S*[ \t]*\r?\n(?=[\s\S]{0,2000}?(?:_cell_|loop_))"),
    "poscar": re.compile(
        r"(?m)^[^\n]{0,200}\n[ \t]*-?\d[\d.]{0,20}[ \t]*\n(?:(?:[ \t]{1,40}|^)"
        r"-?\d[\d.]{0,30}[ \t]+-?\d[\d.]{0,30}[ \t]+-?\d[\d.]{0,30}[ \t]*\n){3}"
    ),
}


def last_block(text: str, tag: str, kind: str) -> tuple[str, str] | None:
    """The block that answers, and the rule that found it; ``None`` where there is none.

    In this order: the last complete ``<tag>``; behind one that is never closed, or in the whole
    text, the last fence, whole or not closed; what follows such a tag; a file of this ``kind``
    that stands there without any mark.
    """
    inside = tagged(text, tag)
    if inside:
        return inside[-1], "tags"
    at_line = re.search(rf"(?im)^[ \t>*]{{0,9}}<{re.escape(tag)}>", text)
    opened = after_tag(text, tag) if at_line else None
    scope = text if opened is None else opened
    fenced = [content for _, content in fences(scope)]
    if fenced:
        return fenced[-1], "fence"
    open_fence = unclosed_fence(scope)
    if open_fence is not None:
        return open_fence[1], "open fence"
    if opened is not None and opened.strip():
        return re.sub(r"</?\w{0,20}>?\s*\Z", "", opened), "open tag"
    begin = _BARE[kind].search(text) if kind in _BARE else None
    return (text[begin.start() :], "bare") if begin else None


def statements(text: str) -> list[tuple[str, str]]:
    """What a reply without complete tags states as its answer, by rule, the most telling first."""
    box = text.rfind("\\boxed{")
    answers = _ANSWER.findall(text)
    keyed = [value for value in map(_keyed, _OBJECTS.findall(text)) if value]
    lines = [line for line in text.splitlines() if line.strip()]
    parts = [
        ("open tag", (after_tag(text, "answer") or "").strip().partition("\n")[0]),
        ("box", text[box : box + 300].partition("\n")[0] if box >= 0 else ""),
        ("json", keyed[-1] if keyed else ""),
        ("answer", answers[-1] if answers else ""),
        ("final line", lines[-1] if len(lines) > 1 and _short(lines[-1]) else ""),
        ("short reply", text if _short(text) else ""),
    ]
    return [(rule, part) for rule, part in parts if part.strip()]


def _short(text: str) -> bool:
    """Whether a text is short and may state a number."""
    return len(text) <= 300 and re.search(r"\d", text) is not None


def _keyed(text: str) -> str:
    """What a JSON object has under ``answer``; empty for none."""
    content = parse_json(text)
    value = content.get("answer") if isinstance(content, dict) else None
    return str(value) if isinstance(value, str | int | float) else ""


def _plain_float(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def unfenced(text: str) -> str:
    """What a fence holds, where a text is one fenced block and nothing else; else the text."""
    match = re.fullmatch(
        r"\s*+```[ \t]*+[\w.+-]{0,20}[ \t]*+\r?\n(.*?)\n?```\s*+", text, re.DOTALL
    )
    return match[1] if match and "```" not in match[1] else text


def escaped(text: str) -> str:
    r"""JSON whose LaTeX is written with single backslashes (``"\sigma"``), as it was meant.

    Those that happen to be an escape of JSON (``\tau``) are a matter for whoever reads the value.
    """
    return re.sub(r'(\\\\|\\["/])|\\(?![bfnrtu])', lambda m: m[1] or "\\\\", text)


def _text(text: str, *, strict: bool, rule: str = "whole reply") -> Reading | None:
    fits = text and len(text) <= MAX_CHARACTERS
    return Reading(text, "strict" if strict else "repaired", rule) if fits else None


def parse_json(text: str, **parsers: Any) -> Any:
    """Parsed JSON, ``None`` for what is none, too long or too deep."""
    steps = (1 if bracket in "[{" else -1 for bracket in re.findall(r"[\[\]{}]", text))
    if len(text) > MAX_CHARACTERS or max(accumulate(steps), default=0) > MAX_DEPTH:
        return None
    try:
        return json.loads(text, **parsers)
    except (ValueError, RecursionError):
        return None


def _fits(value: Any, shape: Any) -> bool:
    if isinstance(shape, Mapping):
        return isinstance(value, dict) and all(
            key in value and _fits(value[key], inner) for key, inner in shape.items()
        )
    if isinstance(shape, Sequence) and not isinstance(shape, str):
        return isinstance(value, list) and all(
            _fits(item, shape[0]) for item in value if len(shape) == 1
        )
    return True
