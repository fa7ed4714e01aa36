"""Shows what the making of an unseen library is at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from experiments.benchmarks.unseen.build import UnseenLibrary
from experiments.benchmarks.unseen.ready import ready


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A line on stderr; call what it gives with each step."""
    columns = (SpinnerColumn(), TextColumn("unseen library: {task.description}", markup=False))
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as shown:
        task = shown.add_task("starting (a few minutes)")
        yield lambda line: shown.update(task, description=line)


def ready_with_progress(packages: Sequence[str], *, seed: int, questions: Path) -> UnseenLibrary:
    """As :func:`experiments.benchmarks.unseen.ready.ready`."""
    with progress() as say:
        return ready(packages, seed=seed, questions=questions, say=say)
