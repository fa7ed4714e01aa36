"""Shows how far the making of an unseen library has come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from experiments.benchmarks.unseen.build import UnseenLibrary
from experiments.benchmarks.unseen.ready import ready
from sandbox.progress import saying


def progress() -> AbstractContextManager[Callable[[str], None]]:
    """A line on stderr; call what it gives with each step."""
    return saying("unseen library (a few minutes)")


def ready_with_progress(packages: Sequence[str], *, seed: int, questions: Path) -> UnseenLibrary:
    """As :func:`experiments.benchmarks.unseen.ready.ready`."""
    with progress() as say:
        return ready(packages, seed=seed, questions=questions, say=say)
