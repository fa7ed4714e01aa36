"""Tables: the same numbers for a terminal, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from experiments.report import choice
from experiments.report.cells import money, percent, probability, spreadsheet
from experiments.report.runs import Measure, Run, load_runs, properties, runnable, whole
from experiments.stats import Interval, mcnemar, paired_difference, paired_permutation, spread
from sandbox.terminal import printable

HEADINGS = (
    "system",
    "retrieval",
    "model",
    "questions",
    "runnable %",
    "properties %",
    "authors' rule",
    "without faulty %",
    "whole %",
    "passed",
    "over seeds %",
    "model calls",
    "tokens",
    "cost",
    "seconds",
    "without verdict",
)

_REASON = 300  # characters of a failure that are shown


def leaderboard(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """One line per run under `HEADINGS`; shares with 95 % question-clustered intervals.

    "Authors' rule" counts the properties that the published unit tests count, which judge an answer
    as a whole: only this compares with published figures. "Without faulty" leaves out properties
    that have an erratum. A dash where there are none.
    """
    lines: list[tuple[str, ...]] = []
    for run in runs:
        summary = run.summary
        seeds = len(summary["seeds"])
        lines.append(
            (
                str(summary["system"]),
                str(summary["retrieval"]),
                run.model,
                f"{summary['questions']}" + (f" x {seeds} seeds" if seeds > 1 else ""),
                percent(run.interval(runnable)),
                percent(run.interval(properties)),
                _published_rule(run),
                _sound(run),
                percent(run.interval(whole)),
                f"{summary['properties_passed']}/{summary['properties_total']}",
                seed_spreads(run) if seeds > 1 else "-",
                f"{summary['calls']:,}",
                f"{summary['tokens']:,}" + (" (estimated)" if summary["tokens_estimated"] else ""),
                money(summary["cost_usd"]),
                f"{summary['seconds']:.0f}",
                _without_verdict(run),
            )
        )
    return lines


def told(
    headings: Sequence[str], lines: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """A table without the columns that say nothing about any line."""
    kept = [i for i in range(len(headings)) if any(line[i] != "-" for line in lines)]
    return [headings[i] for i in kept], [[line[i] for i in kept] for line in lines]


def _published_rule(run: Run) -> str:
    rule = run.summary.get("published_rule")
    return "-" if rule is None else f"{rule['passed']}/{rule['total']}"


def _sound(run: Run) -> str:
    verified = run.summary["verified"]
    if verified is None:
        return "-"
    return f"{percent(run.interval(run.sound))} ({verified['passed']}/{verified['total']})"


def _without_verdict(run: Run) -> str:
    summary = run.summary
    counts = {
        "failed": summary["infra"],
        "not run": summary["missing"],
        "unavailable": len(summary["unavailable"]),
    }
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
        one, two = first.tallies(properties), second.tallies(properties)
        found.append(
            Comparison(
                first.label,
                second.label,
                len(one.keys() & two.keys()),
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
        {row.question_id: row.whole for row in run.scored if row.seed == seed}
        for run in (first, second)
    )
    return mcnemar(one, two)


def seed_spreads(run: Run) -> str:
    """Mean and standard deviation of the property score over seeds, in percent."""
    scores = []
    for seed in run.summary["seeds"]:
        rows = [row for row in run.scored if row.seed == seed]
        total = sum(row.properties for row in rows)
        if total:
            scores.append(100 * sum(row.passed_count for row in rows) / total)
    found = spread(scores)
    if found is None:
        return "-"
    if found.deviation is None:
        return f"{found.mean:.1f} (one seed)"
    return f"{found.mean:.1f} ± {found.deviation:.1f} ({len(scores)} seeds)"


COMPARISON_HEADINGS = (
    "comparison",
    "shared questions",
    "properties, points",
    "p (permutation)",
    "p (McNemar, whole)",
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
    """Show the leaderboards (and, for several runs, the comparisons); fits 80 columns."""
    letters = [folder for folder in folders if choice.is_choice(folder)]
    if letters:
        choice.print_table(choice.load_choice_runs(letters), console)
    runs = load_runs([folder for folder in folders if folder not in letters])
    if runs:
        _print_runs(runs, console)


def _print_runs(runs: Sequence[Run], console: Console) -> None:
    board = Table(title=_title(runs), caption="below a share: its 95 % interval over questions")
    for heading in ("run", "runnable", "properties", "whole", "calls\ntokens", "cost\nseconds"):
        board.add_column(heading, justify="left" if heading == "run" else "right")
    for run in runs:
        summary = run.summary
        board.add_row(
            Text(printable(f"{summary['system']} + {summary['retrieval']}\n{run.model}")),
            *(_stacked(run, measure) for measure in (runnable, properties, whole)),
            f"{summary['calls']:,}\n{summary['tokens']:,}"
            + ("\nestimated" if summary["tokens_estimated"] else ""),
            f"{money(summary['cost_usd'])}\n{summary['seconds']:.0f}",
        )
    console.print(board)
    for run in runs:
        if len(run.summary["seeds"]) > 1:
            console.print(Text(f"{run.label}: properties over seeds {seed_spreads(run)} %"))
        if (rule := _published_rule(run)) != "-":
            console.print(Text(f"{run.label}: properties by the authors' rule: {rule}"))
        if run.summary["verified"] is not None:
            faulty = sum(map(len, run.summary.get("faulty", {}).values()))
            console.print(
                Text(
                    f"{run.label}: without the {faulty} properties known to be faulty {_sound(run)}"
                )
            )
        if faults := run.summary.get("reply_faults"):
            counted = ", ".join(f"{count} {kind}" for kind, count in faults.items())
            console.print(Text(f"{run.label}: replies that were no whole answer: {counted}"))
        if (missing := _without_verdict(run)) != "0":
            console.print(Text(f"{run.label}: without verdict and not counted: {missing}"))
        if failed := [row for row in run.rows if row.infra and row.error]:
            reason = str(failed[-1].error).strip().splitlines()[-1][:_REASON]
            told = f"  the last of them: {failed[-1].question_id}: {reason}"
            console.print(Text(printable(told)))
    lines = comparison_lines(runs)
    if lines:
        paired = Table(title="Paired comparisons")
        for heading in COMPARISON_HEADINGS:
            paired.add_column(heading)
        for line in lines:
            paired.add_row(*(Text(printable(cell)) for cell in line))
        console.print(paired)


def _stacked(run: Run, measure: Measure) -> Text:
    interval = run.interval(measure)
    if interval is None:
        return Text("-")
    tallies = run.tallies(measure).values()
    passed, total = (
        int(sum(values)) for values in zip(*[(t.passed, t.total) for t in tallies], strict=True)
    )
    return Text(
        f"{100 * interval.estimate:.1f} % ({passed}/{total})\n"
        f"{100 * interval.low:.1f} - {100 * interval.high:.1f}"
    )


def _title(runs: Sequence[Run]) -> str:
    names = {_benchmark(run) for run in runs}
    return ", ".join(sorted(names))


def _benchmark(run: Run) -> str:
    level = run.summary.get("level")
    return f"{run.summary['benchmark']} ({level})" if level else str(run.summary["benchmark"])


def markdown(runs: Sequence[Run], choices: Sequence[choice.ChoiceRun] = ()) -> str:
    """The tables of both kinds of benchmarks as Markdown."""
    tables: list[tuple[Sequence[str], Sequence[Sequence[str]]]] = []
    if runs:
        tables += [
            told(HEADINGS, leaderboard(runs)),
            (COMPARISON_HEADINGS, comparison_lines(runs)),
        ]
    if choices:
        tables += [
            (choice.HEADINGS, choice.board(choices)),
            (choice.BREAKDOWN_HEADINGS, choice.by_kind(choices)),
            (choice.COMPARISON_HEADINGS, choice.comparisons(choices)),
        ]
    return "\n".join(_markdown_table(*table) for table in tables if table[1])


def _markdown_table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [headings, ["---"] * len(headings), *lines]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows
    )


def comma_separated(runs: Sequence[Run]) -> str:
    """One line per answer: what a spreadsheet or pandas wants."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["run", "system", "retrieval", "model", "benchmark", "question", "seed", "outcome",
         "runnable", "whole", "properties_passed", "properties", "sound_passed", "sound",
         "model_calls", "tokens", "cost_usd", "seconds"]
    )  # fmt: skip
    for run in runs:
        summary = run.summary
        for row in run.rows:
            sound = run.sound(row)
            verdict: list[object] = (
                [row.runnable, row.whole, row.passed_count] if row.scored else ["", "", ""]
            )
            cells: list[object] = (
                [run.folder.name, summary["system"], summary["retrieval"], summary["model"],
                 summary["benchmark"], row.question_id, row.seed, row.outcome, *verdict,
                 row.properties, sound[0] if row.scored else "", sound[1], row.calls,
                 row.prompt_tokens + row.completion_tokens,
                 "" if row.cost_usd is None else row.cost_usd, row.seconds]
            )  # fmt: skip
            writer.writerow(map(spreadsheet, cells))
    return out.getvalue()
