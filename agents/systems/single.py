"""``single``: one prompt, no retrieval, no execution."""

from __future__ import annotations

from agents import prompts
from agents.base import StopReason
from agents.episode import Episode, System


class Single(System):
    """The model alone."""

    name = "single"
    uses_retrieval = False
    writes_code = False  # answers in whatever form a question wants
    executes = False
    reads_files = False

    async def _steps(self, episode: Episode) -> StopReason:
        return await episode.conclude(prompts.request_answer(episode.question))
