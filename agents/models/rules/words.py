"""Words of names and sentences, and how alike two sets of them are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_STOP = frozenset(
    """a an and are as at be by each for from has have if in into is it its of on or that the their
    then there this to using used was which with when where whether given following all any format
    value values calculate calculated calculation compute computed returns return get pymatgen
    function property material""".split()  # noqa: SIM905 -- a list of 60 strings reads worse
)
_SUFFIXES = ("ations", "ation", "ies", "ings", "ing", "ed", "es", "s")
_SHORTEST_STEM = 3


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """A crude stem: enough to make ``symmetries`` and ``symmetry`` meet."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            word = word[: -len(suffix)] + ("y" if suffix == "ies" else "")
            break
    return word[:-1] if word.endswith("e") and len(word) > _SHORTEST_STEM + 1 else word


@lru_cache(maxsize=200_000)
def pieces(name: str) -> tuple[str, ...]:
    """Lower-case pieces of an identifier, in order: ``fromFile_2d`` is from, file, 2, d."""
    return tuple(piece.lower() for piece in _PIECE.findall(name))


@lru_cache(maxsize=200_000)
def name_words(name: str) -> tuple[str, ...]:
    """Stems of the pieces of an identifier, in order."""
    return tuple(stem(piece) for piece in pieces(name))


def text_words(text: str) -> frozenset[str]:
    """Stems of the words of a sentence, without those that say nothing."""
    return frozenset(stem(piece) for piece in pieces(text) if piece not in _STOP and len(piece) > 1)


def likeness(one: str, other: str) -> float:
    """How far two stems agree: 1 for equal, less for a long common beginning, else 0.

    Abbreviations are beginnings (``vac`` of ``vacancy``), so three letters are enough.
    """
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=len)
    return 0.8 if len(short) >= _SHORTEST_STEM and long.startswith(short) else 0.0


def covered(words: Iterable[str], by: Iterable[str]) -> float:
    """Part of ``words`` that is found in ``by``, between 0 and 1 (0 for no words)."""
    words, pool = list(words), list(by)
    if not words:
        return 0.0
    return sum(max((likeness(w, p) for p in pool), default=0.0) for w in words) / len(words)


def agreement(one: Iterable[str], other: Iterable[str]) -> float:
    """Harmonic mean of the two coverages, between 0 and 1."""
    one, other = list(one), list(other)
    there, back = covered(one, other), covered(other, one)
    return 0.0 if there + back == 0 else 2 * there * back / (there + back)
