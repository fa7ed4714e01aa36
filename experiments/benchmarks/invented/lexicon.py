"""Words of worlds: ``lexicon.yaml`` as typed tables, templates, and words of no other seed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

_TABLES: Mapping[str, Any] = yaml.safe_load(
    Path(__file__).with_name("lexicon.yaml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Unit:
    """A unit: symbol, two ways to say it in words, its size in the first unit of its family."""

    symbol: str
    words: str
    other_words: str
    size: float


def _words(name: str) -> dict[str, tuple[str, ...]]:
    return {key: tuple(words) for key, words in _TABLES[name].items()}


UNITS = {family: tuple(Unit(*row) for row in rows) for family, rows in _TABLES["units"].items()}
UNIT = {unit.symbol: unit for units in UNITS.values() for unit in units}
NOUNS, RULES, PICKS = map(_words, ("nouns", "rules", "picks"))
#: What an option decides -> meanings of its values; the first wording of each.
MODES = {name: tuple(row[0] for row in rows) for name, rows in _TABLES["modes"].items()}
#: Meaning -> its wordings.
WORDINGS = {row[0]: tuple(row) for rows in _TABLES["modes"].values() for row in rows}
#: Family of units -> what a number that a function takes stands for.
ROLES: Mapping[str, str] = _TABLES["roles"]
FAMILY = {role: family for family, role in ROLES.items()}
POLARITIES = tuple(map(tuple, _TABLES["polarities"]))
#: What a quantity is, and what it is for: three tables each of (documentation, question).
GLOSS, USE = (
    tuple(tuple(_TABLES[name].items()) for name in names)
    for names in (("aspects", "objects", "conditions"), ("decisions", "items", "settings"))
)
#: Kind of statement -> ways to say it.
PHRASES: Mapping[str, tuple[str, ...]] = _words("phrases")

_SYLLABLES = [_TABLES["syllables"][part] for part in _TABLES["word"]]
_WORDS = math.prod(map(len, _SYLLABLES))  # that there are
#: Words that a seed has for itself, and the number of seeds that there are words for.
WORDS, SEEDS = 32_768, 2000
_STEP = 48_271_019  # scatters neighbours; prime, so no two numbers meet


def words(seed: int, start: int, count: int) -> list[str]:
    """Words of a seed from number ``start`` on: each number of each seed is a word of its own."""
    found = []
    for number in range(start, start + count):
        rest, word = (seed * WORDS + number) * _STEP % _WORDS, ""
        for parts in _SYLLABLES:
            rest, place = divmod(rest, len(parts))
            word += parts[place]
        found.append(word)
    return found


@cache
def template(name: str) -> Template:
    """One of ``templates/``."""
    return Environment(  # noqa: S701 - it writes Python
        loader=FileSystemLoader(Path(__file__).with_name("templates")), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    ).get_template(name)  # fmt: skip
