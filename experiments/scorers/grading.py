"""Answers that are values: how one is found, and how a grader judges it in the sandbox.

A question can ask for its value in the reply, or for code whose function returns
``{"answer": value}``. Both end in the same scorer. What a library has to parse (CIF, LaTeX, lax
JSON) it parses in the sandbox for verification, under its limits.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agents.answer_formats import CODE
from agents.base import Trajectory
from agents.models import FAULTS
from experiments.samples import Sample
from experiments.scorers.base import Tools
from experiments.scorers.properties import ANSWERS_FAULT, not_runnable
from sandbox.base import Execution, Outcome, SandboxError

#: Seconds of processor time for one verdict, unless a grader needs more.
TIMEOUT = 30.0


@dataclass(frozen=True)
class Given:
    """The value that an answer gives.

    Attributes
    ----------
    value
        JSON-able from a reply, any value that the sandbox hands back from code; ``None``: none.
    reason
        Why there is none.
    execution
        The run of the code, where the answer is code.
    """

    value: Any
    reason: str | None = None
    execution: Execution | None = None

    @property
    def outcome(self) -> str:
        """How the answer came about, as a row records it."""
        if self.execution is not None:
            return str(self.execution.outcome)
        return "no_answer" if self.value is None else "ok"


async def given(sample: Sample, trajectory: Trajectory, tools: Tools) -> Given:
    """Read the value of an answer: from its reply, or from the dict that its code returns.

    Raises
    ------
    SandboxError
        When the code could not be run.
    """
    if sample.question.answer != CODE:
        reason = FAULTS.get(trajectory.fault or "") if trajectory.value is None else None
        return Given(trajectory.value, reason)
    if trajectory.code is None or trajectory.entry is None:
        return Given(None, FAULTS.get(trajectory.fault or ""))
    execution = await tools.run(sample, trajectory.code, trajectory.entry)
    fault = not_runnable(execution)
    value = execution.result.get("answer") if fault is None else None
    if fault is None and value is None:
        fault = "the returned dict has nothing under 'answer'"
    return Given(value, fault, execution)


async def grade(
    tools: Tools, grader: Path, rule: str, *arguments: Any, timeout: float = TIMEOUT
) -> Any:
    """Call a function of a grader in the sandbox for verification.

    Parameters
    ----------
    grader
        Source file that imports nothing of matsmith.
    rule
        Name of its function.
    arguments
        JSON-able.
    timeout
        Seconds of processor time.

    Returns
    -------
    Any
        What it returns; ``None`` when the answer took it past a limit.

    Raises
    ------
    SandboxError
        When there is no sandbox, or the grader itself failed.
    """
    if tools.verifier is None:
        raise SandboxError("answers are verified in a sandbox, but there is none")
    verdict = await tools.verifier.run(
        program(grader, rule, *arguments), "verdict", timeout=timeout
    )
    if verdict.outcome in ANSWERS_FAULT:
        return None
    if verdict.outcome is not Outcome.OK:
        raise SandboxError(f"verification ended with {verdict.outcome}: {verdict.error}")
    return verdict.result


def program(grader: Path, rule: str, *arguments: Any) -> str:
    """Source text whose function ``verdict`` calls a function of a grader."""
    # `repr` of a str is a literal whatever the str holds: nothing of the answer becomes code.
    call = f"{rule}(*json.loads({json.dumps(arguments)!r}))"
    return f"{_source(grader)}\n\nimport json\n\ndef verdict():\n    return {call}\n"


@cache
def _source(grader: Path) -> str:
    return grader.read_text(encoding="utf-8")
