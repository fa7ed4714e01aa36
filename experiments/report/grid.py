"""The runs of a sweep as one page: the score over every number that varies, and over tokens."""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from markupsafe import Markup

from experiments.report.cells import csv_text
from experiments.report.lines import Point, lines
from experiments.report.page import fill
from experiments.report.runs import Run, load_runs, tally
from experiments.report.tables import counted, leaderboard
from experiments.run.rows import Row
from experiments.run.store import write_text
from experiments.scorers.base import FIRST_WRONG, measuring
from experiments.stats import Interval, Tally, ratio_interval
from matsmith.core.errors import ActionableError

Values = Mapping[str, str]
SEED = "seed"  # a key whose values are pooled: another world of the same kind


@dataclass(frozen=True)
class Result:
    """A run, where there is one, with what was chosen for it and why it is not complete."""

    values: Values
    run: Run | None
    problem: str = ""

    @classmethod
    def of(cls, values: Values, ended: Path | Exception) -> Self:
        """Of a run folder, or of why there is none."""
        if isinstance(ended, Exception):
            named = isinstance(ended, ActionableError)
            return cls(values, None, str(ended) if named else f"{type(ended).__name__}: {ended}")
        (run,) = load_runs([ended])
        counts = {name: run.summary[name] for name in ("infra", "not_finished", "missing")}
        without = f"answers without a verdict: {counted(counts)}"
        return cls(values, run, "" if run.summary["complete"] else without)

    @property
    def name(self) -> str:
        """For people."""
        return ", ".join(f"{key} {value}" for key, value in self.values.items())


def write_curves(page: Path, results: Sequence[Result]) -> list[Path]:
    """Write the page of a sweep and a CSV file beside it, where a number varies.

    Returns what was written. Values of `SEED` are pooled.
    """
    keys = list(dict.fromkeys(key for result in results for key in result.values))
    numbers = [key for key in keys if key != SEED and _numeric(key, results)]
    if not numbers:
        return []
    table = page.with_suffix(".csv")
    write_text(table, csv_text(_row(result, keys) for result in results))
    runs = [result.run for result in results if result.run is not None]
    benchmarks = sorted({str(run.summary["benchmark"]) for run in runs})
    metric = runs[0].primary
    text = fill(
        "grid.html.j2",
        title=f"{', '.join(keys)} on {', '.join(benchmarks)}",
        problems=[(result.name, result.problem) for result in results if result.problem],
        plots=list(_plots(results, numbers)),
        board=_board(page.parent, results),
        note=f"{metric.title}: {metric.about}.",
    )
    write_text(page, text)
    return [page, table]


def _numeric(key: str, results: Sequence[Result]) -> bool:
    try:
        return all(math.isfinite(float(result.values[key])) for result in results)
    except ValueError:
        return False


def _board(out: Path, results: Sequence[Result]) -> dict[str, Any]:
    """A table of runs; columns that say nothing are left out."""
    keys = list(dict.fromkeys(key for result in results for key in result.values))
    headings, told = leaderboard([result.run for result in results if result.run is not None])
    rest = iter(told)
    lines = [
        next(rest) if result.run else [result.values.get(key, "-") for key in headings]
        for result in results
    ]
    columns: dict[str, Sequence[str]] = {
        **{key: [result.values.get(key, "-") for result in results] for key in keys},
        **{heading: [line[place] for line in lines] for place, heading in enumerate(headings)},
        FIRST_WRONG: [_broken(result.run) or "-" for result in results],
        "problem": [result.problem or "-" for result in results],
        "page": [_links(out, result) for result in results],
    }
    columns = {key: cells for key, cells in columns.items() if set(cells) != {"-"}}
    return {"headings": list(columns), "lines": list(zip(*columns.values(), strict=True))}


def _links(out: Path, result: Result) -> Markup | str:
    page = None if result.run is None else result.run.folder / "report.html"
    if page is None or not page.exists():
        return "-"
    return Markup('<a href="{}">report</a>').format(quote(os.path.relpath(page, out)))


