"""What a waiting user sees: a bar with time left, or plain lines without a terminal."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from experiments.scorers.base import Metric, amount, measure
from experiments.store import Row

#: Seconds between two lines where there is no terminal.
LINE_EVERY = 10.0

#: Seconds between two looks of the bar: answers can come by the thousands per second.
REFRESH_EVERY = 0.1


class CountProgress:
    """Counts finished things.

    Parameters
    ----------
    console
        Where to show it.
    label
        What is going on.
    total, done
        How many there are, and how many of them are finished already.
    unit
        What they are called.
    estimates
        False: whoever tells what is done knows better how long the rest takes.
    """

    def __init__(
        self,
        console: Console,
        label: str,
        *,
        total: int,
        done: int = 0,
        unit: str = "questions",
        estimates: bool = True,
    ) -> None:
        self._console = console
        self._estimates = estimates
        self._label, self._unit = label, unit
        self._total, self._done, self._first = total, done, done
        self._started = self._shown = time.monotonic()
        self._bar: Progress | None = None
        if console.is_terminal:
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                *((TextColumn("left"), TimeRemainingColumn()) if estimates else ()),
                TextColumn("{task.fields[score]}"),
                console=console,
            )
            self._task = self._bar.add_task(label, total=total, completed=done, score="")

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
            self._bar.stop()

    def advance(self, score: str) -> None:
        """One more is done; ``score`` is what is known so far."""
        self._done += 1
        now = time.monotonic()
        if self._bar is not None:
            if self._done == self._total or now - self._shown >= REFRESH_EVERY:
                self._shown = now
                self._bar.update(self._task, completed=self._done, score=score)
            return
        if self._done == self._total or now - self._shown >= LINE_EVERY:
            self._shown = now
            left = (now - self._started) / (self._done - self._first) * (self._total - self._done)
            self._console.print(
                f"{self._label}: {self._done}/{self._total} {self._unit}, {score}"
                + (f", about {left:.0f} s left" if self._estimates else ""),
                highlight=False,
            )


class QuestionProgress(CountProgress):
    """Counts finished questions, seeds multiplied in, with the score so far.

    Parameters
    ----------
    metric
        What is shown of the answers.
    """

    def __init__(
        self, console: Console, label: str, metric: Metric, *, total: int, done: int = 0
    ) -> None:
        super().__init__(console, label, total=total, done=done)
        self._metric = metric
        self._sum = self._count = 0.0

    def finished(self, row: Row) -> None:
        """One more question is done."""
        gained, out_of = measure(row, self._metric)
        self._sum += gained
        self._count += out_of
        self.advance(f"{amount(self._sum)}/{self._count:.0f} {self._metric.title}")
