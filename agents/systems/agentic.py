"""``agentic``: decompose, retrieve, rerank, recognise names, look them up, rerank, generate.

Every choice of the model is by number or by name: documents are never written out again. What
cannot be read from a reply is recorded as a check, and the step leaves its input as it was.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from agents import prompts
from agents.base import StopReason
from agents.drafts import merge
from agents.episode import Episode, Retrieving
from agents.models import Message
from docgen import render
from docgen.reading import last_tagged
from retrieval.base import Hit
from retrieval.prompting import read_order, request
from sandbox.base import Outcome

_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_BULLET = re.compile(r"^(?:[-*]|\d{1,3}[.)])\s*")
MOST_LINES, MOST_CHARACTERS = (
    100,
    1000,
)  # of a list that a model writes, and of one of its lines
NEAR = 10  # documents among which a name that does not exist is looked for


@dataclass
class Agentic(Retrieving):
    """A pipeline of retrieval steps before one generation.

    Parameters
    ----------
    queries
        Search queries at most (published: 4).
    top
        Documents that a rerank keeps (published: 5).
    names
        Classes, methods and functions that are looked up at most.
    sources
        How many of them are also shown as source code; 0 shows none and needs no sandbox.
    """

    name = "agentic"

    queries: int = 4
    top: int = 5
    names: int = 8
    sources: int = 3

    async def _steps(self, episode: Episode) -> StopReason:
        prompt = episode.question.prompt
        hits: list[Hit] = []
        for query in await self._decompose(episode):
            hits = merge(hits, await episode.retrieve(query, self.documents))
        hits = await self._rerank(episode, hits)
        names = await self._names(episode, hits)
        looked_up = await episode.lookup(names, self.names)
        documents = await self._rerank(episode, merge(looked_up, hits))
        sources = await self._sources(episode, documents, looked_up)
        answer = await episode.draft(
            prompts.generate(prompt, documents, sources=sources)
        )
        return "answered" if answer else "format_error"

    async def _decompose(self, episode: Episode) -> list[str]:
        messages = prompts.ask_for(
            "decompose", episode.question.prompt, most=self.queries
        )
        reply = await episode.ask("decompose", messages)
        queries = read_lines(reply, "queries")[: self.queries]
        if not queries:
            episode.check(
                ["decompose: no query could be read; the question itself is the query"]
            )
        return queries or [episode.question.query]

    async def _rerank(self, episode: Episode, documents: list[Hit]) -> list[Hit]:
        if len(documents) <= self.top:
            return documents
        message = Message("user", request(episode.question.prompt, documents, self.top))
        reply = await episode.ask("rerank", [message])
        chosen = read_order(reply, len(documents))[: self.top]
        if not chosen:
            episode.check(
                ["rerank: no number could be read; the order of retrieval is kept"]
            )
            return documents[: self.top]
        return [documents[index] for index in chosen]

    async def _names(self, episode: Episode, documents: Sequence[Hit]) -> list[str]:
        """Names that the model asks for, each as the symbol table has it."""
        listed = "\n".join(render.one_line(hit.entry, hit.text) for hit in documents)
        candidates = f"<candidates>\n{listed}\n</candidates>" if documents else ""
        prompt = episode.question.prompt
        messages = prompts.ask_for("names", prompt, candidates, most=self.names)
        reply = await episode.ask("names", messages)
        requested = read_names(reply)
        if not requested:
            episode.check(["names: no name could be read; nothing is looked up"])
        resolved = []
        notes = []
        for name in dict.fromkeys(requested[: self.names]):
            symbol = await self._resolve(episode, name)
            if symbol is None:
                notes.append(
                    f"names: `{name}` is not in the symbol table, nor is one like it"
                )
            else:
                resolved.append(symbol)
                if (
                    symbol != name
                    and symbol.rpartition(".")[2] != name.rpartition(".")[2]
                ):
                    notes.append(
                        f"names: `{name}` does not exist; `{symbol}` is nearest"
                    )
        if notes:
            episode.check(notes)
        return resolved

    async def _resolve(self, episode: Episode, name: str) -> str | None:
        """``name`` itself where the corpus has it, else the symbol whose name is most like it."""
        retriever = episode.context.retriever
        if retriever is None or await retriever.lookup(name) is not None:
            return name
        like = await retriever.search(name, k=NEAR)
        table = {
            hit.entry.qualname.rpartition(".")[2].lower(): hit for hit in reversed(like)
        }
        short = name.rpartition(".")[2].lower()
        near = get_close_matches(short, table, n=1, cutoff=0.75)
        return table[near[0]].entry.qualname if near else None

    async def _sources(
        self,
        episode: Episode,
        documents: Sequence[Hit],
        looked_up: Sequence[Hit],
    ) -> dict[str, str]:
        """Source of the functions and methods among the documents that were asked for by name."""
        requested = {hit.entry.id for hit in looked_up}
        names = [
            hit.entry.qualname
            for hit in documents
            if hit.entry.id in requested
            and hit.entry.kind in {"function", "method", "property"}
        ]
        if not (names := names[: self.sources]):
            return {}
        probe = inspect.getsource(source_texts)
        execution = await episode.run(
            f"{probe}\n\ndef main():\n    return source_texts({names!r})\n", "main"
        )
        if execution.outcome != Outcome.OK or not isinstance(execution.result, dict):
            reason = " ".join((execution.error or "").split()[-40:])
            note = f"the source of the libraries could not be read: {execution.outcome} {reason}"
            episode.check([note])
            return {}
        return {str(name): str(text) for name, text in execution.result.items()}


def source_texts(names: list[str], longest: int = 4000) -> dict[str, str]:
    """Source of each name that is installed, cut to a readable length; runs in the sandbox."""
    import inspect  # noqa: PLC0415 -- only this text is sent
    import pkgutil  # noqa: PLC0415
    import types  # noqa: PLC0415
    import warnings  # noqa: PLC0415

    warnings.simplefilter("ignore")
    texts = {}
    for name in names:
        try:
            member = pkgutil.resolve_name(name)
            function = (
                getattr(member, "fget", None) or getattr(member, "func", None) or member
            )
            text = inspect.getsource(inspect.unwrap(function))
        except (ImportError, AttributeError, OSError, TypeError, ValueError):
            continue
        if len(text) > longest:
            text = text[:longest].rsplit("\n", 1)[0] + "\n    ...\n"
        if not isinstance(member, types.ModuleType):
            texts[name] = text
    return texts


def read_names(reply: str) -> list[str]:
    """The first dotted name in each line of ``<names>``."""
    return [m[0] for line in read_lines(reply, "names") if (m := _NAME.search(line))]


def read_lines(reply: str, tag: str) -> list[str]:
    """Lines of a list that a model was asked for, each once, without bullets."""
    lines = (last_tagged(reply, tag) or "").splitlines()[:MOST_LINES]
    cleaned = [
        _BULLET.sub("", line.strip()[:MOST_CHARACTERS]).strip() for line in lines
    ]
    return list(dict.fromkeys(line for line in cleaned if line))
