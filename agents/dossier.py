"""What a question about a small package needs of its documentation, followed to the end.

Nobody knows a small package by heart, and its documents name what they need: each property leads to
a symbol, each input of that to another. Where a text describes an input without naming it, the
model says which of the likeliest definitions is meant; it is asked about nothing else, so such a
request is short, and the documentation stands in one prompt instead of many.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.documents import Document

from agents import prompts
from agents.checks import caught_findings
from agents.drafts import Draft
from agents.episode import Episode
from agents.revision import MAX_QUERY, names_in, used_names
from agents.systems.agentic import read_lines
from agents.toolbox import library_of
from agents.toolbox.links import Input, small_links
from retrieval.scorers import properties

ROUNDS = 4  # requests for what descriptions mean, before one draft
_CHOICE = re.compile(r"(\d{1,3})\s*[:.]\s*(?:(\d{1,3})\b|none\b:?\s*(.*))")


class Dossier:
    """What is known of the small packages that one question names."""

    def __init__(self, episode: Episode) -> None:
        library = library_of(episode.context.retriever)
        self._episode = episode
        self._links = small_links(library, episode.question.query) if library else None
        self._roots: dict[str, None] = {}
        self._chosen: dict[tuple[str, str], str] = {}
        self._asked: set[tuple[str, str]] = set()
        self._told: frozenset[str] = frozenset()

    async def begin(self) -> list[Document]:
        """What the properties that the question lists need; nothing where it lists none."""
        if self._links is None:
            return []
        unnamed = []
        for number, line in enumerate(properties(self._episode.question.query)):
            if roots := self._links.mentioned(line):
                self._roots[roots[0]] = None
            else:
                unnamed.append(Input("", f"property {number + 1}", "", line))
        return await self._read(unnamed)

    async def after(self, draft: Draft) -> list[Document]:
        """What is new of the symbols that a draft uses, or says to be missing."""
        execution = draft.execution
        said = [*draft.findings, *caught_findings(execution), (execution.error or "")[-1000:]]
        lines = [line for line in draft.answer.code.splitlines() if "#" in line or '"' in line]
        return await self.about([*used_names(draft.answer.code), *said, *lines])

    async def about(self, texts: Sequence[str], *, sought: bool = False) -> list[Document]:
        """What is new of the symbols that texts name or describe.

        With ``sought`` the model is asked which definition a text means that leads to no symbol.
        """
        if self._links is None:
            return []
        unnamed: list[Input] = []
        for text in texts:
            named = [found.name for name in names_in(text) if (found := self._links.find(name))]
            meant = named + self._links.mentioned(text[:MAX_QUERY])
            self._roots.update(dict.fromkeys(meant))
            if sought and not meant:
                unnamed.append(Input("", f"sought {len(self._asked) + len(unnamed)}", "", text))
        return await self._read(unnamed)

    def tells(self, document: Document) -> bool:
        """Whether it has said what a document says."""
        return str(document.metadata.get("qualname")) in self._told

    async def _read(self, unnamed: Sequence[Input]) -> list[Document]:
        assert self._links is not None
        again: list[tuple[Input, str]] = []
        for left in reversed(range(ROUNDS + 1)):
            closure = self._links.closure(self._roots, self._chosen, self._told)
            fresh = [one for one in (*unnamed, *closure.open) if self._key(one) not in self._asked]
            wanted = [*again, *((one, "") for one in fresh)]
            if not wanted or not left:
                break
            again = await self._choose(wanted)
        names = [name for name in closure.names if name not in self._told]
        self._told |= set(names)
        if not names:
            return []
        entry = self._links.find(names[0])
        assert entry is not None
        package = names[0].partition(".")[0]
        facts = {key: entry.metadata.get(key) for key in ("version", "package")}
        about = {**facts, "id": f"dossier:{len(self._told)}", "qualname": package, "path": package}
        self._episode.found("dossier", " ".join(self._roots), names)
        return [Document(closure.text, metadata=about)]

    async def _choose(self, wanted: Sequence[tuple[Input, str]]) -> list[tuple[Input, str]]:
        """Ask what descriptions mean; those that none fits, once more with other words."""
        assert self._links is not None
        self._asked |= {self._key(one) for one, _ in wanted}
        offered = [(one, words, self._links.candidates(one, words)) for one, words in wanted]
        offered = [item for item in offered if item[2]]
        if not offered:
            return []
        shown = [
            (
                f"`{one.name}` of `{one.symbol}`" if one.symbol else one.name,
                one.text,
                [t for _, t in near],
            )
            for one, _, near in offered
        ]
        again = []
        reply = await self._episode.ask("link", prompts.link(shown))
        for match in filter(None, map(_CHOICE.match, read_lines(reply, "links"))):
            number, choice = int(match[1]), int(match[2] or 0)
            if not 0 < number <= len(offered):
                continue
            one, words, near = offered[number - 1]
            if match[3] and not words:
                again.append((one, match[3][:MAX_QUERY]))
            elif 0 < choice <= len(near) and one.symbol:
                self._chosen[self._key(one)] = near[choice - 1][0]
            elif 0 < choice <= len(near):
                self._roots[near[choice - 1][0]] = None
        return again

    @staticmethod
    def _key(one: Input) -> tuple[str, str]:
        return one.symbol, one.name
