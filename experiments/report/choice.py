"""What a report shows of multiple-choice runs: tables, intervals, and a sample of the answers.

A run may hold tens of thousands of answers: they are read once, and only sums are kept, and the
sample.
"""

from __future__ import annotations

import csv
import heapq
import io
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from experiments.qa.answers import read_answers
from experiments.qa.questions import LETTERS, QAError, QAQuestion, read_questions
from experiments.report.cells import money, percent, probability, spreadsheet
from experiments.report.runs import labels
from experiments.stats import Interval, Tally, mcnemar, paired_difference, ratio_interval
from experiments.store import read_json

KIND = "multiple choice"

#: Answers shown of each kind.
SHOWN = 20

#: Why an answer is shown, in the order of the page.
WRONG, UNREAD, RIGHT = "wrong", "no letter", "right"

#: Areas in the table, the largest ones.
AREAS = 20


@dataclass
class Tallied:
    """One question, summed over its seeds; ``cluster`` is the symbol it is about."""

    cluster: str
    kind: str
    strict: int = 0
    lenient: int = 0
    total: int = 0


@dataclass(frozen=True)
class ChoiceRun:
    """A run of a multiple-choice benchmark.

    Attributes
    ----------
    folder, summary, label
        As of a `experiments.report.runs.Run`.
    questions
        By number.
    letters
        How often each letter (``-`` for none) was given, by the right one.
    sample
        Some answers, by why they are shown.
    """

    folder: Path
    summary: dict[str, Any]
    label: str
    questions: Mapping[int, Tallied]
    letters: Mapping[tuple[str, str], int]
    sample: Mapping[str, Sequence[dict[str, Any]]]

    @property
    def model(self) -> str:
        """Name of the model, with a word about what is none."""
        name = str(self.summary["model"])
        return f"{name} (no LLM)" if self.summary["model_kind"] == "no LLM" else name

    def interval(self, rule: str) -> Interval | None:
        """Accuracy by a rule, with its 95 % interval over symbols."""
        return accuracy(self.questions.values(), rule)


def accuracy(questions: Iterable[Tallied], rule: str) -> Interval | None:
    """Share of right answers; resampled are the symbols, each with all its questions."""
    return ratio_interval(list(_clusters(questions, rule).values()))


