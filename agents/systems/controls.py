"""Controls: what ``reflect`` gains over them is what feedback is worth.

Both stop like ``reflect`` and may spend what it may spend. ``resample`` is ``rag``, sampled until
its result looks right: no draft ever hears of another one. ``reretrieve`` is what the code released
with the published comparison does: a critic sees the draft and its execution and asks for other
documents; the generator starts over with those and sees neither draft nor traceback nor critique.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from agents import prompts
from agents.base import StopReason
from agents.drafts import UNREADABLE, Drafting, Drafts, Select, critique, look_up
from agents.episode import Episode


class Resample(Drafting):
    """Independent samples of one prompt."""

    name = "resample"

    async def _steps(self, episode: Episode) -> StopReason:
        documents = await episode.retrieve(episode.question.query, self.documents)
        messages = prompts.generate(episode.question.prompt, documents)
        drafts = Drafts(episode, self, unreadable=UNREADABLE)
        while await drafts.failing(messages):
            pass
        return drafts.reason


@dataclass
class Reretrieve(Drafting):
    """Retrieval by the critic, generation from scratch.

    Parameters
    ----------
    check_contract
        As in ``reflect``; the released code only looks for missing keys and ``None``.
    """

    name = "reretrieve"

    check_contract: bool = False
    select: Select = "last"

    async def _steps(self, episode: Episode) -> StopReason:
        prompt = episode.question.prompt
        drafts = Drafts(episode, self)
        documents = await episode.retrieve(episode.question.query, self.documents)
        while draft := await drafts.failing(prompts.generate(prompt, documents)):
            seen = replace(draft.attempt(drafts.number), checks=draft.findings)
            _, queries = await critique(episode, documents, [seen])
            documents = await look_up(episode, queries, self.documents) or documents
        return drafts.reason
