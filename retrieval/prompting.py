"""Documents in a prompt: as much of a ranking as fits, and a choice among candidates by a model."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from langchain_core.documents import Document

from docgen.facts import SEPARATOR
from docgen.reading import last_tagged
from indexes.tokens import tokens

CHARACTERS_PER_TOKEN = 4  # an estimate: English and code, usual tokenizers
TASK = """\
Which of the numbered candidates does a solution need? Give their numbers, the most useful first, \
at most {most}, none twice. Answer in exactly this form:
<indices>3, 1, 2</indices>"""
SUMMARY = 400  # of a candidate that the model sees
_BY_NAME = "  and by name: "
_SIGNATURE = 2_000  # characters; a longer one is not read
# of a member list: name, signature, kind, and what it says
_MEMBER = re.compile(r"  (\w+)((?: ?\(.*?| -> .*?)?) \[[a-z ]+\](?::|$)")
_SMALLEST = 400  # characters; less of a document is not worth its place


def fit(documents: Sequence[Document], query: str, budget: int) -> list[Document]:
    """The first documents that fit ``budget`` tokens together, long ones condensed.

    As many as fit whole, or as many as :func:`shorten` leaves a room that is worth having.
    """
    room = budget * CHARACTERS_PER_TOKEN
    whole = list(accumulate(len(document.page_content) for document in documents))
    shares = accumulate(1 / rank for rank in range(1, len(documents) + 1))
    count = sum(
        size <= room or room / (rank * parts) >= _SMALLEST
        for rank, (size, parts) in enumerate(zip(whole, shares, strict=True), start=1)
    )
    return shorten(documents[:count], query, room // max(1, count))


def shorten(
    documents: Sequence[Document], query: str, characters: int | None
) -> list[Document]:
    """Documents of ``characters`` on average, condensed to what a query asks about.

    The n-th has room for one n-th of what the first has; what short ones leave goes to the
    others in the same proportions. ``None`` leaves all whole.
    """
    if characters is None:
        return list(documents)
    wanted = frozenset(tokens(query))
    sizes = [len(document.page_content) for document in documents]
    left = float(characters * len(documents))
    weights = {rank: 1 / rank for rank in range(1, len(documents) + 1)}
    # those that need least of their share first, so that what they leave is known
    for rank in sorted(weights, key=lambda rank: (sizes[rank - 1] * rank, rank)):
        share = left * weights[rank] / sum(weights.values())
        sizes[rank - 1] = min(sizes[rank - 1], int(share))
        left -= sizes[rank - 1]
        del weights[rank]
    return [
        condense(one, wanted, room) for one, room in zip(documents, sizes, strict=True)
    ]


def condense(document: Document, wanted: frozenset[str], room: int) -> Document:
    """A document of at most ``room`` characters.

    Of a long member list the lines that share most words with the query stay whole; the other
    members stay as they are called, ``name(argument, argument=default)``, or where even that is
    too long by name. Then the written text is cut, then everything.
    """
    content = document.page_content
    if len(content) <= room:
        return document
    facts, rule, text = content.partition(f"\n{SEPARATOR}\n")
    lines = facts.split("\n")
    members = [i for i, line in enumerate(lines) if line.startswith("  ")]
    if rule and members:
        frame = (
            len(facts)
            - sum(len(lines[i]) + 1 for i in members)
            + len(rule)
            + len(_BY_NAME)
            + 1
        )
        frame += min(len(text), room // 4)
        facts = _with_members(lines, members, wanted, room - frame)
        content = f"{facts}{rule}{text}"
    if len(content) > room:
        content = _cut(content, room)
    return document.model_copy(update={"page_content": content})


def _with_members(
    lines: list[str], members: list[int], wanted: frozenset[str], room: int
) -> str:
    """The facts with the member lines that matter, the others as they are called."""
    forms = {i: _forms(lines[i]) for i in members}
    left = room - sum(len(names) + 2 for names, *_ in forms.values())
    relevance = {i: len(wanted.intersection(tokens(lines[i]))) for i in members}
    by_relevance = sorted(members, key=lambda i: (-relevance[i], i))
    level = dict.fromkeys(members, 0)
    # whole lines in half of the room, then arguments for as many as can be, then whole lines again
    for better, reserve in ((2, left // 2), (1, 0), (2, 0)):
        for i in by_relevance:
            gain = len(forms[i][better]) - len(forms[i][level[i]])
            if 0 < gain <= left - reserve:
                level[i] = better
                left -= gain
    first = members[0]
    shown = [*lines[:first], *(lines[i] for i in members if level[i] == 2)]
    if others := [forms[i][level[i]] for i in members if level[i] < 2]:
        shown.append(f"{_BY_NAME}{', '.join(others)}")
    return "\n".join([*shown, *lines[members[-1] + 1 :]])


def _forms(line: str) -> tuple[str, str, str]:
    """A member's name, how it is called, and its whole line; of a list of names always that."""
    if line.startswith(_BY_NAME):
        names = line.removeprefix(_BY_NAME)
        return names, names, names
    name = line.strip().split("(")[0].split(" ")[0]
    return name, _call(line) or name, line


@lru_cache(maxsize=20_000)
def _call(line: str) -> str | None:
    """``name(argument, argument=default)`` of a member line; ``None`` for what is not called."""
    match = _MEMBER.match(line[:_SIGNATURE])
    if match is None or not match[2].startswith("("):
        return None
    try:
        (function,) = ast.parse(f"def _{match[2]}: ...").body
        if not isinstance(function, ast.FunctionDef):
            return None
        for argument in ast.walk(function.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        return f"{match[1]}({ast.unparse(function.args)})"
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # written by a library: whatever Python cannot read stays a name


def _cut(content: str, room: int) -> str:
    note = "\n..."
    kept = content[: max(0, room - len(note))]
    return (kept.rpartition("\n")[0] or kept) + note


def request(question: str, documents: Sequence[Document], most: int) -> str:
    """The text that asks for the numbers of the ``most`` useful documents, counted from 1."""
    listed = "\n".join(
        f"{n}. {summary(document)}" for n, document in enumerate(documents, 1)
    )
    given = f"<question>\n{question.strip()}\n</question>"
    return (
        f"{given}\n\n<candidates>\n{listed}\n</candidates>\n\n{TASK.format(most=most)}"
    )


def read_order(reply: str, count: int) -> list[int]:
    """Positions (from 0) that a reply names, each once, those out of range left out."""
    listed = last_tagged(reply, "indices") or ""
    numbers = [int(n) - 1 for n in re.findall(r"(?<!\d)[0-9]{1,6}(?!\d)", listed)]
    return [n for n in dict.fromkeys(numbers) if 0 <= n < count]


def summary(document: Document, characters: int = SUMMARY) -> str:
    """A document on one line, for a choice between many."""
    name = document.metadata.get("qualname", "")
    text = " ".join(document.page_content.removeprefix(str(name)).split())
    return f"{name}: {text[:characters]}{' ...' if len(text) > characters else ''}"
