"""Checks a draft against the installed libraries, inside the sandbox.

The host sends the probe's text and the draft as a string; what comes back is data. Misses are
advice for the next draft: they never decide whether a draft is good.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from agents import introspect_probe, introspect_types
from agents.episode import Episode
from indexes.introspection import places
from sandbox.base import Execution, Outcome

ENTRY = "introspect"
MAX_TEXT = 600  # characters of one finding in a prompt


class IntrospectionError(Exception):
    """The libraries could not be looked into; says how the attempt ended."""


@dataclass(frozen=True)
class Miss:
    """A name of a draft that the installed libraries do not have.

    Attributes
    ----------
    owner
        Dotted name of the class, module or function that was asked for it; where the name lives
        elsewhere, its real dotted name. Empty when unknown.
    text
        The finding as a sentence, nearest real names included.
    """

    line: int
    name: str
    owner: str
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


def assembled(*modules: ModuleType) -> str:
    """The modules as one text, without their imports of each other."""
    parts = ["from __future__ import annotations\n"]
    for module in modules:
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        lines = text.splitlines(keepends=True)
        for node in ast.parse(text).body:
            package = str(node.module).partition(".")[0] if isinstance(node, ast.ImportFrom) else ""
            if package in {"__future__", "agents", "indexes", "matsmith"}:
                for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                    lines[number] = ""
        parts += lines
    return "".join(parts)


PROBE = assembled(places, introspect_types, introspect_probe)


def draft_probe(code: str) -> str:
    """Source for the sandbox that looks up the names of ``code`` (entry: ``ENTRY``)."""
    return f"{PROBE}\n\ndef {ENTRY}():\n    return report({code!r})\n"


def source_probe(names: Sequence[str]) -> str:
    """Source for the sandbox that reads the source of ``names`` (entry: ``ENTRY``)."""
    return f"{PROBE}\n\ndef {ENTRY}():\n    return sources({list(names)!r})\n"


async def find_misses(episode: Episode, code: str) -> list[Miss]:
    """Look the names of a draft up; misses, or why there was no looking, are recorded."""
    try:
        misses = read_misses(await episode.run(draft_probe(code), ENTRY))
    except IntrospectionError as error:
        episode.check([f"the installed libraries could not be looked into: {error}"])
        return []
    if misses:
        episode.check([str(miss) for miss in misses])
    return misses


async def find_sources(episode: Episode, names: Sequence[str]) -> dict[str, str]:
    """Source of the installed objects among ``names``; a failure is recorded."""
    if not names:
        return {}
    try:
        return read_sources(await episode.run(source_probe(names), ENTRY))
    except IntrospectionError as error:
        episode.check([f"the source of the libraries could not be read: {error}"])
        return {}


def read_misses(execution: Execution) -> list[Miss]:
    """Misses from a run of :func:`draft_probe`.

    Raises
    ------
    IntrospectionError
        When the probe did not end well, or sent something else.
    """
    found = _result(execution, list)
    return [
        Miss(
            line=int(item["line"]),
            name=str(item["name"])[:MAX_TEXT],
            owner=str(item["owner"])[:MAX_TEXT],
            text=str(item["text"])[:MAX_TEXT],
        )
        for item in found
    ]


def read_sources(execution: Execution) -> dict[str, str]:
    """Name to source text from a run of :func:`source_probe`.

    Raises
    ------
    IntrospectionError
        When the probe did not end well, or sent something else.
    """
    found: Mapping[str, str] = _result(execution, dict)
    return {str(name): str(text) for name, text in found.items()}


def _result(execution: Execution, kind: type) -> Any:
    if execution.outcome != Outcome.OK or not isinstance(execution.result, kind):
        reason = (execution.error or "").strip().splitlines()[-1:]
        raise IntrospectionError(" ".join([str(execution.outcome), *reason])[:MAX_TEXT])
    return execution.result
