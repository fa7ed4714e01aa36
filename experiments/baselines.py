"""Baselines that cost nothing and ask no model: what is right, what was asked, nothing at all.

Their replies are read, run, scored and stored like those of any system: ``oracle`` shows that a
benchmark's way from a right reply to a full score is whole, ``echo`` and ``empty`` what no work
scores. Nothing in ``agents`` can reach a reference.
"""

from __future__ import annotations

import json
from copy import copy
from dataclasses import replace
from typing import Any

from agents.answer import Answer
from agents.answer_formats import CODE, AnswerFormat, Block, File, Json, Text
from agents.base import Document, StopReason
from agents.episode import Episode, System
from experiments.samples import Sample


class Baseline(System):
    """A system that gives the reply that ``reply`` makes of a sample."""

    name = "baseline"
    uses_retrieval = False
    writes_code = False
    executes = False
    llm = False

    sample: Sample

    @classmethod
    def facing(cls, sample: Sample) -> Sample:
        """The sample as this system meets it; pictures and models do not matter to it."""
        return sample

    def knowing(self, sample: Sample) -> Baseline:
        """The system that is asked about one sample."""
        bound = copy(self)
        bound.sample = sample
        return bound

    def reply(self, sample: Sample) -> str:
        """What it says."""
        raise NotImplementedError

    async def _steps(self, episode: Episode) -> StopReason:
        episode.reply = self.reply(self.sample)
        return "answered" if episode.read() else "format_error"


class Empty(Baseline):
    """``system=empty``: says nothing."""

    name = "empty"

    def reply(self, sample: Sample) -> str:  # noqa: ARG002 -- the same for all
        """See `Baseline`."""
        return ""


class Echo(Baseline):
    """``system=echo``: repeats the documents of a question, else its text (with what it holds)."""

    name = "echo"

    def reply(self, sample: Sample) -> str:
        """See `Baseline`."""
        parts = sample.question.attachments
        documents = [part.text for part in parts if isinstance(part, Document)]
        return "\n\n".join(documents) or sample.question.prompt


class Oracle(Baseline):
    """``system=oracle``: answers with the benchmark's own reference, where it has one."""

    name = "oracle"

    @classmethod
    def facing(cls, sample: Sample) -> Sample:
        """The sample; unavailable where nobody knows a right answer."""
        if sample.reference is not None or sample.unavailable is not None:
            return sample
        return replace(
            sample, unavailable="system=oracle: the benchmark has no reference"
        )

    def reply(self, sample: Sample) -> str:
        """See `Baseline`."""
        return written(sample.question.answer, sample.reference)


def written(form: AnswerFormat, reference: Any) -> str:
    """A reply that gives the reference of a sample in the form that its question asks for."""
    if form == CODE:
        if not isinstance(reference, Answer):
            code = f"def reference():\n    return {{'answer': {reference!r}}}\n"
            reference = Answer(code, "reference", "strict")
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
