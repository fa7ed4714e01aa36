"""Formulas in a prompt: the right set, the right one among others, or those that are found."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from experiments.benchmarks.omnimatbench.published import Entry

LETTERS = "ABCD"
_TOKEN = re.compile(r"[a-z0-9]+")


def sets(entry: Entry, others: Sequence[Entry], seed: int) -> tuple[dict[str, Sequence[str]], str]:
    """Four sets of formulas by letter, one of them the entry's, and its letter."""
    rng = random.Random(f"omnimatbench sets {seed} {entry.name}")  # noqa: S311 -- no secret
    foreign = list({tuple(other.formulas): None for other in others
                    if other.formulas and set(other.formulas) != set(entry.formulas)})  # fmt: skip
    chosen: list[Sequence[str]] = [entry.formulas, *rng.sample(foreign, min(3, len(foreign)))]
    order = rng.sample(range(len(chosen)), len(chosen))
    lettered = {LETTERS[place]: chosen[which] for place, which in enumerate(order)}
    return lettered, LETTERS[order.index(0)]


def found(entry: Entry, pool: Sequence[str], k: int) -> list[str]:
    """The ``k`` formulas that fit the question best, as the authors rank them.

    By the Jaccard index of the words, plus 0.01 for each shared one.
    """
    words = set(_TOKEN.findall(entry.text.lower()))

    def fit(formula: str) -> float:
        tokens = set(_TOKEN.findall(formula.lower()))
        shared = len(words & tokens)
        return shared / len(words | tokens or "-") + 0.01 * shared

    return sorted(pool, key=fit, reverse=True)[:k]


def section(formulas: Sequence[str], tag: str = "formulas") -> str:
    """As a prompt shows them."""
    return f"<{tag}>\n" + "\n".join(formulas) + f"\n</{tag}>"


def lettered(by_letter: dict[str, Sequence[str]]) -> str:
    """Several sets as a prompt shows them."""
    return section([f"Set {letter}:\n" + "\n".join(s) for letter, s in by_letter.items()])
