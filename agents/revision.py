"""What a draft that failed tells the next one, and where its documents are looked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from langchain_core.documents import Document

from agents import prompts
from agents.base import Question
from agents.checks import caught_findings
from agents.drafts import Draft
from agents.episode import Episode, returned
from agents.prompts import Attempt
from agents.toolbox import library_of
from docgen.reading import last_tagged, spoken
from retrieval.config import SMALL_PACKAGE
from sandbox.base import Execution

MAX_QUERY = 1000  # characters of a search query that a model writes
QUERIES = 6  # of a critique at most
_TAIL = 3000  # characters of a traceback or of printed text that go back into a prompt
_MARKED = re.compile(r"`\s{0,9}([A-Za-z_][\w.]*+)[^`\n]{0,200}`")
# What is no word of a language: dotted, with an underscore, with a capital inside.
_SHAPED = re.compile(r"[A-Za-z_][\w.]*+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*+(?:\.\w++)+|[A-Za-z]\w*_\w*|_\w+|\w*[a-z0-9][A-Z]\w*")
_DEPTH = 3  # inputs of inputs of inputs


def formats_of(question: Question, *, checked: bool) -> dict[str, str]:
    """Property names with the formats that are checked; a format of no text fits everything."""
    return dict(question.formats) if checked else dict.fromkeys(question.formats, "")


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
        library=tuple(str(miss) for miss in draft.misses),
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
    one, other = (
        (draft.findings, [miss.text for miss in draft.misses], _last_line(draft.execution))
        for draft in tried[-2:]
    )
    return one == other


def _last_line(execution: Execution) -> str:
    return "".join((execution.error or "").strip().splitlines()[-1:])


def concerned(draft: Draft) -> list[str]:
    """Dotted names whose documents a correction needs: what was misused, or what raised."""
    misused = [miss.owner for miss in draft.misses if miss.owner]
    words = set(re.findall(r"\w+", (draft.execution.error or "")[-_TAIL:]))
    raised = [n for n in used_names(draft.answer.code) if n.rpartition(".")[2] in words]
    return list(dict.fromkeys(misused or raised))


async def look_up(
    episode: Episode, queries: Sequence[str], k: int, *, also: Sequence[str] = ()
) -> list[Document]:
    """Exact documents of ``also`` and of the names in the queries first, then the searches'."""
    named = [name for query in queries for name in names_in(query)]
    exact = await episode.lookup(with_inputs(episode, [*also, *named]), k)
    found = [await episode.retrieve(query, k) for query in queries]
    return merge(exact, in_turn(found)[:k])[: 2 * k]


def small_packages(episode: Episode) -> list[str]:
    """Packages that the question names and that are small enough for nobody to know them."""
    library = library_of(episode.parts.retriever)
    if library is None:
        return []
    words = set(re.findall(r"\w+", episode.question.query))
    top = {entry.name.partition(".")[0] for entry in library.entries} & words
    return sorted(name for name in top if len(library.contents(name)) <= SMALL_PACKAGE)


def with_inputs(episode: Episode, names: Sequence[str]) -> list[str]:
    """Names, then what those in a small package of the question say that their inputs are."""
    library = library_of(episode.parts.retriever)
    packages = small_packages(episode)
    if library is None or not packages:
        return list(names)
    entries = [entry for name in names if (entry := library.find(name)) is not None]
    trees = [library.tree(e.name, _DEPTH) for e in entries if e.name.partition(".")[0] in packages]
    levels = sorted((level, link.name) for tree in trees for level, link in tree[1:])
    return list(dict.fromkeys([*names, *(name for _, name in levels)]))


def in_turn(lists: Sequence[Sequence[Document]]) -> list[Document]:
    """One document of each list in turn, best first, none twice."""
    turns = zip_longest(*lists)
    return merge([], [document for turn in turns for document in turn if document is not None])


def names_in(query: str) -> list[str]:
    """Names in a query: what stands in code marks, and what cannot be a word of a language."""
    text = query[:MAX_QUERY]
    marked = [match[1].rstrip(".") for match in _MARKED.finditer(text)]
    words = [word.rstrip(".") for word in _SHAPED.findall(text)]
    return list(dict.fromkeys([*marked, *filter(_IDENTIFIER.fullmatch, words)]))


def used_names(code: str) -> list[str]:
    """Dotted names that a draft imports, then what it calls on them, in order."""
    imported = imported_names(code)
    short = {name.rpartition(".")[2]: name for name in imported}
    called = re.findall(r"\b([A-Za-z_]\w*)\.([a-z_]\w*)\(", code)
    methods = [f"{short[owner]}.{method}" for owner, method in called if owner in short]
    return list(dict.fromkeys([*imported, *methods]))


def imported_names(code: str) -> list[str]:
    """Dotted names that the import statements of ``code`` bring in, in order."""
    names = []
    for module, targets in re.findall(r"^[ \t]*from ([\w.]+) import ([\w, ]+)", code, re.MULTILINE):
        for target in targets.split(","):
            name = target.split(" as ")[0].strip()
            if name:
                names.append(f"{module}.{name}")
    return list(dict.fromkeys(names))


def merge(first: Sequence[Document], second: Sequence[Document]) -> list[Document]:
    """Both lists, each document once."""
    merged = {str(d.metadata.get("id")): d for d in [*first, *second]}
    return list(merged.values())
