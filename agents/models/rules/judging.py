"""A stand-in for a judge: it counts words, and understands nothing.

It answers whatever asks for a verdict in JSON by example: a list of numbers gets, for each point,
the share of the point's content words that occur in the judged text; a number gets their mean; the
first list of texts gets the sentences that mostly use words of the points, the second the others.
"""

from __future__ import annotations

import json
import re
from typing import Any

from agents.models.rules.words import text_words

_POINT = re.compile(r'<point number="\d+" most="([\d.e+-]+)">(.*?)</point>', re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


def answer(text: str) -> str | None:
    """The verdict as JSON; ``None`` where nothing is to be judged in that form."""
    asked, opened, rest = text.partition("\n\n<judged")
    shape = _shape(asked) if opened else None
    if shape is None:
        return None
    fence, _, rest = rest.partition(">")
    judged = rest.rpartition(f"</judged{fence}>")[0]
    words = text_words(judged)
    points = [(float(most), text_words(point)) for most, point in _POINT.findall(asked)]
    marks = [most * _share(point, words) for most, point in points]
    named = frozenset[str]().union(*(point for _, point in points))
    sentences: list[list[str]] = [[], []]
    for sentence in filter(str.strip, _SENTENCE.split(judged)):
        sentences[_share(text_words(sentence), named) < 0.5].append(sentence.strip())
    said: dict[str, Any] = {}
    for key, example in shape.items():
        if not isinstance(example, list):
            mean = sum(marks) / max(1, len(marks))
            said[key] = mean if isinstance(example, int | float) else str(example)
        elif example and isinstance(example[0], int | float):
            said[key] = marks
        else:
            said[key] = sentences.pop(0) if sentences else []
    return json.dumps(said, ensure_ascii=False)


def _shape(asked: str) -> dict[str, Any] | None:
    """The example at the end of what is asked."""
    try:
        shape = json.loads(asked[asked.rfind("\n{") + 1 :])
    except ValueError:
        return None
    return shape if isinstance(shape, dict) else None


def _share(wanted: frozenset[str], given: frozenset[str]) -> float:
    return len(wanted & given) / len(wanted) if wanted else 0.0
