"""What a benchmark holds: a question together with what verifies its answer.

Nothing in ``agents``, ``retrieval``, ``indexes``, ``docgen`` or ``sandbox`` imports this
package, so no import path leads from an agent to an expected value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agents.base import Question

if TYPE_CHECKING:
    from experiments.scorers.base import Scorer


@dataclass(frozen=True)
class Property:
    """One property that a question asks for, and how its value is verified.

    Attributes
    ----------
    name, description, format
        As they stand in the prompt.
    expected
        The gold value as tagged JSON (``sandbox.wire``), as text.
    compare
        ``equal`` (same value; ``True`` is not ``1``; sequences compare by content, a tuple or
        array may stand for a list) or ``close`` (same shape, numbers within
        ``atol + rtol * abs(expected)``).
    rtol, atol
        Tolerances of ``close``; ``atol`` in the unit of the property.
    erratum
        What is known to be wrong with the property itself (no right answer passes, any answer
        passes, ...), else ``None``. Scores are given with and without such properties.
    """

    name: str
    description: str
    format: str
    expected: str
    compare: Literal["equal", "close"] = "equal"
    rtol: float = 1e-3
    atol: float = 0.0
    erratum: str | None = None


@dataclass(frozen=True)
class Sample:
    """A question, its verification and where it runs.

    Attributes
    ----------
    environment
        Sandbox environment (a folder of ``sandbox/envs``).
    labels
        Free labels for break-downs: ``area``, ``package``, ``level``, ...
    target
        What the benchmark's own scorer compares with beside or instead of ``properties``;
        JSON-able.
    cluster
        Questions of one cluster are not independent (one paper, one symbol); empty: the question
        stands for itself.
    unavailable
        Why the sample cannot be run here (an input file is missing), else ``None``. Such a sample
        is reported, never scored.
    private
        Nothing of it but digests and verdicts is kept in a run folder.
    """

    question: Question
    properties: tuple[Property, ...] = ()
    environment: str = "live"
    labels: Mapping[str, str] = field(default_factory=dict)
    unavailable: str | None = None
    target: Any = None
    cluster: str = ""
    private: bool = False


class Benchmark(Protocol):
    """A set of samples. One file and one config.

    Attributes
    ----------
    packages
        Import names whose documents an architecture may retrieve.
    scorer
        Judges the answers, and says which metrics a run reports.
    """

    name: str

    @property
    def packages(self) -> Sequence[str]:
        """See above."""
        ...

    @property
    def scorer(self) -> Scorer:
        """See above."""
        ...

    def load(self) -> Sequence[Sample]:
        """All samples, in a stable order."""
        ...
