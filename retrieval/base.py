"""The seam of retrieval: a query in, ranked LangChain documents out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # slow to import
    from langchain_core.documents import Document
    from langchain_core.language_models import BaseChatModel


class RetrievalError(Exception):
    """A retriever could not answer (index missing, endpoint down); says what to do next."""


class Retriever(Protocol):
    """Finds documents.

    Every document carries, in ``metadata``:

    ``id`` (unique in the corpus), ``qualname`` (``pymatgen.core.Structure.from_file``; for a
    chunk that belongs to no single symbol, its module), ``kind`` (module, class, function,
    method, property, chunk), ``path`` (source path relative to the package root), ``package``,
    ``version``, ``corpus`` (name of the source) and, in an answer, ``score`` (higher is better).
    After a rerank ``score`` is still that of the search, and ``reranked`` says whether the order
    is the model's.
    """

    name: str

    async def search(
        self, query: str, *, k: int, chat: BaseChatModel | None = None
    ) -> Sequence[Document]:
        """The ``k`` best documents for ``query``, best first; ties broken by ``id``.

        Parameters
        ----------
        chat
            Asked by a retriever that is configured to rerank, so that whoever searches pays for
            it and records it; without one the order of the search stands.

        Raises
        ------
        RetrievalError
            When the index or an endpoint behind it failed.
        """
        ...

    async def lookup(self, name: str) -> Document | None:
        """The document of one symbol by (qualified, or unambiguous short) name, or ``None``."""
        ...
