"""How a multiple-choice question is put to a model, and what its reply says.

Also how a model is asked to write such questions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from langchain_core.documents import Document

from agents.prompts import render_documents
from docgen.reading import last_tagged, spoken, tagged
from experiments.qa.questions import LETTERS, MASK, QAQuestion, fault


def answering_prompt(question: QAQuestion, documents: Sequence[Document] = ()) -> str:
    """What a model is asked: documents if any, the question, four choices, one letter in tags."""
    shown = f"{render_documents(documents)}\n\n" if documents else ""
    a, b, c, d = (_lettered(question, letter) for letter in LETTERS)
    return (
        "You are an expert in Python for computational materials science. Answer the "
        f"multiple-choice question below.\n\n{shown}"
        f"<question>{question.question}</question>\n"
        f"<answer_choices>\n    <choice>{a}</choice>\n    <choice>{b}</choice>\n"
        f"    <choice>{c}</choice>\n    <choice>{d}</choice>\n</answer_choices>\n\n"
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

    Thoughts are not read. In this order: the last one in (perhaps unclosed) tags, the last one
    after "answer is", the last one in a box, the only one that stands alone.
    """
    text = spoken(reply)
    for pattern in (_TAGGED, _STATED, _BOXED):
        found = pattern.findall(text)
        if found:
            return str(found[-1]).upper()
    alone = set(_ALONE.findall(text))
    return str(alone.pop()) if len(alone) == 1 else None


# --- generating with a model -----------------------------------------------------------------

_CODE_TASK = (
    "Write up to five multiple-choice questions about the code of {package} below. Each question "
    f"names the source file, shows the code with one significant name replaced by {MASK} (a "
    "function, method, class or other name on which the logic depends) and asks what stands there. "
    "The answer must follow from the code; the wrong choices must be plausible.\n\n"
    "<code_source_file>{path}</code_source_file>\n<code>\n{content}\n</code>\n"
)
_DOC_TASK = (
    "Write up to five multiple-choice questions about {package} from the document below. Each "
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


def generation_prompt(
    kind: Literal["code", "doc"], *, package: str, path: str, content: str
) -> str:
    """What a model is asked to make questions of one symbol of ``package``."""
    task = _CODE_TASK if kind == "code" else _DOC_TASK
    task = task.replace("{package}", package).replace("{path}", path)
    return task.replace("{content}", content) + _FORM


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
        text = last_tagged(reply, f"question{number}")
        if text is None:
            continue
        listed = tagged(last_tagged(reply, f"answer_choices{number}") or "", "choice")
        letters = [re.match(r"\s*([A-D])[.):]\s*(.*)", item, re.DOTALL) for item in listed]
        choices = {found[1]: found[2].strip() for found in letters if found}
        answer = last_tagged(reply, f"correct_answer{number}") or ""
        letter = re.fullmatch(r"([A-D])(?:[.):].*)?", answer, re.DOTALL)
        question = QAQuestion(
            text,
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
