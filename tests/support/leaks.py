"""Runs of words that documents share with what a benchmark must keep secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from docgen import render
from docgen.symbols import Entry

LENGTH = (
    13  # words of a run, as in the contamination audits of GPT-3 (Brown et al. 2020)
)


def runs(text: str) -> set[tuple[str, ...]]:
    """Every run of words and numbers in a row, lower case, punctuation aside."""
    words = [word.lower() for word in re.findall(r"\d+\.\d+|\w+", text)]
    return {tuple(words[i : i + LENGTH]) for i in range(len(words) - LENGTH + 1)}


def shared(entries: Iterable[Entry], secrets: Mapping[str, str]) -> dict[str, int]:
    """How many runs of each secret stand in the documents of a corpus."""
    wanted = {name: runs(text) for name, text in secrets.items()}
    every = set().union(*wanted.values())
    held = set().union(*(every & runs(render.document(entry)) for entry in entries))
    return {name: len(held & own) for name, own in wanted.items()}
