"""Recorded generations of MatTools, run and judged again by the published rules.

usage: matsmith replay recorded=PATH [KEY=VALUE ...]

Every recorded run becomes a run with system=recorded and benchmark.rules=published; the same
command resumes. Beside each stand the paper's figures. The last line is `agree N/M`: how many of
M recorded outcomes were found again.

keys [default]:
  recorded         JSONL file, or folder with function_generation_results.jsonl files below it
  out              folder of the runs [runs/replay-NAME]
  benchmark.path   the questions, see benchmark=mattools; every other key is one of
                   `matsmith run`
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from experiments.benchmarks.mattools import published as published_rules
from experiments.benchmarks.mattools.benchmark import MatToolsError
from experiments.benchmarks.mattools.published import VERDICT
from experiments.command import open_console, run_all
from experiments.record import Row, read_rows
from experiments.regrade import recorded_config
from experiments.run.config import RunConfig
from experiments.run.setup import build_benchmark, load_samples
from foundation.command import asks_help, guarded, tell
from foundation.configuration import data_of
from foundation.errors import UsageError

PUBLISHED_NAME = "function_generation_results.jsonl"
#: Folder of the authors' repository to the name of the system in their tables.
SYSTEMS = {
    "pure_agent_test": "single",
    "rag_agent_test": "rag",
    "agentic_rag_test": "agentic",
    "mtr_rag_test": "reflect",
}
#: Number at the end of a folder's name to what is retrieved, in the order of Tables 3-6.
RETRIEVAL = {"1": "code", "2": "official_doc", "3": "llm_doc_semantic", "4": "llm_doc"}
QUESTIONS = 49  # of a run whose figures the paper has
_MODEL = re.compile(r"(?P<model>.+?)(?:_(?:method)?(?P<number>\d+))?")
_OWN = ("recorded", "out")
#: Differences that are listed one by one.
_LISTED = 60


class RunKey(NamedTuple):
    """Names a run of the paper."""

    system: str
    model: str
    retrieval: str
    round: int


@dataclass(frozen=True)
class Generation:
    """One generation."""

    run: str  # which it belongs to
    run_key: RunKey | None  # that of the paper; None when that is not told
    question_id: str
    code: str  # of the function, as its name empty when the model gave none
    entry: str
    outcome: (
        str | None
    )  # recorded verdict, as in `.published.VERDICT` (or without its number)


#: By run: each generation, and what became of it (``None`` when its input files are missing).
_Runs = Mapping[str, Sequence[tuple[Generation, Row | None]]]


# --- what is recorded ----------------------------------------------------------------------------


def read_recorded(path: Path, known: Iterable[str]) -> list[Generation]:
    """Read a file, or every published file below a folder; ``known`` are ids of questions.

    Two kinds of JSONL are read: the published one (``function``, ``function_name``,
    ``question_file_path``; one file per run), and rows with ``code``, ``function_name``, ``task``,
    the run's labels (of `RunKey`) and ``replayed``, the outcome that an earlier replay found.
    """
    files = [path]
    if path.is_dir():
        files = sorted(path.rglob(PUBLISHED_NAME)) or sorted(path.glob("*.jsonl"))
    if not files or not all(file.is_file() for file in files):
        raise MatToolsError(
            f"recorded={path}: no such file, nor a folder with {PUBLISHED_NAME}"
        )
    ids, rows = frozenset(known), []
    for file in files:
        folder = file.resolve().parent
        inside = folder != path.resolve() and file != path
        run = file.relative_to(path).parent.as_posix() if inside else folder.name
        # The names above the folder that was given may tell the system or the round, too.
        run_key = key_of_folder(folder)
        for number, line in enumerate(file.read_bytes().split(b"\n"), 1):
            try:
                if line.strip():
                    rows.append(_row(json.loads(line), run, run_key, ids))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                reason = (
                    f"it has no {error}" if isinstance(error, KeyError) else str(error)
                )
                where = f"{file}, line {number}"
                raise MatToolsError(
                    f"{where}: is not a generation ({reason})"
                ) from error
    if not rows:
        raise MatToolsError(f"recorded={path}: contains no generations")
    return rows


def _row(
    plain: Mapping[str, Any], run: str, run_key: RunKey | None, ids: frozenset[str]
) -> Generation:
    question, code = plain.get("question_file_path"), plain.get("function")
    if question is None:
        question, code = plain["task"], plain.get("code")
        told = {name: str(plain[name]) for name in RunKey._fields if name in plain}
        labels = [
            f"round {text}" if name == "round" else text for name, text in told.items()
        ]
        run = " ".join(labels) or run
        if len(told) == len(RunKey._fields):
            run_key = RunKey(**{**told, "round": int(told["round"])})  # type: ignore[arg-type]
    # A model may have given nothing (null) or something that is not text.
    code, entry = (
        "" if text is None else str(text) for text in (code, plain.get("function_name"))
    )
    outcome = None
    if (found := plain.get("replayed")) is not None:
        outcome = str(found["outcome"])
        if outcome != "not_runnable" and found.get("wrong") is not None:
            outcome += f" {int(found['wrong'])}"
    return Generation(
        run, run_key, question_of(str(question), ids), code, entry, outcome
    )


def question_of(path: str, known: Collection[str]) -> str:
    """The known id in a path (any separators, absolute or not, with or without a file name).

    The last part that is one counts, then the last that is only one in another case; a path
    without any gives its last folder.
    """
    parts = PurePosixPath(path.strip().replace("\\", "/")).parts[::-1]
    names = [name for part in parts for name in (part, PurePosixPath(part).stem)]
    folders = [part for part in parts if not PurePosixPath(part).suffix]
    alike = (
        [one for one in known if one.casefold() == name.casefold()] for name in names
    )
    meant = [one for ones in alike for one in ones if len(ones) == 1]
    return next(
        iter([*(name for name in names if name in known), *meant, *folders, path])
    )


def key_of_folder(folder: Path) -> RunKey | None:
    """The run that a folder holds by its names; ``None`` when they leave anything open.

    In the authors' repository: ``<system>/round<n>/<model>_method<k>``.
    """
    parts = [part.casefold() for part in reversed(folder.parts)]
    system = next((SYSTEMS[part] for part in parts if part in SYSTEMS), None)
    rounds = [
        found[1] for part in parts if (found := re.fullmatch(r"round_?(\d+)", part))
    ]
    named = _MODEL.fullmatch(folder.name)
    if system is None or not rounds or named is None:
        return None
    if system == "single":
        return RunKey(system, folder.name, "none", int(rounds[0]))
    retrieval = RETRIEVAL.get(named["number"] or "")
    return (
        None
        if retrieval is None
        else RunKey(system, named["model"], retrieval, int(rounds[0]))
    )


@cache
def published() -> Mapping[RunKey, tuple[int, int]]:
    """Runnable functions (of 49) and right properties (of 138) of the runs in Tables 2-7."""
    return {
        RunKey(entry["system"], entry["model"], entry["retrieval"], number): figures
        for entry in data_of(published_rules.__file__, "paper")
        for number, figures in enumerate(
            zip(entry["runnable"], entry["properties"], strict=True), 1
        )
    }


# --- what becomes of it --------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``. Exit codes are those of ``matsmith run``."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return tell(str(__doc__)) if asks_help(given) else guarded(lambda: _replay(given))


def _replay(given: Sequence[str]) -> int:
    """Run and judge what is recorded."""
    own = dict(
        word.partition("=")[::2] for word in given if word.partition("=")[0] in _OWN
    )
    if not own.get("recorded"):
        raise UsageError("recorded=PATH: is required")
    recorded = Path(own["recorded"])
    if not recorded.exists():
        raise MatToolsError(f"recorded={recorded}: no such file or folder")
    out = Path(own.get("out") or f"runs/replay-{_file_name(recorded.stem)}")
    ours = ["benchmark=mattools", "benchmark.rules=published"]
    ours += [word for word in given if word.partition("=")[0] not in _OWN]
    config = recorded_config(None, ours)
    if config.benchmark.name != "mattools":
        raise UsageError(
            f"benchmark={config.benchmark.name}: only mattools can be replayed"
        )
    ids = {one.question.id for one in load_samples(build_benchmark(config), config)}
    generations = read_recorded(recorded, ids)
    strangers = ", ".join(sorted({row.question_id for row in generations} - ids))
    runs: dict[str, dict[str, Generation]] = defaultdict(dict)
    for row in generations:
        if row.question_id in ids:
            runs[row.run][row.question_id] = row  # the last answer of a run counts
    if not runs:
        raise MatToolsError(
            f"recorded={recorded}: none of its questions is in benchmark.path ({strangers:.200})"
        )
    folders = {name: out / _file_name(name) for name in runs}
    code = run_all([_config(folders[name], rows, ours) for name, rows in runs.items()])
    outcomes = {}
    for name, folder in folders.items():
        rows = {
            row.question_id: row
            for row in read_rows(folder / "results.jsonl")
            if row.scored
        }
        outcomes[name] = [
            (recorded, rows.get(key)) for key, recorded in runs[name].items()
        ]
    _write(out / "outcomes.jsonl", _outcomes(outcomes))
    console = open_console()
    if strangers:
        console.print(f"left out, because benchmark.path lacks them: {strangers}")
    _print(outcomes, console)
    return code


def _file_name(run: str) -> str:
    return re.sub(r"[^\w.-]+", "-", run).strip("-.") or "run"


def _config(
    folder: Path, rows: Mapping[str, Generation], ours: Sequence[str]
) -> RunConfig:
    """A run of one recording; its answers lie beside the folder of the run."""
    answers = folder.with_name(f"{folder.name}.answers.jsonl")
    answers.parent.mkdir(parents=True, exist_ok=True)
    _write(
        answers,
        (
            {"id": name, "answer": "", "code": row.code, "entry": row.entry}
            for name, row in rows.items()
        ),
    )
    return recorded_config(answers, [*ours, f"out='{folder}'"])


def _write(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    path.write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )


def _outcomes(runs: _Runs) -> Iterator[Mapping[str, Any]]:
    """What was recorded together with what became of it, as `read_recorded` reads it."""
    for run, pairs in runs.items():
        for recorded, row in pairs:
            if row is not None:
                label = (
                    recorded.run_key._asdict() if recorded.run_key else {"system": run}
                )
                outcome, _, wrong = _verdict(row).partition(" ")
                again = {"outcome": outcome, "wrong": int(wrong) if wrong else None}
                yield {
                    **label,
                    "task": row.question_id,
                    "function_name": recorded.entry,
                    "code": recorded.code,
                    "replayed": again,
                }


def _verdict(row: Row) -> str:
    return row.artefacts.get(VERDICT, "unknown")


def _print(runs: _Runs, console: Console) -> None:
    """Print the runs beside the paper, what differs, and ``agree N/M`` at the end."""
    table = Table(title="runnable functions | properties")
    for name in ("run", "questions", "files missing", "replayed", "paper"):
        table.add_column(
            name, justify="left" if name == "run" else "right", overflow="fold"
        )
    total, different = 0, []
    for run, pairs in runs.items():
        key, asked = pairs[0][0].run_key, len(pairs)
        judged = [(recorded, row) for recorded, row in pairs if row is not None]
        sums = [
            sum(row.values.get(name) or 0 for _, row in judged)
            for name in ("runnable", "published")
        ]
        paper = published().get(key, ()) if key and asked == QUESTIONS else ()
        figures = (
            " | ".join(f"{value:.0f}" for value in pair) for pair in (sums, paper)
        )
        table.add_row(run, str(asked), str(asked - len(judged) or ""), *figures)
        for recorded, row in judged:
            outcome, again = recorded.outcome, _verdict(row)
            total += outcome is not None
            if outcome not in {None, again, again.partition(" ")[0]}:
                difference = f"recorded {outcome}, now {again}"
                different.append(f"differs: {run} {recorded.question_id}: {difference}")
    console.print(table)
    for text in different[:_LISTED]:
        console.print(text, markup=False, highlight=False)
    console.print(f"agree {total - len(different)}/{total}", highlight=False)
