"""What tools say: pages, executions, symbols and maps as text of bounded size."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from agents import prompts
from agents.episode import returned
from agents.toolbox import watch
from agents.toolbox.library import Documents, Entry, Line
from sandbox.base import Execution, Outcome

PAGE = 12_000  # characters of a result
LISTED = 50  # members or calls that are listed
MAP_LINES = 400  # symbols of a map; a larger one lists classes and functions, or modules only


class Mistake(Exception):  # noqa: N818 -- a message to the caller of a tool
    """What is wrong with a call, and what to do instead."""


def page_of(text: str, page: int) -> str:
    """One page of a text, cut between lines where that is possible.

    Raises
    ------
    Mistake
        When it has fewer pages.
    """
    pages: list[str] = []
    start = 0
    while start < len(text) or not pages:
        end = min(start + PAGE, len(text))
        if end < len(text):
            end = text.rfind("\n", start + PAGE // 2, end) + 1 or end
        pages.append(text[start:end])
        start = end
    if page > len(pages):
        raise Mistake(f"there is no page {page} of {len(pages)}")
    note = f"\n[page {page} of {len(pages)}]" if len(pages) > 1 else ""
    return f"{pages[page - 1]}{note}"


def describe(execution: Execution) -> str:
    """An execution as text; nothing in it differs from run to run but what the code prints."""
    before, mark, rest = execution.stderr.rpartition(f"\n{watch.MARK}")
    line, _, after = rest.partition("\n")
    values = _values(line) if mark else None
    parts = [f"outcome: {execution.outcome}"]
    if execution.outcome is Outcome.OK:
        parts.append(f"returned:\n{returned(execution, PAGE)}")
    if execution.error:
        parts.append(f"error:\n{execution.error.strip()}")
    if values is not None:
        listed = [f"{name} = {value}" for name, value in values.items()]
        parts.append("values:\n" + ("\n".join(listed) or "(no variable of that name)"))
    if execution.caught:
        listed = [f"line {c.line}: {c.type}: {c.message}" for c in execution.caught]
        parts.append("exceptions that the code caught itself:\n" + "\n".join(listed))
    if execution.files or execution.left:
        listed = [f"{file.name} ({len(file.data)} bytes)" for file in execution.files]
        listed += [f"not taken: {line}" for line in execution.left]
        parts.append("files in out:\n" + "\n".join(listed))
    errors = execution.stderr if values is None else f"{before}{after}"
    for name, text in (("stdout", execution.stdout), ("stderr", errors)):
        if text.strip():
            parts.append(f"{name}:\n{text.rstrip()}")
    return prompts.without_addresses("\n".join(parts))


def _values(text: str) -> Mapping[str, str] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def shown(line: Line) -> str:
    """A symbol in one line."""
    gone = " DEPRECATED" if line.deprecated else ""
    return f"{line.name} [{line.kind}]{gone} {line.summary}"


def definition(library: Documents, line: Line) -> str:
    """What a caller has to know of a symbol: its facts and the sections that describe a call."""
    entry = library.find(line.name)
    assert entry is not None
    facts = [part for part in entry.facts.splitlines() if not part.startswith(("  ", "members:"))]
    wanted = ("What it does", "Parameters", "Attributes", "Returns", "Raises", "Details", "Notes")
    parts = [f"{title}:\n{entry.sections[title]}" for title in wanted if title in entry.sections]
    gone = [f"DEPRECATED: {line.deprecated}"] if line.deprecated else []
    text = "\n".join([*facts, *gone, *(parts or [entry.what])])
    return text if len(text) <= PAGE // 4 else f"{text[: PAGE // 4]}... (lookup has all of it)"


def parts_of(entry: Entry, part: str) -> str:
    """Which parts a symbol has, where ``part`` is none of them."""
    sections = ", ".join(filter(None, entry.sections))
    members = [str(m).rpartition(".")[2] for m in entry.metadata.get("members", ())]
    listed = f"; members: {', '.join(members[:LISTED])}" if members else ""
    return f"{entry.name} has no part {part[:100]!r}; sections: {sections}{listed}"


def map_of(lines: Sequence[Line]) -> str:
    """Symbols below their modules; of large packages classes and functions, or only modules."""
    kinds: tuple[str, ...] = ()
    if len(lines) > MAP_LINES:
        kinds = ("module", "chunk", "class", "function", "constant")
        if sum(line.kind in kinds for line in lines) > MAP_LINES:
            kinds = ("module", "chunk")
    chosen = [line for line in lines if not kinds or line.kind in kinds] or lines
    width = min(100, max(24, PAGE // len(chosen) - 24))  # so that a map is about a page
    listed: list[str] = []
    home = "\n"
    for line in chosen:
        if line.kind == "module":
            home = f"{line.name}."
            listed.append(f"{line.name}: {line.summary[:width]}")
        else:
            short = line.name.removeprefix(home)
            kind = "" if line.kind == "function" else f" [{line.kind}]"
            gone = " DEPRECATED" if line.deprecated else ""
            listed.append(f"  {short}{kind}{gone}: {line.summary[:width]}")
    hidden = len(lines) - len(listed)
    note = [f"({hidden} more symbols; name a module or class to see its own)"] if hidden else []
    return re.sub(r"[ \t]+\n", "\n", "\n".join([*note, *listed]))
