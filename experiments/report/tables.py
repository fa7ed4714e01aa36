"""Tables: the same numbers for a terminal, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import inf
from pathlib import Path
from statistics import fmean, stdev

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from experiments.record import Row
from experiments.report.runs import Run, has_intervals, load_runs, tally
from experiments.scorers.base import (
    ALL_CORRECT,
    CRITERIA,
    FIRST_WRONG,
    Metric,
    amount,
    measuring,
)
from experiments.stats import (
    FEWEST,
    Interval,
    holm,
    paired_difference,
    paired_permutation,
    pass_all,
    pass_at,
    ratio_interval,
)
from foundation.terminal import printable

_SHOWN = 10  # metrics that a terminal shows: a benchmark names the important ones first
_WIDE = 5  # metrics that fit beside each other in 80 columns
_REASON = 300  # characters of a failure that are shown
_MISMATCHES = 3  # rows that do not fit their records that are named

Table = tuple[list[str], list[list[str]]]


def percent(interval: Interval | None) -> str:
    """``"34.8 [21.0, 48.9]"``; a dash for no data, no limits of few clusters."""
    if interval is None:
        return "-"
    estimate, limits = f"{100 * interval.estimate:.1f}", interval.limits
    return (
        f"{estimate} [{100 * limits[0]:.1f}, {100 * limits[1]:.1f}]"
        if limits
        else estimate
    )


def money(cost: float | None) -> str:
    """Dollars; an unknown price is not zero."""
    return "unknown" if cost is None else f"${cost:.4f}" if cost else "$0"


def number(count: int | None) -> str:
    """With thousands; what was not counted is not zero."""
    return "unknown" if count is None else f"{count:,}"


def spreadsheet(cell: object) -> object:
    """A cell of a CSV file: text that a spreadsheet would take for a formula is quoted.

    Numbers stay numbers, negative ones too, also where they come as text.
    """
    if not isinstance(cell, str):
        return cell
    text = " ".join(printable(cell).split())
    try:
        float(text)
    except ValueError:
        return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
    return text


def plural(count: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{count:,} {one if count == 1 else many}"


def probability(value: float | None) -> str:
    """A p-value as text."""
    if value is None:
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


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


def heading_of(metric: Metric) -> str:
    """Of its column."""
    return f"{metric.title} {metric.unit}".strip()


def _columns(runs: Sequence[Run]) -> dict[str, Callable[[Run], str]]:
    """Headings, and what they say of a run; a column is a line here."""
    metrics = {
        heading_of(metric): partial(metric_cell, metric=metric)
        for metric in metrics_of(runs)
    }
    return {
        **{
            key: partial(_chosen, key=key)
            for run in runs
            for each in run.values
            for key in each
        },
        "system": lambda run: str(run.summary["system"]),
        "retrieval": lambda run: str(run.summary["retrieval"]),
        "model": lambda run: run.model,
        "questions": _questions,
        **metrics,
        "without faulty %": _sound,
        "over seeds %": lambda run: (
            seed_spreads(run) if len(run.summary["seeds"]) > 1 else "-"
        ),
        "model calls": lambda run: number(run.summary["calls"]),
        "tokens": _tokens,
        "cost": lambda run: money(run.summary["cost_usd"]),
        "cost per right criterion": _each,
        "judge": _judge,
        "seconds": lambda run: f"{run.summary['seconds']:.0f}",
        FIRST_WRONG: _broken,
        "faulty replies": lambda run: (
            counted(run.summary.get("reply_faults", {})) or "-"
        ),
        "without verdict": _without_verdict,
    }


def leaderboard(runs: Sequence[Run]) -> Table:
    """Headings, and one line per run; metrics with 95 % intervals over clusters.

    "Without faulty" leaves out criteria that have an erratum. Columns without any value are left
    out.
    """
    columns = _columns(runs)
    return filled(
        list(columns), [[cell(run) for cell in columns.values()] for run in runs]
    )


def filled(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    """A table without the columns that hold nothing but dashes."""
    full = [n for n in range(len(headings)) if {line[n] for line in lines} != {"-"}]
    return [headings[n] for n in full], [[line[n] for n in full] for line in lines]


def _chosen(run: Run, key: str) -> str:
    return ", ".join(dict.fromkeys(each.get(key, "-") for each in run.values))


def _questions(run: Run) -> str:
    count, seeds = run.summary["questions"], len(run.summary["seeds"])
    return f"{count} x {seeds} seeds" if seeds > 1 else str(count)


def _tokens(run: Run) -> str:
    about = " (estimated)" if run.summary["tokens_estimated"] else ""
    return f"{number(run.summary['tokens'])}{about}"


def metric_cell(run: Run, metric: Metric) -> str:
    """A metric of a run with its interval and what it is out of; a dash where it has none."""
    entries = run.summary["metrics"]
    entry = next((e for e in entries if e["title"] == metric.title), None)
    if entry is None or not entry["total"]:
        return "-"
    if metric.unit != "%":
        return f"{entry['sum'] / entry['total']:.4g}"
    return (
        f"{percent(run.interval(metric))} ({amount(entry['sum'])}/{entry['total']:.0f})"
    )


def counted(counts: Mapping[str, int]) -> str:
    """Names with their counts."""
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count)


def _broken(run: Run) -> str:
    """How many answers broke at which link, in the order of the chain; a dash: not followed."""
    if not any(FIRST_WRONG in row.artefacts for row in run.scored):
        return "-"
    return counted(
        {name: n for (_, name), n in sorted(Counter(map(_link, run.scored)).items())}
    )


def _link(row: Row) -> tuple[float, str]:
    """Where an answer broke: its place in the chain, and its name."""
    if row.all_correct:
        return inf, "all right:"
    first, _, _ = row.artefacts.get(FIRST_WRONG, "").partition(" of ")
    if not first:
        return 0, "no code:"
    numbered = first.isdecimal()
    return (
        (int(first), f"link {first}:") if numbered else (10**6, "after the last link:")
    )


def _each(run: Run) -> str:
    """Dollars for each criterion that is met; a dash where nothing was spent or is right."""
    right, cost = sum(row.passed_count for row in run.scored), run.summary["cost_usd"]
    return money(cost / right) if right and cost else "-"


def _judge(run: Run) -> str:
    summary = run.summary
    if summary["judge"] is None:
        return "-"
    spent = f"{summary['judge_calls']:,} calls, {money(summary['judge_cost_usd'])}"
    return f"{summary['judge']} ({spent})"


def _sound(run: Run) -> str:
    if not run.summary["faulty"]:
        return "-"
    tallies = list(tally(run.scored, run.sound).values())
    passed, total = (
        sum(one.passed for one in tallies),
        sum(one.total for one in tallies),
    )
    return f"{percent(ratio_interval(tallies))} ({passed:.0f}/{total:.0f})"


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
    return (
        ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "0"
    )


@dataclass(frozen=True)
class Comparison:
    """A paired test of two runs on the questions that both answered.

    ``difference`` is that of the second from the first, in the primary metric; ``corrected`` the
    p-value for as many tests as the report makes (`experiments.stats.holm`).
    """

    first: Run
    second: Run
    shared: int
    difference: Interval | None
    probability: float | None
    corrected: float | None = None

    @property
    def label(self) -> str:
        """Of its line."""
        return f"{self.second.label} - {self.first.label}"


def compare_runs(runs: Sequence[Run]) -> list[Comparison]:
    """Paired tests of every two runs whose primary metric is the same share."""
    tests = [
        _compared(first, second)
        for first, second in combinations(runs, 2)
        if first.primary == second.primary and first.primary.unit == "%"
    ]
    corrected = holm([test.probability for test in tests])
    return [
        replace(test, corrected=value)
        for test, value in zip(tests, corrected, strict=True)
    ]


def _compared(first: Run, second: Run) -> Comparison:
    answered = [{row.question_id for row in run.scored} for run in (first, second)]
    shared = set.intersection(*answered)
    tallies = []
    for run in (first, second):
        rows = [row for row in run.scored if row.question_id in shared]
        tallies.append(tally(rows, measuring(rows, first.primary)))
    return Comparison(
        first,
        second,
        len(shared),
        paired_difference(*tallies),
        paired_permutation(*tallies),
    )


def comparisons(runs: Sequence[Run]) -> Table:
    """Paired tests as a table, p-values raw and corrected for their number."""
    headings = [
        "comparison",
        "shared questions",
        "primary metric, points",
        "p (permutation)",
        "p (Holm)",
    ]
    return headings, [
        [
            test.label,
            str(test.shared),
            percent(test.difference),
            probability(test.probability),
            probability(test.corrected),
        ]
        for test in compare_runs(runs)
    ]


def seed_spreads(run: Run) -> str:
    """Mean and standard deviation of the primary metric over seeds, in percent."""
    scores = []
    for seed in run.summary["seeds"]:
        rows = [row for row in run.scored if row.seed == seed]
        measured = list(map(measuring(rows, run.primary), rows))
        if total := sum(out_of for _, out_of in measured):
            scores.append(100 * sum(gained for gained, _ in measured) / total)
    if len(scores) < 2:
        return f"{scores[0]:.1f} (one seed)" if scores else "-"
    return f"{fmean(scores):.1f} ± {stdev(scores):.1f} ({len(scores)} seeds)"


def passes(run: Run) -> str:
    """pass@k and pass^k, in percent, from the seeds of each question; empty for one seed."""
    tried = Counter(row.question_id for row in run.scored)
    right = Counter(row.question_id for row in run.scored if row.all_correct)
    rates = []
    for k in range(1, max(tried.values(), default=0) + 1):
        counts = [(right[name], count) for name, count in tried.items() if count >= k]
        one, every = (
            100 * fmean(of(k, *count) for count in counts) for of in (pass_at, pass_all)
        )
        rates.append(f"pass@{k} {one:.1f}, pass^{k} {every:.1f}")
    return "; ".join(rates) if len(rates) > 1 else ""


def print_table(folders: Sequence[Path], console: Console) -> None:
    """Show the leaderboard (and, for several runs, the comparisons); fits 80 columns."""
    runs = load_runs(folders)
    metrics = metrics_of(runs)[:_SHOWN]
    cells = [
        ["run", *(metric.title for metric in metrics), "calls\ntokens", "cost\nseconds"]
    ]
    for run in runs:
        summary = run.summary
        cells.append(
            [
                run_heading(run),
                *(metric_cell(run, metric) for metric in metrics),
                f"{number(summary['calls'])}\n{number(summary['tokens'])}"
                + ("\nestimated" if summary["tokens_estimated"] else ""),
                f"{money(summary['cost_usd'])}\n{summary['seconds']:.0f}",
            ]
        )
    if len(metrics) > max(
        _WIDE, len(runs)
    ):  # runs are columns where there are more metrics
        cells = [list(line) for line in zip(*cells, strict=True)]
    board = drawn_table(
        ", ".join(sorted(set(map(_benchmark, runs)))), cells[0], cells[1:]
    )
    if has_intervals(runs):
        board.caption = (
            "95 % confidence intervals (over questions) below each percentage"
        )
    else:
        board.caption = f"no confidence intervals of fewer than {FEWEST} questions"
    console.print(board)
    for remark in (remark for run in runs for remark in _remarks(run)):
        console.print(Text(printable(remark)))
    headings, lines = comparisons(runs)
    if lines:
        console.print(drawn_table("Paired comparisons", headings, lines))


def run_heading(run: Run) -> str:
    """What a run is, and what tells it apart from the others of a report."""
    summary = run.summary
    heading = f"{summary['system']} + {summary['retrieval']}\n{run.model}"
    return f"{heading}\n{run.distinction}" if run.distinction else heading


def drawn_table(
    title: str, headings: Sequence[str], lines: Iterable[Sequence[str]]
) -> RichTable:
    """For a terminal: names on the left, numbers on the right, intervals below their shares."""
    table = RichTable(title=title)
    for heading in headings:
        table.add_column(
            Text(printable(heading)),
            justify="right" if table.columns else "left",
            overflow="fold",  # a name is told from another one by its end
        )
    for line in lines:
        table.add_row(*(Text(printable(cell).replace(" [", "\n[")) for cell in line))
    return table


def _remarks(run: Run) -> Iterator[str]:
    """What the table has no room for."""
    summary = run.summary
    if len(summary["seeds"]) > 1:
        yield f"{run.label}: {run.primary.title} over seeds {seed_spreads(run)} %"
    if several := passes(run):
        yield f"{run.label}: all correct, in %: {several}"
    if summary["faulty"]:
        faulty = sum(map(len, summary["faulty"].values()))
        properties = plural(faulty, "property", "properties")
        yield f"{run.label}: without {properties} with a known-faulty reference: {_sound(run)}"
    if faults := counted(summary.get("reply_faults", {})):
        yield f"{run.label}: replies that are not answers: {faults}"
    if run.played:
        yield f"{run.label}: {run.played}"
    if (judge := _judge(run)) != "-":
        yield f"{run.label}: judged by {judge}"
    silent = [
        next(iter(row.reasons.values()), "")
        for row in run.scored
        if row.outcome == "no_answer"
    ]
    if silent:
        reason = Counter(silent).most_common(1)[0][0][:_REASON]
        replies = plural(len(silent), "reply", "replies")
        yield f"{run.label}: {replies} without a parseable answer, most often: {reason or '-'}"
    wrong = Counter(
        next(iter(row.reasons.values()), "") for row in run.scored if row.reasons
    )
    for reason, count in wrong.most_common(1):
        if count > max(1, len(run.scored) / 2):
            common = re.sub(
                r"(?:^|(?<=: ))None$", "the value is None", reason[:_REASON]
            )
            alike = f"{count} of {len(run.scored)} answers fail for the same reason"
            yield f"{run.label}: {alike}: {common}"
    if (missing := _without_verdict(run)) != "0":
        yield f"{run.label}: without verdict and not counted: {missing}"
    if failed := [row for row in run.rows if row.infra and row.error]:
        reason = str(failed[-1].error).strip().splitlines()[-1][:_REASON]
        yield f"  the last of them: {failed[-1].question_id}: {reason}"


def mismatches(run: Run) -> Iterator[str]:
    """Lines about rows that do not fit the records of their answers; reads every record."""
    reasons = [(row, reason) for row in run.rows if (reason := run.mismatch(row))]
    for row, reason in reasons[:_MISMATCHES]:
        yield f"{run.label}: {row.question_id}, seed {row.seed}: {reason}"
    if len(reasons) > _MISMATCHES:
        yield f"{run.label}: {len(reasons)} rows in all do not fit their records"


def _benchmark(run: Run) -> str:
    level = run.summary.get("level")
    return (
        f"{run.summary['benchmark']} ({level})"
        if level
        else str(run.summary["benchmark"])
    )


def markdown(runs: Sequence[Run], *more: Table) -> str:
    """The tables, and more of them that have lines, as Markdown."""
    tables = (leaderboard(runs), *more, comparisons(runs))
    return "\n".join(_markdown_table(*table) for table in tables if table[1])


def _markdown_table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [headings, ["---"] * len(headings), *lines]
    return "".join("| " + " | ".join(map(_escaped, row)) + " |\n" for row in rows)


def _escaped(cell: str) -> str:
    """A text of somebody else (a model's name) as Markdown shows it: no link, HTML or new cell."""
    return re.sub(r"([\\`*_{}\[\]<>|])", r"\\\1", " ".join(printable(cell).split()))


def comma_separated(runs: Sequence[Run]) -> str:
    """One line per answer: what a spreadsheet or pandas wants; what is unknown is empty."""
    values = [
        metric.name
        for metric in metrics_of(runs)
        if metric.name not in (CRITERIA, ALL_CORRECT) and " - " not in metric.name
    ]
    return csv_text(_answer(run, row, values) for run in runs for row in run.rows)


def csv_text(lines: Iterable[Mapping[str, object]]) -> str:
    """Lines of one kind as CSV, headings first; what is unknown is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in lines:
        if not out.tell():
            writer.writerow(line)
        writer.writerow(
            "" if cell is None else spreadsheet(cell) for cell in line.values()
        )
    return out.getvalue()


def _answer(run: Run, row: Row, values: Sequence[str]) -> dict[str, object]:
    """The columns of one answer."""
    summary, (sound_passed, sound) = run.summary, run.sound(row)
    verdict = {name: row.values.get(name) for name in values} | {
        "all_correct": row.all_correct,
        "criteria_passed": row.passed_count,
    }
    return {
        "run": run.folder.name,
        **{
            name: summary[name]
            for name in ("system", "retrieval", "model", "benchmark")
        },
        "question": row.question_id,
        "seed": row.seed,
        "outcome": row.outcome,
        **{name: value if row.scored else None for name, value in verdict.items()},
        "criteria": row.criteria,
        "sound_passed": sound_passed if row.scored else None,
        "sound": sound,
        "model_calls": row.calls,
        "tokens": row.tokens,
        "cost_usd": row.cost_usd,
        "seconds": row.seconds,
    }
