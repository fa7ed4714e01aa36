"""Answers that are values: how one is found, and how a grader judges it in the sandbox.

A question can ask for its value in the reply, or for code whose function returns
``{"answer": value}``. Both end in the same scorer. What a library has to parse (CIF, LaTeX, lax
JSON) it parses in the sandbox for verification, under its limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.answer_formats import CODE
from agents.base import Trajectory
from agents.models import FAULTS
from experiments.samples import Sample
from experiments.scorers.base import Tools
from experiments.scorers.properties import ANSWERS_FAULT, not_runnable
from sandbox.base import Execution, Outcome, SandboxError
from sandbox.inside.tagged import UnencodableError

#: Seconds of processor time for one verdict, unless a grader needs more.
TIMEOUT = 30.0


@dataclass(frozen=True)
class Given:
    """The value that an answer gives, or the reason why there is none.

    JSON-able from a reply, any value that the sandbox hands back where the answer is code.
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
    """Read the value of an answer: from its reply, or from the dict that its code returns."""
    if sample.question.answer != CODE:
        reason = _silent(trajectory) if trajectory.value is None else None
        return Given(trajectory.value, reason)
    if trajectory.code is None or trajectory.entry is None:
        return Given(None, _silent(trajectory))
    execution = await tools.run(sample, trajectory.code, trajectory.entry)
    fault = not_runnable(execution)
    value = execution.result.get("answer") if fault is None else None
    if fault is None and value is None:
        fault = "the returned dict has nothing under 'answer'"
    return Given(value, fault, execution)


def _silent(trajectory: Trajectory) -> str | None:
    """Why there is no answer, where it is known."""
    ends = {"crashed": "AgentCrashed", "timeout": "AgentTimeout"}
    return FAULTS.get(trajectory.fault or "") or ends.get(trajectory.stop_reason)


async def grade(
    tools: Tools, grader: str, rule: str, *arguments: Any, timeout: float = TIMEOUT
) -> Any:
    """Call a function of a grader in the sandbox for verification; see `sandbox.base.Sandbox.call`.

    ``None`` when the answer took it past a limit (of ``timeout`` seconds of processor time); a
    `SandboxError` where there is no sandbox, or the grader itself failed.
    """
    if tools.verifier is None:
        raise SandboxError("answers are verified in a sandbox, but there is none")
    try:
        verdict = await tools.verifier.call(grader, rule, arguments, timeout=timeout)
    except UnencodableError:
        return None
    if verdict.outcome in ANSWERS_FAULT:
        return None
    if verdict.outcome is not Outcome.OK:
        raise SandboxError(f"verification ended with {verdict.outcome}: {verdict.error}")
    return verdict.result
