"""Recorded generations of MatTools: functions that models once wrote, with what became of them.

Two kinds of JSONL are read: the published ``function_generation_results.jsonl`` (``function``,
``function_name``, ``question_file_path``; one file per run), and rows with ``code``,
``function_name``, ``task``, the run (``system``, ``model``, ``retrieval``, ``round``) and
``replayed``, the outcome that an earlier replay found.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from experiments.benchmarks.mattools.replay.paper import RunKey, key_of_folder

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
    run_key
        System, model, retrieval and round of that run, ``None`` when they are not told.
    question_id
        The question that it answers.
    code, entry
        Source and name of the function; empty when the model gave none.
    outcome
        What is recorded about it, ``None`` when nothing is.
    """

    key: str
    run: str
    run_key: RunKey | None
    question_id: str
    code: str
    entry: str
    outcome: Outcome | None


class QuestionIds:
    """Finds the question that a recorded path or id means.

    Parameters
    ----------
    known
        Ids of the questions that are here.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._known = set(known)
        folded: dict[str, set[str]] = {}
        for name in self._known:
            folded.setdefault(name.casefold(), set()).add(name)
        # Two ids that differ in case only: neither can be meant by a third spelling.
        self._folded = {key: names.pop() for key, names in folded.items() if len(names) == 1}

    def find(self, path: str) -> str:
        """The known id in a path (any separators, absolute or not, with or without a file name).

        The last part that is one counts, then the last that is one in another case; a path
        without any gives its last folder.
        """
        parts = [part for part in PurePosixPath(path.strip().replace("\\", "/")).parts if part]
        names = [name for part in reversed(parts) for name in (part, PurePosixPath(part).stem)]
        for name in names:
            if name in self._known:
                return name
        for name in names:
            if name.casefold() in self._folded:
                return self._folded[name.casefold()]
        folders = [part for part in parts if not PurePosixPath(part).suffix]
        return folders[-1] if folders else path


def read_recorded(path: Path, known: Iterable[str]) -> list[Recorded]:
    """Read a file, or every published file below a folder.

    Parameters
    ----------
    path
        File or folder.
    known
        Ids of the questions that are here.

    Raises
    ------
    RecordedError
        When there is nothing, or a line is not a generation.
    """
    if path.is_dir():
        files = sorted(path.rglob(PUBLISHED_NAME)) or sorted(path.glob("*.jsonl"))
    else:
        files = [path]
    if not files or not all(file.is_file() for file in files):
        raise RecordedError(
            f"recorded={path}: no such file, and no folder with {PUBLISHED_NAME} in it"
        )
    if zipfile.is_zipfile(path):
        raise RecordedError(f"recorded={path}: is a zip; unpack it, and give the folder")
    ids = QuestionIds(known)
    rows = [row for file in files for row in _read_file(file, path, ids)]
    if not rows:
        raise RecordedError(f"recorded={path}: contains no generations")
    return rows


def _read_file(file: Path, root: Path, ids: QuestionIds) -> Iterator[Recorded]:
    name = file.name if file == root else file.relative_to(root).as_posix()
    folder = file.resolve().parent
    inside = folder != root.resolve() and file != root
    run = file.relative_to(root).parent.as_posix() if inside else folder.name
    # The names above the folder that was given may tell the system or the round, too.
    run_key = key_of_folder(folder)
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield _row(
                    json.loads(line.decode("utf-8-sig")), f"{name}:{number}", run, run_key, ids
                )
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise RecordedError(
                    f"{file}, line {number}: is not a generation ({_reason(error)})"
                ) from error


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return error.errors()[0]["msg"]
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


def _row(
    plain: Mapping[str, Any], key: str, run: str, run_key: RunKey | None, ids: QuestionIds
) -> Recorded:
    if "question_file_path" in plain:
        question, code = str(plain["question_file_path"]), plain.get("function")
    else:
        question, code = str(plain["task"]), plain.get("code")
        labels = [str(plain[name]) for name in ("system", "model", "retrieval") if name in plain]
        if "round" in plain:
            labels.append(f"round {plain['round']}")
        run = " ".join(labels) or run
        run_key = _labelled(plain) or run_key
    return Recorded(
        key, run, run_key, ids.find(question), _text(code), _text(plain.get("function_name")),
        _outcome(plain),
    )  # fmt: skip


def _labelled(plain: Mapping[str, Any]) -> RunKey | None:
    if not all(name in plain for name in ("system", "model", "retrieval", "round")):
        return None
    return RunKey(
        str(plain["system"]), str(plain["model"]), str(plain["retrieval"]), int(plain["round"])
    )


def _text(value: object) -> str:
    """A model may have given nothing (null) or something that is not text."""
    return "" if value is None else str(value)


def _outcome(plain: Mapping[str, Any]) -> Outcome | None:
    found = plain.get("replayed")
    return None if found is None else Outcome.model_validate(found)
