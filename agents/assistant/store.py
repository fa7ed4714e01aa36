"""Conversations on disk: a folder each, with a JSON file per turn and the files that it made.

A turn can be written as a script that runs again without matsmith.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jinja2 import Environment
from platformdirs import user_data_path
from pydantic import BaseModel, ValidationError

from agents.assistant.answers import Answer, OutputFile
from foundation.errors import UsageError
from foundation.secrets import redact
from foundation.terminal import printable
from sandbox.base import Written


class _Turn(BaseModel, ser_json_bytes="base64", val_json_bytes="base64"):
    matsmith_session: int = 1  # the format
    answer: Answer


def sessions_folder() -> Path:
    """``$MATSMITH_SESSIONS``, else below the user's data (``~/.local/share`` on Linux)."""
    chosen = os.environ.get("MATSMITH_SESSIONS")
    if chosen:
        return Path(chosen).expanduser().resolve()
    return Path(user_data_path("matsmith", appauthor=False)) / "sessions"


def new_session() -> Path:
    """A folder for a conversation that begins now; it is made with the first turn."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return sessions_folder() / f"{stamp}-{os.getpid()}"


def sessions() -> list[Path]:
    """The conversations, the one used last first."""
    found = [path.parent for path in sessions_folder().glob("*/1.json")]
    return sorted(
        found, key=lambda folder: -max(p.stat().st_mtime for p in folder.glob("*.json"))
    )


def find_session(name: str | None = "") -> Path:
    """The conversation of a name; empty: that which was used last, ``None``: a new one."""
    if name is None:
        return new_session()
    found = [folder for folder in sessions() if folder.name.startswith(name)]
    if not found:
        about = f"called {name} " if name else ""
        raise UsageError(f"no conversation {about}to continue in {sessions_folder()}")
    return found[0]


def titles() -> list[tuple[str, str]]:
    """Name and first question of each conversation, the one used last first."""
    found = []
    for folder in sessions():
        with suppress(UsageError):  # not ours: a list of the others is still one
            found.append((folder.name, load(folder, 1)[0].question))
    return found


def private(path: Path) -> Path:
    """A file that only its user can read, in a folder of which that is true as well."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    path.touch(mode=0o600)
    path.chmod(0o600)
    return path


def save(folder: Path, number: int, answer: Answer) -> None:
    """Write a turn, readable by its user only, and the files that its code made."""
    part = private(folder / f"{number}.json.part")
    write_files(folder / str(number), answer.files)
    part.write_text(redact(_Turn(answer=answer).model_dump_json()), encoding="utf-8")
    part.replace(folder / f"{number}.json")


def write_files(folder: Path, files: Sequence[OutputFile | Written]) -> list[Path]:
    """Write what a code made below a folder; returns the paths."""
    written = []
    for file in files:
        path = folder / file.name  # a plain relative name: sandbox.exchange
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(file.data)
        written.append(path)
    return written


def forget(folder: Path, number: int) -> None:
    """Remove a turn; the files that it made stay."""
    (folder / f"{number}.json").unlink(missing_ok=True)


def load(folder: Path, most: int = sys.maxsize) -> list[Answer]:
    """The first turns of a conversation."""
    turns: list[Answer] = []
    while len(turns) < most and (path := folder / f"{len(turns) + 1}.json").is_file():
        try:
            turns.append(_Turn.model_validate_json(path.read_bytes()).answer)
        except ValidationError as error:
            first = str(error).splitlines()[0]
            raise UsageError(f"{path}: no turn of a conversation ({first})") from error
    return turns


def as_json(answer: Answer, folder: Path | None) -> dict[str, Any]:
    """An answer for a program: files by where they lie, without their content."""
    plain: dict[str, Any] = _Turn(answer=answer).model_dump(mode="json")["answer"]
    plain["computed"] = answer.computed
    for file in plain["files"]:
        del file["data"]
        file["path"] = None if folder is None else str(folder / file["name"])
    plain["figures"] = [figure["title"] for figure in plain["figures"]]
    return plain


def deliver(answer: Answer, out: Path) -> list[Path]:
    """Write an answer that has code where its user wants it: a script, or a folder with all of it.

    What the code wrote to its folder ``out`` lies in that folder under the same names.
    """
    path = out if out.suffix == ".py" else out / "answer.py"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        written = write_files(out, answer.files) if path != out else []
        text = redact(script(answer))
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        return [path, *(each for each in written if each != path)]
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}") from error


def script(answer: Answer) -> str:
    """A script with the question, what it returned, and its versions for ``uv run`` (PEP 723)."""
    made = Environment(trim_blocks=True, keep_trailing_newline=True)  # noqa: S701 -- no HTML
    made.filters["comment"] = lambda text: "\n".join(
        f"#   {line}".rstrip() for line in printable(text).splitlines()
    )
    made.filters["plain"] = lambda text: re.fullmatch(r"[\w.+!-]+", text) is not None
    text = Path(__file__).with_name("script.py.j2").read_text(encoding="utf-8")
    return made.from_string(text).render(answer=answer)
