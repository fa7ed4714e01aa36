"""Letters of multiple-choice questions: how a fair person reads them out of a reply.

A letter that is denied ("not A", "B is wrong") is not chosen; where several could be meant, none is
read. Everything runs in linear time over hostile text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache

MAX_LIST = 1000  # characters of a list of letters
_KEYS = (
    "answer",
    "answers",
    "letter",
    "letters",
    "choice",
    "choices",
    "correct_answer",
)
_JOINING = re.compile(r"(?i)\b(?:and|both|options?|choices?|statements?|letters?)\b")
_RANGE = re.compile(
    r"(?<![^\W_])[A-Z][ \t]{0,3}[-\u2013\u2014][ \t]{0,3}[A-Z](?![^\W_])"
)
_ITEM = re.compile(r"\W{0,20}([A-Z])\W{0,2}[:.)] {0,20}[^\s,;]")  # ``B. inversion``
_ANSWER = r"(?i:\banswer(?:\(s\)|s)?(?!\w)(?: is| are)?(?: options?| choices?)?)"
_CORRECT = r"(?i:\bcorrect(?: options?| answers?| choices?| statements?| ones?)?(?: is| are|:))"
_CONCLUDED = (
    r"(?i:(?:\A|[.,;:!?\n] ?)[*_ ]{0,4}(?:and )?"
    r"(?:so|thus|hence|therefore|in conclusion|i choose|i pick))"
)
_OR = re.compile(r"[*_`)\]]{0,4}\s{0,4}or\b")
_OBJECT = re.compile(r"\{[^{}]{1,2000}\}")


def chosen_letter(text: str, letters: str) -> tuple[str, str] | None:
    """The one letter that a reply without tags chooses, and the rule that read it."""
    patterns = _patterns(letters)
    for rule in ("answer", "box"):
        if matches := [*patterns[rule].finditer(text)]:
            match = matches[-1]
            more = patterns["or another"].match(text, match.end())
            return None if more else (match[1].upper(), rule)
    if chosen := in_object(text, letters):
        return (chosen, "json") if len(chosen) == 1 else None
    last = _last_line(text)
    if (alone := patterns["whole"].fullmatch(last)) is not None:
        return alone[1].upper(), "final line"
    free = standing_alone(text, letters)
    return (free.pop(), "only letter") if len(free) == 1 else None


def letter_in_tags(text: str, letters: str) -> str | None:
    """The one letter that the content of tags chooses; ``None`` where it is not one."""
    patterns = _patterns(letters)
    text = text.strip()
    if match := patterns["whole"].fullmatch(text) or patterns["labelled"].match(text):
        return match[1].upper()
    chosen = in_object(text, letters)
    if len(chosen) == 1:
        return chosen
    free = standing_alone(text, letters)
    return free.pop() if len(free) == 1 else None


def standing_alone(text: str, letters: str) -> set[str]:
    """The letters that stand alone in a text and are not denied there.

    "A" before a word is an article, unless that word is "or" or "and".
    """
    patterns = _patterns(letters)
    denied = {match[1] or match[2] for match in patterns["denied"].finditer(text)}
    return {match[1] for match in patterns["alone"].finditer(text)} - denied


def chosen_letters(text: str, letters: str) -> tuple[str, str] | None:
    """All letters that a text lists or says to be the answer, and the rule that read them."""
    boxes = re.findall(r"\\boxed\{(?:\\text\{)?([^{}]{1,200})\}", text)
    if boxes:
        chosen = listed(boxes[-1], letters)
        return (chosen, "box") if chosen else None
    if chosen := listed(text, letters):
        return chosen, "list"
    if chosen := in_object(text, letters):
        return chosen, "json"
    letter = rf"(?:[{letters}]+\b(?:[ ,;&*()]|and\b){{0,9}})"
    several = rf"((?i:both )?{letter}{{1,26}})"
    right = "(?:is|are)(?: all| both)? (?:correct|right|true)"
    ends = r"(?=[.!]?[*_ ]{0,4}(?:\n|\Z))"
    for rule, pattern in (
        ("answer", rf"{_ANSWER}[ \t:*(]{{0,9}}{several}"),
        (
            "named right",
            rf"(?i:\b(?:options?|choices?|statements?))[ *(]{{1,9}}{several}{right}\b",
        ),
        ("named right", rf"{_CORRECT}[ \t:*(]{{0,9}}{several}"),
        ("conclusion", rf"{_CONCLUDED}[ ,:*(]{{1,9}}{several}{ends}"),
    ):
        if lists := [*re.finditer(pattern, text)]:
            chosen = _stated(text, lists[-1], letters)
            return (chosen, rule) if chosen else None
    items = _closing_items(text)
    if items and len(items) == len(letters):
        return None  # the question's choices, repeated: nothing is chosen
    chosen = listed("\n".join(items) or _last_line(text), letters)
    return (chosen, "final line") if chosen else None


def _closing_items(text: str) -> list[str]:
    """The lines ``B. inversion`` that a reply ends with, where there are several."""
    items: list[str] = []
    for line in reversed(text.strip().splitlines()):
        if not _ITEM.match(line):
            break
        items.insert(0, line)
    return items if len(items) > 1 else []


def _stated(text: str, match: re.Match[str], letters: str) -> str:
    """The letters of a statement, unless it goes on with a range or an alternative."""
    beyond = text[match.start(1) : match.end(1) + 9]
    if _RANGE.search(beyond) or _OR.match(text, match.end(1)):
        return ""
    return listed(match[1], letters)


def listed(text: str, letters: str) -> str:
    """The letters that a text lists and nothing else; empty where it is no such list.

    ``B: inversion, D: mirror`` is a list of letters with what they stand for. ``A-C`` is none: it
    may be a range.
    """
    if len(text) >= MAX_LIST or _RANGE.search(text):
        return ""
    text = re.sub(r"\\[a-z]+", " ", text)
    named = [_ITEM.match(part) for part in re.split("[,;\n]", text)]
    if all(named):
        text = " ".join(match[1] for match in named if match)
    words = re.findall(r"[^\W_]+", _JOINING.sub(" ", text))
    if not all(word.isupper() or len(word) == 1 for word in words):
        return ""
    chosen = set("".join(words).upper())
    return "".join(sorted(chosen)) if chosen <= set(letters) else ""


def in_object(text: str, letters: str) -> str:
    """The letters under a telling key of the last JSON object in a text; empty for none."""
    for match in reversed(list(_OBJECT.finditer(text))):
        try:
            content = json.loads(match[0])
        except ValueError:
            continue
        values = [content[key] for key in _KEYS if key in content]
        flat = values[0] if values and isinstance(values[0], list) else values
        if flat and all(isinstance(value, str) for value in flat):
            return listed(", ".join(flat), letters)
    return ""


def _last_line(text: str) -> str:
    lines: Iterable[str] = reversed(text.strip().splitlines()[-3:])
    return next((line.strip() for line in lines if line.strip("`*_ \t")), "")


@lru_cache(maxsize=64)
def _patterns(letters: str) -> dict[str, re.Pattern[str]]:
    """Patterns for one letter of a question."""
    letter = f"[{letters}]"
    either = f"[{letters}{letters.lower()}]"
    around = r"[\s*_`()\[\]\"'.:]"
    return {
        "whole": re.compile(rf"{around}{{0,20}}({either}){around}{{0,20}}"),
        "labelled": re.compile(
            rf"[\s*_`(\[\"']{{0,20}}({letter})[*_`]{{0,4}}\s?[.):](?=\s|[*_`])"
            rf"(?![\s\S]*(?<![^\W_]){letter}[.):](?=\s))"
        ),
        "answer": re.compile(
            rf"(?i:\banswers?\b(?:\(s\))?(?: option| choice)?(?:\s{{1,9}}is|\s{{0,9}}:)?"
            rf"(?: option| choice)?)[^\w]{{0,20}}({either})\b(?!')"
        ),
        "box": re.compile(rf"\\boxed\{{\W{{0,9}}(?:\\text\{{)?\W{{0,9}}({either})\b"),
        "or another": re.compile(
            rf"[*_`)\]]{{0,9}}\s{{0,9}}(?:[,/&]|or\b|and\b)\s{{0,9}}[*_`(\[]{{0,9}}{letter}\b"
        ),
        "alone": re.compile(
            rf"(?:^|[\s*(\[\"'`])({letter})(?=$|[\s*).:,;\]\"'`])"
            r"(?!(?<=A)\s{1,99}(?!or\b|and\b)[a-z])"
        ),
        "denied": re.compile(
            r"(?i:\b(?:not|isn't|neither|nor|never|except|unlike|than|rather than|instead of)\s"
            rf"(?:\w{{1,12}}\s){{0,2}})[*_`(\[\"']{{0,4}}({letter})\b"
            rf"|\b({letter})\b[*_`)\]\"'.]{{0,4}}(?i:\s(?:is|was|are|seems|looks)\s"
            r"(?:\w{1,12}\s)?(?:not|in(?:correct|valid)|wrong|false|excluded|out)\b"
            r"|\s(?:isn't|cannot|can't|does not|doesn't)\b)"
        ),
    }
