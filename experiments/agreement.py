"""How far judges agree with each other, or with marks that people gave.

A run folder stands for its judge: what it said is stored with every answer. A CSV file stands for
people: columns question, name and mark, and perhaps seed. Marks are compared where both sides have
one for the same text.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console
from rich.table import Table
from rich.text import Text

from experiments.report.runs import Run, load_runs
from sandbox.command import UsageError, Word, run
from sandbox.terminal import printable

#: Question, seed, name of the mark.
Key = tuple[str, int, str]


class Options(BaseModel):
    """Arguments of ``python -m experiments.agreement``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    judges: Annotated[tuple[Path, ...], Word()] = Field(description="run folders and CSV files")
    marks: bool = Field(False, description="also print every pair of marks that differs")


@dataclass(frozen=True)
class Mark:
    """A number that somebody gave; ``text`` is the hash of what was judged, if it is known."""

    value: float
    text: str | None = None


@dataclass(frozen=True)
class Marks:
    """All marks of one judge."""

    judge: str
    by_key: Mapping[Key, Mark]


@dataclass(frozen=True)
class Agreement:
    """Two judges on one kind of mark.

    Attributes
    ----------
    spearman
        Rank correlation; ``None`` where one of them never varies.
    mae
        Mean absolute difference of the marks.
    kappa
        Cohen's, of equal marks; ``None`` where chance alone explains everything.
    """

    first: str
    second: str
    name: str
    count: int
    spearman: float | None
    mae: float
    kappa: float | None


def marks_of_run(found: Run) -> Marks:
    """What the judge of a run said: numbers of its verdicts, and counts where it listed texts."""
    by_key: dict[Key, Mark] = {}
    for row in found.rows:
        judged = found.trajectory(row).get("judged", [])
        for verdict in judged:
            for name, value in _numbers(verdict["value"], str(verdict["name"])):
                by_key[row.question_id, row.seed, name] = Mark(value, verdict["judged"])
        texts = "".join(verdict["judged"] for verdict in judged)
        for name, number in row.values.items():
            if judged and number is not None:
                by_key[row.question_id, row.seed, name] = Mark(number, texts)
    label = f"{found.summary['judge']} ({found.folder.name})"
    return Marks(label, by_key)


def _numbers(value: Any, name: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, bool | int | float):
        yield name, float(value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, f"{name}.{key}")
    elif isinstance(value, list):
        if value and all(isinstance(item, str) for item in value):
            yield name, float(len(value))
        for index, inner in enumerate(value, 1):
            yield from _numbers(inner, f"{name}[{index}]")


def marks_of_file(path: Path) -> Marks:
    """Marks that people gave.

    Raises
    ------
    UsageError
        When the file is no such table.
    """
    by_key: dict[Key, Mark] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for number, row in enumerate(csv.DictReader(file), 2):
                mark = float(row["mark"])
                if not math.isfinite(mark):
                    raise UsageError(f"{path}, line {number}: the mark is not a number")
                by_key[row["question"], int(row.get("seed") or 0), row["name"]] = Mark(mark)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from error
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{path}: needs the columns question, name, mark (a number), perhaps seed: {error}"
        ) from error
    return Marks(path.stem, by_key)


def pairs(one: Marks, other: Marks) -> dict[str, list[tuple[Key, float, float]]]:
    """Marks that both gave on the same text, by kind: all points of a rubric are one kind."""
    found: dict[str, list[tuple[Key, float, float]]] = defaultdict(list)
    for key in sorted(one.by_key.keys() & other.by_key.keys()):
        first, second = one.by_key[key], other.by_key[key]
        if first.text is None or second.text is None or first.text == second.text:
            found[key[2].partition("[")[0]].append((key, first.value, second.value))
    return dict(found)


def compare(one: Marks, other: Marks) -> list[Agreement]:
    """One line for each kind of mark that both gave."""
    return [
        Agreement(
            one.judge, other.judge, name, len(values),
            _spearman([a for _, a, _ in values], [b for _, _, b in values]),
            sum(abs(a - b) for _, a, b in values) / len(values),
            _kappa([(a, b) for _, a, b in values]),
        )
        for name, values in pairs(one, other).items()
    ]  # fmt: skip


def _spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    from scipy.stats import spearmanr  # noqa: PLC0415 -- slow

    return float(spearmanr(one, other).statistic)


def _kappa(marks: Sequence[tuple[float, float]]) -> float | None:
    """Cohen (1960), marks taken as categories."""
    count = len(marks)
    seen = sum(a == b for a, b in marks) / count
    first, second = Counter(a for a, _ in marks), Counter(b for _, b in marks)
    chance = sum(first[mark] * second[mark] for mark in first) / count**2
    return None if chance == 1 else (seen - chance) / (1 - chance)


def _action(options: Options) -> int:
    if len(options.judges) < 2:
        raise UsageError("name two or more run folders or CSV files")
    files = [path for path in options.judges if path.is_file()]
    runs = load_runs([path for path in options.judges if path not in files])
    judges = [*map(marks_of_run, runs), *map(marks_of_file, files)]
    for marks in judges:
        if not marks.by_key:
            raise UsageError(f"{marks.judge}: has no marks; was it run with a judge?")
    console = Console()
    table = Table(title="Agreement of judges", caption="MAE in the unit of the marks")
    for heading in ("judges", "mark", "n", "Spearman", "MAE", "kappa"):
        table.add_column(heading, justify="left" if heading in {"judges", "mark"} else "right")
    shared = False
    for one, other in combinations(judges, 2):
        for line in compare(one, other):
            shared = True
            numbers = (_shown(line.spearman), f"{line.mae:.3f}", _shown(line.kappa))
            names = Text(printable(f"{line.first}\n{line.second}"))
            table.add_row(names, Text(printable(line.name)), str(line.count), *numbers)
        if options.marks:
            for values in pairs(one, other).values():
                for key, a, b in values:
                    if a != b:
                        console.print(Text(printable(f"{json.dumps(key)}: {a:g}, {b:g}")))
    if not shared:
        raise UsageError("these judges have no mark in common: other questions, or other answers")
    console.print(table)
    return 0


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``."""
    return run("python -m experiments.agreement", str(__doc__), Options, _action, arguments)


if __name__ == "__main__":
    sys.exit(main())
