"""What a replay shows: outcomes beside the recorded ones, and why they differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from experiments.recorded import Recorded
from experiments.tasks import Task

#: Differences that are listed one by one.
LISTED = 60


class Graded(BaseModel):
    """One generation judged by one scorer: one line of ``results.jsonl``.

    Attributes
    ----------
    outcome
        ``all_correct``, ``some_wrong`` or ``not_runnable``.
    reason
        Why it is not ``all_correct``.
    passed, wrong
        Properties; ``wrong`` is ``None`` when they were never compared.
    failed
        Names of the properties that did not pass, of a runnable answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    scorer: str
    outcome: str
    reason: str
    passed: int = 0
    wrong: int | None = None
    failed: list[str] = []
    detail: str = ""
    seconds: float = 0.0


Results = Mapping[tuple[str, str], Graded]


def print_comparison(
    rows: Sequence[Recorded],
    tasks: Mapping[str, Task],
    results: Results,
    scorers: Sequence[str],
    console: Console,
) -> None:
    """Print all tables; the last line is ``agree N/M``."""
    _print_runs(rows, tasks, results, scorers, console)
    for scorer in scorers:
        _print_reasons(rows, results, scorer, console)
    if len(scorers) > 1:
        _print_scorers(rows, results, console)
    scorer = scorers[0]
    _print_differences(rows, results, scorer, console)
    pairs = [
        (row.outcome, results[row.key, scorer])
        for row in rows
        if row.outcome is not None and (row.key, scorer) in results
    ]
    counted = [(old, new) for old, new in pairs if old.wrong is not None and new.wrong is not None]
    if counted:
        same = sum(old.wrong == new.wrong for old, new in counted)
        console.print(f"same number of wrong properties: {same} of {len(counted)} runnable ones")
    recorded = sum(row.outcome is not None for row in rows)
    agreed = sum(old.outcome == new.outcome for old, new in pairs)
    console.print(f"agree {agreed}/{recorded}", highlight=False)


def _print_runs(
    rows: Sequence[Recorded],
    tasks: Mapping[str, Task],
    results: Results,
    scorers: Sequence[str],
    console: Console,
) -> None:
    runs: dict[str, list[Recorded]] = defaultdict(list)
    for row in rows:
        runs[row.run].append(row)
    table = Table(title="runnable | properties passed | the same without faulty properties")
    table.add_column("run")
    table.add_column("questions", justify="right")
    table.add_column("files missing", justify="right")
    for scorer in scorers:
        table.add_column(scorer, justify="right")
    table.add_column("recorded", justify="right")
    for run, members in runs.items():
        missing = sum(tasks[row.question_id].unavailable is not None for row in members)
        cells = [_counts(members, tasks, results, scorer) for scorer in scorers]
        table.add_row(
            escape(run), str(len(members)), str(missing or ""), *cells, _recorded(members, tasks)
        )
    console.print(table)


def _counts(
    rows: Sequence[Recorded], tasks: Mapping[str, Task], results: Results, scorer: str
) -> str:
    graded = [(tasks[r.question_id], results.get((r.key, scorer))) for r in rows]
    known = [(task, row) for task, row in graded if row is not None]
    runnable = sum(row.outcome != "not_runnable" for _, row in known)
    passed = sum(row.passed for _, row in known)
    total = sum(len(task.properties) for task, _ in known)
    fair = fair_total = 0
    for task, row in known:
        names = [prop.name for prop in task.properties if prop.erratum is None]
        fair_total += len(names)
        if row.outcome != "not_runnable":
            fair += sum(name not in row.failed for name in names)
    return f"{runnable} | {passed}/{total} | {fair}/{fair_total}"


def _recorded(rows: Sequence[Recorded], tasks: Mapping[str, Task]) -> str:
    known = [row for row in rows if row.outcome is not None]
    if not known:
        return "-"
    runnable = passed = 0
    for row in known:
        if row.outcome is not None and row.outcome.outcome != "not_runnable":
            runnable += 1
            passed += len(tasks[row.question_id].properties) - (row.outcome.wrong or 0)
    return f"{runnable} | {passed}"


def _print_reasons(
    rows: Sequence[Recorded], results: Results, scorer: str, console: Console
) -> None:
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        graded = results.get((row.key, scorer))
        if graded is not None:
            recorded = row.outcome.outcome if row.outcome is not None else "not recorded"
            counts[graded.outcome, graded.reason][recorded] += 1
    columns = sorted({name for counter in counts.values() for name in counter})
    table = Table(title=f"{scorer}: outcomes by reason, beside what is recorded")
    for name in ("outcome", "reason"):
        table.add_column(name)
    for name in columns:
        table.add_column(name, justify="right")
    for (outcome, reason), counter in sorted(counts.items()):
        table.add_row(outcome, reason, *(str(counter[name] or "") for name in columns))
    console.print(table)


def _print_scorers(rows: Sequence[Recorded], results: Results, console: Console) -> None:
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        published, typed = (results.get((row.key, name)) for name in ("published", "typed"))
        if published is not None and typed is not None and published.outcome != typed.outcome:
            counts[published.outcome, published.reason, typed.outcome] += 1
    table = Table(title="where the two scorers differ")
    for name in ("published", "reason", "typed"):
        table.add_column(name)
    table.add_column("functions", justify="right")
    for (outcome, reason, typed_outcome), count in counts.most_common():
        table.add_row(outcome, reason, typed_outcome, str(count))
    console.print(table)


def _print_differences(
    rows: Sequence[Recorded], results: Results, scorer: str, console: Console
) -> None:
    different = [
        (row, graded)
        for row in rows
        if row.outcome is not None
        and (graded := results.get((row.key, scorer))) is not None
        and graded.outcome != row.outcome.outcome
    ]
    for row, graded in different[:LISTED]:
        old = row.outcome.outcome if row.outcome is not None else "-"
        detail = " ".join(graded.detail.split())[:200]
        console.print(
            f"differs: {row.key} {row.question_id}: recorded {old}, now {graded.outcome}"
            f" ({graded.reason}) {detail}",
            markup=False,
            highlight=False,
        )
    if len(different) > LISTED:
        console.print(f"... and {len(different) - LISTED} more, see the results file")
