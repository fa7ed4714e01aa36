"""A map of a library before its documents, or in place of them."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import Document

from retrieval.base import MAP
from retrieval.budget import CHARACTERS_PER_TOKEN
from retrieval.retriever import CorpusRetriever
from retrieval.scorers import DEPTH

_LINE, _UNIT = 100, 60  # characters of what a symbol is, and of what its result is


class IndexRetriever:
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

    def __init__(self, base: CorpusRetriever, tokens: int, *, alone: bool) -> None:
        self.name, self.corpus = base.name, base.corpus
        self._base, self._room, self._alone = base, tokens * CHARACTERS_PER_TOKEN, alone
        self._place = {str(d.metadata["qualname"]): n for n, d in enumerate(self.corpus.documents)}

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
        for name in sorted(lines, key=lambda name: (name.rpartition(".")[0], self._place[name])):
            home = name.rpartition(".")[0]
            parts += [f"{home}:"] if home != last else []
            parts.append(lines[name])
            last = home
        packages = self.corpus.manifest.packages
        about = {"id": f"{MAP}:{len(lines)}", "qualname": f"index of {', '.join(packages)}",
                 "kind": MAP, "path": "", "version": "", "score": 1.0,
                 "covers": list(lines)}  # fmt: skip
        return Document("\n".join(parts), metadata=about)


def _line(document: Document) -> str:
    """Name and signature, what it is, and what is said of its result."""
    meta, sections = document.metadata, document.metadata.get("sections") or {}
    short = str(meta["qualname"]).rpartition(".")[2]
    what = " ".join((sections.get("What it does") or next(iter(sections.values()), "")).split())
    result = " ".join(sections.get("Returns", "").split())[:_UNIT]
    unit = f" ({result})" if " " in result else ""
    return f"{meta.get('signature') or short}: {what[:_LINE]}{unit}"