def _clusters(questions: Iterable[Tallied], rule: str) -> dict[str, Tally]:
    """Right answers by symbol."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for question in questions:
        sums[question.cluster][0] += getattr(question, rule)
        sums[question.cluster][1] += question.total
    return {cluster: Tally(*values) for cluster, values in sums.items()}


def is_choice(folder: Path) -> bool:
    """Whether a run folder holds multiple-choice answers."""
    summary = folder / "summary.json"
    return summary.exists() and read_json(summary).get("kind") == KIND


def load_choice_runs(folders: Sequence[Path]) -> list[ChoiceRun]:
    """Read run folders.

    Raises
    ------
    ConfigError
        When one is damaged.
    """
    summaries = [read_json(folder / "summary.json") for folder in folders]
    return [
        _load(folder, summary, label)
        for folder, summary, label in zip(
            folders, summaries, labels(summaries, folders), strict=True
        )
    ]


def _load(folder: Path, summary: dict[str, Any], label: str) -> ChoiceRun:
    questions: dict[int, Tallied] = {}
    letters: Counter[tuple[str, str]] = Counter()
    sample: dict[str, list[tuple[int, int, dict[str, Any]]]] = {RIGHT: [], WRONG: [], UNREAD: []}
    for row in read_answers(folder, summary["config"]):
        number, given = row["number"], row["lenient"] or "-"
        question = questions.setdefault(number, Tallied(row["source"] or str(number), row["kind"]))
        question.strict += row["strict"] == row["correct"]
        question.lenient += given == row["correct"]
        question.total += 1
        letters[given, row["correct"]] += 1
        why = RIGHT if given == row["correct"] else UNREAD if given == "-" else WRONG
        # Those with the smallest checksums: the same ones every time, from anywhere in the file.
        rank = -zlib.crc32(f"{number} {row['seed']}".encode())
        heap, item = sample[why], (rank, number, row)
        if len(heap) < SHOWN:
            heapq.heappush(heap, item)
        elif item[:2] > heap[0][:2]:
            heapq.heapreplace(heap, item)
    shown = {why: [row for _, _, row in sorted(heap, key=_place)] for why, heap in sample.items()}
    return ChoiceRun(folder, summary, label, questions, letters, shown)


def _place(item: tuple[int, int, dict[str, Any]]) -> tuple[int, int]:
    return item[1], item[2]["seed"]


# --- tables ----------------------------------------------------------------------------------

HEADINGS = (
    "system",
    "retrieval",
    "model",
    "questions",
    "strict %",
    "lenient %",
    "no letter (strict, lenient)",
    "tokens",
    "cost",
    "without answer",
)


def board(runs: Sequence[ChoiceRun]) -> list[tuple[str, ...]]:
    """One line per run under `HEADINGS`."""
    lines: list[tuple[str, ...]] = []
    for run in runs:
        summary, seeds = run.summary, len(run.summary["seeds"])
        lines.append(
            (
                str(summary["system"]),
                str(summary["retrieval"]),
                run.model,
                f"{summary['questions']}" + (f" x {seeds} seeds" if seeds > 1 else ""),
                percent(run.interval("strict")),
                percent(run.interval("lenient")),
                f"{summary['no_strict']}, {summary['no_lenient']}",
                f"{summary['tokens']:,}" + (" (estimated)" if summary["tokens_estimated"] else ""),
                money(summary["cost_usd"]),
                without_answer(summary),
            )
        )
    return lines


def without_answer(summary: Mapping[str, Any]) -> str:
    """What counts nowhere: failures of ours, and what was not asked."""
    counts = {"failed": summary["infra"], "not asked": summary["missing"]}
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "0"


BREAKDOWN_HEADINGS = ("questions of", "run", "questions", "strict %", "lenient %")


def by_kind(runs: Sequence[ChoiceRun]) -> list[tuple[str, ...]]:
    """Code and documentation questions apart; nothing where the file does not say."""
    return _breakdown(runs, lambda question: question.kind)


def by_area(runs: Sequence[ChoiceRun]) -> list[tuple[str, ...]]:
    """By folder of the source file, the largest first."""
    return _breakdown(runs, lambda question: _area(question.cluster))


def _area(source: str) -> str:
    path = source.rpartition("/")[0]
    return "/".join(path.split("/")[:2])


def _breakdown(runs: Sequence[ChoiceRun], group: Callable[[Tallied], str]) -> list[tuple[str, ...]]:
    groups: list[dict[str, list[Tallied]]] = []
    sizes: Counter[str] = Counter()
    for run in runs:
        groups.append(defaultdict(list))
        for question in run.questions.values():
            groups[-1][group(question)].append(question)
        sizes.update({name: len(members) for name, members in groups[-1].items() if name})
    return [
        (name, run.label, str(len(members[name])),
         *(percent(accuracy(members[name], rule)) for rule in ("strict", "lenient")))
        for name, _ in sizes.most_common(AREAS)
        for run, members in zip(runs, groups, strict=True)
    ]  # fmt: skip


COMPARISON_HEADINGS = (
    "comparison",
    "shared questions",
    "strict, points",
    "lenient, points",
    "p (McNemar, strict)",
)


def comparisons(runs: Sequence[ChoiceRun]) -> list[tuple[str, ...]]:
    """Every pair of runs on the same file of questions, under `COMPARISON_HEADINGS`."""
    lines: list[tuple[str, ...]] = []
    for one, two in combinations(runs, 2):
        if one.summary["questions_digest"] != two.summary["questions_digest"]:
            continue
        shared = sorted(one.questions.keys() & two.questions.keys())
        p = _mcnemar(one, two, shared)
        lines.append(
            (
                f"{two.label} - {one.label}",
                str(len(shared)),
                *(percent(_difference(one, two, shared, rule)) for rule in ("strict", "lenient")),
                probability(p),
            )
        )
    return lines


def _difference(
    one: ChoiceRun, two: ChoiceRun, shared: Iterable[int], rule: str
) -> Interval | None:
    first, second = (
        _clusters((run.questions[number] for number in shared), rule) for run in (one, two)
    )
    return paired_difference(first, second)


def _mcnemar(one: ChoiceRun, two: ChoiceRun, shared: Iterable[int]) -> float | None:
    """On questions; ``None`` with several seeds, where a question is not simply right."""
    first, second = (
        {str(number): run.questions[number] for number in shared} for run in (one, two)
    )
    if any(question.total > 1 for question in [*first.values(), *second.values()]):
        return None
    return mcnemar(
        {key: question.strict > 0 for key, question in first.items()},
        {key: question.strict > 0 for key, question in second.items()},
    )


def letter_table(run: ChoiceRun) -> list[tuple[str, ...]]:
    """How often each letter was given; first the right letters."""
    given = Counter[str]()
    right = Counter[str]()
    for (letter, correct), count in run.letters.items():
        given[letter] += count
        right[correct] += count
    names = [*LETTERS, "-"]
    return [
        ("right", *(str(right[name]) for name in names)),
        ("given", *(str(given[name]) for name in names)),
    ]


def print_table(runs: Sequence[ChoiceRun], console: Console) -> None:
    """Accuracies, and comparisons of several runs; fits 80 columns."""
    names = sorted({str(run.summary["benchmark"]) for run in runs})
    table = Table(title=", ".join(names), caption="in brackets: 95 % interval over symbols")
    columns = ("run", "questions", "strict %", "lenient %", "no letter", "cost")
    for name in columns:
        table.add_column(name, justify="left" if name == "run" else "right")
    for run, line in zip(runs, board(runs), strict=True):
        system, retrieval, model, count, strict, lenient, unread, _, cost, _ = line
        table.add_row(
            Text(f"{system} + {retrieval}\n{model}"), count, strict, lenient, unread, cost
        )
        for kind, label, count, strict, lenient in by_kind([run]):
            del label
            table.add_row(f"  {kind}", count, strict, lenient, "", "")
    console.print(table)
    for run in runs:
        if (missing := without_answer(run.summary)) != "0":
            console.print(Text(f"{run.label}: without answer and not counted: {missing}"))
    if lines := comparisons(runs):
        paired = Table(title="Paired comparisons")
        for heading in COMPARISON_HEADINGS:
            paired.add_column(heading)
        for line in lines:
            paired.add_row(*(Text(cell) for cell in line))
        console.print(paired)


def comma_separated(runs: Sequence[ChoiceRun]) -> str:
    """One line per answer: what a spreadsheet or pandas wants."""
    out = io.StringIO()
    columns = ["number", "seed", "kind", "source", "correct", "strict", "lenient",
               "prompt_tokens", "completion_tokens", "cost_usd", "seconds"]  # fmt: skip
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["run", "system", "model", *columns])
    for run in runs:
        for row in read_answers(run.folder, run.summary["config"]):
            cells = ["" if row[name] is None else row[name] for name in columns]
            names = [run.folder.name, run.summary["system"], run.summary["model"]]
            writer.writerow(map(spreadsheet, [*names, *cells]))
    return out.getvalue()


# --- single answers --------------------------------------------------------------------------


def find_questions(path: Path, numbers: Iterable[int]) -> dict[int, QAQuestion]:
    """Questions by number; nothing when the file is not there any more."""
    wanted = set(numbers)
    if not wanted or not path.exists():
        return {}
    found: dict[int, QAQuestion] = {}
    try:
        for number, question in enumerate(read_questions(path)):
            if number in wanted:
                found[number] = question
            if number >= max(wanted):
                break
    except QAError:
        return {}
    return found


def shown_answers(run: ChoiceRun) -> list[dict[str, Any]]:
    """The sample, with the questions, for the page."""
    rows = [(why, row) for why in (WRONG, UNREAD, RIGHT) for row in run.sample[why]]
    questions = find_questions(
        Path(run.summary["questions_file"]), [row["number"] for _, row in rows]
    )
    shown = []
    for why, row in rows:
        question = questions.get(row["number"])
        shown.append(
            {
                "why": why,
                "tone": "good" if why == RIGHT else "bad",
                "number": row["number"],
                "seed": row["seed"],
                "source": row["source"],
                "question": question.question if question else None,
                "choices": _choices(question, row) if question else [],
                "correct": row["correct"],
                "given": row["lenient"] or "none",
                "strict": row["strict"] or "none",
                "reply": row["reply"],
            }
        )
    return shown


def _choices(question: QAQuestion, row: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    marks = {row["lenient"]: "given"}
    marks[row["correct"]] = "right, given" if row["lenient"] == row["correct"] else "right"
    return [(letter, text, marks.get(letter, "")) for letter, text in question.choices.items()]
