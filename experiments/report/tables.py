"""Tables: the same numbers for a terminal, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from experiments.report.cells import money, percent, probability, spreadsheet
from experiments.report.runs import Run, load_runs, tally
from experiments.scorers.base import ALL_CORRECT, PARTS, Metric, amount, measuring
from experiments.stats import (
    Interval,
    mcnemar,
    paired_difference,
    paired_permutation,
    ratio_interval,
    spread,
)
from sandbox.terminal import printable

_WIDE = 5  # metrics that fit beside each other in 80 columns
_REASON = 300  # characters of a failure that are shown

Table = tuple[list[str], list[list[str]]]


def metrics_of(runs: Iterable[Run]) -> list[Metric]:
    """Every metric that any run has values of, and the primary ones, in the order of benchmarks."""
    return list(
        {
            metric.name: metric
            for run in runs
            for metric, entry in zip(run.metrics, run.summary["metrics"], strict=True)
            if entry["total"] or metric == run.primary
        }.values()
    )


def leaderboard(runs: Sequence[Run]) -> Table:
    """Headings, and one line per run; metrics with 95 % intervals over clusters.

    "Without faulty" leaves out parts that have an erratum. Columns that say nothing about any run
    are left out.
    """
    metrics = metrics_of(runs)
    headings = [
        "system", "retrieval", "model", "questions",
        *(f"{metric.title} %" if metric.bounded else metric.title for metric in metrics),
        "without faulty %", "over seeds %", "model calls", "tokens", "cost",
        "cost per right part", "judge", "seconds",
        "faulty replies", "without verdict",
        "machines",
    ]  # fmt: skip
    lines = []
    for run in runs:
        summary, seeds = run.summary, len(run.summary["seeds"])
        lines.append([
            str(summary["system"]),
            str(summary["retrieval"]),
            run.model,
            f"{summary['questions']}" + (f" x {seeds} seeds" if seeds > 1 else ""),
            *(shown(run, metric) for metric in metrics),
            _sound(run),
            seed_spreads(run) if seeds > 1 else "-",
            f"{summary['calls']:,}",
            f"{summary['tokens']:,}" + (" (estimated)" if summary["tokens_estimated"] else ""),
            money(summary["cost_usd"]),
            _each(run),
            _judge(summary),
            f"{summary['seconds']:.0f}",
            counted(summary.get("reply_faults", {})) or "-",
            _without_verdict(run),
            _machines(summary),
        ])  # fmt: skip
    kept = [i for i in range(len(headings)) if any(line[i] != "-" for line in lines)]
    return [headings[i] for i in kept], [[line[i] for i in kept] for line in lines]


def shown(run: Run, metric: Metric) -> str:
    """A metric of a run with its interval and what it is out of; a dash where it has none."""
    entry = next((e for e in run.summary["metrics"] if e["name"] == metric.name), None)
    if entry is None or not entry["total"]:
        return "-"
    if not metric.bounded:
        return f"{entry['sum'] / entry['total']:.4g}"
    return f"{percent(run.interval(metric))} ({amount(entry['sum'])}/{entry['total']:.0f})"


def counted(counts: Mapping[str, int]) -> str:
    """Names with their counts."""
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count)


def _machines(summary: Mapping[str, Any]) -> str:
    """By sandbox, how many; a dash where it was this one or another, but only one."""
    machines = summary.get("machines", {})
    return counted(machines) if sum(machines.values()) > 1 else "-"


def _each(run: Run) -> str:
    """Dollars for each part that is right; a dash where nothing was spent or is right."""
    right, cost = sum(row.passed_count for row in run.scored), run.summary["cost_usd"]
    return money(cost / right) if right and cost else "-"


def _judge(summary: Mapping[str, Any]) -> str:
    if summary["judge"] is None:
        return "-"
    spent = f"{summary['judge_calls']:,} calls, {money(summary['judge_cost_usd'])}"
    return f"{summary['judge']} ({spent})"


def _sound(run: Run) -> str:
    verified = run.summary["verified"]
    if verified is None:
        return "-"
    interval = ratio_interval(list(tally(run.scored, run.sound).values()))
    return f"{percent(interval)} ({verified['passed']}/{verified['total']})"


def _without_verdict(run: Run) -> str:
    summary = run.summary
    counts = {
        "failed": summary["infra"],
        "not finished": summary["not_finished"],
        "not run": summary["missing"],
        "unavailable": len(summary["unavailable"]),
    }
    wanted = summary["questions"] * len(summary["seeds"])
    accounted = summary["answers"] + sum(counts.values()) - counts["unavailable"]
    counts["not judged"] = max(0, wanted - accounted)
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "0"


@dataclass(frozen=True)
class Comparison:
    """Two runs on the questions that both answered."""

    first: str
    second: str
    questions: int
    difference: Interval | None
    permutation: float | None
    mcnemar: float | None


def comparisons(runs: Sequence[Run]) -> list[Comparison]:
    """Every pair of runs: paired tests on shared questions."""
    found = []
    for first, second in combinations(runs, 2):
        if first.primary != second.primary or not first.primary.bounded:
            continue
        shared = {row.question_id for row in first.scored} & {
            row.question_id for row in second.scored
        }
        common = [
            [row for row in run.scored if row.question_id in shared] for run in (first, second)
        ]
        one, two = (tally(rows, measuring(rows, first.primary)) for rows in common)
        found.append(
            Comparison(
                first.label,
                second.label,
                len(shared),
                paired_difference(one, two),
                paired_permutation(one, two),
                _mcnemar(first, second),
            )
        )
    return found


def _mcnemar(first: Run, second: Run) -> float | None:
    seeds = set(first.summary["seeds"]) & set(second.summary["seeds"])
    if not seeds:
        return None
    seed = min(seeds)
    one, two = (
        {row.question_id: row.all_correct for row in run.scored if row.seed == seed}
        for run in (first, second)
    )
    return mcnemar(one, two)


def seed_spreads(run: Run) -> str:
    """Mean and standard deviation of the primary metric over seeds, in percent."""
    scores = []
    for seed in run.summary["seeds"]:
        rows = [row for row in run.scored if row.seed == seed]
        measured = list(map(measuring(rows, run.primary), rows))
        if total := sum(out_of for _, out_of in measured):
            scores.append(100 * sum(gained for gained, _ in measured) / total)
    found = spread(scores)
    if found is None:
        return "-"
    if found.deviation is None:
        return f"{found.mean:.1f} (one seed)"
    return f"{found.mean:.1f} ± {found.deviation:.1f} ({len(scores)} seeds)"


COMPARISON_HEADINGS = (
    "comparison",
    "shared questions",
    "primary metric, points",
    "p (permutation)",
    "p (McNemar, all correct)",
)


def comparison_lines(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """One line per pair under `COMPARISON_HEADINGS`."""
    return [
        (
            f"{pair.second} - {pair.first}",
            str(pair.questions),
            percent(pair.difference),
            probability(pair.permutation),
            probability(pair.mcnemar),
        )
        for pair in comparisons(runs)
    ]


def print_table(folders: Sequence[Path], console: Console) -> None:
    """Show the leaderboard (and, for several runs, the comparisons); fits 80 columns."""
    runs = load_runs(folders)
    metrics = [metric for metric in metrics_of(runs) if not metric.minor]
    board = RichTable(title=_title(runs), caption="below a share: its 95 % interval over questions")
    cells: list[list[Text | str]] = [
        ["run", *(metric.title for metric in metrics), "calls\ntokens", "cost\nseconds"]
    ]
    for run in runs:
        summary = run.summary
        cells.append([
            Text(printable(f"{summary['system']} + {summary['retrieval']}\n{run.model}")),
            *(_stacked(run, metric) for metric in metrics),
            f"{summary['calls']:,}\n{summary['tokens']:,}"
            + ("\nestimated" if summary["tokens_estimated"] else ""),
            f"{money(summary['cost_usd'])}\n{summary['seconds']:.0f}",
        ])  # fmt: skip
    if len(metrics) > max(_WIDE, len(runs)):  # runs are columns where there are more metrics
        cells = [list(line) for line in zip(*cells, strict=True)]
    for heading in cells[0]:
        board.add_column(heading, justify="right" if board.columns else "left")
    for texts in cells[1:]:
        board.add_row(*texts)
    console.print(board)
    for remark in (remark for run in runs for remark in _remarks(run)):
        console.print(Text(printable(remark)))
    lines = comparison_lines(runs)
    if lines:
        paired = RichTable(title="Paired comparisons")
        for heading in COMPARISON_HEADINGS:
            paired.add_column(heading)
        for line in lines:
            paired.add_row(*(Text(printable(cell)) for cell in line))
        console.print(paired)


def _remarks(run: Run) -> Iterator[str]:
    """What the table has no room for."""
    summary = run.summary
    if len(summary["seeds"]) > 1:
        yield f"{run.label}: {run.primary.title} over seeds {seed_spreads(run)} %"
    if summary["verified"] is not None:
        faulty = sum(map(len, summary["faulty"].values()))
        yield f"{run.label}: without the {faulty} properties known to be faulty {_sound(run)}"
    if faults := counted(summary.get("reply_faults", {})):
        yield f"{run.label}: replies that are not answers: {faults}"
    if (judge := _judge(summary)) != "-":
        yield f"{run.label}: judged by {judge}"
    silent = [next(iter(row.reasons.values()), "") for row in run.scored
              if row.outcome == "no_answer"]  # fmt: skip
    if silent:
        reason = Counter(silent).most_common(1)[0][0][:_REASON]
        yield f"{run.label}: questions without an answer: {len(silent)}, mostly: {reason or '-'}"
    if (missing := _without_verdict(run)) != "0":
        yield f"{run.label}: without verdict and not counted: {missing}"
    if failed := [row for row in run.rows if row.infra and row.error]:
        reason = str(failed[-1].error).strip().splitlines()[-1][:_REASON]
        yield f"  the last of them: {failed[-1].question_id}: {reason}"


def _stacked(run: Run, metric: Metric) -> Text:
    text = shown(run, metric).replace("[", "\n[", 1)
    return Text(text)


def _title(runs: Sequence[Run]) -> str:
    names = {_benchmark(run) for run in runs}
    return ", ".join(sorted(names))


def _benchmark(run: Run) -> str:
    level = run.summary.get("level")
    return f"{run.summary['benchmark']} ({level})" if level else str(run.summary["benchmark"])


def markdown(runs: Sequence[Run]) -> str:
    """The tables as Markdown."""
    tables = _markdown_table(*leaderboard(runs))
    if pairs := comparison_lines(runs):
        tables += "\n" + _markdown_table(COMPARISON_HEADINGS, pairs)
    return tables


def _markdown_table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [headings, ["---"] * len(headings), *lines]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows
    )


def comma_separated(runs: Sequence[Run]) -> str:
    """One line per answer: what a spreadsheet or pandas wants."""
    out = io.StringIO()
    metrics = [metric.name for metric in metrics_of(runs) if not metric.baseline]
    values = [name for name in metrics if name not in (PARTS, ALL_CORRECT)]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["run", "system", "retrieval", "model", "benchmark", "question", "seed", "outcome",
         *values, "all_correct", "parts_passed", "parts", "sound_passed", "sound",
         "model_calls", "tokens", "cost_usd", "seconds"]
    )  # fmt: skip
    for run in runs:
        summary = run.summary
        for row in run.rows:
            sound = run.sound(row)
            verdict: list[object] = (
                [*map(row.values.get, values), row.all_correct, row.passed_count]
                if row.scored
                else [None] * (len(values) + 2)
            )
            cells: list[object] = (
                [run.folder.name, summary["system"], summary["retrieval"], summary["model"],
                 summary["benchmark"], row.question_id, row.seed, row.outcome, *verdict,
                 row.parts, sound[0] if row.scored else None, sound[1], row.calls,
                 row.prompt_tokens + row.completion_tokens, row.cost_usd, row.seconds]
            )  # fmt: skip
            writer.writerow("" if cell is None else spreadsheet(cell) for cell in cells)
    return out.getvalue()
