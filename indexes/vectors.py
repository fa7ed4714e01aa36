"""The seam of embeddings: texts in, vectors out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class Embedding(Protocol):
    """Makes vectors for ``retrieval.mode=dense``, ``hybrid`` and ``graph``.

    Attributes
    ----------
    name
        Of the vectors: it is part of the key of every index that is built with them, so that it
        has to differ where they do.
    """

    name: str

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text, all of one length; raises whatever its provider raises."""
        ...
