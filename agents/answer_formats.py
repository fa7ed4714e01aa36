"""Forms of an answer: what a prompt asks for, and how a reply is read.

A format knows nothing of what is right. Replies are hostile text: they are read in linear time,
under caps, and never evaluated.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal, Protocol

from docgen.reading import fences, last_tagged, spoken, tagged

MAX_CHARACTERS = 1_000_000  # of an answer; longer ones are not read
MAX_DEPTH = 50  # of brackets in JSON
MAX_LIST = 1000  # characters of a list of letters


@dataclass(frozen=True)
class Reading:
    """A JSON-able value; ``strict`` when the reply kept the form asked for, else ``repaired``."""

    value: Any
    status: Literal["strict", "repaired"]


class AnswerFormat(Protocol):
    """The form of an answer."""

    @property
    def instruction(self) -> str:
        """What a prompt says about the form; empty where the question itself says it."""

    def read(self, reply: str) -> Reading | None:
        """Read a reply; ``None`` when it holds no answer in this form."""


@dataclass(frozen=True)
class Code:
    """A function to be executed; `agents.answer` reads it, `agents.prompts` asks for it."""

    instruction: str = ""

    def read(self, reply: str) -> Reading | None:
        """Not used: code is more than a value, see :func:`agents.answer.read_answer`."""
        raise TypeError(f"code is not read as a value ({len(reply)} characters)")


CODE = Code()


@dataclass(frozen=True)
class Letters:
    """One of several choices, by its letter in ``<answer>`` tags."""

    letters: str = "ABCD"
    instruction: str = ""  # published questions bring their own

    def read(self, reply: str) -> Reading | None:
        """The letter; ``repaired`` where it is only what the reply most likely means.

        In this order: the last one in (perhaps unclosed) tags, the last one after "answer is",
        the last one in a box, the only one that stands alone.
        """
        some = f"[{self.letters}]"
        if len(reply) > MAX_CHARACTERS:
            return None
        strict = re.fullmatch(rf"\s*+<answer>\s*+({some})\s*+</answer>\s*+", reply)
        if strict:
            return Reading(strict[1], "strict")
        text = spoken(reply)
        for pattern in (
            rf"<answer>\W*+({some})\b",
            rf"\banswer\b(?:\s++is|\s*+:)?\W*+({some})\b(?!')",
            rf"\\boxed\{{\W*+(?:\\text\{{)?({some})\b",
        ):
            found = re.findall(pattern, text, re.IGNORECASE)
            if found:
                return Reading(str(found[-1]).upper(), "repaired")
        # "A" before a word is an article, unless that word is "or" or "and".
        words = (
            rf"(?:^|[\s*(\[\"'`])({some})(?=$|[\s*).:,;\]\"'`])"
            r"(?!(?<=A)\s++(?!or\b|and\b)[a-z])"
        )
        alone = set(re.findall(words, text))
        return Reading(alone.pop(), "repaired") if len(alone) == 1 else None


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

        In this order: the last list in tags, the last one in a box, the last one after
        "answer is" or "answers are", "options ... are correct", the whole reply. Letters elsewhere
        are talked about, not chosen.
        """
        if len(reply) > MAX_CHARACTERS:
            return None
        inside = last_tagged(reply, "answer")
        found = self.meant(spoken(reply) if inside is None else inside)
        strict = inside is not None and re.fullmatch(
            r"\s*+<answer>[^<]*+</answer>\s*+", reply
        )
        return Reading(found, "strict" if strict else "repaired") if found else None

    def meant(self, text: str) -> str:
        """The letters that a text lists or says to be the answer; empty where there are none."""
        boxes = re.findall(r"\\boxed\{(?:\\text\{)?([^{}]{1,200})\}", text)
        if boxes or self.listed(text):
            return self.listed(boxes[-1] if boxes else text)
        letter = rf"(?:[{self.letters}]+\b(?:[ ,;&*()]|and\b){{0,9}})"
        letters = f"({letter}{{1,26}})"
        right = "(?:is|are)(?: all)? (?:correct|right|true)"
        for pattern in (
            rf"(?i:\banswers?\b(?: is| are)?)[ \t:*(]{{0,9}}{letters}",
            rf"(?i:\b(?:options?|choices?|statements?))[ *(]{{1,9}}{letters}{right}\b",
        ):
            lists = re.findall(pattern, text)
            if lists:
                return self.listed(lists[-1])
        return ""

    def listed(self, text: str) -> str:
        """The letters that a text lists and nothing else; empty where it is no such list.

        ``B: inversion, D: mirror`` is a list of letters with what they stand for.
        """
        if len(text) >= MAX_LIST:
            return ""
        text = re.sub(r"\\[a-z]+", " ", text)
        named = [
            re.match(r"\W*([A-Z])\W{0,2}[:.)] *[^\s,;]", p)
            for p in re.split("[,;\n]", text)
        ]
        if all(named):
            text = " ".join(match[1] for match in named if match)
        words = re.findall(r"[^\W_]+", re.sub(r"(?i)\band\b", " ", text))
        if not all(word.isupper() or len(word) == 1 for word in words):
            return ""
        found = set("".join(words).upper())
        return "".join(sorted(found)) if found <= set(self.letters) else ""


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
        """The last complete block, else the last fenced one; a fence within the tags is taken off.

        Tags in backticks are talked about, and are no tags.
        """
        text = spoken(re.sub(rf"`</?{re.escape(self.tag)}>`", "", reply))
        inside = tagged(text, self.tag)
        blocks = inside or [content for _, content in fences(text)]
        strict = bool(inside) and reply.strip().startswith(f"<{self.tag}>")
        return _text(unfenced(blocks[-1]).strip(), strict=strict) if blocks else None


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
        """The last complete block, else the last fenced one; its spaces and lines as they are."""
        text = spoken(reply)
        blocks = tagged(text, "file") or [content for _, content in fences(text)]
        content = unfenced(blocks[-1]).removeprefix("\n") if blocks else ""
        strict = bool(blocks) and text.strip() == f"<file>{blocks[-1]}</file>"
        fits = (
            content.strip()
            and len(content.encode("utf-8", "replace")) <= MAX_CHARACTERS
        )
        return Reading(content, "strict" if strict else "repaired") if fits else None


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
        """The number; ``repaired`` where a unit or a sign like a comma had to be taken off."""
        text = last_tagged(reply, "answer")
        if text is None or len(text) > 200:
            return None
        bare = (
            text.removesuffix(self.unit)
            .replace(",", "")
            .replace("\N{MINUS SIGN}", "-")
            .strip()
        )
        for said in (text, bare):
            with suppress(ValueError):
                if math.isfinite(number := float(said)):
                    return Reading(number, "strict" if said is text else "repaired")
        return None


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
        shown = json.dumps(self.shape, ensure_ascii=False, indent=1)
        return f"Reply with JSON of this shape:\n<answer>\n{shown}\n</answer>"

    def read(self, reply: str) -> Reading | None:
        """The last JSON that has the shape: in tags, in a fenced block, or as the whole reply."""
        inside, text = last_tagged(reply, "answer"), spoken(reply)
        blocks = [
            content for language, content in fences(text) if language in {"", "json"}
        ]
        for candidate in filter(None, (inside, *blocks[::-1], text)):
            for said in (candidate, escaped(candidate)):
                value = parse_json(said.strip(), parse_constant=lambda _: None)
                if value is not None and _fits(value, self.shape):
                    kept = candidate is inside and said is candidate
                    return Reading(value, "strict" if kept else "repaired")
        return None


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


def _text(text: str, *, strict: bool) -> Reading | None:
    fits = text and len(text) <= MAX_CHARACTERS
    return Reading(text, "strict" if strict else "repaired") if fits else None


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
