"""Recorded generations of MatTools, run and judged again by the published rules.

usage: python -m experiments.benchmarks.mattools.replay recorded=PATH [KEY=VALUE ...]

Every recorded run becomes a run with system=recorded and benchmark.rules=published; the same
command resumes. Beside each stand the paper's figures. The last line is `agree N/M`: how many of
M recorded outcomes were found again.

keys [default]:
  recorded         JSONL file, or folder with function_generation_results.jsonl files below it
  out              folder of the runs [runs/replay-NAME]
  benchmark.path   the questions, see benchmark=mattools; every other key is one of
                   python -m experiments.run
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments.benchmarks.mattools.published import VERDICT
from experiments.benchmarks.mattools.recorded import (
    Recorded,
    RecordedError,
    RunKey,
    published,
    read_recorded,
)
from experiments.regrade import recorded_config
from experiments.run.config import RunConfig
from experiments.run.grid import open_console, run_all
from experiments.run.rows import Row, read_rows
from experiments.run.setup import build_benchmark, load_samples
from experiments.samples import Sample
from matsmith.core.command import asks_help, guarded, tell
from matsmith.core.errors import UsageError

_OWN = ("recorded", "out")
QUESTIONS = 49  # of a run whose figures the paper has
#: Differences that are listed one by one.
_LISTED = 60


@dataclass(frozen=True)
class Replayed:
    """One recorded run beside what became of it, by question."""

    name: str
    recorded: Mapping[str, Recorded]
    rows: Mapping[str, Row]  # none for a question whose input files are missing

    @property
    def key(self) -> RunKey | None:
        """The run of the paper that this is, where its labels or folders tell."""
        return next(iter(self.recorded.values())).run_key

    def verdict(self, question: str) -> str:
        """See `VERDICT`."""
        return self.rows[question].artefacts.get(VERDICT, "unknown")


def replay(recorded: Path, out: Path, rest: Sequence[str]) -> int:
    """Run and judge what is recorded; returns the exit code of the runs."""
    console = open_console()
    samples = _samples(rest, recorded)
    generations = read_recorded(recorded, samples)
    strangers = sorted({row.question_id for row in generations} - set(samples))
    runs: dict[str, dict[str, Recorded]] = defaultdict(dict)
    for row in generations:
        if row.question_id in samples:
            runs[row.run][row.question_id] = row  # the last answer of a run counts
    if not runs:
        raise RecordedError(
            f"recorded={recorded}: none of its questions is in benchmark.path "
            f"({', '.join(strangers[:3])}, ...)"
        )
    folders = {name: out / _file_name(name) for name in runs}
    configs = [_config(folders[name], runs[name], rest) for name in runs]
    code = run_all(configs)
    found = []
    for name, folder in folders.items():
        rows = read_rows(folder / "results.jsonl")
        scored = {row.question_id: row for row in rows if row.scored}
        found.append(Replayed(name, runs[name], scored))
    _write_outcomes(out / "outcomes.jsonl", found)
    if strangers:
        console.print(f"left out, because benchmark.path lacks them: {', '.join(strangers)}")
    _print(found, console)
    return code


def _samples(rest: Sequence[str], recorded: Path) -> dict[str, Sample]:
    if not recorded.exists():
        raise RecordedError(f"recorded={recorded}: no such file or folder")
    config = recorded_config(None, ["benchmark=mattools", "benchmark.rules=published", *rest])
    if config.benchmark.name != "mattools":
        raise UsageError(f"benchmark={config.benchmark.name}: only mattools can be replayed")
    loaded = load_samples(build_benchmark(config), config)
    return {sample.question.id: sample for sample in loaded}


def _config(folder: Path, rows: Mapping[str, Recorded], rest: Sequence[str]) -> RunConfig:
    """A run of one recording; its answers lie beside the folder of the run."""
    answers = folder.with_name(f"{folder.name}.answers.jsonl")
    answers.parent.mkdir(parents=True, exist_ok=True)
    lines = ({"id": name, "answer": "", "code": row.code, "entry": row.entry}
             for name, row in rows.items())  # fmt: skip
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    own = ["benchmark=mattools", "benchmark.rules=published", f"out='{folder}'"]
    return recorded_config(answers, [*own, *rest])


def _file_name(run: str) -> str:
    return re.sub(r"[^\w.-]+", "-", run).strip("-.") or "run"


def _write_outcomes(path: Path, found: Sequence[Replayed]) -> None:
    """Write what was recorded together with what became of it, as `read_recorded` reads it."""
    lines = []
    for run in found:
        label = {"system": run.name} if run.key is None else run.key._asdict()
        for name in run.rows:
            outcome, _, wrong = run.verdict(name).partition(" ")
            again = {"outcome": outcome, "wrong": int(wrong) if wrong else None}
            recorded = run.recorded[name]
            lines.append({**label, "task": name, "function_name": recorded.entry,
                          "code": recorded.code, "replayed": again})  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _print(runs: Sequence[Replayed], console: Console) -> None:
    """Print the runs beside the paper, what differs, and ``agree N/M`` at the end."""
    shown = Table(title="runnable functions | properties")
    for name in ("run", "questions", "files missing", "replayed", "paper"):
        shown.add_column(name, justify="left" if name == "run" else "right", overflow="fold")
    total, different = 0, []
    for run in runs:
        values = [row.values for row in run.rows.values()]
        sums = (sum(v.get(name) or 0 for v in values) for name in ("runnable", "published"))
        asked, missing = len(run.recorded), len(run.recorded) - len(run.rows)
        paper = published().get(run.key, ()) if run.key and asked == QUESTIONS else ()
        figures = (" | ".join(f"{value:.0f}" for value in pair) for pair in (sums, paper))
        shown.add_row(run.name, str(asked), str(missing or ""), *figures)
        for name, row in run.recorded.items():
            if row.outcome is not None and name in run.rows:
                total += 1
                again = run.verdict(name)
                if row.outcome not in {again, again.partition(" ")[0]}:
                    place = f"{run.name} {name} ({row.key})"
                    different.append(f"differs: {place}: recorded {row.outcome}, now {again}")
    console.print(shown)
    for text in different[:_LISTED]:
        console.print(text, markup=False, highlight=False)
    console.print(f"agree {total - len(different)}/{total}", highlight=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``. Exit codes are those of ``experiments.run``."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return tell(str(__doc__)) if asks_help(given) else guarded(lambda: _replay(given))


def _replay(given: Sequence[str]) -> int:
    own = dict(word.split("=", 1) for word in given if word.partition("=")[0] in _OWN)
    if not own.get("recorded"):
        raise UsageError("recorded=PATH: is required")
    recorded = Path(own["recorded"])
    out = Path(own.get("out") or f"runs/replay-{_file_name(recorded.stem)}")
    return replay(recorded, out, [w for w in given if w.partition("=")[0] not in _OWN])


if __name__ == "__main__":
    sys.exit(main())
