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
from typing import Any, Literal, Protocol

from docgen.reading import fences, last_tagged, spoken

MAX_CHARACTERS = 1_000_000  # of an answer; longer ones are not read
MAX_DEPTH = 50  # of brackets in JSON
MAX_LIST = 1000  # characters of a list of letters


@dataclass(frozen=True)
class Reading:
    """A value that was read from a reply.

    Attributes
    ----------
    value
        JSON-able.
    status
        ``strict`` when the reply kept the form asked for, else ``repaired``.
    """

    value: Any
    status: Literal["strict", "repaired"]


class AnswerFormat(Protocol):
    """The form of an answer.

    Attributes
    ----------
    name
        Of the format, in records.
    """

    @property
    def name(self) -> str:
        """Name of the format, in records."""
        ...

    @property
    def instruction(self) -> str:
        """What a prompt says about the form; empty where the question itself says it."""
        ...

    def read(self, reply: str) -> Reading | None:
        """Read a reply; ``None`` when it holds no answer in this form."""
        ...


@dataclass(frozen=True)
class Code:
    """A function to be executed; `agents.answer` reads it, `agents.prompts` asks for it."""

    name: str = "code"
    instruction: str = ""

    def read(self, reply: str) -> Reading | None:
        """Not used: code is more than a value, see :func:`agents.answer.parse_answer`."""
        raise TypeError(f"code is not read as a value ({len(reply)} characters)")


CODE = Code()


@dataclass(frozen=True)
class Letters:
    """One of several choices, by its letter in ``<answer>`` tags.

    Attributes
    ----------
    letters
        The choices.
    instruction
        Empty: published questions bring their own.
    """

    letters: str = "ABCD"
    instruction: str = ""
    name: str = "letters"

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
            rf"(?:^|[\s*(\[\"'`])({some})(?=$|[\s*).:,;\]\"'`])(?!(?<=A)\s++(?!or\b|and\b)[a-z])"
        )
        alone = set(re.findall(words, text))
        return Reading(alone.pop(), "repaired") if len(alone) == 1 else None


