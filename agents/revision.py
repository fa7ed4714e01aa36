"""What a draft that failed tells the next one, and where its documents are looked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from langchain_core.documents import Document

from agents import prompts
from agents.checks import caught_findings, returned
from agents.drafts import Draft
from agents.episode import Episode
from agents.prompts import Attempt
from docgen.reading import last_tagged, spoken
from retrieval.base import MAP
from sandbox.base import Execution

MAX_QUERY = 1000  # characters of a search query that a model writes
QUERIES = 6  # of a critique at most
_TAIL = 3000  # characters of a traceback or of printed text that go back into a prompt
_MARKED = re.compile(r"`\s{0,9}([A-Za-z_][\w.]*+)[^`\n]{0,200}`")
# What is no word of a language: dotted, with an underscore, with a capital inside.
_SHAPED = re.compile(r"[A-Za-z_][\w.]*+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*+(?:\.\w++)+|[A-Za-z]\w*_\w*|_\w+|\w*[a-z0-9][A-Z]\w*")


def attempt_of(
    number: int,
    draft: Draft,
    *,
    traceback: bool = True,
    values: bool = True,
    checks: bool = True,
) -> Attempt:
    """A draft as later prompts show it; what is ``False`` stays out of them."""
    execution = draft.execution
    printed = "\n".join(part for part in (execution.stdout, execution.stderr) if part)
    return Attempt(
        number=number,
        code=draft.answer.code,
        outcome=str(execution.outcome),
        traceback=(execution.error or "")[-_TAIL:] if traceback else "",
        returned=returned(execution, _TAIL) if values else "",
        printed=printed[-_TAIL:] if values else "",
        checks=(*draft.findings, *caught_findings(execution)) if checks else (),
    )


async def critique(
    episode: Episode, documents: Sequence[Document], attempts: Sequence[Attempt], most: int = 1
) -> tuple[str, list[str]]:
    """Ask for feedback on the last attempt and for at most ``most`` search queries."""
    messages = prompts.criticise(episode.question.prompt, documents, attempts, most)
    feedback, queries = read_critique(await episode.ask("critique", messages))
    return feedback, queries[:most]


def read_critique(reply: str) -> tuple[str, list[str]]:
    """Feedback (the whole reply where it has no tag) and search queries of a critic's reply."""
    feedback = last_tagged(reply, "feedback")
    text = spoken(reply).strip() if feedback is None else feedback
    listed = last_tagged(reply, "queries")
    lines = [last_tagged(reply, "query") or ""] if listed is None else listed.splitlines()
    queries = (line.strip().removeprefix("- ")[:MAX_QUERY] for line in lines[: 4 * QUERIES])
    return text[:_TAIL], list(dict.fromkeys(filter(None, queries)))


def same_again(tried: Sequence[Draft]) -> bool:
    """Whether the last draft failed as the one before it did: being told did not help."""
    if len(tried) < 2:
        return False
    one, other = ((draft.findings, _last_line(draft.execution)) for draft in tried[-2:])
    return one == other


def _last_line(execution: Execution) -> str:
    return "".join((execution.error or "").strip().splitlines()[-1:])


def concerned(draft: Draft) -> list[str]:
    """Dotted names whose documents a correction needs: those that its exception is about."""
    words = set(re.findall(r"\w+", (draft.execution.error or "")[-_TAIL:]))
    used = [n for n in used_names(draft.answer.code) if n.rpartition(".")[2] in words]
    owners = re.findall(r"'(\w+)' object has no", _last_line(draft.execution))
    short = {name.rpartition(".")[2] for name in used}
    return [*used, *(owner for owner in owners if owner not in short)]


async def look_up(episode: Episode, queries: Sequence[str], k: int) -> list[Document]:
    """Exact documents of the names in the queries first, then the searches'."""
    named = [name for query in queries for name in names_in(query)]
    exact = await episode.lookup(named, k)
    found = [await episode.retrieve(query, k) for query in queries]
    turns = [one for turn in zip_longest(*found) for one in turn if one is not None]
    rest = [one for one in merge([], turns) if one.metadata.get("kind") != MAP]
    return merge(exact, rest[:k])[: 2 * k]


def names_in(query: str) -> list[str]:
    """Names in a query: what stands in code marks, and what cannot be a word of a language."""
    text = query[:MAX_QUERY]
    marked = [match[1].rstrip(".") for match in _MARKED.finditer(text)]
    words = [word.rstrip(".") for word in _SHAPED.findall(text)]
    return list(dict.fromkeys([*marked, *filter(_IDENTIFIER.fullmatch, words)]))


def used_names(code: str) -> list[str]:
    """Dotted names that a draft imports, then what it calls on them, in order."""
    imported = []
    for module, targets in re.findall(r"^[ \t]*from ([\w.]+) import ([\w, ]+)", code, re.MULTILINE):
        names = (target.split(" as ")[0].strip() for target in targets.split(","))
        imported += [f"{module}.{name}" for name in names if name]
    short = {name.rpartition(".")[2]: name for name in imported}
    called = re.findall(r"\b([A-Za-z_]\w*)\.([a-z_]\w*)\(", code)
    methods = [f"{short[owner]}.{method}" for owner, method in called if owner in short]
    return list(dict.fromkeys([*imported, *methods]))


def merge(first: Sequence[Document], second: Sequence[Document]) -> list[Document]:
    """Both lists, each document once."""
    merged = {str(d.metadata.get("id")): d for d in [*first, *second]}
    return list(merged.values())
