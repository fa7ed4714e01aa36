"""Retrievers over one corpus: its documents by ranking and by name, and a map of its symbols."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import Document

from indexes import RetrievalError
from indexes.corpus import Corpus
from retrieval.base import MAP, Retriever
from retrieval.linking import Linker, covered
from retrieval.prompting import CHARACTERS_PER_TOKEN
from retrieval.scorers import DEPTH, Ranker

_LINE, _UNIT = 100, 60  # characters of what a symbol is, and of what its result is


class CorpusRetriever(Retriever):
    """Finds what is in a corpus."""

    corpus: Corpus

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
        ranking = await self._rank(query, max(k, DEPTH))
        found = [self.corpus.documents[n].model_copy(deep=True) for n, _ in ranking[:k]]
        for document, (_, score) in zip(found, ranking, strict=False):
            document.metadata["score"] = score
        return found

    async def lookup(self, name: str) -> Document | None:
        """A symbol's document by qualified name, import path, or unambiguous short name.

        In a corpus of chunks: the chunk in which the symbol's description begins.
        """
        qualname = self._linker.resolve(name)
        document = self._by_qualname.get(qualname) if qualname is not None else None
        return None if document is None else document.model_copy(deep=True)

    async def named(self, query: str, *, k: int) -> Sequence[Document]:
        """The first ``k`` documents of the symbols that a query names, in order of appearance."""
        names = self._linker.named(query)
        return [self._by_qualname[name] for name in names if name in self._by_qualname][
            :k
        ]


class IndexRetriever(Retriever):
    """Puts the names that a query is likeliest to need, with signatures, before what it finds.

    Where not everything fits, the best of the ranking are there, then the others in the order of
    the corpus.

    Parameters
    ----------
    tokens
        Room for the map.
    alone
        Whether it is all that there is.
    """

    corpus: Corpus

    def __init__(self, base: CorpusRetriever, tokens: int, *, alone: bool) -> None:
        self.name, self.corpus = base.name, base.corpus
        self._base, self._room, self._alone = base, tokens * CHARACTERS_PER_TOKEN, alone
        self._place = {
            str(d.metadata["qualname"]): n for n, d in enumerate(self.corpus.documents)
        }

    async def search(self, query: str, *, k: int) -> Sequence[Document]:
        """The map, then the ``k`` best documents; see :meth:`CorpusRetriever.search`."""
        found = await self._base.search(query, k=max(k, DEPTH))
        return [self._map(found), *([] if self._alone else found[:k])]

    async def lookup(self, name: str) -> Document | None:
        """See :meth:`CorpusRetriever.lookup`."""
        return await self._base.lookup(name)

    def _map(self, best: Sequence[Document]) -> Document:
        lines: dict[str, str] = {}
        homes: set[str] = set()
        left = self._room
        for document in [*best, *self.corpus.documents]:
            name = str(document.metadata["qualname"])
            if name in lines or document.metadata["kind"] in {"module", "chunk"}:
                continue
            home = name.rpartition(".")[0]
            line = _line(document)
            size = len(line) + 1 + (0 if home in homes else len(home) + 2)
            if size > left:
                break
            lines[name], left = line, left - size
            homes.add(home)
        parts, last = [], ""
        for name in sorted(
            lines, key=lambda name: (name.rpartition(".")[0], self._place[name])
        ):
            home = name.rpartition(".")[0]
            parts += [f"{home}:"] if home != last else []
            parts.append(lines[name])
            last = home
        packages = self.corpus.manifest.packages
        about = {
            "id": f"{MAP}:{len(lines)}",
            "qualname": f"index of {', '.join(packages)}",
            "kind": MAP,
            "path": "",
            "version": "",
            "score": 1.0,
            "covers": list(lines),
        }
        return Document("\n".join(parts), metadata=about)


def _line(document: Document) -> str:
    """Name and signature, what it is, and what is said of its result."""
    meta, sections = document.metadata, document.metadata.get("sections") or {}
    short = str(meta["qualname"]).rpartition(".")[2]
    what = " ".join(
        (sections.get("What it does") or next(iter(sections.values()), "")).split()
    )
    result = " ".join(sections.get("Returns", "").split())[:_UNIT]
    unit = f" ({result})" if " " in result else ""
    return f"{meta.get('signature') or short}: {what[:_LINE]}{unit}"
