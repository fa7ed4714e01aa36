"""Sentences for the ten actions, in our own words.

``published`` has the word orders and notations of the published sentences, in which numbers and
vectors are written in several ways; ``own`` is one clear sentence; ``paraphrase`` are further ones.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any, Literal

from experiments.samples import data_of

Wording = Literal["published", "own", "paraphrase"]

_SENTENCES: Mapping[str, Any] = data_of(__file__)
FRAME = str(_SENTENCES["frame"])
_NUMBER = r"([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"
_KINDS = {"I": r"(\d+)", "D": _NUMBER, "E": "([A-Z][a-z]?)", "V": r"[\[(]([^\])]{1,100})[\])]",
          "T": "(?:x|X|[*]|by|\N{MULTIPLICATION SIGN})"}  # fmt: skip
_PATTERNS = {
    action: (re.compile(re.sub(r"\b[IDEVT]\b", lambda m: _KINDS[m[0]], pattern)), names)
    for action, (pattern, *names) in _SENTENCES["read"].items()
}


def sentence(draw: random.Random, action: str, given: Mapping[str, Any], wording: Wording) -> str:
    """An action in words, of several phrasings the one that is drawn."""
    choices = _SENTENCES[wording].get(action, _SENTENCES["own"][action])
    shown: dict[str, Any] = {}
    for name, value in given.items():
        if name in {"vector", "axis"}:
            shown[name] = _vector(draw, value, plain=wording != "published")
        elif name == "inclusive":
            shown[name] = _SENTENCES["inclusive"][value]
        elif name == "counts":
            shown |= dict(zip(("n1", "n2", "n3"), value, strict=True))
        else:
            shown[name] = value
    return str(draw.choice(choices)).format(**shown)


def _vector(draw: random.Random, value: list[float], *, plain: bool) -> str:
    """As a list; published sentences also have NumPy's notation, with blanks and bare points."""
    if plain or draw.random() < 0.5:
        return str(list(value))
    width = draw.choice((0, 1))
    short = (f"{v:g}." if float(v).is_integer() else f"{v:g}" for v in value)
    return "[" + " ".join(" " * width + s if not s.startswith("-") else s for s in short) + "]"


def parse(text: str) -> tuple[str, dict[str, Any]] | None:
    """Read an action and its parameters; ``None`` where nothing is recognised.

    The published wordings differ in brackets, commas, blanks and signs; this reads all of them.
    """
    text = " ".join(text[:2000].split())
    for action, (pattern, names) in _PATTERNS.items():
        match = pattern.search(text)
        if match is None:
            continue
        given = {n: _value(n, value) for n, value in zip(names, match.groups(), strict=True)}
        if None in given.values():
            continue
        if action == "insert_between" and given.pop("from") == given["index2"]:
            given["index1"], given["index2"] = given["index2"], given["index1"]
        return action, {"counts": list(given.values())} if action == "super_cell" else given
    return None


def _value(name: str, text: str) -> Any:
    if name in {"vector", "axis"}:
        numbers = re.findall(_NUMBER, text)
        return [float(number) for number in numbers] if len(numbers) == 3 else None
    if name == "inclusive":
        return text == "Including"
    if name == "symbol":
        return text
    return float(text) if name in {"distance", "radius", "angle"} else int(text)
