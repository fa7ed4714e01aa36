"""Progress with an estimate of the time left: a bar on a terminal, plain lines in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
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
        self._task = progress.add_task(
            escape(label), total=total, completed=done, note=""
        )

    def advance(self, count: int = 1, note: str = "") -> None:
        self._progress.update(self._task, advance=count, note=escape(note))


class _Lines(Progressing):
    def __init__(self, console: Console, label: str, total: int, done: int) -> None:
        self._console, self._label = console, label
        self._total, self._done, self._first = total, done, done
        self._started = self._shown = time.monotonic()

    def advance(self, count: int = 1, note: str = "") -> None:
        self._done += count
        now = time.monotonic()
        if self._done != self._total and now - self._shown < LINE_EVERY:
            return
        self._shown = now
        parts = [
            f"{self._label}: {self._done}/{self._total}",
            *([note] if note else []),
        ]
        if self._done > self._first:
            each = (now - self._started) / (self._done - self._first)
            parts.append(f"about {each * (self._total - self._done):.0f} s left")
        self._console.print(
            ", ".join(parts), markup=False, highlight=False, soft_wrap=True
        )


@contextmanager
def meter(
    label: str,
    total: int,
    *,
    show: bool = True,
    done: int = 0,
    console: Console | None = None,
) -> Iterator[Progressing]:
    """Count ``total`` items, ``done`` of them before, on stderr or on ``console``."""
    if not show:
        yield Progressing()
        return
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console, label, total, done)
        return
    text = TextColumn("{task.description}"), TextColumn("{task.fields[note]}")
    times = TimeElapsedColumn(), TimeRemainingColumn()
    columns = (
        SpinnerColumn(),
        text[0],
        BarColumn(),
        MofNCompleteColumn(),
        *times,
        text[1],
    )
    with Progress(*columns, console=console) as progress:
        yield _Bar(progress, label, total, done)


@contextmanager
def saying(
    label: str, console: Console | None = None
) -> Iterator[Callable[[str], None]]:
    """A line on stderr or on ``console`` that says what is being done, and for how long."""
    columns = (
        SpinnerColumn(),
        TextColumn("[dim]{task.description}[/dim]"),
        TimeElapsedColumn(),
    )
    console = console or Console(stderr=True)
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(escape(label), total=None)
        head = f"{label}: " if label else ""
        yield lambda text: progress.update(task, description=escape(head + text))
