"""One file or folder per benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from experiments.samples import Sample
from experiments.scorers.base import Scorer


class Benchmark(Protocol):
    """A set of samples. One file and one config."""

    name: str

    @property
    def packages(self) -> Sequence[str]:
        """Import names whose documents an architecture may retrieve."""
        ...

    @property
    def scorer(self) -> Scorer:
        """Judges the answers, and says which metrics a run reports."""
        ...

    def load(self) -> Sequence[Sample]:
        """All samples, in a stable order.

        A `ValueError` or `OSError` when there are none, or one is wrong: one line that says where,
        and what to do.
        """
        ...
