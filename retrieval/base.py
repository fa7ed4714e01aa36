"""The seam of retrieval: a query in, ranked LangChain documents out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from indexes import RetrievalError

if TYPE_CHECKING:  # slow to import
    from langchain_core.documents import Document

    from indexes.corpus import Corpus

__all__ = ["MAP", "QuestionRetriever", "RetrievalError", "Retriever"]

MAP = "index"  # kind of the map of a library: it has a budget of its own and is never shortened


class Retriever(Protocol):
    """Finds documents.

    Every document carries, in ``metadata``:

    ``id`` (unique in the corpus), ``qualname`` (``pymatgen.core.Structure.from_file``; for a
    chunk that belongs to no single symbol, its module), ``kind`` (module, class, function,
    method, property, chunk), ``path`` (source path relative to the package root), ``package``,
    ``version``, ``corpus`` (name of the source); of a symbol also ``signature``, ``modifiers``,
    ``raises``, ``bases``, ``types``, ``returns``, ``calls`` and ``members`` (qualified names),
    ``sections`` (text by heading) and ``inputs`` (parameter -> ``text``, ``unit``); and, in an
    answer, ``score`` (higher is better).

    Attributes
    ----------
    corpus
        All documents, where it finds those of a library.
    late
        Whether it is still being made: `ready` waits for the one that knows its corpus.
    """

    name: str
    corpus: Corpus | None = None
    late: bool = False

    async def search(self, query: str, *, k: int) -> Sequence[Document]:
        """The ``k`` best documents for ``query``, best first; ties broken by ``id``.

        Raises
        ------
        RetrievalError
            When the index or an endpoint behind it failed.
        """
        ...

    async def lookup(self, name: str) -> Document | None:  # noqa: ARG002 -- none has a name here
        """The document of one symbol by (qualified, or unambiguous short) name, or ``None``."""
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

    async def search(self, query: str, *, k: int) -> Sequence[Document]:  # noqa: ARG002 -- the protocol's
        """Nothing can be found without a text."""
        raise RetrievalError(
            "this question brings no text to retrieve from: use retrieval=none"
        )
