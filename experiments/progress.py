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

from experiments.store import Row

#: Seconds between two lines where there is no terminal.
LINE_EVERY = 10.0


class QuestionProgress:
    """Counts finished questions, with the score so far.

    Parameters
    ----------
    console
        Where to show it.
    label
        Which run this is.
    total
        Questions, seeds multiplied in.
    done
        How many of them are finished already.
    """

    def __init__(self, console: Console, label: str, *, total: int, done: int) -> None:
        self._console = console
        self._label = label
        self._total, self._done, self._first = total, done, done
        self._passed = self._properties = 0
        self._started = self._shown = time.monotonic()
        self._bar: Progress | None = None
        if console.is_terminal:
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
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
            self._bar.stop()

    def finished(self, row: Row) -> None:
        """One more question is done."""
        self._done += 1
        self._passed += row.passed_count
        self._properties += row.properties if row.scored else 0
        score = f"{self._passed}/{self._properties} properties"
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, score=score)
            return
        now = time.monotonic()
        if self._done == self._total or now - self._shown >= LINE_EVERY:
            self._shown = now
            left = (now - self._started) / (self._done - self._first) * (self._total - self._done)
            self._console.print(
                f"{self._label}: {self._done}/{self._total} questions, {score}, "
                f"about {left:.0f} s left",
                highlight=False,
            )
