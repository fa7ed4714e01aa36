"""Runs of the paper beside their replay: which published values are accounted for.

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
class Compared:
    """One run, replayed and published.

    Attributes
    ----------
    run, key
        Its folder or labels, and what of the paper it is (``None``: not told).
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
    key: RunKey | None
    replayed: Figures
    missing: Figures
    published: Figures | None
    why_not: str
    broken: Mapping[str, int]

    @property
    def inside(self) -> tuple[bool, ...]:
        """For each published value whether the replay accounts for it; empty without any."""
        if self.published is None:
            return ()
        return tuple(
            low <= value <= low + more
            for low, value, more in zip(self.replayed, self.published, self.missing, strict=True)
        )


def compare(
    rows: Sequence[Recorded],
    samples: Mapping[str, Sample],
    results: Mapping[tuple[str, str], Graded],
    scorer: str,
) -> list[Compared]:
    """Compare every run; the last answer to a question counts."""
    runs: dict[str, dict[str, Recorded]] = defaultdict(dict)
    for row in rows:
        runs[row.run][row.question_id] = row
    return [_run(run, list(of.values()), samples, results, scorer) for run, of in runs.items()]


def _run(
    run: str,
    rows: Sequence[Recorded],
    samples: Mapping[str, Sample],
    results: Mapping[tuple[str, str], Graded],
    scorer: str,
) -> Compared:
    known = [(samples[row.question_id], graded) for row in rows
             if (graded := results.get((row.key, scorer))) is not None]  # fmt: skip
    missing = [sample for sample, _ in known if sample.unavailable is not None]
    broken: Counter[str] = Counter()
    for sample, graded in known:
        if graded.outcome == "not_runnable":
            broken["files missing" if sample.unavailable is not None else graded.reason] += 1
    key = rows[0].run_key if len({row.run_key for row in rows}) == 1 else None
    figures = published().get(key) if key is not None else None
    why_not = ""
    if key is None:
        why_not = "not matched: its folder names do not give system, model and round"
    elif figures is None:
        why_not = "not in the tables"
    elif scorer != "published":
        why_not = "compared by scorer=published only"
    elif len(known) != QUESTIONS:
        why_not = f"{len(known)} of {QUESTIONS} questions"
    return Compared(
        run=run,
        key=key,
        replayed=Figures(
            sum(graded.outcome != "not_runnable" for _, graded in known),
            sum(graded.passed for _, graded in known),
        ),
        missing=Figures(len(missing), sum(len(sample.properties) for sample in missing)),
        published=None if why_not else figures,
        why_not=why_not,
        broken=broken,
    )


def print_compared(runs: Sequence[Compared], console: Console) -> None:
    """Print runs beside the paper, and why the rest cannot be compared."""
    known = [run for run in runs if run.published is not None]
    if known:
        table = Table(title="next to the paper: runnable | properties", show_lines=False)
        table.add_column("run", overflow="fold")
        for name in ("replayed", "published", "files missing"):
            table.add_column(name, justify="right")
        table.add_column("published is")
        table.add_column("not runnable because", overflow="fold")
        for run in known:
            assert run.published is not None
            table.add_row(
                escape(run.run),
                _pair(run.replayed),
                _pair(run.published),
                _pair(run.missing) if run.missing.runnable else "",
                _verdict(run),
                ", ".join(f"{name} {count}" for name, count in sorted(run.broken.items())),
            )
        console.print(table)
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
        shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        console.print(
            f"not compared with the paper ({reason}): {len(names)} runs: {shown}",
            markup=False,
            highlight=False,
        )


def _pair(figures: Figures) -> str:
    return f"{figures.runnable} | {figures.properties}"


def _verdict(run: Compared) -> str:
    if run.replayed == run.published:
        return "the same"
    names = ("runnable", "properties")
    outside = [name for name, inside in zip(names, run.inside, strict=True) if not inside]
    return f"outside: {', '.join(outside)}" if outside else "within what files could add"
