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


class RecordedOutcome(BaseModel):
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
    run, run_key
        Which run it belongs to, and that of the paper, ``None`` when that is not told.
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
    outcome: RecordedOutcome | None


class QuestionIds:
    """Finds the question of those that are here that a recorded path or id means."""

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
        exact = (name for name in names if name in self._known)
        folded = (found for name in names if (found := self._folded.get(name.casefold())))
        folders = (part for part in reversed(parts) if not PurePosixPath(part).suffix)
        return next(exact, None) or next(folded, None) or next(folders, path)


def read_recorded(path: Path, known: Iterable[str]) -> list[Recorded]:
    """Read a file, or every published file below a folder; ``known`` are ids of questions.

    Raises
    ------
    RecordedError
        When there is nothing, or a line is not a generation.
    """
    files = [path]
    if path.is_dir():
        files = sorted(path.rglob(PUBLISHED_NAME)) or sorted(path.glob("*.jsonl"))
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
                plain = json.loads(line.decode("utf-8-sig"))
                yield _row(plain, f"{name}:{number}", run, run_key, ids)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
                if isinstance(error, ValidationError):
                    reason = error.errors()[0]["msg"]
                raise RecordedError(
                    f"{file}, line {number}: is not a generation ({reason})"
                ) from error


def _row(
    plain: Mapping[str, Any], key: str, run: str, run_key: RunKey | None, ids: QuestionIds
) -> Recorded:
    question, code = plain.get("question_file_path"), plain.get("function")
    if question is None:
        question, code = plain["task"], plain.get("code")
        told = {name: str(plain[name]) for name in RunKey._fields if name in plain}
        labels = [f"round {text}" if name == "round" else text for name, text in told.items()]
        run = " ".join(labels) or run
        if len(told) == len(RunKey._fields):
            run_key = RunKey(**{**told, "round": int(told["round"])})  # type: ignore[arg-type]
    # A model may have given nothing (null) or something that is not text.
    code, entry = ("" if text is None else str(text) for text in (code, plain.get("function_name")))
    found = plain.get("replayed")
    outcome = None if found is None else RecordedOutcome.model_validate(found)
    return Recorded(key, run, run_key, ids.find(str(question)), code, entry, outcome)
