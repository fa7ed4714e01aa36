"""Progress with an estimate of the time left: a bar on a terminal, plain lines in a log."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

#: Seconds between two lines where there is no terminal.
LINE_EVERY = 10.0


class Progressing:
    """Counts finished items; shows nothing."""

    def advance(self, count: int = 1, note: str = "") -> None:
        """``count`` more items are done; ``note`` replaces the text at the end of the line."""


class _Bar(Progressing):
    def __init__(self, progress: Progress, label: str, total: int, done: int) -> None:
        self._progress = progress
        self._task = progress.add_task(escape(label), total=total, completed=done, note="")

    def advance(self, count: int = 1, note: str = "") -> None:
        self._progress.update(self._task, advance=count, note=escape(note))


class _Lines(Progressing):
    def __init__(
        self, console: Console, label: str, total: int, done: int, *, estimates: bool
    ) -> None:
        self._console, self._label, self._estimates = console, label, estimates
        self._total, self._done, self._first = total, done, done
        self._started = self._shown = time.monotonic()

    def advance(self, count: int = 1, note: str = "") -> None:
        self._done += count
        now = time.monotonic()
        if self._done != self._total and now - self._shown < LINE_EVERY:
            return
        self._shown = now
        parts = [f"{self._label}: {self._done}/{self._total}", *([note] if note else [])]
        if self._estimates and self._done > self._first:
            each = (now - self._started) / (self._done - self._first)
            parts.append(f"about {each * (self._total - self._done):.0f} s left")
        self._console.print(", ".join(parts), markup=False, highlight=False, soft_wrap=True)


@contextmanager
def meter(
    label: str,
    total: int,
    *,
    show: bool = True,
    done: int = 0,
    console: Console | None = None,
    estimates: bool = True,
    live: bool = True,
) -> Iterator[Progressing]:
    """Count items on stderr, or on ``console``.

    Parameters
    ----------
    total, done
        How many there are, and how many of them were finished before.
    estimates
        False: whoever tells what is done knows better how long the rest takes.
    live
        False: lines also on a terminal, which shows one bar at a time.
    """
    if not show:
        yield Progressing()
        return
    console = console or Console(stderr=True)
    if not (console.is_terminal and live):
        yield _Lines(console, label, total, done, estimates=estimates)
        return
    left = [TimeRemainingColumn()] if estimates else []
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        *left,
        TextColumn("{task.fields[note]}"),
        console=console,
    ) as progress:
        yield _Bar(progress, label, total, done)


@contextmanager
def saying(label: str, steps: int | None = None) -> Iterator[Callable[[str], None]]:
    """A line on stderr that says what is being done; with ``steps`` also how long it takes."""
    columns: list[ProgressColumn] = [
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    ]
    if steps is not None:
        columns += [BarColumn(), TextColumn("about"), TimeRemainingColumn(), TextColumn("left")]
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(escape(label), total=steps)
        said = itertools.count()
        head = f"{label}: " if label else ""
        yield lambda text: progress.update(
            task, description=escape(head + text), completed=next(said)
        )
