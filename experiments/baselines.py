"""Baselines that cost nothing and ask no model: what is right, what was asked, nothing at all.

Their replies are read, run, scored and stored like those of any system: ``oracle`` shows that a
benchmark's way from a right reply to a full score is whole, ``echo`` and ``empty`` what no work
scores. Nothing in ``agents`` can reach a reference.
"""

from __future__ import annotations

import json
from copy import copy
from typing import Any

from agents.answer import CodeAnswer
from agents.answer_formats import CODE, AnswerFormat, Block, File, Json, Text
from agents.base import Document, Question, StopReason
from agents.episode import Episode, System


class Baseline(System):
    """A system whose reply follows from the question."""

    name = "baseline"
    uses_retrieval = False
    writes_code = False
    executes = False
    llm = False

    def reply(self, question: Question) -> str:
        """The whole reply to a question."""
        raise NotImplementedError

    async def _steps(self, episode: Episode) -> StopReason:
        episode.reply = self.reply(episode.question)
        return "answered" if episode.read() else "format_error"


class Empty(Baseline):
    """``system=empty``: an empty reply."""

    name = "empty"

    def reply(self, question: Question) -> str:  # noqa: ARG002 -- the same for all
        """See `Baseline`."""
        return ""


class Echo(Baseline):
    """``system=echo``: the documents of a question, else its text (with what it holds)."""

    name = "echo"

    def reply(self, question: Question) -> str:
        """See `Baseline`."""
        documents = [
            attachment.text
            for attachment in question.attachments
            if isinstance(attachment, Document)
        ]
        return "\n\n".join(documents) or question.prompt


class Oracle(Baseline):
    """``system=oracle``: the benchmark's own reference answer."""

    name = "oracle"
    needs_reference = True

    reference: object = None

    def knowing(self, reference: object) -> Oracle:
        """See `agents.base.Agent`."""
        bound = copy(self)
        bound.reference = reference
        return bound

    def reply(self, question: Question) -> str:
        """See `Baseline`."""
        return written(question.answer, self.reference)


def written(form: AnswerFormat, reference: Any) -> str:
    """A reply that gives the reference of a sample in the form that its question asks for."""
    if form == CODE:
        if not isinstance(reference, CodeAnswer):
            code = f"def reference():\n    return {{'answer': {reference!r}}}\n"
            reference = CodeAnswer(code, "reference", "strict")
        code, entry = reference.code, reference.entry
        return (
            f"<answer><code>```python\n{code}\n```</code><name>{entry}</name></answer>"
        )
    if isinstance(form, Text):
        return str(reference)
    if isinstance(form, File):  # to the letter
        return f"<file>\n{reference}</file>"
    tag = form.tag if isinstance(form, Block) else "answer"
    plain = isinstance(reference, str) and not isinstance(form, Json)
    text = reference if plain else json.dumps(reference)
    return f"<{tag}>\n{text}\n</{tag}>"