def _broken(run: Run | None) -> str:
    """How many answers broke at which link, in the order of the chain; empty: not followed.

    ``link 1`` is a call that takes nothing of another one.
    """
    if run is None or not any(FIRST_WRONG in row.artefacts for row in run.scored):
        return ""
    counts = Counter(map(_link, run.scored))
    ends = {"no code:": 0, "after the last link:": 2, "all right:": 3}
    order = sorted(counts, key=lambda name: (ends.get(name, 1), len(name), name))
    return counted({name: counts[name] for name in order})


def _link(row: Row) -> str:
    if row.all_correct:
        return "all right:"
    first, _, _ = row.artefacts.get(FIRST_WRONG, "").partition(" of ")
    if not first:
        return "no code:"
    return f"link {first}:" if first.isdecimal() else "after the last link:"


def _row(result: Result, keys: Sequence[str]) -> dict[str, object]:
    """A line of the CSV file; what is unknown is ``None``."""
    run, share, tallies = result.run, _share([result]), _tallies([result])
    summary = run.summary if run else {}
    return {
        "model": run.model if run else None,
        **{key: result.values.get(key) for key in keys},
        "share": share.estimate if share else None,
        "low": share.limits[0] if share and share.limits else None,
        "high": share.limits[1] if share and share.limits else None,
        "passed": sum(item.passed for item in tallies) if run else None,
        "of": sum(item.total for item in tallies) if run else None,
        "all correct": sum(row.all_correct for row in run.scored) if run else None,
        FIRST_WRONG: _broken(run) or None,
        "answers": summary.get("answers"),
        "questions": summary.get("questions"),
        "tokens per answer": _tokens([result]),
        "model calls": summary.get("calls"),
        "US dollars": summary.get("cost_usd"),
        "seconds": summary.get("seconds"),
        "problem": result.problem,
    }


def _plots(results: Sequence[Result], numbers: Sequence[str]) -> Iterator[tuple[str, Markup]]:
    """Over every number, for each combination of the other ones; then over tokens."""
    series: dict[str, list[Result]] = {}
    for result in results:
        chosen = [v for key, v in result.values.items() if key not in (*numbers, SEED)]
        series.setdefault(" + ".join(chosen) or "all", []).append(result)
    for axis in numbers:
        others = [key for key in numbers if key != axis]
        values = (dict.fromkeys(result.values[key] for result in results) for key in others)
        for fixed in itertools.product(*values):
            wanted = dict(zip(others, fixed, strict=True)).items()
            told = ", ".join(f"{key} {value}" for key, value in wanted)
            heading = f"Over {axis}" + (f", {told}" if told else "")
            these = [result for result in results if wanted <= result.values.items()]
            drawn = {
                name: [
                    Point(float(group[0].values[axis]), share)
                    for group in _grouped([r for r in mine if r in these], [axis])
                    if (share := _share(group)) is not None
                ]
                for name, mine in series.items()  # every series keeps its colour
            }
            ticks = sorted({float(result.values[axis]) for result in these})
            yield heading, lines(drawn, about=heading, axis=axis, ticks=ticks)
    spent = {
        name: [
            Point(tokens, share)
            for group in _grouped(mine, numbers)
            if (share := _share(group)) is not None and (tokens := _tokens(group)) is not None
        ]
        for name, mine in series.items()
    }
    yield "Over tokens per answer", lines(spent, about="over tokens", axis="tokens per answer")


def _grouped(results: Sequence[Result], keys: Sequence[str]) -> list[list[Result]]:
    """Results with the same values of ``keys``."""
    groups: dict[tuple[str | None, ...], list[Result]] = {}
    for result in results:
        groups.setdefault(tuple(map(result.values.get, keys)), []).append(result)
    return list(groups.values())


def _tallies(results: Sequence[Result]) -> list[Tally]:
    """What each question contributes; those of different cells are different questions."""
    return [
        item
        for run in (result.run for result in results)
        if run is not None
        for item in tally(run.scored, measuring(run.scored, run.primary)).values()
    ]


def _share(results: Sequence[Result]) -> Interval | None:
    return ratio_interval(_tallies(results))


def _tokens(results: Sequence[Result]) -> float | None:
    """Per answer with a verdict."""
    runs = [result.run for result in results if result.run is not None]
    answers, spent = (
        sum(run.summary["answers"] for run in runs),
        [r.summary["tokens"] for r in runs],
    )
    return sum(spent) / answers if answers and None not in spent else None
