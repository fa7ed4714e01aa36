"""Conversations on disk: a folder each, with a JSON file per turn and the files that it made."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, ValidationError

from agents.assistant import scripts
from agents.assistant.answers import Answer, OutputFile
from sandbox.command import UsageError

FORMAT = 1


class _Turn(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    matsmith_session: int = FORMAT
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


def last_session() -> Path:
    """The conversation that was begun last.

    Raises
    ------
    UsageError
        When there is none.
    """
    root = sessions_folder()
    found = sorted(path.parent for path in root.glob("*/1.json")) if root.is_dir() else []
    if not found:
        raise UsageError(f"there is no conversation to continue in {root}")
    return found[-1]


def save(folder: Path, number: int, answer: Answer) -> None:
    """Write a turn, readable by its user only, and the files that its code made."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_files(folder / str(number), answer.files)
    part = folder / f"{number}.json.part"
    text = _Turn(answer=answer).model_dump_json()
    part.touch(mode=0o600)
    part.write_text(text, encoding="utf-8")
    part.replace(folder / f"{number}.json")


def write_files(folder: Path, files: Sequence[OutputFile]) -> list[Path]:
    """Write what a code made below a folder; returns the paths."""
    written = []
    for file in files:
        path = folder / file.name  # a plain relative name: sandbox.outputs
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(file.data)
        written.append(path)
    return written


def forget(folder: Path, number: int) -> None:
    """Remove a turn; the files that it made stay."""
    (folder / f"{number}.json").unlink(missing_ok=True)


def load(folder: Path) -> list[Answer]:
    """The turns of a conversation.

    Raises
    ------
    UsageError
        When a file is not one of ours.
    """
    turns: list[Answer] = []
    while (path := folder / f"{len(turns) + 1}.json").is_file():
        try:
            turns.append(_Turn.model_validate_json(path.read_bytes()).answer)
        except ValidationError as error:
            first = str(error).splitlines()[0]
            raise UsageError(f"{path}: no turn of a conversation ({first})") from error
    return turns


def as_json(answer: Answer, folder: Path | None) -> dict[str, Any]:
    """An answer for a program: files by where they lie, without their content."""
    plain: dict[str, Any] = _Turn(answer=answer).model_dump(mode="json")["answer"]
    for file in plain["files"]:
        del file["data"]
        file["path"] = None if folder is None else str(folder / file["name"])
    plain["figures"] = [figure["title"] for figure in plain["figures"]]
    for value in plain["values"]:
        origin = next(v.origin for v in answer.values if v.name == value["name"])
        value["origin"]["kind"] = origin.kind
    return plain


def deliver(answer: Answer, out: Path) -> list[Path]:
    """Write an answer where its user wants it: a script, a notebook, or a folder with all of it.

    Raises
    ------
    UsageError
        When that is not possible.
    """
    if out.suffix in {".py", ".ipynb"}:
        scripts.write(answer, out)
        return [out]
    try:
        out.mkdir(exist_ok=True)
        written = write_files(out, answer.files)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}") from error
    scripts.write(answer, out / "answer.py")
    return [out / "answer.py", *written]
