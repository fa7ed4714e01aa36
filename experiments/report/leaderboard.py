"""The leaderboard of a study: one page that opens offline, a table for each set of questions.

Every number is computed from the rows of a run; an entry only says whose they are, and which
files they have to be.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from experiments.report.cells import money, percent, probability
from experiments.report.page import HERE, content_hash
from experiments.report.runs import Run, load_runs
from experiments.report.tables import Comparison, comparisons
from experiments.scorers.base import amount
from experiments.store import write_text
from experiments.study import Entry, read_entry
from sandbox.command import UsageError


@dataclass(frozen=True)
class _Line:
    entry: Entry
    run: Run

    @property
    def share(self) -> float:
        interval = self.run.interval(self.run.primary)
        return -1.0 if interval is None else interval.estimate


def write_leaderboard(out: Path, entries: Sequence[Path]) -> Path:
    """Write ``leaderboard.html`` of the entries into ``out``; returns where it is.

    An entry whose results are missing, or are not those that it vouches for, is named and
    left out.
    """
    lines, refused = [], []
    for path in entries:
        try:
            entry, folder = read_entry(path)
            lines.append(_Line(entry, load_runs([folder])[0]))
        except UsageError as error:
            refused.append(str(error))
    boards: dict[tuple[str, str], list[_Line]] = {}
    for line in lines:
        summary = line.run.summary
        # Other questions, or another metric, are another table: nothing there can be compared.
        key = (str(summary.get("questions_digest")), line.run.primary.name)
        boards.setdefault(key, []).append(line)
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined
    )
    script, css = ((HERE / name).read_text() for name in ("leaderboard.js", "page.css"))
    page = environment.get_template("leaderboard.html.j2").render(
        script=script,
        script_hash=content_hash(script),
        css=css,
        css_hash=content_hash(css),
        title=out.name,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        refused=refused,
        boards=[_board(out, board) for board in boards.values()],
    )
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "leaderboard.html", page)
    return out / "leaderboard.html"


def _board(out: Path, lines: Sequence[_Line]) -> dict[str, Any]:
    ranked = sorted(lines, key=lambda line: -line.share)
    first = ranked[0].run
    level = first.summary["level"]
    return {
        "title": f"{first.summary['benchmark']}{f' ({level})' if level else ''}",
        "questions": first.summary["questions"],
        "metric": first.primary,
        "lines": [_cells(out, line) for line in ranked],
        "pairs": [_pair(first, line.run) for line in ranked[1:]],
    }


def _cells(out: Path, line: _Line) -> dict[str, Any]:
    """What a line shows, and what its cells are sorted by."""
    run, summary = line.run, line.run.summary
    counted = summary["metrics"][0]
    report = run.folder / "report.html"
    cost, seeds = summary["cost_usd"], len(summary["seeds"])
    cells: list[tuple[str, object]] = [
        (run.model, run.model),
        (str(summary["system"]), summary["system"]),
        (str(summary["retrieval"]), summary["retrieval"]),
        (percent(run.interval(run.primary)), line.share),
        (f"{amount(counted['sum'])}/{counted['total']:.0f}", counted["sum"]),
        (
            f"{summary['answers']}/{summary['questions'] * seeds}",
            summary["answers"],
        ),
        (str(seeds), seeds),
        (f"{summary['tokens']:,}", summary["tokens"]),
        (money(cost), -1 if cost is None else cost),
        (line.entry.by, line.entry.by),
    ]
    return {
        "cells": cells,
        "complete": summary["complete"],
        "report": quote(os.path.relpath(report, out.resolve())) if report.is_file() else None,
        "url": line.entry.url if line.entry.url.startswith("https://") else None,
    }


def _pair(first: Run, other: Run) -> dict[str, str] | None:
    """The best entry and another one, on the questions that both answered."""
    found: list[Comparison] = comparisons([first, other])
    if not found or found[0].difference is None:
        return None
    return {
        "name": f"{_name(first)} - {_name(other)}",
        "questions": str(found[0].questions),
        "difference": percent(found[0].difference),
        "p": probability(found[0].permutation),
    }


def _name(run: Run) -> str:
    summary = run.summary
    return f"{run.model} + {summary['system']} + {summary['retrieval']}"
