"""What a multiple-choice question is, and files of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LETTERS = ("A", "B", "C", "D")
MASK = "[MASK]"


class QAError(ValueError):
    """A file of questions cannot be read; names file and position."""


@dataclass(frozen=True)
class QAQuestion:
    """One question: its text, four choices by letter, and the right letter.

    Attributes
    ----------
    kind
        ``code`` (with ``[MASK]`` in a piece of code), ``doc``, or empty when the file does not say.
    source
        Where it comes from (source file and symbol), may be empty.
    """

    question: str
    choices: Mapping[str, str]
    correct_answer: str
    kind: str = ""
    source: str = ""


def stored_line(question: QAQuestion) -> str:
    """The line of a file of questions."""
    return json.dumps(asdict(question), ensure_ascii=False) + "\n"


def fault(question: QAQuestion, *, kind: str | None = None) -> str | None:
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
    """The questions of a file: JSON lines, or the published JSON array.

    Raises
    ------
    QAError
        When the file is missing, or something in it is not a question.
    """
    where = str(path)
    try:
        text = path.read_text(encoding="utf-8")
        if text.lstrip().startswith("["):
            for number, item in enumerate(json.loads(text), start=1):
                where = f"{path}, item {number}"
                yield from _questions(item)
        else:
            for number, line in enumerate(text.split("\n"), start=1):
                where = f"{path}, line {number}"
                if line.strip():
                    yield from _questions(json.loads(line))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise QAError(f"{where}: not a question ({reason})") from error
    except OSError as error:
        raise QAError(f"{path}: cannot be read ({error})") from error


def _questions(item: Any) -> Iterator[QAQuestion]:
    """A stored question, or a published item: a source with its questions."""
    inner, source = [item], ""
    if isinstance(item, dict) and isinstance(item.get("questions"), list):
        inner, metadata = item["questions"], (item.get("source") or {}).get("metadata") or {}
        parts = (str(metadata[key]) for key in ("code_source_file", "name") if key in metadata)
        source = "/".join(parts)
    for plain in inner:
        choices, letter = plain["choices"], str(plain["correct_answer"]).strip()
        if letter not in LETTERS:
            raise ValueError(f"correct_answer {letter!r:.40} is not a letter")
        yield QAQuestion(
            str(plain["question"]),
            {key: str(choices[key]) for key in LETTERS},
            letter,
            str(plain.get("kind", "")),
            str(plain.get("source", source)),
        )
