"""A replay as a whole, and its runs beside the paper: which published values are accounted for.

A replay cannot find what depends on input files that are not here. So a published value agrees
when it lies between what was replayed and that plus everything that those questions could add.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from experiments.benchmarks.mattools.replay.grade import Graded
from experiments.benchmarks.mattools.replay.paper import QUESTIONS, Figures, RunKey, published
from experiments.benchmarks.mattools.replay.recorded import Recorded
from experiments.samples import Sample


@dataclass(frozen=True)
class Replayed:
    """Recorded functions, their questions, and what became of them by key and scorer.

    The first of the ``scorers`` is the one that is compared with what is recorded.
    """

    rows: Sequence[Recorded]
    samples: Mapping[str, Sample]
    results: dict[tuple[str, str], Graded]
    scorers: Sequence[str]

    def graded(
        self, rows: Sequence[Recorded] | None = None, scorer: str = ""
    ) -> list[tuple[Recorded, Graded]]:
        """Those rows that have a result, with it."""
        found = ((row, self.results.get((row.key, scorer or self.scorers[0])))
                 for row in (self.rows if rows is None else rows))  # fmt: skip
        return [(row, graded) for row, graded in found if graded is not None]

    def runs(self) -> dict[str, list[Recorded]]:
        """The rows of each run; the last answer to a question counts."""
        runs: dict[str, dict[str, Recorded]] = defaultdict(dict)
        for row in self.rows:
            runs[row.run][row.question_id] = row
        return {run: list(of.values()) for run, of in runs.items()}


@dataclass(frozen=True)
class Compared:
    """One run, replayed and published.

    Attributes
    ----------
    replayed
        Runnable functions and properties passed.
    missing
        Questions whose input files are missing, and their properties.
    published
        The paper's figures; ``None`` when there are none, or when they cannot be compared.
    why_not
        Why they cannot.
    broken
        Why functions were not runnable, with how many; those whose input files are missing apart.
    """

    run: str
    replayed: Figures
    missing: Figures
    published: Figures | None
    why_not: str
    broken: Mapping[str, int]

    @property
    def inside(self) -> tuple[bool, ...]:
        """For each published value whether the replay accounts for it."""
        figures = zip(self.replayed, self.published or self.replayed, self.missing, strict=True)
        return tuple(low <= value <= low + more for low, value, more in figures)

    @property
    def verdict(self) -> str:
        """What that means, in words."""
        outside = [name for name, inside in zip(Figures._fields, self.inside, strict=True)
                   if not inside]  # fmt: skip
        if self.replayed == self.published:
            return "the same"
        return f"outside: {', '.join(outside)}" if outside else "within what files could add"


def compare(replayed: Replayed) -> list[Compared]:
    """Compare every run."""
    return [_compare(run, rows, replayed) for run, rows in replayed.runs().items()]


def _compare(run: str, rows: Sequence[Recorded], replayed: Replayed) -> Compared:
    known = [(replayed.samples[row.question_id], graded) for row, graded in replayed.graded(rows)]
    missing = [sample for sample, _ in known if sample.unavailable is not None]
    broken = Counter(
        graded.reason if sample.unavailable is None else "files missing"
        for sample, graded in known
        if graded.outcome == "not_runnable"
    )
    keys: set[RunKey | None] = {row.run_key for row in rows}
    key = keys.pop() if len(keys) == 1 else None
    figures = published().get(key) if key is not None else None
    why_not = ""
    if key is None:
        why_not = "not matched: its folder names do not give system, model and round"
    elif figures is None:
        why_not = "not in the tables"
    elif replayed.scorers[0] != "published":
        why_not = "compared by scorer=published only"
    elif len(known) != QUESTIONS:
        why_not = f"{len(known)} of {QUESTIONS} questions"
    return Compared(
        run,
        Figures(len(known) - broken.total(), sum(graded.passed for _, graded in known)),
        Figures(len(missing), sum(len(sample.properties) for sample in missing)),
        None if why_not else figures,
        why_not,
        broken,
    )


def print_compared(runs: Sequence[Compared], console: Console) -> None:
    """Print runs beside the paper, and why the rest cannot be compared."""
    known = [run for run in runs if run.published is not None]
    if known:
        shown = table(
            "next to the paper: runnable | properties",
            "run", ">replayed", ">published", ">files missing", "published is",
            "not runnable because",
        )  # fmt: skip
        for run in known:
            replayed, published, missing = (
                f"{found.runnable} | {found.properties}" if found else ""
                for found in (run.replayed, run.published, any(run.missing) and run.missing)
            )
            broken = ", ".join(f"{name} {count}" for name, count in sorted(run.broken.items()))
            shown.add_row(escape(run.run), replayed, published, missing, run.verdict, broken)
        console.print(shown)
        exact = sum(run.replayed == run.published for run in known)
        inside = sum(all(run.inside) for run in known)
        console.print(
            f"{len(known)} runs are in the paper: {exact} exactly as replayed, "
            f"{inside - exact} more explained by missing input files, {len(known) - inside} not.",
            highlight=False,
        )
    others: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        if run.published is None:
            others[run.why_not].append(run.run)
    for reason, names in others.items():
        few = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        console.print(
            f"not compared with the paper ({reason}): {len(names)} runs: {few}",
            markup=False,
            highlight=False,
        )


def table(title: str, *columns: str) -> Table:
    """An empty table; a column whose heading begins with ``>`` is aligned to the right."""
    made = Table(title=title)
    for name in columns:
        made.add_column(
            name.removeprefix(">"), overflow="fold", justify="right" if name[0] == ">" else "left"
        )
    return made
