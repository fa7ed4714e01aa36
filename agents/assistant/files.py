"""Input files of a question: where they lie, under which name the code sees them, what they are."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.assistant.answers import Figure, InputFile
from agents.assistant.file_probe import SITES
from agents.assistant.second_opinion import about_file, parser_warnings
from foundation.errors import UsageError
from foundation.terminal import printable
from sandbox.base import Mount, Outcome, Sandbox
from sandbox.exchange import Inputs
from sandbox.inside.tagged import OUT

#: Names that an input cannot have: the code's own, and where it writes.
RESERVED = frozenset({"main.py", OUT})
SUMMARY = 3000  # characters about one input
SECONDS = 60.0  # of processor time to look at all of them
_MENTION = re.compile(r"(?:(?<=\s)|^)@(\"[^\"\n]+\"|\S+)")
_FILE = re.compile(r"/|\.[A-Za-z]\w*$")  # looks like a path


def expanded(given: str | Path) -> Path:
    """A path without its ``~``, where there is such a user."""
    return Path(os.path.expanduser(given))  # noqa: PTH111 -- `Path` raises where there is none


def find(given: str | Path) -> Path | None:
    """What a path leads to; ``None`` for any other text."""
    path = expanded(given)
    return path if given and os.path.exists(path) else None  # noqa: PTH110 -- `Path`: of any length


def attach(known: Mapping[str, Path], paths: Sequence[str | Path]) -> dict[str, Path]:
    """Inputs by the name under which the code sees them: those known, and further ones.

    A relative path keeps its folders, so that code finds what its user wrote (``a/POSCAR``);
    another one is called by its last part, with as many folders as tell it from the others.
    What cannot be an input is a `UsageError`; ``known`` is left as it was.
    """
    inputs = dict(known)
    for given in paths:
        whole, pattern = find(given), str(expanded(given))
        matched = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 -- absolute ones too
        if whole is None and not matched:
            raise UsageError(f"file {given}: no such file or folder")
        for path in [whole] if whole is not None else map(Path, matched):
            resolved = _resolved(path)
            if resolved not in inputs.values():
                inputs[_name(path, resolved, inputs)] = resolved
    return inputs


def _resolved(path: Path) -> Path:
    """Where an input lies; refused is a link that leads out of the folder it lies in.

    A checkout or an archive may hold links to files of its reader (``data.cif`` to a key), and
    what an input holds is sent to the endpoint.
    """
    if not os.access(path, os.R_OK):
        raise UsageError(f"file {path}: permission denied")
    resolved = path.resolve()
    is_below_here = not path.is_absolute() and ".." not in path.parts
    folder = Path.cwd() if is_below_here else path.parent.resolve()
    if not resolved.is_relative_to(folder):
        raise UsageError(
            f"file {path}: a link to {resolved}, outside of {folder}; "
            "to use that file, pass its own path"
        )
    if not (resolved.is_file() or resolved.is_dir()):
        raise UsageError(f"file {path}: neither a file nor a folder")
    return resolved


def _name(path: Path, resolved: Path, taken: Mapping[str, Path]) -> str:
    parts = resolved.parts[1:]
    inside = not path.is_absolute() and resolved.is_relative_to(Path.cwd())
    first = max(1, len(resolved.relative_to(Path.cwd()).parts)) if inside else 1
    for count in range(first, len(parts) + 1):
        name = "/".join(parts[-count:])
        if not name.isprintable():
            break  # it stands in prompts and on terminals
        if parts[-count] not in RESERVED and not any(
            name == other
            or name.startswith(f"{other}/")
            or other.startswith(f"{name}/")
            for other in taken
        ):
            return name
    raise UsageError(
        f"file {str(path)!a}: an input cannot be called {resolved.name!a}; rename it"
    )


def mentioned(question: str, known: Mapping[str, Path] = {}) -> tuple[str, list[str]]:
    """A question with the names of the files that it mentions (``@path``), and their paths."""
    paths: list[str] = []
    found = dict(known)

    def name(match: re.Match[str]) -> str:
        given = match[1].strip('"')
        bare = given.rstrip(".,;:!?)'")
        for text, after in ((given, ""), (bare, given[len(bare) :])):
            if (path := find(text)) is not None:
                paths.append(text)
                found.update(attach(found, [text]))
                resolved = path.resolve()
                return (
                    f"{next(n for n, one in found.items() if one == resolved)}{after}"
                )
        if _FILE.search(bare):
            raise UsageError(f"@{given}: no such file or folder")
        return match[0]

    return _MENTION.sub(name, question), paths


@dataclass(frozen=True)
class Looked:
    """Inputs with what is in them; of the structures among them pictures, and facts by name.

    ``new`` are the names of those that this question brought or mentions.
    """

    files: tuple[InputFile, ...] = ()
    figures: tuple[Figure, ...] = ()
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    new: frozenset[str] = frozenset()

    @property
    def lines(self) -> list[str]:
        """What a prompt says of each."""
        return [
            f"`{file.name}` ({file.kind}, {file.size} bytes): {file.summary}".rstrip(
                ": "
            )
            for file in self.files
        ]


async def look(sandbox: Sandbox, inputs: Mapping[str, Path]) -> Looked:
    """Look into inputs, in the sandbox."""
    if not inputs:
        return Looked()
    mounts = [Mount(path, name) for name, path in inputs.items()]
    done = await sandbox.call(
        "agents.assistant.file_probe",
        "summarise",
        [sorted(inputs)],
        timeout=SECONDS,
        mounts=mounts,
    )
    found = (
        done.result
        if done.outcome is Outcome.OK and isinstance(done.result, dict)
        else {}
    )
    files, figures, facts = [], [], {}
    for name, path in inputs.items():
        content = Inputs.read(path)
        each = found.get(name)
        each = each if isinstance(each, dict) else {}
        kind = each.get("kind")
        known = each["facts"] if isinstance(each.get("facts"), dict) else {}
        said = [
            each.get("summary", f"could not be looked at ({done.outcome})"),
            each.get("note"),
            *about_file(name, known),
            *parser_warnings(known),
        ]
        summary = "\n".join(printable(part) for part in said if isinstance(part, str))[
            :SUMMARY
        ]
        files.append(
            InputFile(
                name,
                str(path),
                kind[:20] if isinstance(kind, str) else "file",
                content.size,
                content.key
                if path.is_dir()
                else hashlib.sha256(content.files[0][1]).hexdigest(),
                summary,
            )
        )
        if known:
            facts[name] = known
        if (figure := drawn(name, each)) is not None:
            figures.append(figure)
    return Looked(tuple(files), tuple(figures), facts, frozenset(inputs))


def drawn(title: str, structure: Mapping[str, Any]) -> Figure | None:
    """A structure given as ``cell``, ``species`` and ``fractions``; ``None`` where it is none."""
    given = structure.get("species")
    species = (
        [n for n in given if isinstance(n, str)] if isinstance(given, list) else []
    )
    # It came out of the sandbox.
    if not 0 < len(species) <= SITES:
        return None
    from agents import crystal, crystal_files  # noqa: PLC0415 -- numpy is slow to import
    from agents.drawing import drawing_svg  # noqa: PLC0415 -- see above

    cell = crystal.read_cell(structure.get("cell"), species, structure.get("fractions"))
    if cell is None:
        return None
    shown = crystal.drawing(crystal.conventional(cell))
    scene = crystal.scene(shown)
    files = {"cif": crystal_files.cif(cell), "poscar": crystal_files.poscar(cell)}
    scene["files"] = {kind: text for kind, text in files.items() if text is not None}
    picture = drawing_svg(shown, title=title).encode()
    return Figure(title, "image/svg+xml", picture, scene)
