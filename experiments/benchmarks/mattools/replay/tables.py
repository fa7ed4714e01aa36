"""What a replay shows: outcomes beside the recorded ones, and why they differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from rich.console import Console
from rich.markup import escape

from experiments.benchmarks.mattools.replay.compare import (
    Replayed,
    compare,
    print_compared,
    table,
)
from experiments.benchmarks.mattools.replay.paper import QUESTIONS
from experiments.benchmarks.mattools.replay.recorded import Recorded

#: Differences that are listed one by one.
LISTED = 60

#: Runs that the authors recorded, of 49 functions each: what a whole replay is.
RECORDED_RUNS = 90


def print_comparison(replayed: Replayed, console: Console, *, workers: int) -> None:
    """Print all tables; the last line is ``agree N/M``."""
    _print_runs(replayed, console)
    for name in replayed.scorers:
        _print_reasons(replayed, name, console)
    if len(replayed.scorers) > 1:
        _print_scorers(replayed, console)
    _print_times(replayed, console, workers)
    compared = compare(replayed)
    print_compared(compared, console)
    recorded = sum(row.outcome is not None for row in replayed.rows)
    if not recorded:
        console.print(
            "recorded outcomes: none. What is counted below: published values (runnable and "
            "properties of each matched run) that lie between what was replayed and that plus the "
            "questions whose input files are missing",
            highlight=False,
        )
        values = [inside for run in compared if run.published for inside in run.inside]
        console.print(f"agree {sum(values)}/{len(values)}", highlight=False)
        return
    _print_differences(replayed, console)
    pairs = [(row.outcome, new) for row, new in replayed.graded() if row.outcome is not None]
    counted = [(old, new) for old, new in pairs if old.wrong is not None and new.wrong is not None]
    if counted:
        same = sum(old.wrong == new.wrong for old, new in counted)
        console.print(f"same number of wrong properties: {same} of {len(counted)} runnable ones")
    agreed = sum(old.outcome == new.outcome for old, new in pairs)
    console.print(f"agree {agreed}/{recorded}", highlight=False)


def _print_runs(replayed: Replayed, console: Console) -> None:
    shown = table(
        "runnable | properties passed | the same without faulty properties",
        "run", ">questions", ">files missing", *(f">{name}" for name in replayed.scorers),
        ">recorded",
    )  # fmt: skip
    runs = replayed.runs()
    for run, rows in runs.items():
        missing = sum(replayed.samples[row.question_id].unavailable is not None for row in rows)
        cells = [_counts(rows, replayed, scorer) for scorer in replayed.scorers]
        shown.add_row(
            escape(run), str(len(rows)), str(missing or ""), *cells, _recorded(rows, replayed)
        )
    console.print(shown)
    again = len(replayed.rows) - sum(map(len, runs.values()))
    if again:
        console.print(
            f"{again} generations answer a question that their run answers again later: the table "
            "counts the last one"
        )


def _counts(rows: Sequence[Recorded], replayed: Replayed, scorer: str) -> str:
    runnable = passed = total = fair = fair_total = 0
    for row, graded in replayed.graded(rows, scorer):
        properties = replayed.samples[row.question_id].properties
        names = [prop.name for prop in properties if prop.erratum is None]
        total += len(properties)
        passed += graded.passed
        fair_total += len(names)
        if graded.outcome != "not_runnable":
            runnable += 1
            fair += sum(name not in graded.failed for name in names)
    return f"{runnable} | {passed}/{total} | {fair}/{fair_total}"


def _recorded(rows: Sequence[Recorded], replayed: Replayed) -> str:
    known = [(row, row.outcome) for row in rows if row.outcome is not None]
    ran = [(row, outcome) for row, outcome in known if outcome.outcome != "not_runnable"]
    passed = sum(
        len(replayed.samples[row.question_id].properties) - (outcome.wrong or 0)
        for row, outcome in ran
    )
    return f"{len(ran)} | {passed}" if known else "-"


def _print_reasons(replayed: Replayed, scorer: str, console: Console) -> None:
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row, graded in replayed.graded(scorer=scorer):
        recorded = row.outcome.outcome if row.outcome is not None else "not recorded"
        counts[graded.outcome, graded.reason][recorded] += 1
    columns = sorted({name for counter in counts.values() for name in counter})
    title = f"{scorer}: outcomes by reason, next to the recorded ones"
    shown = table(title, "outcome", "reason", *(f">{name}" for name in columns))
    for (outcome, reason), counter in sorted(counts.items()):
        shown.add_row(outcome, reason, *(str(counter[name] or "") for name in columns))
    console.print(shown)


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


def _print_scorers(replayed: Replayed, console: Console) -> None:
    typed = {row.key: graded for row, graded in replayed.graded(scorer="typed")}
    counts = Counter(
        (one.outcome, one.reason, other.outcome, other.reason)
        for row, one in replayed.graded(scorer="published")
        if (other := typed.get(row.key)) is not None and other.outcome != one.outcome
    )
    shown = table("where the two scorers differ", "published", "its reason", "typed",
                  "its reason", ">functions", "what happened")  # fmt: skip
    for (*cells, reason), count in counts.most_common():
        keys = ((cells[1], reason), (None, reason), (cells[1], None))
        meaning = next((MEANINGS[key] for key in keys if key in MEANINGS), "")
        shown.add_row(*cells, reason, str(count), meaning)
    console.print(shown)


def seconds_by_question(replayed: Replayed) -> dict[str, list[float]]:
    """Seconds of every function that ran, by question; equal ones ran once."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for scorer in ("published", "typed"):
        for row, graded in replayed.graded(scorer=scorer):
            if graded.same_as is None and graded.reason != "no_code":
                found[row.question_id][row.key] = graded.seconds
    return {name: list(values.values()) for name, values in found.items()}


