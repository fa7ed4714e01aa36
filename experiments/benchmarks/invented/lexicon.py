"""Words that worlds are written with: ``lexicon.yaml`` as typed tables, and its phrases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_TABLES: Mapping[str, Any] = yaml.safe_load(
    Path(__file__).with_name("lexicon.yaml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Unit:
    """A unit: symbol, in words, and its size in the first unit of its family."""

    symbol: str
    words: str
    size: float


def _words(name: str) -> dict[str, tuple[str, ...]]:
    return {key: tuple(words) for key, words in _TABLES[name].items()}


UNITS = {family: tuple(Unit(*row) for row in rows) for family, rows in _TABLES["units"].items()}
UNIT = {unit.symbol: unit for units in UNITS.values() for unit in units}
NOUNS, MODES, RULES, PICKS = map(_words, ("nouns", "modes", "rules", "picks"))
#: Family of units -> what a number that a function takes stands for.
ROLES: Mapping[str, str] = _TABLES["roles"]
FAMILY = {role: family for family, role in ROLES.items()}
POLARITIES = tuple(map(tuple, _TABLES["polarities"]))
RECIPROCAL: tuple[str, ...] = tuple(_TABLES["phrases"]["reciprocal"])
#: What a quantity is, and what it is for: three tables each of (documentation, question).
GLOSS, USE = (
    tuple(tuple(_TABLES[name].items()) for name in names)
    for names in (("aspects", "objects", "conditions"), ("decisions", "items", "settings"))
)
#: Kind of statement -> ways to say it.
PHRASES: Mapping[str, tuple[str, ...]] = _words("phrases")
