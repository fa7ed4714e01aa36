"""Sentences for the ten actions, in our own words.

``published`` has the word orders and notations of the published sentences, in which numbers and
vectors are written in several ways; ``own`` is one clear sentence; ``paraphrase`` are further ones
that the parser of ``model=rules`` does not know.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

Wording = Literal["published", "own", "paraphrase"]

FRAME = (
    "Cartesian coordinates have a along x and b in the xy plane; indices of atoms start at 0, in "
    "the order of the file; lengths are in angstrom."
)

_INCLUSIVE = {
    True: "Including itself and atoms with the same z coordinate.",
    False: "Excluding itself and atoms with the same z coordinate.",
}
_SENTENCES: Mapping[str, Mapping[str, list[str]]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)


def sentence(draw: random.Random, action: str, given: Mapping[str, Any], wording: Wording) -> str:
    """An action in words.

    Parameters
    ----------
    draw
        Chooses among several phrasings.
    """
    choices = _SENTENCES[wording].get(action, _SENTENCES["own"][action])
    shown: dict[str, Any] = {}
    for name, value in given.items():
        if name in {"vector", "axis"}:
            shown[name] = _vector(draw, value, plain=wording != "published")
        elif name == "inclusive":
            shown[name] = _INCLUSIVE[value]
        elif name == "counts":
            shown |= dict(zip(("n1", "n2", "n3"), value, strict=True))
        else:
            shown[name] = value
    return draw.choice(choices).format(**shown)


def _vector(draw: random.Random, value: list[float], *, plain: bool) -> str:
    """As a list; published sentences also have NumPy's notation, with blanks and bare points."""
    if plain or draw.random() < 0.5:
        return str(list(value))
    width = draw.choice((0, 1))
    short = (f"{v:g}." if float(v).is_integer() else f"{v:g}" for v in value)
    return "[" + " ".join(" " * width + s if not s.startswith("-") else s for s in short) + "]"
