"""Multiple-choice questions: the choice whose words fit the question best.

Nothing but the text is known: words of names are compared with the words around the ``[MASK]``,
or with what the question says. How a question was made, and what is right, is not.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping

from agents.models.rules.words import covered, likeness, name_words, text_words
from docgen.reading import tagged

MASK = "[MASK]"

_CHOICE = re.compile(r"\s*([A-Z])[.):]\s*(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")
_QUOTED = re.compile(r"`([\w.]+)`")

#: What a word counts that stands this many lines from the mask (further ones count nothing).
NEAR = (1.0, 0.6, 0.5, 0.35, 0.25, 0.2, 0.15, 0.1)

#: What a word of the signature or the docstring counts.
ABOUT = 0.4


def answer(prompt: str) -> str | None:
    """The reply to a multiple-choice question; ``None`` when the prompt is not one."""
    end = prompt.rfind("</answer_choices>")
    listed = prompt.rfind("<answer_choices>", 0, max(end, 0))
    _, opened, question = prompt[: max(listed, 0)].rstrip().partition("<question>")
    if not opened or not question.endswith("</question>"):
        return None
    question = question.removesuffix("</question>")
    parts = map(_CHOICE.fullmatch, tagged(prompt[listed:end], "choice"))
    choices = {part[1]: part[2] for part in parts if part}
    if not choices:
        return None
    scores = scored(question, choices)
    # Of equally good ones the same text wherever it stands: no letter is preferred.
    best = max(
        scores,
        key=lambda letter: (scores[letter], zlib.crc32(choices[letter].encode("utf-8", "replace"))),
    )
    return f"<answer>{best}</answer>"


def scored(question: str, choices: Mapping[str, str]) -> dict[str, float]:
    """How well each choice fits, by letter."""
    if MASK in question:
        around = dict(_around(question))
        return {letter: _fits_code(text, around) for letter, text in choices.items()}
    return {letter: _fits_text(text, question) for letter, text in choices.items()}


def _around(question: str) -> Iterator[tuple[str, float]]:
    """Stems in the code, and the most that each counts."""
    lines = question.splitlines()
    masked = [number for number, line in enumerate(lines) if MASK in line]
    weights: dict[str, float] = {}
    for number, line in enumerate(lines):
        distance = min(abs(number - mask) for mask in masked)
        near = NEAR[distance] if distance < len(NEAR) else 0.0
        about = ABOUT if number < 8 or "def " in line else 0.0
        weight = max(near, about)
        for name in _NAME.findall(line.replace(MASK, " ")) if weight else ():
            for word in name_words(name):
                weights[word] = max(weights.get(word, 0.0), weight)
    yield from weights.items()


def _fits_code(choice: str, around: Mapping[str, float]) -> float:
    """Mean over the words of a name of the best that stands around the mask."""
    words = name_words(choice)
    if not words:
        return 0.0
    best = (
        max((likeness(word, other) * weight for other, weight in around.items()), default=0.0)
        for word in words
    )
    return sum(best) / len(words)


def _fits_text(choice: str, question: str) -> float:
    """How far the words of a choice and of the question cover each other."""
    names = _QUOTED.findall(question)
    wanted = set(text_words(_QUOTED.sub(" ", question)))
    for name in names:
        wanted.update(name_words(name.rpartition(".")[2]))
    owners = {
        word for name in names for part in name.split(".")[-3:-1] for word in name_words(part)
    }
    words = text_words(choice) or set(name_words(choice))
    return covered(words, wanted) + covered(wanted, words) + 0.2 * covered(words, owners)
