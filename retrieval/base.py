"""The seam of retrieval: a query in, ranked hits out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from docgen import render
from docgen.symbols import Entry
from indexes import RetrievalError

if TYPE_CHECKING:  # slow to import
    from indexes.corpus import Corpus

__all__ = ["MAP", "Hit", "QuestionRetriever", "RetrievalError", "Retriever"]

MAP = "index"  # kind of the map of a library: it has a budget of its own and is never shortened


@dataclass(frozen=True)
class Hit:
    """An entry of a corpus that was found.

    Attributes
    ----------
    score
        Higher is better; ``None`` for what was looked up by name.
    condensed
        What is shown of it, where that is not all.
    """

    entry: Entry
    score: float | None = None
    condensed: str | None = None

    @cached_property
    def text(self) -> str:
        """What is shown of it."""
        if self.condensed is not None:
            return self.condensed
        return render.document(self.entry)

    def within(self, room: int, relevance: render.Relevance) -> Hit:
        """The same in at most ``room`` characters; see :func:`docgen.render.condensed`."""
        if len(self.text) <= room:
            return self
        return replace(self, condensed=render.condensed(self.entry, room, relevance))


class Retriever(Protocol):
    """Finds entries of a corpus.

    Attributes
    ----------
    corpus
        All entries, where it finds those of a library.
    late
        Whether it is still being made: `ready` waits for the one that knows its corpus.
    """

    name: str
    corpus: Corpus | None = None
    late: bool = False

    async def search(self, query: str, *, k: int) -> Sequence[Hit]:
        """The ``k`` best entries for ``query``, best first; ties broken by their order.

        Raises
        ------
        RetrievalError
            When the index or an endpoint behind it failed.
        """
        ...

    async def lookup(self, name: str) -> Hit | None:  # noqa: ARG002 -- none has a name here
        """One symbol by its (qualified, or unambiguous short) name, or ``None``."""
        return None

    async def ready(self) -> Retriever:
        """The retriever itself, when it has been made."""
        return self


class QuestionRetriever(Retriever):
    """Finds nothing by itself; makes the retriever of a text that comes with a question.

    A benchmark that names no packages has questions about papers: each is cut into chunks and
    indexed on its own, and whoever retrieves (``rag``, the tools ``search`` and ``lookup``) finds
    only these.

    Attributes
    ----------
    over
        Makes the configured retriever for a name and a text.
    """

    def __init__(
        self, name: str, over: Callable[[str, str], Awaitable[Retriever]]
    ) -> None:
        self.name = name
        self.over = over

    async def search(self, query: str, *, k: int) -> Sequence[Hit]:  # noqa: ARG002 -- the protocol's
        """Nothing can be found without a text."""
        raise RetrievalError(
            "this question brings no text to retrieve from: use retrieval=none"
        )
