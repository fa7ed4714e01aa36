"""Build corpora and their indexes ahead of time: all that some retrievers need.

``matsmith index retrieval=llm_doc,live:dense embedding=hashing``
"""

from __future__ import annotations

import time

from indexes.corpus import Corpus
from matsmith.core.command import Command
from retrieval.evaluate import ERRORS, PACKAGES, Choice, build
from retrieval.retriever import CorpusRetriever


async def _action(options: Choice) -> int:
    for name in options.retrieval.names:
        start = time.monotonic()
        retriever = await build(name, PACKAGES, "live", options)
        if isinstance(retriever, CorpusRetriever):
            print(_told(name, retriever.corpus, time.monotonic() - start))
    return 0


def _told(name: str, corpus: Corpus, seconds: float) -> str:
    versions = ", ".join(f"{p} {v}" for p, v in corpus.manifest.versions.items() if v)
    documents = f"{len(corpus.documents)} documents of {versions}"
    return f"{name}: {documents}: {seconds:.1f} s\n  {corpus.folder}"


main = Command("matsmith index", str(__doc__), Choice, _action, ERRORS)
