"""A sweep as one page and one table: the first metric over every number of the grid."""

from __future__ import annotations

import csv
import io
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from experiments.report import chains
from experiments.report.cells import spreadsheet
from experiments.report.lines import Point, lines
from experiments.report.page import HERE, content_hash
from experiments.report.runs import Run, load_runs, tally
from experiments.scorers.base import FIRST_WRONG, measuring
from experiments.stats import Interval, Tally, ratio_interval
from experiments.store import write_text

Values = Mapping[str, str]
SEED = "seed"  # a key whose values are pooled: another world of the same kind


@dataclass(frozen=True)
class Result:
    """A cell with what is known of it.

    Attributes
    ----------
    values
        What was chosen, by key.
    run
        ``None`` when there is none (yet).
    problem
        Why it is not complete; empty when it is.
    """

    values: Values
    run: Run | None
    problem: str

    @property
    def name(self) -> str:
        """For people."""
        return ", ".join(f"{key} {value}" for key, value in self.values.items()) or "the only cell"


def write_curves(
    out: Path, cells: Sequence[tuple[Values, Path]], failed: Mapping[Path, str]
) -> bool:
    """Write ``curves.html`` and ``curves.csv``; returns whether every cell is complete.

    Parameters
    ----------
    out
        Folder of the two files.
    cells
        Values and run folder of each cell.
    failed
        Why a run did not start or end, by folder.
    """
    results = [_result(values, folder, failed.get(folder)) for values, folder in cells]
    keys = list(dict.fromkeys(key for values, _ in cells for key in values))
    out.mkdir(parents=True, exist_ok=True)
    rows = [_row(result, keys) for result in results]
    if not any(row[FIRST_WRONG] for row in rows):  # this benchmark follows no calls
        rows = [{key: cell for key, cell in row.items() if key != FIRST_WRONG} for row in rows]
    write_text(out / "curves.csv", _csv(rows))
    write_text(out / "curves.html", _page(out, results, keys, rows))
    return not any(result.problem for result in results)


def _result(values: Values, folder: Path, failure: str | None) -> Result:
    if not (folder / "summary.json").exists():
        return Result(values, None, failure or "not run")
    run = load_runs([folder])[0]
    if failure or run.summary["complete"]:
        return Result(values, run, failure or "")
    counts = {name: run.summary[name] for name in ("infra", "not_finished", "missing")}
    told = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)
    return Result(values, run, f"answers without a verdict: {told}")


def _row(result: Result, keys: Sequence[str]) -> dict[str, object]:
    """A line of the table; what is unknown is ``None``."""
    line: dict[str, object] = {key: result.values.get(key) for key in keys}
    run, share = result.run, _share([result])
    summary = run.summary if run else {}
    tallies = _tallies([result])
    return {
        "model": run.model if run else None,
        **line,
        "share": share.estimate if share else None,
        "low": share.low if share else None,
        "high": share.high if share else None,
        "passed": sum(item.passed for item in tallies) if run else None,
        "of": sum(item.total for item in tallies) if run else None,
        "all correct": sum(row.all_correct for row in run.scored) if run else None,
        FIRST_WRONG: chains.told(chains.links(run.scored)) or None if run else None,
        "answers": summary.get("answers"),
        "questions": summary.get("questions"),
        "tokens per answer": _tokens([result]),
        "model calls": summary.get("calls"),
        "US dollars": summary.get("cost_usd"),
        "seconds": summary.get("seconds"),
        "problem": result.problem,
    }


