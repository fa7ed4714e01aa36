"""Recorded generations of MatTools, and what the paper publishes about each run of them.

Two kinds of JSONL are read: the published ``function_generation_results.jsonl`` (``function``,
``function_name``, ``question_file_path``; one file per run), and rows with ``code``,
``function_name``, ``task``, the run (``system``, ``model``, ``retrieval``, ``round``) and
``replayed``, the outcome that an earlier replay found. The figures are facts of the paper's
Tables 2-7 (``paper.yaml``); the layout is that of the authors' repository:
``<system>/round<n>/<model>_method<k>/function_generation_results.jsonl``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from experiments.samples import data_of
from matsmith.core.errors import UsageError

PUBLISHED_NAME = "function_generation_results.jsonl"


class RecordedError(UsageError, ValueError):
    """A recording cannot be read; names file and line."""


@dataclass(frozen=True)
class Recorded:
    """One generation."""

    key: str  # file and line: its name in the results
    run: str  # which it belongs to
    run_key: RunKey | None  # that of the paper; None when that is not told
    question_id: str
    code: str  # of the function, as its name empty when the model gave none
    entry: str
    outcome: str | None  # recorded verdict, as in `.published.VERDICT` (or without its number)


def question_of(path: str, known: Collection[str]) -> str:
    """The known id in a path (any separators, absolute or not, with or without a file name).

    The last part that is one counts, then the last that is one, and only one, in another case; a
    path without any gives its last folder.
    """
    folded = Counter(name.casefold() for name in known)
    alike = {name.casefold(): name for name in known if folded[name.casefold()] == 1}
    parts = [part for part in PurePosixPath(path.strip().replace("\\", "/")).parts if part]
    names = [name for part in reversed(parts) for name in (part, PurePosixPath(part).stem)]
    folders = (part for part in reversed(parts) if not PurePosixPath(part).suffix)
    found = [
        *(name for name in names if name in known),
        *(alike[name.casefold()] for name in names if name.casefold() in alike),
        *folders,
    ]
    return found[0] if found else path


def read_recorded(path: Path, known: Iterable[str]) -> list[Recorded]:
    """Read a file, or every published file below a folder; ``known`` are ids of questions."""
    files = [path]
    if path.is_dir():
        files = sorted(path.rglob(PUBLISHED_NAME)) or sorted(path.glob("*.jsonl"))
    if not files or not all(file.is_file() for file in files):
        raise RecordedError(
            f"recorded={path}: no such file, and no folder with {PUBLISHED_NAME} in it"
        )
    ids = frozenset(known)
    rows = [row for file in files for row in _read_file(file, path, ids)]
    if not rows:
        raise RecordedError(f"recorded={path}: contains no generations")
    return rows


def _read_file(file: Path, root: Path, ids: frozenset[str]) -> Iterator[Recorded]:
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
                where = f"{file}, line {number}"
                raise RecordedError(f"{where}: is not a generation ({reason})") from error


def _row(
    plain: Mapping[str, Any], key: str, run: str, run_key: RunKey | None, ids: frozenset[str]
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
    outcome = None
    if (found := plain.get("replayed")) is not None:
        outcome = str(found["outcome"])
        if outcome != "not_runnable" and found.get("wrong") is not None:
            outcome += f" {int(found['wrong'])}"
    return Recorded(key, run, run_key, question_of(str(question), ids), code, entry, outcome)


#: Folder of the authors' repository to the name of the system in their tables.
SYSTEMS = {
    "pure_agent_test": "single",
    "rag_agent_test": "rag",
    "agentic_rag_test": "agentic",
    "mtr_rag_test": "reflect",
}
#: Number at the end of a folder's name to what is retrieved, in the order of Tables 3-6.
RETRIEVAL = {"1": "code", "2": "official_doc", "3": "llm_doc_semantic", "4": "llm_doc"}

_MODEL = re.compile(r"(?P<model>.+?)(?:_(?:method)?(?P<number>\d+))?")


class RunKey(NamedTuple):
    """Names a run of the paper."""

    system: str
    model: str
    retrieval: str
    round: int


@cache
def published() -> Mapping[RunKey, tuple[int, int]]:
    """Runnable functions (of 49) and right properties (of 138) of each published run."""
    return {
        RunKey(entry["system"], entry["model"], entry["retrieval"], number): figures
        for entry in data_of(__file__, "paper")
        for number, figures in enumerate(
            zip(entry["runnable"], entry["properties"], strict=True), 1
        )
    }


def key_of_folder(folder: Path) -> RunKey | None:
    """The run that a folder holds by its names; ``None`` when they leave anything open."""
    parts = [part.casefold() for part in reversed(folder.parts)]
    system = next((SYSTEMS[part] for part in parts if part in SYSTEMS), None)
    rounds = [found[1] for part in parts if (found := re.fullmatch(r"round_?(\d+)", part))]
    named = _MODEL.fullmatch(folder.name)
    if system is None or not rounds or named is None:
        return None
    if system == "single":
        return RunKey(system, folder.name, "none", int(rounds[0]))
    retrieval = RETRIEVAL.get(named["number"] or "")
    return None if retrieval is None else RunKey(system, named["model"], retrieval, int(rounds[0]))
