"""The retriever over one corpus: rankings become documents, names become documents."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import Document

from indexes.corpus import Corpus, CorpusError
from indexes.embedding import EmbeddingError
from retrieval.base import RetrievalError
from retrieval.linking import Linker, covered
from retrieval.scorers import DEPTH, Ranker


class CorpusRetriever:
    """Implements :class:`retrieval.base.Retriever` over a corpus."""

    def __init__(self, name: str, corpus: Corpus, rank: Ranker, linker: Linker) -> None:
        self.name = name
        self.corpus = corpus
        self._rank = rank
        self._linker = linker
        self._by_qualname: dict[str, Document] = {}
        for document in corpus.documents:
            for qualname in covered(document):
                self._by_qualname.setdefault(qualname, document)

    async def search(self, query: str, *, k: int) -> Sequence[Document]:
        """The ``k`` best documents for ``query``; fewer when fewer match."""
        if k < 1:
            raise RetrievalError(f"k must be at least 1, not {k}")
        try:
            ranking = await self._rank(query, max(k, DEPTH))
        except (CorpusError, EmbeddingError) as error:
            raise RetrievalError(str(error)) from error
        return [self._answer(position, score) for position, score in ranking[:k]]

    async def lookup(self, name: str) -> Document | None:
        """A symbol's document by qualified name, import path, or unambiguous short name.

        In a corpus of chunks: the chunk in which the symbol's description begins.
        """
        qualname = self._linker.resolve(name)
        document = self._by_qualname.get(qualname) if qualname is not None else None
        return None if document is None else document.model_copy(deep=True)

    def named(self, query: str) -> list[Document]:
        """Documents of the symbols that a query names, in order of appearance."""
        names = self._linker.named(query)
        return [self._by_qualname[name] for name in names if name in self._by_qualname]

    def _answer(self, position: int, score: float) -> Document:
        document = self.corpus.documents[position].model_copy(deep=True)
        document.metadata["score"] = score
        return document


class NamesInQuery:
    """Lists the symbols that stand in the query: the baseline that does not retrieve anything."""

    name = "names in the query"

    def __init__(self, retriever: CorpusRetriever) -> None:
        self._retriever = retriever

    async def search(self, query: str, *, k: int) -> Sequence[Document]:
        """The first ``k`` named symbols."""
        return self._retriever.named(query)[:k]

    async def lookup(self, name: str) -> Document | None:
        """See :meth:`CorpusRetriever.lookup`."""
        return await self._retriever.lookup(name)
