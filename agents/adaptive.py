"""``adaptive``: pays for documentation only where a draft shows that it needs some.

The question alone is drafted and executed. What a draft got wrong brings the documents of exactly
those names; a package that the question names and the draft cannot use brings a map of what there
is in it, then the documents that the model chooses from the map; a critic is asked only where a
draft failed without saying why. The loop is that of ``reflect``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.documents import Document

from agents import prompts
from agents.agentic import read_names
from agents.drafts import Draft, Drafts, Select
from agents.episode import Episode, Parts
from agents.prompts import Attempt
from agents.reflect import Reflect
from agents.revision import small_packages, with_inputs
from agents.toolbox import library_of
from agents.toolbox.texts import map_of


class Adaptive(Reflect):
    """Drafts first, documents on demand.

    Parameters
    ----------
    parts
        Model, retriever, sandbox.
    k
        Documents per retrieval or look-up at most (``None``: as the model is configured).
    max_iterations
        Drafts at most.
    select
        Which draft is the answer; see :class:`agents.drafts.Drafts`.
    """

    name = "adaptive"

    def __init__(
        self,
        parts: Parts,
        *,
        k: int | None = None,
        max_iterations: int = 5,
        select: Select = "best",
    ) -> None:
        super().__init__(parts, k=k, max_iterations=max_iterations, select=select)

    async def _first(self, episode: Episode) -> list[Document]:  # noqa: ARG002 -- of the base
        return []

    async def _next(
        self,
        episode: Episode,
        documents: Sequence[Document],
        attempts: list[Attempt],
        drafts: Drafts,
    ) -> list[Document]:
        draft = drafts.tried[-1]
        shown = {inside(document) for attempt in attempts for document in attempt.documents}
        unknown = [p for p in small_packages(episode) if p not in shown and not uses(draft, p)]
        found = await self._choose(episode, attempts, unknown) if unknown else []
        return found or await super()._next(episode, documents, attempts, drafts)

    async def _choose(
        self, episode: Episode, attempts: Sequence[Attempt], packages: Sequence[str]
    ) -> list[Document]:
        """Documents that the model chooses from the maps of packages, and those of their inputs."""
        library = library_of(episode.parts.retriever)
        maps = [map_of(library.contents(package)) for package in packages] if library else []
        messages = prompts.choose(episode.question.prompt, attempts, maps, self.k)
        names = read_names(await episode.ask("names", messages))
        return await episode.lookup(with_inputs(episode, names), 2 * self.k)


def inside(document: Document) -> str:
    """The package that a document is about."""
    return str(document.metadata.get("qualname")).partition(".")[0]


def uses(draft: Draft, package: str) -> bool:
    """Whether a draft imports from a package, and all that it imports from there exists."""
    inside = re.compile(rf"\b{re.escape(package)}\b")
    missed = any(inside.search(f"{miss.name} {miss.owner}") for miss in draft.misses)
    return not missed and inside.search(draft.answer.code) is not None
