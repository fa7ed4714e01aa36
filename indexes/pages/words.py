"""Words of prose and code, and which of them say nothing."""

# Standard library only: also mounted in the sandbox.

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*|\d+(?:\.\d+)?")
#: A word of an identifier (``get``, ``charge``, ``States``), a number, or other letters.
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
STOP = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be been but by can could did do does each else for from get given had
        has have how i if in into is it its may must no nor not of on one or other our shall should
        so some such than that the their them then there these they this those to use used uses
        using via was we were what when where which while who will with would you your""",
    )
)


#: Of these, and of words that every documentation uses, no definition is made.
COMMON = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be by can each for from give given gives how if in into is it its no
        not of on one only or same see that the their them then this to used value values what when
        where which whose will with""",
    )
)


def words(text: str) -> list[str]:
    """Words of prose and of identifiers, in lower case; single small letters are none."""
    pieces = _HUMP.findall(text)
    return [w.lower() for w in pieces if len(w) > 1 or not ("a" <= w <= "z")]


def tokens(text: str) -> list[str]:
    """Lower-case tokens of prose and code.

    A dotted path gives itself, each of its parts, and the words of each part (``snake_case`` and
    ``camelCase`` are split). Words are reduced to their singular; function words are dropped.
    """
    result: list[str] = []
    for match in _WORD.finditer(text):
        result += _identifier(match.group())
    return result


@lru_cache(maxsize=200_000)
def _identifier(word: str) -> tuple[str, ...]:
    parts = word.split(".")
    result: list[str] = [word.lower()] if len(parts) > 1 else []
    for part in parts:
        pieces = [_stem(piece.lower()) for piece in _HUMP.findall(part)]
        whole = part.lower()
        if len(pieces) > 1 or (pieces and pieces[0] != _stem(whole)):
            result.append(whole)
        result += pieces
    return tuple(
        token
        for token in result
        if token not in STOP and (len(token) > 1 or token.isdigit())
    )


def _stem(word: str) -> str:
    """Singular of a regular English plural: ``vacancies`` and ``vacancy`` must meet."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
