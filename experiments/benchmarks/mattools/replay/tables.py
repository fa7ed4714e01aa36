"""What a replay shows: outcomes beside the recorded ones, and why they differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from experiments.benchmarks.mattools.replay.compare import compare, print_compared
from experiments.benchmarks.mattools.replay.grade import Graded
from experiments.benchmarks.mattools.replay.paper import QUESTIONS
from experiments.benchmarks.mattools.replay.recorded import Recorded
from experiments.samples import Sample

#: Differences that are listed one by one.
LISTED = 60

#: Runs that the authors recorded, of 49 functions each: what a whole replay is.
RECORDED_RUNS = 90

Results = Mapping[tuple[str, str], Graded]


def print_comparison(
    rows: Sequence[Recorded],
    samples: Mapping[str, Sample],
    results: Results,
    scorers: Sequence[str],
    console: Console,
    *,
    workers: int,
) -> None:
    """Print all tables; the last line is ``agree N/M``."""
    scorer = scorers[0]
    _print_runs(rows, samples, results, scorers, console)
    for name in scorers:
        _print_reasons(rows, results, name, console)
    if len(scorers) > 1:
        _print_scorers(rows, results, console)
    _print_times(rows, results, scorer, console, workers)
    compared = compare(rows, samples, results, scorer)
    print_compared(compared, console)
    if not any(row.outcome is not None for row in rows):
        console.print(
            "recorded outcomes: none. What is counted below: published values (runnable and "
            "properties of each matched run) that lie between what was replayed and that plus the "
            "questions whose input files are missing",
            highlight=False,
        )
        values = [inside for run in compared for inside in run.inside]
        console.print(f"agree {sum(values)}/{len(values)}", highlight=False)
        return
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
    samples: Mapping[str, Sample],
    results: Results,
    scorers: Sequence[str],
    console: Console,
) -> None:
    runs: dict[str, dict[str, Recorded]] = defaultdict(dict)
    for row in rows:
        runs[row.run][row.question_id] = row
    table = Table(title="runnable | properties passed | the same without faulty properties")
    table.add_column("run", overflow="fold")
    table.add_column("questions", justify="right")
    table.add_column("files missing", justify="right")
    for scorer in scorers:
        table.add_column(scorer, justify="right")
    table.add_column("recorded", justify="right")
    for run, by_question in runs.items():
        members = list(by_question.values())
        missing = sum(samples[row.question_id].unavailable is not None for row in members)
        cells = [_counts(members, samples, results, scorer) for scorer in scorers]
        table.add_row(
            escape(run), str(len(members)), str(missing or ""), *cells, _recorded(members, samples)
        )
    console.print(table)
    again = len(rows) - sum(map(len, runs.values()))
    if again:
        console.print(
            f"{again} generations answer a question that their run answers again later: the table "
            "counts the last one"
        )


def _counts(
    rows: Sequence[Recorded], samples: Mapping[str, Sample], results: Results, scorer: str
) -> str:
    graded = [(samples[r.question_id], results.get((r.key, scorer))) for r in rows]
    known = [(sample, row) for sample, row in graded if row is not None]
    runnable = sum(row.outcome != "not_runnable" for _, row in known)
    passed = sum(row.passed for _, row in known)
    total = sum(len(sample.properties) for sample, _ in known)
    fair = fair_total = 0
    for sample, row in known:
        names = [prop.name for prop in sample.properties if prop.erratum is None]
        fair_total += len(names)
        if row.outcome != "not_runnable":
            fair += sum(name not in row.failed for name in names)
    return f"{runnable} | {passed}/{total} | {fair}/{fair_total}"


def _recorded(rows: Sequence[Recorded], samples: Mapping[str, Sample]) -> str:
    known = [row for row in rows if row.outcome is not None]
    if not known:
        return "-"
    runnable = passed = 0
    for row in known:
        if row.outcome is not None and row.outcome.outcome != "not_runnable":
            runnable += 1
            passed += len(samples[row.question_id].properties) - (row.outcome.wrong or 0)
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
    table = Table(title=f"{scorer}: outcomes by reason, next to the recorded ones")
    for name in ("outcome", "reason"):
        table.add_column(name)
    for name in columns:
        table.add_column(name, justify="right")
    for (outcome, reason), counter in sorted(counts.items()):
        table.add_row(outcome, reason, *(str(counter[name] or "") for name in columns))
    console.print(table)


#: Why the scorers differ, by (reason of published, reason of typed); None stands for any.
MEANINGS: Mapping[tuple[str | None, str | None], str] = {
    (None, "no_function"): "the code prints a dict itself; it has no function of the name given",
    ("unparsable_stdout", None): "more is printed than a dict of literals",
    ("exception", None): "the code around the function raises; imported, the function runs",
    ("no_output", None): "the output was lost",
    ("unit_test", None): "the unit test raised; typed judges each property by itself",
    (None, "exception"): "a dict was printed before the function raised",
    (None, "exit"): "a dict was printed before the code ended itself",
    ("wrong_value", None): "the printed text and the returned value are not the same data",
    ("", None): "the printed text and the returned value are not the same data",
    ("no_dict", None): "the printed text of the dict is not a literal dict",
}


def _meaning(published: str, typed: str) -> str:
    for key in ((published, typed), (None, typed), (published, None)):
        if key in MEANINGS:
            return MEANINGS[key]
    return ""


def _print_scorers(rows: Sequence[Recorded], results: Results, console: Console) -> None:
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for row in rows:
        published, typed = (results.get((row.key, name)) for name in ("published", "typed"))
        if published is not None and typed is not None and published.outcome != typed.outcome:
            counts[published.outcome, published.reason, typed.outcome, typed.reason] += 1
    table = Table(title="where the two scorers differ")
    for name in ("published", "its reason", "typed", "its reason"):
        table.add_column(name)
    table.add_column("functions", justify="right")
    table.add_column("what happened")
    for (outcome, reason, other, typed_reason), count in counts.most_common():
        meaning = _meaning(reason, typed_reason)
        table.add_row(outcome, reason, other, typed_reason, str(count), meaning)
    console.print(table)


def seconds_by_question(rows: Sequence[Recorded], results: Results) -> dict[str, list[float]]:
    """Seconds of every function that ran, by question; equal ones ran once."""
    questions = {row.key: row.question_id for row in rows}
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for (key, _), graded in results.items():
        if graded.same_as is None and graded.reason != "no_code" and key in questions:
            found[questions[key]][key] = graded.seconds
    return {name: list(values.values()) for name, values in found.items()}


def _print_times(
    rows: Sequence[Recorded], results: Results, scorer: str, console: Console, workers: int
) -> None:
    seconds = seconds_by_question(rows, results)
    if not seconds:
        return
    means = {name: sum(values) / len(values) for name, values in seconds.items()}
    table = Table(title="seconds per function, by question")
    table.add_column("question")
    for name in ("functions run", "mean", "longest", "processor, mean", "ended at the limit"):
        table.add_column(name, justify="right")
    ends = Counter(
        row.question_id
        for row in rows
        if (graded := results.get((row.key, scorer))) is not None and graded.reason == "timeout"
    )
    processor: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        graded = results.get((row.key, scorer))
        if graded is not None and graded.cpu_seconds is not None:
            processor[row.question_id].append(graded.cpu_seconds)
    for name in sorted(means, key=lambda name: -means[name]):
        values, used = seconds[name], processor.get(name)
        table.add_row(
            name, str(len(values)), f"{means[name]:.2f}", f"{max(values):.2f}",
            f"{sum(used) / len(used):.2f}" if used else "-", str(ends[name] or ""),
        )  # fmt: skip
    console.print(table)
    alone = [sum(values) / len(values) for values in processor.values()]
    minutes = RECORDED_RUNS / 60
    text = (
        f"With {workers} workers, {RECORDED_RUNS} recorded runs of these {len(means)} questions "
        f"take {sum(means.values()) * minutes / workers:.1f} min at this pace"
    )
    if len(means) < QUESTIONS:
        whole = minutes / workers * QUESTIONS * sum(means.values()) / len(means)
        text += (
            f", all {RECORDED_RUNS * QUESTIONS} functions {whole:.1f} min if the other "
            f"{QUESTIONS - len(means)} questions cost as much on average"
        )
    console.print(
        f"{text}. The functions alone need {sum(alone) * minutes:.1f} min of processor time; the "
        "rest is isolation, verification, and whatever else the machine does.",
        highlight=False,
    )


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
