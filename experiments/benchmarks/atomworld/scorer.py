"""Judges a structure by two rules, in the verification sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from agents.answer_formats import CODE
from agents.base import Trajectory
from agents.models import FAULTS
from experiments.benchmarks.atomworld.actions import Target
from experiments.benchmarks.atomworld.crystal import Crystal
from experiments.samples import Sample
from experiments.scorers.base import ALL_CORRECT, Metric, Score, Tools
from experiments.scorers.properties import ANSWERS_FAULT, not_runnable
from sandbox.base import Execution, Outcome, Sandbox, SandboxError

#: Seconds of processor time for one verification; the matcher needs 30 for 640 sites.
TIMEOUT = 120.0
GRADER = Path(__file__).with_name("grade.py")
PART = "structure"
UNREADABLE = {"OutputFormatError", "CIFParsingError", "TooLarge", "TooManySites", "TooExpensive"}


@dataclass(frozen=True)
class StructureScorer:
    """Compares the CIF of an answer with the target.

    Attributes
    ----------
    target
        Which reading of the sentence the strict rule asks for.
    """

    target: Target = "literal"
    metrics: Sequence[Metric] = (
        Metric(ALL_CORRECT, "strict", "right cell and species, every atom within 0.02 Å"),
        Metric("published", "published", "the authors' grader accepts it"),
        Metric("echo", "echo", "the authors' grader accepts the unchanged input"),
        Metric("readable", "readable", "the answer is a CIF that can be parsed"),
        Metric("order", "order kept", "right, with the rows in the target's order"),
    )  # fmt: skip
    executes: bool = True
    #: What a verification worker imports once.
    warmup: str = "import pymatgen.analysis.structure_matcher, pymatgen.io.cif, scipy.optimize\n"

    def parts(self, sample: Sample) -> Sequence[str]:  # noqa: ARG002 -- the same for all
        """See :class:`experiments.scorers.base.Scorer`."""
        return (PART,)

    async def score(self, sample: Sample, trajectory: Trajectory, tools: Tools) -> Score:
        """See :class:`experiments.scorers.base.Scorer`."""
        execution, block, reason = await self._answer(sample, trajectory, tools)
        if tools.verifier is None:
            raise SandboxError("structures are verified in a sandbox, but there is no sandbox")
        reply = trajectory.answer if sample.question.answer != CODE else f"<cif>{block or ''}</cif>"
        target = sample.target
        strict = await _verdict(tools.verifier, "grade_strictly", target[self.target], block)
        # Apart: the matcher may need minutes for a right answer, and then only its verdict lacks.
        said = (
            None
            if strict is None
            else await _verdict(
                tools.verifier, "grade_as_published", target["published"], target["before"], reply
            )
        )
        strict = strict or {"passed": False, "error": "TooExpensive"}
        published, echo = (said[rule] if said else {} for rule in ("published", "echo"))
        return Score(
            outcome=str(execution.outcome) if execution else "ok" if block else "no_answer",
            values={
                "published": _flag(published.get("passed")),
                "echo": _flag(echo.get("passed")),
                "readable": float(strict["error"] not in UNREADABLE),
                "order": _flag(strict["passed"] and strict["order"]),
                "worst": strict.get("worst"),
                "max_dist": published.get("max_dist"),
                "contact": strict.get("contact"),
            },
            passed={PART: bool(strict["passed"])},
            reasons={} if strict["passed"] else {PART: reason or strict["error"]},
            artefacts={
                "error": strict["error"] or "",
                "published error": published.get("error") or "",
            },
            execution=execution,
        )

    async def _answer(
        self, sample: Sample, trajectory: Trajectory, tools: Tools
    ) -> tuple[Execution | None, str | None, str | None]:
        """The execution, the CIF, and why there is none."""
        if trajectory.code is None or trajectory.entry is None:
            text = trajectory.value if isinstance(trajectory.value, str) else None
            return None, text, None if text else FAULTS.get(trajectory.fault or "")
        execution = await tools.run(sample, trajectory.code, trajectory.entry)
        fault = not_runnable(execution)
        answer = execution.result.get("answer") if fault is None else None
        if fault is None and not isinstance(answer, str):
            fault = "the returned dict has no text under 'answer'"
        return execution, answer if fault is None else None, fault


async def _verdict(verifier: Sandbox, rule: str, *given: Any) -> Mapping[str, Any] | None:
    """What a rule of the grader says; ``None`` when it ran into a limit."""
    verdict = await verifier.run(program(rule, *given), "verdict", timeout=TIMEOUT)
    if verdict.outcome in ANSWERS_FAULT:
        return None
    if verdict.outcome is not Outcome.OK:
        raise SandboxError(f"verification ended with {verdict.outcome}: {verdict.error}")
    said: Mapping[str, Any] = verdict.result
    return said


def program(rule: str, *given: Any) -> str:
    """Source text whose function ``verdict`` calls a rule of the grader."""
    # `repr` of a str is a literal whatever the str holds: nothing of the answer becomes code.
    call = f"{rule}(*json.loads({json.dumps(given)!r}))"
    return f"{_grader()}\n\nimport json\n\ndef verdict():\n    return {call}\n"


@cache
def _grader() -> str:
    return GRADER.read_text(encoding="utf-8")


def plain(crystal: Crystal) -> dict[str, Any]:
    """As a target travels: JSON-able."""
    return {
        "cell": list(crystal.cell),
        "species": list(crystal.species),
        "fractions": crystal.fractions.tolist(),
    }


def _flag(passed: bool | None) -> float | None:
    return None if passed is None else float(passed)


Arm = Literal["direct", "tool", "tool_inline"]