@dataclass(frozen=True)
class Choices:
    """All right ones of several choices, by their letters in ``<answer>`` tags.

    Attributes
    ----------
    letters
        The choices.
    """

    letters: str = "ABCD"
    name: str = "choices"

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
        "answer is" or "answers are", the whole reply. Letters elsewhere are talked about, not
        chosen.
        """
        if len(reply) > MAX_CHARACTERS:
            return None
        text = spoken(reply)
        tagged = last_tagged(reply, "answer")
        if tagged is not None:
            found = self.listed(tagged)
            strict = found and re.fullmatch(r"\s*+<answer>[^<]*+</answer>\s*+", reply)
            return Reading(found, "strict" if strict else "repaired") if found else None
        listed = rf"((?:[{self.letters}]\b(?:[ ,;&*]|and\b){{0,9}}){{1,26}})"
        for pattern in (
            rf"\\boxed\{{(?:\\text\{{)?{listed}\}}",
            rf"\banswers?\b(?: is| are)?[ \t:*]{{0,9}}{listed}",
            rf"\A\s*+{listed}\.?\s*+\Z",
        ):
            lists = re.findall(pattern, text)
            if lists:
                return Reading(self.listed(lists[-1]), "repaired")
        return None

    def listed(self, text: str) -> str:
        """The letters that a text lists and nothing else; empty where it is no such list."""
        bare = re.sub(r"(?i)\band\b|[^A-Za-z0-9]", " ", text[:MAX_LIST]).upper()
        letters = set(bare) - {" "}
        whole = len(text) < MAX_LIST
        return "".join(sorted(letters)) if whole and letters <= set(self.letters) else ""


@dataclass(frozen=True)
class Block:
    """Text of any kind between ``<tag>`` and ``</tag>``."""

    tag: str
    name: str = "block"

    @property
    def instruction(self) -> str:
        """See :class:`AnswerFormat`."""
        return f"Put the answer, and nothing else, between <{self.tag}> and </{self.tag}>."

    def read(self, reply: str) -> Reading | None:
        """The last complete block, else the last fenced one."""
        found = last_tagged(reply, self.tag)
        if found is not None:
            strict = reply.strip().startswith(f"<{self.tag}>")
            return _text(found, "strict" if strict else "repaired")
        blocks = list(fences(spoken(reply)))
        return _text(blocks[-1][1].strip(), "repaired") if blocks else None


@dataclass(frozen=True)
class File:
    """The text of a file, character by character, between ``<file>`` and ``</file>``.

    Code that makes the file answers the same question in the form `CODE`: its function returns
    the text.

    Attributes
    ----------
    filename
        What it is called; its ending says what it holds (``answer.cif``, ``POSCAR``).
    max_bytes
        Of the file; a longer one is no answer.
    """

    filename: str
    max_bytes: int = MAX_CHARACTERS
    name: str = "file"

    @property
    def instruction(self) -> str:
        """See :class:`AnswerFormat`."""
        return (
            f"Put the text of the file {self.filename}, and nothing else, in\n<file>\n...\n</file>"
        )

    def read(self, reply: str) -> Reading | None:
        """The last complete block, else the last fenced one; its spaces and lines as they are."""
        text = spoken(reply)
        before, closed, after = text.rpartition("</file>")
        opened = before.rpartition("<file>")
        if closed and opened[1]:
            strict = not opened[0].strip() and not after.strip()
            content = opened[2]
        else:
            blocks = list(fences(text))
            strict, content = False, blocks[-1][1] if blocks else ""
        content = content.removeprefix("\n")
        size = len(content.encode("utf-8", "replace"))
        if not content.strip() or size > self.max_bytes:
            return None
        return Reading(content, "strict" if strict else "repaired")


@dataclass(frozen=True)
class Text:
    """The whole reply, as prose."""

    instruction: str = ""
    name: str = "text"

    def read(self, reply: str) -> Reading | None:
        """The reply without its thoughts."""
        return _text(spoken(reply).strip(), "strict")


@dataclass(frozen=True)
class Number:
    """A number in a stated unit, in ``<answer>`` tags."""

    unit: str = ""
    name: str = "number"

    @property
    def instruction(self) -> str:
        """See :class:`AnswerFormat`."""
        where = f" in {self.unit}" if self.unit else ""
        return f"Reply with one number{where}, without its unit: <answer>number</answer>"

    def read(self, reply: str) -> Reading | None:
        """The number; ``repaired`` where a unit or a sign like a comma had to be taken off."""
        text = last_tagged(reply, "answer")
        if text is None or len(text) > 200:
            return None
        number = _number(text)
        if number is not None:
            return Reading(number, "strict")
        bare = text.removesuffix(self.unit).replace(",", "").replace("\N{MINUS SIGN}", "-").strip()
        number = _number(bare)
        return None if number is None else Reading(number, "repaired")


@dataclass(frozen=True)
class Json:
    """A JSON object or array.

    Attributes
    ----------
    shape
        What it looks like, as JSON: its keys are required, a text is a remark, a list of one
        element stands for any number of its kind. Shown in the instruction.
    tag
        Where it stands; without one, the last fenced block or the whole reply.
    """

    shape: Mapping[str, Any] | Sequence[Any] = field(default_factory=dict)
    tag: str = "answer"
    name: str = "json"

    @property
    def instruction(self) -> str:
        """See :class:`AnswerFormat`."""
        shown = json.dumps(self.shape, ensure_ascii=False, indent=1)
        return f"Reply with JSON of this shape:\n<{self.tag}>\n{shown}\n</{self.tag}>"

    def read(self, reply: str) -> Reading | None:
        """The last JSON that has the shape."""
        tagged = last_tagged(reply, self.tag)
        text = spoken(reply)
        blocks = [content for language, content in fences(text) if language in {"", "json"}]
        for candidate, status in ((tagged, "strict"), *((b, "repaired") for b in blocks[::-1]),
                                  (text, "repaired")):  # fmt: skip
            for said, kept in ((candidate, status == "strict"), (_escaped(candidate), False)):
                value = None if said is None else _json(said.strip())
                if value is not None and _fits(value, self.shape):
                    return Reading(value, "strict" if kept else "repaired")
        return None


def _escaped(text: str | None) -> str | None:
    r"""JSON whose LaTeX is written with single backslashes (``"\sigma"``), as it was meant.

    Those that happen to be an escape of JSON (``\tau``) are a matter for whoever reads the value.
    """
    if text is None or "\\" not in text:
        return None
    return re.sub(r'(\\\\|\\["/])|\\(?![bfnrtu])', lambda m: m[1] or "\\\\", text)


def _text(text: str, status: Literal["strict", "repaired"]) -> Reading | None:
    return Reading(text, status) if text and len(text) <= MAX_CHARACTERS else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _json(text: str) -> Any:
    """Parsed JSON, ``None`` for what is none, too long or too deep."""
    if len(text) > MAX_CHARACTERS or text[:1] not in {"{", "["}:
        return None
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    if deepest > MAX_DEPTH:
        return None
    try:
        return json.loads(text, parse_constant=lambda _: None)
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
