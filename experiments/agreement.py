"""How far judges agree with each other, or with marks that people gave.

A run folder stands for its judge: what it said is stored with every answer. A CSV file stands for
people: columns question, name and mark, and perhaps seed. Marks are compared where both sides have
one for the same text.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field
from rich.console import Console
from rich.text import Text

from experiments.report.runs import Run, load_runs
from experiments.report.tables import drawn_table
from foundation.command import Command, Word
from foundation.errors import UsageError
from foundation.terminal import printable

#: Question, seed, name of the mark.
Key = tuple[str, int, str]


class AgreementOptions(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``matsmith agreement``."""

    judges: Annotated[tuple[Path, ...], Word()] = Field(
        description="run folders and CSV files"
    )
    marks: bool = Field(
        False, description="also print every pair of marks that differs"
    )


@dataclass(frozen=True)
class Mark:
    """A number that somebody gave; ``text`` is the hash of what was judged, if it is known."""

    value: float
    text: str | None = None


#: All marks of one judge.
Marks = Mapping[Key, Mark]


@dataclass(frozen=True)
class Agreement:
    """Two judges on one kind of mark; ``spearman`` and ``kappa`` are ``None`` where undefined."""

    name: str
    count: int
    spearman: float | None
    mae: float
    kappa: float | None


def marks_of_run(found: Run) -> Marks:
    """What the judge of a run said: numbers of its verdicts, and counts where it listed texts.

    Marks that follow from verdicts (F1) are among them; what no judge touches is not.
    """
    by_key: dict[Key, Mark] = {}
    for row in found.rows:
        for verdict in found.record(row).judged:
            about = str(verdict["name"]).removeprefix(f"{row.question_id}:")
            for name, value in _numbers(verdict["value"], about):
                by_key[row.question_id, row.seed, name] = Mark(value, verdict["judged"])
    return by_key


def _numbers(value: Any, name: str) -> Iterator[tuple[str, float]]:
    """Marks by name: numbers, how many texts are listed, and whether any entry is named.

    No marks are texts beside numbers, which explain them, the index of an entry, and probabilities.
    """
    if isinstance(value, bool | int | float):
        yield name, float(value)
    elif isinstance(value, dict):
        marked = any(
            not isinstance(each, str)
            for inner in value.values()
            if isinstance(inner, list)
            for each in inner
        )
        for key, inner in value.items():
            explains = (
                marked
                and isinstance(inner, list)
                and all(isinstance(i, str) for i in inner)
            )
            if key not in {"index", "logprobs"} and not explains:
                yield from _numbers(inner, f"{name}.{key}")
    elif isinstance(value, list):
        if all(isinstance(item, str) for item in value):
            yield name, float(len(value))
        elif all(isinstance(item, dict) for item in value):
            yield name, 1.0  # none is an empty list: 0
        for number, inner in enumerate(value, 1):
            place = inner.get("index", number) if isinstance(inner, dict) else number
            yield from _numbers(inner, f"{name}[{place}]")


def kind_of(name: str) -> str:
    """Marks of one kind: all points of a rubric, all entries of a list, all fields of entries."""
    return re.sub(r"\[[^\]]*\]|:\d+(?=[.:\[]|$)|(?<=\.fields)\..*", "", name)


def marks_of_file(path: Path) -> Marks:
    """Marks that people gave."""
    by_key: dict[Key, Mark] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for number, row in enumerate(csv.DictReader(file), 2):
                mark = float(row["mark"])
                if not math.isfinite(mark):
                    raise UsageError(f"{path}, line {number}: the mark is not a number")
                by_key[row["question"], int(row.get("seed") or 0), row["name"]] = Mark(
                    mark
                )
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from error
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{path}: needs the columns question, name, mark (a number), perhaps seed: {error}"
        ) from error
    return by_key


def pairs(one: Marks, other: Marks) -> dict[str, list[tuple[Key, float, float]]]:
    """Marks that both gave on the same text, by kind: all points of a rubric are one kind."""
    found: dict[str, list[tuple[Key, float, float]]] = defaultdict(list)
    for key in sorted(one.keys() & other.keys()):
        first, second = one[key], other[key]
        if first.text is None or second.text is None or first.text == second.text:
            found[kind_of(key[2])].append((key, first.value, second.value))
    return dict(found)


def compare(one: Marks, other: Marks) -> list[Agreement]:
    """One line for each kind of mark that both gave; MAE is the mean absolute difference."""
    agreements = []
    for name, values in pairs(one, other).items():
        both = [(a, b) for _, a, b in values]
        mae = sum(abs(a - b) for a, b in both) / len(both)
        agreements.append(
            Agreement(name, len(both), _spearman(both), mae, _kappa(both))
        )
    return agreements


def _spearman(marks: Sequence[tuple[float, float]]) -> float | None:
    """Rank correlation; ``None`` where one of the judges never varies."""
    one, other = zip(*marks, strict=True)
    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    from scipy.stats import spearmanr  # noqa: PLC0415 -- slow

    return float(spearmanr(one, other).statistic)


def _kappa(marks: Sequence[tuple[float, float]]) -> float | None:
    """Cohen (1960), marks taken as categories; ``None`` where chance explains everything."""
    count = len(marks)
    seen = sum(a == b for a, b in marks) / count
    first, second = Counter(a for a, _ in marks), Counter(b for _, b in marks)
    chance = sum(first[mark] * second[mark] for mark in first) / count**2
    return None if chance == 1 else (seen - chance) / (1 - chance)


def _action(options: AgreementOptions) -> int:
    if len(options.judges) < 2:
        raise UsageError("name two or more run folders or CSV files")
    files = [path for path in options.judges if path.is_file()]
    runs = load_runs([path for path in options.judges if path not in files])
    judges = [
        (f"{run.summary['judge']} ({run.folder.name})", marks_of_run(run))
        for run in runs
    ]
    judges += [(path.stem, marks_of_file(path)) for path in files]  # names may be alike
    for name, marks in judges:
        if not marks:
            raise UsageError(f"{name}: has no marks; was it run with a judge?")
    console, lines = Console(), []
    for (one, first), (other, second) in combinations(judges, 2):
        for found in compare(first, second):
            numbers = (
                _decimals(found.spearman),
                f"{found.mae:.3f}",
                _decimals(found.kappa),
            )
            lines.append([f"{one}\n{other}", found.name, str(found.count), *numbers])
        for both in pairs(first, second).values() if options.marks else ():
            for key, a, b in both:
                if a != b:
                    console.print(Text(printable(f"{json.dumps(key)}: {a:g}, {b:g}")))
    if not lines:
        raise UsageError(
            "these judges have no mark in common: other questions, or other answers"
        )
    headings = ["judges", "mark", "n", "Spearman", "MAE (in its unit)", "kappa"]
    console.print(drawn_table("Agreement of judges", headings, lines))
    return 0


def _decimals(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


main = Command("matsmith agreement", str(__doc__), AgreementOptions, _action)
