"""A choice among documents by a chat model: the text that asks, and what a reply names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.documents import Document

from docgen.reading import last_tagged

TASK = """\
Which of the numbered candidates does a solution need? Give their numbers, the most useful first, \
at most {most}, none twice. Answer in exactly this form:
<indices>3, 1, 2</indices>"""
CHARACTERS = 400  # of a candidate that the model sees


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