def _csv(rows: Sequence[Mapping[str, object]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow("" if cell is None else spreadsheet(cell) for cell in row.values())
    return file.getvalue()


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.4g}" if cell < 1000 else f"{cell:,.0f}"
    return "-" if cell is None else str(cell)


def _page(
    out: Path,
    results: Sequence[Result],
    keys: Sequence[str],
    rows: Sequence[Mapping[str, object]],
) -> str:
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined
    )
    css = (HERE / "page.css").read_text(encoding="utf-8")
    runs = [result.run for result in results if result.run is not None]
    numbers = _numbers(keys, results)
    names = list(dict.fromkeys(_series(result, numbers) for result in results))
    benchmarks = sorted({str(run.summary["benchmark"]) for run in runs})
    metric = runs[0].primary if runs else None
    return environment.get_template("curves.html.j2").render(
        title=f"{', '.join(keys) or 'one cell'} on {', '.join(benchmarks) or 'nothing yet'}",
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        css=Markup(css),  # noqa: S704 -- our own file, no input
        css_hash=content_hash(css),
        without_llm=sorted(
            {str(run.summary["model"]) for run in runs if run.summary["model_kind"] == "no LLM"}
        ),
        incomplete=[(result.name, result.problem) for result in results if result.problem],
        metric=f"{metric.title.capitalize()}: {metric.about}" if metric else "No run has ended yet",
        plots=list(_plots(results, keys, numbers, names)),
        broken=chains.table([(r.name, chains.links(r.run.scored)) for r in results if r.run]),
        headings=[*rows[0], "page"],
        table=[
            [*map(_shown, row.values()), _link(out, result.run)]
            for row, result in zip(rows, results, strict=True)
        ],
    )


def _link(out: Path, run: Run | None) -> Markup:
    page = None if run is None else run.folder / "report.html"
    if page is None or not page.exists():
        return Markup("-")
    return Markup('<a href="{}">report</a>').format(quote(os.path.relpath(page, out)))


def _numbers(keys: Sequence[str], results: Sequence[Result]) -> list[str]:
    """The keys whose values are all numbers, and not pooled."""

    def number(text: str) -> bool:
        try:
            float(text)
        except ValueError:
            return False
        return True

    return [
        key
        for key in keys
        if key != SEED and all(number(r.values[key]) for r in results if key in r.values)
    ]


def _series(result: Result, numbers: Sequence[str]) -> str:
    chosen = [v for key, v in result.values.items() if key not in (*numbers, SEED)]
    return " + ".join(chosen) or "all"


def _plots(
    results: Sequence[Result], keys: Sequence[str], numbers: Sequence[str], names: Sequence[str]
) -> Iterator[tuple[str, Markup]]:
    """Over every number, for each combination of the other ones; then over tokens."""
    for axis in numbers:
        others = [key for key in numbers if key != axis]
        combinations = itertools.product(
            *(list(dict.fromkeys(result.values[key] for result in results)) for key in others)
        )
        for fixed in combinations:
            chosen = dict(zip(others, fixed, strict=True))
            these = [r for r in results if chosen.items() <= r.values.items()]
            ticks = sorted({float(result.values[axis]) for result in these})
            told = ", ".join(f"{key} {value}" for key, value in chosen.items())
            heading = f"Over {axis}" + (f", {told}" if told else "")
            series = {
                name: list(_points(these, axis, name, numbers)) for name in names
            }  # every series keeps its colour
            yield heading, lines(series, about=heading, axis=axis, ticks=ticks)
    groups = _grouped(results, [*numbers, *(k for k in keys if k not in (*numbers, SEED))])
    tokens: dict[str, list[Point]] = {name: [] for name in names}
    for group in groups:
        share, spent = _share(group), _tokens(group)
        if share is not None and spent is not None:
            tokens[_series(group[0], numbers)].append(Point(spent, share))
    yield "Over tokens per answer", lines(tokens, about="over tokens", axis="tokens per answer")


def _points(
    results: Sequence[Result], axis: str, name: str, numbers: Sequence[str]
) -> Iterator[Point]:
    mine = [result for result in results if _series(result, numbers) == name]
    for group in _grouped(mine, [axis]):
        if (share := _share(group)) is not None:
            yield Point(float(group[0].values[axis]), share)


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
    answers = sum(run.summary["answers"] for run in runs)
    return sum(run.summary["tokens"] for run in runs) / answers if answers else None
