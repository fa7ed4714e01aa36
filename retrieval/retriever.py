"""Retrievers over one corpus: its entries by ranking and by name, and a map of its symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from docgen import render
from docgen.symbols import Chunk, Entry
from indexes import RetrievalError
from indexes.corpus import Corpus
from retrieval.base import MAP, Hit, Retriever
from retrieval.prompting import CHARACTERS_PER_TOKEN
from retrieval.scorers import DEPTH, Ranker


class CorpusRetriever(Retriever):
    """Finds what is in a corpus."""

    corpus: Corpus

    def __init__(self, name: str, corpus: Corpus, rank: Ranker) -> None:
        self.name = name
        self.corpus = corpus
        self._rank = rank

    async def search(self, query: str, *, k: int) -> Sequence[Hit]:
        """The ``k`` best entries for ``query``; fewer when fewer match."""
        if k < 1:
            raise RetrievalError(f"k must be at least 1, not {k}")
        ranking = await self._rank(query, max(k, DEPTH))
        return [Hit(self.corpus.entries[n], score) for n, score in ranking[:k]]

    async def lookup(self, name: str) -> Hit | None:
        """A symbol by qualified name, import path, or unambiguous short name.

        In a corpus of chunks: the chunk in which the symbol's description begins.
        """
        entry = self.corpus.table.find(name)
        return None if entry is None else Hit(entry)

    async def named(self, query: str, *, k: int) -> Sequence[Hit]:
        """The first ``k`` symbols that a query names, in order of appearance."""
        entries = map(self.corpus.table.find, self.corpus.table.named(query))
        return [Hit(entry) for entry in entries if entry is not None][:k]


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
        self._place = {e.qualname: n for n, e in enumerate(self.corpus.entries)}

    async def search(self, query: str, *, k: int) -> Sequence[Hit]:
        """The map, then the ``k`` best documents; see :meth:`CorpusRetriever.search`."""
        hits = await self._base.search(query, k=max(k, DEPTH))
        best = self._map([hit.entry for hit in hits])
        return [best] if self._alone else [best, *hits[:k]]

    async def lookup(self, name: str) -> Hit | None:
        """See :meth:`CorpusRetriever.lookup`."""
        return await self._base.lookup(name)

    def _map(self, best: Sequence[Entry]) -> Hit:
        lines: dict[str, str] = {}
        homes: set[str] = set()
        left = self._room
        for entry in [*best, *self.corpus.entries]:
            name = entry.qualname
            if name in lines or entry.kind in {"module", "chunk"}:
                continue
            home = name.rpartition(".")[0]
            line = render.map_line(entry)
            size = len(line) + 1 + (0 if home in homes else len(home) + 2)
            if size > left:
                break
            lines[name], left = line, left - size
            homes.add(home)
        packages = self.corpus.manifest.packages
        chunk = Chunk(
            id=f"{MAP}:{len(lines)}",
            qualname=f"index of {', '.join(packages)}",
            text=self._by_home(lines),
            kind=MAP,
            covers=tuple(lines),
        )
        return Hit(chunk, 1.0)

    def _by_home(self, lines: Mapping[str, str]) -> str:
        """The lines below the module or class that each stands in."""
        by_home: dict[str, list[str]] = {}
        for name in sorted(lines, key=self._place.__getitem__):
            by_home.setdefault(name.rpartition(".")[0], []).append(lines[name])
        return "\n".join(
            "\n".join([f"{home}:", *by_home[home]]) for home in sorted(by_home)
        )
