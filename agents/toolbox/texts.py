"""What is said of tools and by them: schemas; pages, executions, symbols, maps of bounded size."""

from __future__ import annotations

import inspect
import json
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from agents import prompts
from agents.checks import returned
from agents.toolbox import watch
from indexes.pages import Documents, Line, Page
from sandbox.base import Execution, Outcome

Tool = Callable[..., Awaitable[str]]

PAGE = 12_000  # characters of a result
LISTED = 50  # members that are listed
BRIEF = 600  # characters of what `resolve` says of a symbol
WIDTH = 100  # characters on a symbol of a map


class Mistake(Exception):  # noqa: N818 -- a message to the caller of a tool
    """What is wrong with a call, and what to do instead."""


class _Untitled(GenerateJsonSchema):
    """Without titles, which only repeat names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 -- of the base
        return False


def described(tool: Tool) -> tuple[str, dict[str, Any]]:
    """What a tool does, for whoever calls it, and the JSON schema of its arguments."""
    schema = arguments_of(tool).model_json_schema(schema_generator=_Untitled)
    del schema["title"]
    return inspect.getdoc(tool) or "", schema


@lru_cache(maxsize=64)
def arguments_of(tool: Tool) -> type[BaseModel]:
    """The arguments of a tool, a function of a class, as a model."""
    parameters = list(inspect.signature(tool, eval_str=True).parameters.values())[1:]
    fields: dict[str, Any] = {
        p.name: (p.annotation, ... if p.default is p.empty else p.default)
        for p in parameters
    }
    return create_model(tool.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def faults(error: ValidationError) -> str:
    """The first faults, each with the argument that it is about."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    listed = [
        f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}"
        for one in found[:5]
    ]
    return "; ".join(listed)[:1000]


def page_of(text: str, page: int, size: int = PAGE) -> str:
    """One page of a text, cut between lines where possible; a `Mistake` if there is none."""
    pages: list[str] = []
    start = 0
    while start < len(text) or not pages:
        end = min(start + size, len(text))
        if end < len(text):
            end = text.rfind("\n", start + size // 2, end) + 1 or end
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
    try:
        values = json.loads(line) if mark else None
    except (ValueError, RecursionError):
        values = None
    values = values if isinstance(values, dict) else None
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


def brief(line: Line) -> str:
    """A symbol in one line."""
    gone = " DEPRECATED" if line.deprecated else ""
    return f"{line.name} [{line.kind}]{gone} {line.summary}"


def definition(documents: Documents, line: Line) -> str:
    """How a symbol is called, and the beginning of what its document says of a call."""
    page = documents.find(line.name)
    assert page is not None
    wanted = ("What it does", "Parameters", "Attributes", "Returns", "Details", "Notes")
    parts = [page.sections[title] for title in wanted if title in page.sections]
    gone = [f"DEPRECATED: {line.deprecated}"] if line.deprecated else []
    text = " ".join("\n".join(parts or [page.what]).split())
    cut = (
        text
        if len(text) <= BRIEF
        else f"{text[:BRIEF].rstrip()}... (lookup has all of it)"
    )
    return "\n".join([line.name, *page.called, *gone, cut])


def parts_of(page: Page, part: str) -> str:
    """Which parts a symbol has, where ``part`` is none of them."""
    sections = ", ".join(filter(None, page.sections))
    members = [name.rpartition(".")[2] for name in page.members]
    listed = f"; members: {', '.join(members[:LISTED])}" if members else ""
    return f"{page.name} has no part {part[:100]!r}; sections: {sections}{listed}"


def names_of(lines: Sequence[Line]) -> str:
    """The names of symbols by module, or how many; what is deprecated is left out."""
    homes: dict[str, list[str]] = defaultdict(list)
    home = ""
    for line in lines:
        if line.kind == "module":
            home = line.name
        elif not line.deprecated:
            homes[home or "elsewhere"].append(line.name.removeprefix(f"{home}."))
    listed = [f"{home}: {', '.join(names)}" for home, names in homes.items()]
    if sum(map(len, listed)) > PAGE:
        listed = [f"{home}: {len(names)}" for home, names in homes.items()]
    note = "(names or their number; give a module for a line on each, or `search`)"
    return "\n".join([note, *listed])


def map_of(lines: Sequence[Line]) -> str:
    """Symbols with a few words each, below their modules."""
    listed: list[str] = []
    home = "\n"
    for line in lines:
        if line.kind == "module":
            home = f"{line.name}."
            listed.append(f"{line.name}: {line.summary[:WIDTH]}")
        else:
            kind = "" if line.kind == "function" else f" [{line.kind}]"
            gone = " DEPRECATED" if line.deprecated else ""
            short = line.name.removeprefix(home)
            listed.append(f"  {short}{kind}{gone}: {line.summary[:WIDTH]}")
    return re.sub(r"[ \t]+\n", "\n", "\n".join(listed))
