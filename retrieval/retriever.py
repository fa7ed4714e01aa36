"""The retriever over one corpus: rankings become documents, names become documents."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import Document

from indexes.corpus import Corpus
from retrieval.base import RetrievalError
from retrieval.rankers import Ranker

_DEPTH = 100  # candidates that a ranker gives, at least


class CorpusRetriever:
    """Implements :class:`retrieval.base.Retriever` over a corpus."""

    def __init__(self, name: str, corpus: Corpus, ranker: Ranker) -> None:
        self.name = name
        self._corpus = corpus
        self._ranker = ranker
        self._by_qualname: dict[str, Document] = {}
        self._by_short_name: dict[str, set[str]] = {}
        for document in corpus.documents:
            qualname = str(document.metadata["qualname"])
            self._by_qualname.setdefault(qualname, document)
            if document.metadata["kind"] != "chunk":
                short = qualname.rpartition(".")[2]
                self._by_short_name.setdefault(short, set()).add(qualname)

    async def search(self, query: str, *, k: int) -> Sequence[Document]:
        """The ``k`` best documents for ``query``; fewer when fewer match at all.

        Raises
        ------
        RetrievalError
            When an index or an endpoint behind it failed.
        """
        if k < 1:
            raise RetrievalError(f"k must be at least 1, not {k}")
        ranking = await self._ranker.rank(query, max(k, _DEPTH))
        return [self._answer(position, score) for position, score in ranking[:k]]

    async def lookup(self, name: str) -> Document | None:
        """A symbol's document by qualified name, import path, or unambiguous short name.

        ``Structure.from_file`` is resolved like a short name with its owner in front.
        """
        wanted = name.strip().removesuffix("()")
        qualname = self._corpus.aliases.get(wanted, wanted)
        found = self._by_qualname.get(qualname)
        if found is None:
            candidates = self._candidates(wanted)
            found = self._by_qualname[candidates.pop()] if len(candidates) == 1 else None
        return None if found is None else found.model_copy(deep=True)

    def _candidates(self, wanted: str) -> set[str]:
        """Symbols that a name without its module may mean."""
        owner, _, short = wanted.rpartition(".")
        if not owner:
            return set(self._by_short_name.get(short, ()))
        owners = self._candidates(owner)
        paths = (f"{qualname}.{short}" for qualname in owners)
        resolved = (self._corpus.aliases.get(path, path) for path in paths)
        return {path for path in resolved if path in self._by_qualname}

    def _answer(self, position: int, score: float) -> Document:
        document = self._corpus.documents[position].model_copy(deep=True)
        document.metadata["score"] = score
        return document
