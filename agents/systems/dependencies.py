"""What a question about a small package needs of its documentation, followed to the end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents import prompts
from agents.checks import caught_findings
from agents.drafts import MAX_QUERY, Draft, names_in, used_names
from agents.episode import Episode
from agents.systems.agentic import read_lines
from docgen.symbols import Chunk
from indexes.references import Closure, Documentation, OpenInput
from retrieval.base import Hit
from retrieval.config import SMALL_PACKAGE
from retrieval.scorers import properties

#: Requests for what descriptions mean, before one draft.
ROUNDS = 4
#: Characters of an error in which names are looked for.
TAIL = 1000
#: A line of a reply: the number of an item, and that of a definition or other words for it.
_CHOICE = re.compile(
    r"(?P<item>\d{1,3})\s*[:.]\s*(?:(?P<definition>\d{1,3})\b|none\b:?\s*(?P<words>.*))"
)


@dataclass(frozen=True)
class Description:
    """An input that is described without a name; ``words`` are what the model says instead."""

    input: OpenInput
    words: str = ""


@dataclass(frozen=True)
class Offer:
    """A description with the likeliest definitions of what it means: names and texts."""

    description: Description
    definitions: Sequence[tuple[str, str]]


class DependencyContext:
    """The documents that a question about a small package needs, with what these need.

    Nobody knows a small package by heart, and its documents name what they need: each property
    leads to a symbol, each input of that to another. Where a text describes an input without naming
    it, the model says which of the likeliest definitions is meant; it is asked about nothing else,
    so such a request is short, and the documentation stands in one prompt instead of many. One that
    is not ``opened`` finds nothing.
    """

    def __init__(self, episode: Episode, *, opened: bool) -> None:
        self._episode = episode
        self._links = self._read_documents() if opened else None
        self._roots: dict[str, None] = {}
        self._chosen: dict[tuple[str, str], str] = {}
        self._asked: set[tuple[str, str]] = set()
        self._shown: frozenset[str] = frozenset()

    def _read_documents(self) -> Documentation | None:
        """The documents of the small packages that the question names."""
        retriever = self._episode.context.retriever
        if retriever is None or retriever.corpus is None:
            return None
        table = retriever.corpus.table
        packages = table.small(SMALL_PACKAGE, self._episode.question.query)
        return table.documentation(packages) if packages else None

    async def begin(self) -> list[Hit]:
        """What the properties that the question lists need; nothing where it lists none."""
        if self._links is None:
            return []
        unnamed = []
        for number, line in enumerate(properties(self._episode.question.query), 1):
            if roots := self._links.mentioned(line):
                self._roots[roots[0]] = None
            else:
                unnamed.append(OpenInput("", f"property {number}", "", line))
        return await self._follow(unnamed)

    async def after(self, draft: Draft) -> list[Hit]:
        """What is new of the symbols that a draft uses, or says to be missing."""
        execution = draft.execution
        findings = [*draft.findings, *caught_findings(execution)]
        error = (execution.error or "")[-TAIL:]
        remarks = [
            line
            for line in draft.answer.code.splitlines()
            if "#" in line or '"' in line
        ]
        names = used_names(draft.answer.code)
        return await self.about([*names, *findings, error, *remarks])

    async def about(self, texts: Sequence[str], *, sought: bool = False) -> list[Hit]:
        """What is new of the symbols that texts name or describe.

        With ``sought`` the model is asked which definition a text means that leads to no symbol.
        """
        if self._links is None:
            return []
        unnamed: list[OpenInput] = []
        for text in texts:
            meant = [*self._named(text), *self._links.mentioned(text[:MAX_QUERY])]
            self._roots.update(dict.fromkeys(meant))
            if sought and not meant:
                number = len(self._asked) + len(unnamed)
                unnamed.append(OpenInput("", f"sought {number}", "", text))
        return await self._follow(unnamed)

    def _named(self, text: str) -> Iterator[str]:
        assert self._links is not None
        for name in names_in(text):
            symbol = self._links.find(name)
            if symbol:
                yield symbol.qualname

    def tells(self, document: Hit) -> bool:
        """Whether it has said what a document says."""
        return document.entry.qualname in self._shown

    async def _follow(self, unnamed: Sequence[OpenInput]) -> list[Hit]:
        """The documents that are new, as one."""
        assert self._links is not None
        closure = await self._close(unnamed)
        names = [name for name in closure.names if name not in self._shown]
        self._shown |= set(names)
        if not names:
            return []
        symbol = self._links.find(names[0])
        assert symbol is not None
        package = names[0].partition(".")[0]
        chunk = Chunk(
            id=f"dossier:{len(self._shown)}",
            qualname=package,
            text=closure.text,
            path=package,
            package=symbol.package,
            version=symbol.version,
        )
        self._episode.record(
            "retrieve",
            retriever="dossier",
            query=" ".join(self._roots),
            hits=[{"name": name} for name in names],
        )
        return [Hit(chunk)]

    async def _close(self, unnamed: Sequence[OpenInput]) -> Closure:
        """What the roots need, once the model has said what descriptions mean."""
        assert self._links is not None
        unclear: list[Description] = []
        for _ in range(ROUNDS):
            closure = self._links.closure(self._roots, self._chosen, self._shown)
            fresh = [
                Description(described)
                for described in (*unnamed, *closure.open)
                if described.key not in self._asked
            ]
            if not unclear and not fresh:
                return closure
            unclear = await self._choose([*unclear, *fresh])
        return self._links.closure(self._roots, self._chosen, self._shown)

    async def _choose(self, wanted: Sequence[Description]) -> list[Description]:
        """Ask what descriptions mean; those that none fits, once more with other words."""
        assert self._links is not None
        self._asked |= {description.input.key for description in wanted}
        offers = [
            Offer(
                description,
                self._links.candidates(description.input, description.words),
            )
            for description in wanted
        ]
        offers = [offer for offer in offers if offer.definitions]
        if not offers:
            return []
        items = [
            (
                offer.description.input.what,
                offer.description.input.text,
                [text for _, text in offer.definitions],
            )
            for offer in offers
        ]
        reply = await self._episode.ask("link", prompts.link(items))
        unclear = []
        for line in read_lines(reply, "links"):
            choice = _CHOICE.match(line)
            if choice is None or not 0 < int(choice["item"]) <= len(offers):
                continue
            offer = offers[int(choice["item"]) - 1]
            if choice["words"] and not offer.description.words:
                words = choice["words"][:MAX_QUERY]
                unclear.append(Description(offer.description.input, words))
            else:
                self._settle(offer, int(choice["definition"] or 0))
        return unclear

    def _settle(self, offer: Offer, number: int) -> None:
        """Take a definition, from 1, as what a description means; none has number 0."""
        if not 0 < number <= len(offer.definitions):
            return
        name, _ = offer.definitions[number - 1]
        described = offer.description.input
        if described.symbol:
            self._chosen[described.key] = name
        else:
            self._roots[name] = None
