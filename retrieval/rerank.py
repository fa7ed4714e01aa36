"""A second look at the best documents: a chat model puts them in order.

Whoever searches hands in the model (any LangChain chat model); it sees the names and first lines
of the candidates and answers with numbers. Only what it names stays. A reply without a usable
number leaves the order as it is, is counted, and marks the documents; an endpoint that fails is an
error.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langchain_core.documents import Document
from langchain_core.messages import HumanMessage

from docgen.reading import last_tagged
from retrieval.base import RetrievalError

if TYPE_CHECKING:  # slow to import
    from langchain_core.language_models import BaseChatModel

_log = logging.getLogger(__name__)

TASK = """\
Which of the numbered candidates does a solution need? Give their numbers, the most useful first, \
at most {most}, none twice. Answer in exactly this form:
<indices>3, 1, 2</indices>"""
CHARACTERS = 400  # of a candidate that the model sees


@dataclass
class RerankCounts:
    """What became of the requests to a model: how many there were, and unreadable replies."""

    asked: int = 0
    unreadable: int = 0


class ModelReranker:
    """Keeps the documents that a chat model names, in its order.

    Parameters
    ----------
    candidates
        Documents that it sees.
    """

    def __init__(self, *, candidates: int) -> None:
        self.candidates = candidates
        self.counts = RerankCounts()

    async def order(
        self, query: str, documents: Sequence[Document], k: int, model: BaseChatModel
    ) -> list[Document]:
        """The documents that the model names, or the first ``k`` when it names none.

        ``metadata["reranked"]`` tells which of the two it was.

        Parameters
        ----------
        k
            How many the model may name; it may name fewer.

        Raises
        ------
        RetrievalError
            When the model failed.
        """
        if len(documents) < 2:
            return list(documents)[:k]
        self.counts.asked += 1
        try:
            reply = await model.ainvoke(
                [HumanMessage(request(query, documents, k))], {"tags": ["rerank"]}
            )
        except Exception as error:
            raise RetrievalError(f"the model that reranks failed: {error}") from error
        named = read_order(str(reply.text), len(documents))[:k]
        if not named:
            self.counts.unreadable += 1
            _log.warning(
                "rerank: no candidate could be read from %d of %d replies; their order is kept",
                self.counts.unreadable, self.counts.asked,
            )  # fmt: skip
        for document in documents:
            document.metadata["reranked"] = bool(named)
        return [documents[position] for position in named or range(min(k, len(documents)))]


def request(question: str, documents: Sequence[Document], most: int) -> str:
    """The text that asks for the numbers of the ``most`` useful documents, counted from 1."""
    listed = "\n".join(f"{n}. {summary(document)}" for n, document in enumerate(documents, 1))
    return "\n\n".join(
        [
            f"<question>\n{question.strip()}\n</question>",
            f"<candidates>\n{listed}\n</candidates>",
            TASK.format(most=most),
        ]
    )


def read_order(reply: str, count: int) -> list[int]:
    """Positions (from 0) that a reply names, each once, those out of range left out."""
    listed = last_tagged(reply, "indices") or ""
    numbers = [int(n) - 1 for n in re.findall(r"(?<!\d)[0-9]{1,6}(?!\d)", listed)]
    return [n for n in dict.fromkeys(numbers) if 0 <= n < count]


def summary(document: Document, characters: int = CHARACTERS) -> str:
    """A document on one line, for a choice between many."""
    name = document.metadata.get("qualname", "")
    text = " ".join(document.page_content.removeprefix(str(name)).split())
    return f"{name}: {text[:characters]}{' ...' if len(text) > characters else ''}"
