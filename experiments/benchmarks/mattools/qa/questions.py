"""What a multiple-choice question is, and files of them.

Files of any size are read one question at a time: JSON lines, or the published JSON array.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

LETTERS = ("A", "B", "C", "D")
MASK = "[MASK]"

#: Characters read at once from a JSON array.
_CHUNK = 1 << 16

#: Longest single item of a published file; beyond it the file is not such an array.
_ITEM_LIMIT = 64 << 20


class QAError(ValueError):
    """A file of questions cannot be read; names file and position."""


@dataclass(frozen=True)
class QAQuestion:
    """One question.

    Attributes
    ----------
    question
        Its text; of a code question with ``[MASK]`` in a piece of code.
    choices
        Four texts by letter.
    correct_answer
        The letter.
    kind
        ``code``, ``doc``, or empty when the file does not say.
    source
        Where it comes from (source file and symbol), may be empty.
    """

    question: str
    choices: Mapping[str, str]
    correct_answer: str
    kind: str = ""
    source: str = ""

    def plain(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "question": self.question,
            "choices": dict(self.choices),
            "correct_answer": self.correct_answer,
            "kind": self.kind,
            "source": self.source,
        }


def stored_line(question: QAQuestion) -> str:
    """The line of a file of questions."""
    return json.dumps(question.plain(), ensure_ascii=False) + "\n"


def fault(question: QAQuestion, *, kind: Literal["code", "doc"] | None = None) -> str | None:
    """Why a question is not valid, ``None`` when it is.

    Parameters
    ----------
    kind
        What it was asked to be; ``None`` asks only for what every question needs.
    """
    if not question.question.strip():
        return "the question is empty"
    if tuple(question.choices) != LETTERS:
        return "there are not exactly the choices A, B, C, D"
    texts = {" ".join(text.split()) for text in question.choices.values()}
    if len(texts) != len(LETTERS) or "" in texts:
        return "the choices are not four distinct texts"
    if question.correct_answer not in LETTERS:
        return "the correct answer is not one letter of A, B, C, D"
    if kind == "code" and MASK not in question.question:
        return f"there is no {MASK} in the question"
    if kind == "doc" and re.search(
        r"\b(this|the|given|above|provided) document(ation)?\b(?! (of|for)\b)",
        question.question,
        re.IGNORECASE,
    ):
        return "the question refers to the document"
    return None


def read_questions(path: Path) -> Iterator[QAQuestion]:
    """Stream the questions of a file; never more than one item of it is in memory.

    Raises
    ------
    QAError
        When the file is missing, or something in it is not a question.
    """
    try:
        with path.open(encoding="utf-8") as file:
            start = file.read(1)
            while start.isspace():
                start = file.read(1)
            file.seek(0)
            items = _array_items(file, path) if start == "[" else _line_items(file, path)
            for where, item in items:
                try:
                    yield from _questions(item)
                except (KeyError, TypeError, AttributeError, ValueError) as error:
                    reason = f"{type(error).__name__}: {error}"
                    raise QAError(f"{path}, {where}: not a question ({reason})") from error
    except (OSError, UnicodeDecodeError) as error:
        raise QAError(f"{path}: cannot be read ({error})") from error


def _line_items(file: IO[str], path: Path) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(file, start=1):
        if line.strip():
            try:
                yield f"line {number}", json.loads(line)
            except ValueError as error:
                raise QAError(f"{path}, line {number}: {error}") from error


def _array_items(file: IO[str], path: Path) -> Iterator[tuple[str, Any]]:
    decoder = json.JSONDecoder()
    buffer = file.read(_CHUNK).lstrip()[1:]
    count, wanted = 0, 0
    while True:
        buffer = buffer.lstrip(" \t\r\n,")
        if buffer.startswith("]"):
            return
        item: Any = None
        end = -1
        if len(buffer) >= wanted:  # not again before the buffer has doubled: stays linear
            try:
                item, end = decoder.raw_decode(buffer)
            except ValueError:
                wanted = 2 * len(buffer)
        if end >= 0:
            count += 1
            yield f"item {count}", item
            buffer, wanted = buffer[end:], 0
            continue
        more = file.read(_CHUNK)
        if not more and wanted:
            wanted = 0
            try:
                item, end = decoder.raw_decode(buffer)
            except ValueError as error:
                raise QAError(f"{path}, item {count + 1}: {error}") from error
            continue
        if len(buffer) > _ITEM_LIMIT:
            raise QAError(f"{path}, item {count + 1}: is longer than {_ITEM_LIMIT >> 20} MB")
        buffer += more


def _questions(item: Any) -> Iterator[QAQuestion]:
    """A stored question, or a published item: a source with its questions."""
    if isinstance(item, dict) and isinstance(item.get("questions"), list):
        metadata = (item.get("source") or {}).get("metadata") or {}
        parts = [str(metadata[key]) for key in ("code_source_file", "name") if key in metadata]
        for inner in item["questions"]:
            yield _question(inner, "/".join(parts))
        return
    yield _question(item, "")


def _question(item: Any, source: str) -> QAQuestion:
    choices, letter = item["choices"], str(item["correct_answer"]).strip()
    if letter not in LETTERS:
        raise ValueError(f"correct_answer {letter!r:.40} is not a letter")
    return QAQuestion(
        str(item["question"]),
        {key: str(choices[key]) for key in LETTERS},
        letter,
        str(item.get("kind", "")),
        str(item.get("source", source)),
    )
