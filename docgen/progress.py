"""Progress with an estimate of the time left, on a terminal and in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_LOG_INTERVAL = 10.0  # seconds between lines where there is no terminal


class Meter:
    """Counts finished items."""

    def advance(self, count: int = 1, note: str = "") -> None:
        """``count`` more items are done; ``note`` replaces the text at the end of the line."""


class _BarMeter(Meter):
    def __init__(self, progress: Progress, description: str, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task(description, total=total, note="")

    def advance(self, count: int = 1, note: str = "") -> None:
        self._progress.update(self._task, advance=count, note=note)


class _LogMeter(Meter):
    def __init__(self, description: str, total: int) -> None:
        self._description, self._total = description, total
        self._done = 0
        self._start = self._last = time.monotonic()

    def advance(self, count: int = 1, note: str = "") -> None:
        self._done += count
        now = time.monotonic()
        if now - self._last >= _LOG_INTERVAL and self._done:
            self._last = now
            left = (now - self._start) / self._done * (self._total - self._done)
            told = f", about {left:.0f} s left" if self._done * 100 >= self._total else ""
            print(
                f"{self._description}: {self._done}/{self._total}{told} {note}".rstrip(),
                file=sys.stderr,
                flush=True,
            )


@contextmanager
def meter(description: str, total: int, *, show: bool) -> Iterator[Meter]:
    """A meter on stderr: a bar on a terminal, a line every ten seconds elsewhere."""
    if not show:
        yield Meter()
    elif not sys.stderr.isatty():
        yield _LogMeter(description, total)
    else:
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            transient=True,
        ) as progress:
            yield _BarMeter(progress, description, total)
