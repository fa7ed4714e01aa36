"""What a benchmark holds: a question together with what verifies its answer.

Nothing in ``agents``, ``retrieval``, ``indexes``, ``docgen`` or ``sandbox`` imports this
package, so no import path leads from an agent to an expected value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from rich.console import Console

from agents.base import Question
from experiments.config import RunConfig


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
class Task:
    """A question, its verification and where it runs.

    Attributes
    ----------
    environment
        Sandbox environment (a folder of ``sandbox/envs``).
    labels
        Free labels for break-downs: ``area``, ``package``, ``level``, ...
    unit_test
        Source of a published unit test that verifies the answer in place of ``properties``;
        its function bears the question's id. Runs in the verification sandbox only.
    unavailable
        Why the task cannot be run here (an input file is missing), else ``None``. Such a task
        is reported, never scored.
    """

    question: Question
    properties: tuple[Property, ...]
    environment: str
    labels: Mapping[str, str] = field(default_factory=dict)
    unavailable: str | None = None
    unit_test: str | None = None


class Benchmark(Protocol):
    """A set of tasks. One file and one config."""

    name: str
    packages: Sequence[str]

    def load(self) -> Sequence[Task]:
        """All tasks, in a stable order."""
        ...


@runtime_checkable
class RunsItself(Protocol):
    """A benchmark whose answers are not code: it brings its own way from questions to summary.

    Everything around it (configuration, sweeps, folders, reports, exit codes) stays the same.
    """

    async def run(self, config: RunConfig, console: Console) -> Path:
        """Answer what is not answered yet, write ``summary.json``, and return the run folder.

        Raises
        ------
        ConfigError, SandboxError, RetrievalError
            When the run cannot start; the message says what to do.
        """
        ...


@dataclass(frozen=True)
class Score:
    """The verdict on one answer.

    ``runnable`` and ``passed`` are ``None`` when infrastructure failed: unknown, not zero.
    ``published`` counts properties by the rule of the authors' unit test, which judges an answer
    as a whole; ``None`` where there is none.
    """

    question_id: str
    seed: int
    outcome: str
    runnable: bool | None
    passed: Mapping[str, bool] | None
    reasons: Mapping[str, str]
    published: int | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
