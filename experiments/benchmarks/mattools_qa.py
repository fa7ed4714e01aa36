"""MatTools QA: multiple-choice questions about a library's code and documentation.

What a question is, how it is asked, generated and answered as text, and how files of any size
are read one question at a time: JSON lines, or the published JSON array.
"""

from __future__ import annotations

import hashlib
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

#: Longest single item of a published file; beyond it the file is no such array.
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

    @property
    def digest(self) -> str:
        """Short name of the content."""
        text = "\0".join([self.question, *self.choices.values()])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


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


# --- asking and answering --------------------------------------------------------------------


def answering_prompt(question: QAQuestion) -> str:
    """What a model is asked: the question, four choices, one letter in tags."""
    choices = "\n".join(f"    <choice>{_lettered(question, key)}</choice>" for key in LETTERS)
    return (
        "You are an expert in computational materials science with pymatgen. Answer the "
        "multiple-choice question below.\n\n"
        f"<question>{question.question}</question>\n"
        f"<answer_choices>\n{choices}\n</answer_choices>\n\n"
        "Reply with one letter (A, B, C or D) in tags and nothing else:\n"
        "<answer>letter</answer>"
    )


def _lettered(question: QAQuestion, letter: str) -> str:
    """Published choices carry their letter in the text; it is not put there twice."""
    text = question.choices[letter]
    return text if text[:1] == letter and text[1:2] in {".", ")", ":"} else f"{letter}. {text}"


_STRICT = re.compile(r"\s*<answer>\s*([ABCD])\s*</answer>\s*")
_TAGGED = re.compile(r"<answer>\W*([ABCD])\b(?:[^<]*)(?:</answer>|\Z)", re.IGNORECASE)
_STATED = re.compile(r"\banswer\b(?:\s+is|\s*:)?\W*([ABCD])\b(?!')", re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\{\W*(?:\\text\{)?([ABCD])\b")
#: "A" before a word is an article, unless that word is "or" or "and".
_ALONE = re.compile(r"(?:^|[\s*(\[\"'`])([BCD]|A(?!\s+(?!or\b|and\b)[a-z]))(?=$|[\s*).:,;\]\"'`])")


def strict_letter(reply: str) -> str | None:
    """The letter of a reply that is one letter in ``<answer>`` tags and nothing else."""
    found = _STRICT.fullmatch(reply)
    return found[1] if found else None


def lenient_letter(reply: str) -> str | None:
    """The letter that a reply most likely means, ``None`` when it names none or several.

    In this order: the last one in (perhaps unclosed) tags, the last one after "answer is",
    the last one in a box, the only one that stands alone.
    """
    for pattern in (_TAGGED, _STATED, _BOXED):
        found = pattern.findall(reply)
        if found:
            return str(found[-1]).upper()
    alone = set(_ALONE.findall(reply))
    return str(alone.pop()) if len(alone) == 1 else None


# --- generating with a model -----------------------------------------------------------------

_CODE_TASK = (
    "Write up to five multiple-choice questions about the Python code below. Each question names "
    f"the source file, shows the code with one significant name replaced by {MASK} (a function, "
    "method, class or other name on which the logic depends) and asks what stands there. The "
    "answer must follow from the code; the wrong choices must be plausible.\n\n"
    "<code_source_file>{path}</code_source_file>\n<code>\n{content}\n</code>\n"
)
_DOC_TASK = (
    "Write up to five multiple-choice questions about pymatgen from the document below. Each "
    "question names the module it is about, needs an understanding of what the code does, and "
    "never mentions a document. The answer must follow from the content; the wrong choices must "
    "be plausible.\n\n<document>\n{content}\n</document>\n"
)
_FORM = (
    "\nUse exactly this form, with n = 1 to 5, and write fewer questions where the content does "
    "not carry five:\n"
    "<questionn>text</questionn>\n<answer_choicesn>\n    <choice>A. ...</choice>\n"
    "    <choice>B. ...</choice>\n    <choice>C. ...</choice>\n    <choice>D. ...</choice>\n"
    "</answer_choicesn>\n<correct_answern>letter</correct_answern>\n"
)


def generation_prompt(kind: Literal["code", "doc"], *, path: str, content: str) -> str:
    """What a model is asked to make questions of one symbol."""
    task = _CODE_TASK if kind == "code" else _DOC_TASK
    return task.replace("{path}", path).replace("{content}", content) + _FORM


def read_generated(
    reply: str, *, kind: Literal["code", "doc"], source: str
) -> tuple[list[QAQuestion], list[str]]:
    """The questions in a reply.

    Returns
    -------
    valid, rejected
        Questions, and for each of the others the reason.
    """
    valid: list[QAQuestion] = []
    rejected: list[str] = []
    for number in range(1, 6):
        text = _tag(reply, f"question{number}")
        if text is None:
            continue
        listed = re.findall(
            r"<choice>(.*?)</choice>", _tag(reply, f"answer_choices{number}") or "", re.DOTALL
        )
        letters = [re.match(r"\s*([A-D])[.):]\s*(.*)", item, re.DOTALL) for item in listed]
        choices = {found[1]: found[2].strip() for found in letters if found}
        answer = (_tag(reply, f"correct_answer{number}") or "").strip()
        letter = re.fullmatch(r"([A-D])(?:[.):].*)?", answer, re.DOTALL)
        question = QAQuestion(
            text.strip(),
            {key: choices[key] for key in LETTERS if key in choices},
            letter[1] if letter else "",
            kind,
            source,
        )
        wrong = "a choice stands there twice" if len(listed) > len(choices) else None
        wrong = wrong or fault(question, kind=kind)
        if wrong is None:
            valid.append(question)
        else:
            rejected.append(wrong)
    if not valid and not rejected:
        rejected.append("the reply holds no question in the form asked for")
    return valid, rejected


def _tag(text: str, name: str) -> str | None:
    found = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return found[1] if found else None


# --- files -----------------------------------------------------------------------------------


def read_questions(path: Path) -> Iterator[QAQuestion]:
    """Stream the questions of a file; never more than one item of it is in memory.

    Raises
    ------
    QAError
        When the file is missing, or something in it is no question.
    """
    try:
        with path.open(encoding="utf-8") as file:
            start = file.read(1)
            while start.isspace():
                start = file.read(1)
            file.seek(0)
            items = _array_items(file, path) if start == "[" else _line_items(file, path)
            for where, item in items:
                yield from _questions(item, f"{path}, {where}")
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


def _questions(item: Any, where: str) -> Iterator[QAQuestion]:
    """A stored question, or a published item: a source with its questions."""
    if isinstance(item, dict) and isinstance(item.get("questions"), list):
        metadata = (item.get("source") or {}).get("metadata") or {}
        parts = [str(metadata[key]) for key in ("code_source_file", "name") if key in metadata]
        for inner in item["questions"]:
            yield _question(inner, where, "/".join(parts))
        return
    yield _question(item, where, "")


def _question(item: Any, where: str, source: str) -> QAQuestion:
    try:
        choices = {key: str(item["choices"][key]) for key in LETTERS}
        question = QAQuestion(
            str(item["question"]),
            choices,
            str(item["correct_answer"]).strip(),
            str(item.get("kind", "")),
            str(item.get("source", source)),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise QAError(f"{where}: is no question ({type(error).__name__}: {error})") from error
    if question.correct_answer not in LETTERS:
        raise QAError(f"{where}: correct_answer {question.correct_answer!r:.40} is no letter")
    return question
