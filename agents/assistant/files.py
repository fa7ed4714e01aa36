"""Input files of a question: where they lie, under which name the code sees them, what they are."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agents.assistant import file_probe
from agents.assistant.answers import Figure, InputFile
from agents.assistant.file_probe import SITES
from agents.drawing import structure_svg
from sandbox.base import Execution, Mount, Outcome, Sandbox
from sandbox.command import UsageError
from sandbox.inputs import Inputs
from sandbox.runner import OUT
from sandbox.terminal import printable

#: Names that an input cannot have: the code's own, and where it writes.
RESERVED = frozenset({"main.py", OUT})
SUMMARY = 3000  # characters about one input
SECONDS = 60.0  # of processor time to look at all of them
_MENTION = re.compile(r"(?:(?<=\s)|^)@(\"[^\"\n]+\"|\S+)")


def attach(known: Mapping[str, Path], paths: Sequence[str | Path]) -> dict[str, Path]:
    """Inputs by the name under which the code sees them: those known, and further ones.

    Raises
    ------
    UsageError
        When one does not exist or cannot be read, or two would have the same name.
    """
    found = dict(known)
    for given in paths:
        path = Path(given).expanduser()
        if not path.exists():
            raise UsageError(f"file {given}: no such file or folder")
        if not os.access(path, os.R_OK):
            raise UsageError(f"file {given}: you may not read it")
        path = path.resolve()
        if path.name in RESERVED or not path.name:
            raise UsageError(f"file {given}: an input cannot be called {path.name!r}; rename it")
        if found.get(path.name, path) != path:
            raise UsageError(f"file {given}: two inputs are called {path.name}")
        found[path.name] = path
    return found


def mentioned(question: str) -> tuple[str, list[str]]:
    """A question with the names of the files that it mentions (``@path``), and their paths.

    Raises
    ------
    UsageError
        When what looks like a path does not exist.
    """
    paths: list[str] = []

    def name(match: re.Match[str]) -> str:
        given = match[1].strip('"')
        ending = given[len(given.rstrip(".,;:!?)")) :]
        for text, after in ((given, ""), (given.removesuffix(ending) if ending else given, ending)):
            path = Path(text).expanduser()
            if text and path.exists():
                paths.append(text)
                return f"{path.resolve().name}{after}"
        if "/" in given or "." in given.rstrip("."):
            raise UsageError(f"@{given}: no such file or folder")
        return match[0]

    return _MENTION.sub(name, question), paths


@dataclass(frozen=True)
class Looked:
    """Inputs with what is in them, and pictures of the structures among them."""

    files: tuple[InputFile, ...] = ()
    figures: tuple[Figure, ...] = ()

    @property
    def lines(self) -> list[str]:
        """What a prompt says of each."""
        return [
            f"`{file.name}` ({file.kind}, {file.size} bytes): {file.summary}".rstrip(": ")
            for file in self.files
        ]


async def look(sandbox: Sandbox, inputs: Mapping[str, Path]) -> Looked:
    """Look into inputs, in the sandbox.

    Raises
    ------
    SandboxError
        When the sandbox failed, or an input is too large for it.
    """
    if not inputs:
        return Looked()
    program = f"{_probe()}\n\ndef look():\n    return summarise({sorted(inputs)!r})\n"
    mounts = [Mount(path, name) for name, path in inputs.items()]
    done = await sandbox.run(program, "look", timeout=SECONDS, mounts=mounts)
    return _looked(done, inputs)


@cache
def _probe() -> str:
    return Path(file_probe.__file__).read_text(encoding="utf-8")


def _looked(done: Execution, inputs: Mapping[str, Path]) -> Looked:
    found = done.result if done.outcome is Outcome.OK and isinstance(done.result, dict) else {}
    files, figures = [], []
    for name, path in inputs.items():
        content = Inputs.read(path)
        each = found.get(name)
        each = each if isinstance(each, dict) else {}
        kind = each.get("kind")
        said = [each.get("summary", f"could not be looked at ({done.outcome})"), each.get("note")]
        summary = "\n".join(printable(part) for part in said if isinstance(part, str))[:SUMMARY]
        files.append(
            InputFile(
                name, str(path), kind[:20] if isinstance(kind, str) else "file", content.size,
                content.key if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest(),
                summary,
            )
        )  # fmt: skip
        if (figure := drawn(name, each)) is not None:
            figures.append(figure)
    return Looked(tuple(files), tuple(figures))


def drawn(title: str, structure: Mapping[str, Any]) -> Figure | None:
    """A structure given as ``cell``, ``species`` and ``fractions``; ``None`` where it is none."""
    given = structure.get("species")
    species = given if isinstance(given, list) else []
    # It came out of the sandbox.
    if not 0 < len(species) <= SITES or not all(isinstance(name, str) for name in species):
        return None
    text = structure_svg(
        structure.get("cell", ()), species, structure.get("fractions", ()), title=title
    )
    return Figure(title, "image/svg+xml", text.encode())
