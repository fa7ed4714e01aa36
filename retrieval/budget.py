"""As much of a ranking as fits a number of tokens, the part of it that the query asks about."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import Document

from docgen.facts import SEPARATOR
from indexes.tokens import tokens

CHARACTERS_PER_TOKEN = 4  # an estimate: English and code, usual tokenizers
_SHARE = 5  # no document takes more than a fifth of the budget
_BY_NAME = "  and by name: "
_SMALLEST = 200  # characters; less of a document is not worth its place


def estimated_tokens(text: str) -> int:
    """Number of tokens of a text, estimated from its length."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def fit(documents: Sequence[Document], query: str, budget: int) -> list[Document]:
    """The first documents that fit ``budget`` tokens together, long ones condensed.

    A document takes at most a fifth of the budget; the last one is condensed to what is left.
    """
    left = budget * CHARACTERS_PER_TOKEN
    share = left // _SHARE
    wanted = frozenset(tokens(query))
    fitting: list[Document] = []
    for document in documents:
        room = min(share, left)
        if len(document.page_content) > room and room < _SMALLEST:
            break
        short = condense(document, wanted, room)
        fitting.append(short)
        left -= len(short.page_content)
    return fitting


def shorten(documents: Sequence[Document], query: str, characters: int | None) -> list[Document]:
    """Documents of ``characters`` on average, condensed to what a query asks about.

    What short documents leave goes to the long ones, in equal parts. ``None`` leaves all whole.
    """
    if characters is None:
        return list(documents)
    wanted = frozenset(tokens(query))
    left, open_ = characters * len(documents), len(documents)
    rooms: dict[int, int] = {}
    for i in sorted(range(len(documents)), key=lambda i: len(documents[i].page_content)):
        rooms[i] = min(len(documents[i].page_content), left // open_)
        left, open_ = left - rooms[i], open_ - 1
    return [condense(document, wanted, rooms[i]) for i, document in enumerate(documents)]


def condense(document: Document, wanted: frozenset[str], room: int) -> Document:
    """A document of at most ``room`` characters.

    Of a long member list the lines that share most words with the query stay whole, the other
    members stay by name; then the written text is cut, then everything.
    """
    content = document.page_content
    if len(content) <= room:
        return document
    facts, rule, text = content.partition(f"\n{SEPARATOR}\n")
    lines = facts.split("\n")
    members = [i for i, line in enumerate(lines) if line.startswith("  ")]
    if rule and members:
        frame = len(facts) - sum(len(lines[i]) + 1 for i in members) + len(rule) + len(_BY_NAME) + 1
        frame += min(len(text), room // 4)
        facts = _with_members(lines, members, wanted, room - frame)
        content = f"{facts}{rule}{text}"
    if len(content) > room:
        content = _cut(content, room)
    return document.model_copy(update={"page_content": content})


def _with_members(lines: list[str], members: list[int], wanted: frozenset[str], room: int) -> str:
    """The facts with the member lines that matter, the others by name."""
    names = {i: lines[i].strip().split("(")[0].split(" ")[0] for i in members}
    left = room - sum(len(name) + 2 for name in names.values())
    relevance = {i: len(wanted.intersection(tokens(lines[i]))) for i in members}
    kept: set[int] = set()
    for i in sorted(members, key=lambda i: (-relevance[i], i)):
        gain = len(lines[i]) + 1 - len(names[i]) - 2
        if gain <= left:
            kept.add(i)
            left -= gain
    first = members[0]
    shown = [*lines[:first], *(lines[i] for i in members if i in kept)]
    if others := [names[i] for i in members if i not in kept]:
        shown.append(f"{_BY_NAME}{', '.join(others)}")
    return "\n".join([*shown, *lines[members[-1] + 1 :]])


def _cut(content: str, room: int) -> str:
    note = "\n..."
    kept = content[: max(0, room - len(note))]
    return (kept.rpartition("\n")[0] or kept) + note