def _print_times(replayed: Replayed, console: Console, workers: int) -> None:
    seconds = seconds_by_question(replayed)
    if not seconds:
        return
    means = {name: fmean(values) for name, values in seconds.items()}
    ends: Counter[str] = Counter()
    processor: dict[str, list[float]] = defaultdict(list)
    for row, graded in replayed.graded():
        ends[row.question_id] += graded.reason == "timeout"
        if graded.cpu_seconds is not None:
            processor[row.question_id].append(graded.cpu_seconds)
    shown = table("seconds per function, by question", "question", ">functions run", ">mean",
                  ">longest", ">processor, mean", ">ended at the limit")  # fmt: skip
    for name in sorted(means, key=lambda name: -means[name]):
        values, used = seconds[name], processor.get(name)
        shown.add_row(
            name, str(len(values)), f"{means[name]:.2f}", f"{max(values):.2f}",
            f"{fmean(used):.2f}" if used else "-", str(ends[name] or ""),
        )  # fmt: skip
    console.print(shown)
    minutes = RECORDED_RUNS / 60
    text = (
        f"With {workers} workers, {RECORDED_RUNS} recorded runs of these {len(means)} questions "
        f"take {sum(means.values()) * minutes / workers:.1f} min at this pace"
    )
    if len(means) < QUESTIONS:
        whole = minutes / workers * QUESTIONS * fmean(means.values())
        text += (
            f", all {RECORDED_RUNS * QUESTIONS} functions {whole:.1f} min if the other "
            f"{QUESTIONS - len(means)} questions cost as much on average"
        )
    alone = sum(map(fmean, processor.values())) * minutes
    console.print(
        f"{text}. The functions alone need {alone:.1f} min of processor time; the "
        "rest is isolation, verification, and whatever else the machine does.",
        highlight=False,
    )


def _print_differences(replayed: Replayed, console: Console) -> None:
    different = [
        (row, row.outcome.outcome, graded)
        for row, graded in replayed.graded()
        if row.outcome is not None and graded.outcome != row.outcome.outcome
    ]
    for row, old, graded in different[:LISTED]:
        detail = " ".join(graded.detail.split())[:200]
        console.print(
            f"differs: {row.key} {row.question_id}: recorded {old}, now {graded.outcome}"
            f" ({graded.reason}) {detail}",
            markup=False,
            highlight=False,
        )
    if len(different) > LISTED:
        console.print(f"... and {len(different) - LISTED} more, see the results file")
