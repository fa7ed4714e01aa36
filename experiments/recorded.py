"""Recorded generations of MatTools: functions that models once wrote, with what became of them.

Two kinds of JSONL are read: the published ``function_generation_results.jsonl`` (``function``,
``function_name``, ``question_file_path``; one file per run), and rows with ``code``,
``function_name``, ``task``, the run (``system``, ``model``, ``retrieval``, ``round``) and
``replayed``, the outcome that an earlier replay found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

PUBLISHED_NAME = "function_generation_results.jsonl"


class RecordedError(ValueError):
    """A recording cannot be read; names file and line."""


class Outcome(BaseModel):
    """What an earlier replay found."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    outcome: str
    wrong: int | None = None


@dataclass(frozen=True)
class Recorded:
    """One generation.

    Attributes
    ----------
    key
        File and line: its name in the results.
    run
        Which run of which system it belongs to.
    question_id
        The question that it answers.
    code, entry
        Source and name of the function; empty when the model gave none.
    outcome
        What is recorded about it, ``None`` when nothing is.
    """

    key: str
    run: str
    question_id: str
    code: str
    entry: str
    outcome: Outcome | None


def read_recorded(path: Path) -> list[Recorded]:
    """Read a file, or every published file below a folder.

    Raises
    ------
    RecordedError
        When there is nothing, or a line is no generation.
    """
    if path.is_dir():
        files = sorted(path.rglob(PUBLISHED_NAME)) or sorted(path.glob("*.jsonl"))
    else:
        files = [path]
    if not files or not all(file.is_file() for file in files):
        raise RecordedError(
            f"recorded={path}: no such file, and no folder with {PUBLISHED_NAME} in it"
        )
    rows = [row for file in files for row in _read_file(file, path)]
    if not rows:
        raise RecordedError(f"recorded={path}: holds no generations")
    return rows


def _read_file(file: Path, root: Path) -> Iterator[Recorded]:
    name = file.name if file == root else file.relative_to(root).as_posix()
    run = file.parent.name if file == root else file.relative_to(root).parent.as_posix()
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield _row(json.loads(line), key=f"{name}:{number}", run=run)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
                raise RecordedError(
                    f"{file}, line {number}: is no generation ({reason})"
                ) from error


def _row(plain: Mapping[str, Any], *, key: str, run: str) -> Recorded:
    if "question_file_path" in plain:
        parts = PurePosixPath(str(plain["question_file_path"]).replace("\\", "/")).parts
        ids = [part for part in parts if not part.endswith((".txt", ".py", ".json"))]
        return Recorded(
            key, run, ids[-1], _text(plain["function"]), _text(plain["function_name"]),
            _outcome(plain),
        )  # fmt: skip
    labels = [str(plain[name]) for name in ("system", "model", "retrieval") if name in plain]
    if "round" in plain:
        labels.append(f"round {plain['round']}")
    return Recorded(
        key, " ".join(labels) or run, str(plain["task"]), _text(plain["code"]),
        _text(plain["function_name"]), _outcome(plain),
    )  # fmt: skip


def _text(value: object) -> str:
    """A model may have given nothing (null) or something that is no text."""
    return "" if value is None else str(value)


def _outcome(plain: Mapping[str, Any]) -> Outcome | None:
    found = plain.get("replayed")
    return None if found is None else Outcome.model_validate(found)
