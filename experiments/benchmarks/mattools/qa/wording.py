"""How a multiple-choice question is put to a model, and how a model is asked to write some."""

from __future__ import annotations

import re
from typing import Literal

from docgen.reading import last_tagged, tagged
from experiments.benchmarks.mattools.qa.questions import LETTERS, MASK, QAQuestion, fault


def answering_prompt(question: QAQuestion) -> str:
    """What a model is asked: the question, four choices, one letter in tags."""
    a, b, c, d = (_lettered(question, letter) for letter in LETTERS)
    return (
        "You are an expert in Python for computational materials science. Answer the "
        "multiple-choice question below.\n\n"
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
    sample = _CODE_TASK if kind == "code" else _DOC_TASK
    sample = sample.replace("{package}", package).replace("{path}", path)
    return sample.replace("{content}", content) + _FORM


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
        rejected.append("the reply contains no question in the requested form")
    return valid, rejected
