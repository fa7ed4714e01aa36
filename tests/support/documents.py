"""Chains of documents, each of which names what the next one is about."""

from __future__ import annotations

from pathlib import Path

from indexes.corpus import Manifest, indexed_texts, write_corpus
from indexes.lexical import TfidfIndex
from retrieval.retriever import CorpusRetriever
from retrieval.scorers import by_score
from tests.support.symbols import signature, symbol

WORDS = (
    "amber",
    "basalt",
    "cobalt",
    "dolomite",
    "ember",
    "flint",
    "garnet",
    "halite",
    "indium",
)


def chain(
    folder: Path, length: int, described: str = "", more: str = ""
) -> CorpusRetriever:
    """Documents of which each says where its input comes from; the last one is a constant.

    The last one says ``described`` of its input instead; ``more`` is the name of a constant that no
    other document names.
    """
    symbols = []
    for number, word in enumerate(WORDS[:length]):
        source = f"The {WORDS[number + 1]} hold of thin layers."
        if number == length - 1:
            source = described
        text = f"## What it does\nThe {word} hold of thin layers."
        name = f"lab.m{number}.{word}"
        if source:
            text += f"\n\n## Parameters\nx (float): {source}"
            called = signature("(x: float) -> float")
            symbols.append(symbol(name, text=text, signature=called))
        else:
            symbols.append(symbol(name, "constant", text, value="1.5"))
    if more:
        text = "## What it does\nThe teal glow of brightness."
        symbols.append(symbol(more, "constant", text, value="1.5"))
    manifest = Manifest("llm_doc", ("lab",), {"lab": "1"}, "x", None, {})
    corpus = write_corpus(folder, manifest, symbols, {})
    ranker = by_score(TfidfIndex.build(indexed_texts(corpus)).scores)
    return CorpusRetriever("chain", corpus, ranker)
