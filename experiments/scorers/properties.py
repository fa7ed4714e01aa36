"""From an answer to a verdict: a fresh execution, then verification somewhere else.

The sandbox that ran the code under test never sees an expected value: only the *data* it
returned is passed, as tagged JSON, to a second sandbox that runs `sandbox.inside.compare`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import StrictBool, StrictStr, TypeAdapter, ValidationError

from agents.base import Trajectory
from agents.models import FAULTS
from experiments.samples import Property, Sample
from experiments.scorers.base import (
    ALL_CORRECT,
    CRITERIA,
    Metric,
    Score,
    Scorer,
    ScoringContext,
)
from sandbox.base import Execution, Mount, Outcome, SandboxError, Verifier
from sandbox.inside import compare

#: Seconds for one verification; comparing the largest permitted answer takes a fraction.
VERIFY_TIMEOUT = 30.0

#: By property whether it passed, and why not.
Verdicts = dict[str, tuple[StrictBool, StrictStr]]
_VERDICTS = TypeAdapter(Verdicts)


@dataclass(frozen=True)
class PropertyScorer(Scorer):
    """Executes the final code afresh, and compares every property with its expected value."""

    metrics: Sequence[Metric] = (
        Metric(CRITERIA, "properties", "values that passed their verification"),
        Metric(
            "runnable", "runnable", "the final code ran and returned a non-empty dict"
        ),
        Metric(ALL_CORRECT, "all correct", "questions with every property right"),
    )

    def criteria(self, sample: Sample) -> Sequence[str]:
        """Names of the properties."""
        return [prop.name for prop in sample.properties]

    async def score(
        self, sample: Sample, trajectory: Trajectory, context: ScoringContext
    ) -> Score:
        """Run the code, and verify what it returned somewhere else."""
        if trajectory.code is None or trajectory.entry is None:
            reason = FAULTS.get(
                trajectory.fault or "", "the reply contains no readable code"
            )
            return self._failed(sample, "no_code", reason)
        if context.verifier is None:
            raise SandboxError(
                "properties are verified in a sandbox, but none is available"
            )
        execution = await context.run(sample, trajectory.code, trajectory.entry)
        fault = not_runnable(execution)
        if fault is not None or execution.payload is None:
            return self._failed(
                sample, str(execution.outcome), fault or "no result", execution
            )
        each, values = await self.verify(context.verifier, sample, execution.payload)
        return Score(
            outcome=str(execution.outcome),
            values={"runnable": 1.0, **values},
            passed={name: passed for name, (passed, _) in each.items()},
            reasons={
                name: reason for name, (passed, reason) in each.items() if not passed
            },
            execution=execution,
        )

    async def verify(
        self, verifier: Verifier, sample: Sample, payload: str
    ) -> tuple[Verdicts, Mapping[str, float]]:
        """Compare the returned dict, as tagged JSON, with what is expected.

        Beside the verdicts stand further numbers for a benchmark's own metrics.
        """
        return await verify_apart(verifier, sample.properties, payload), {}

    def nothing(self, sample: Sample) -> Mapping[str, float]:  # noqa: ARG002 -- for subclasses
        """The values of an answer without a dict."""
        return {"runnable": 0.0}

    def _failed(
        self,
        sample: Sample,
        outcome: str,
        reason: str,
        execution: Execution | None = None,
    ) -> Score:
        names = self.criteria(sample)
        return Score(
            outcome=outcome,
            values=self.nothing(sample),
            passed=dict.fromkeys(names, False),
            reasons=dict.fromkeys(names, reason),
            execution=execution,
        )


def not_runnable(execution: Execution) -> str | None:
    """Why an execution is not *runnable* (ran, and returned a non-empty dict), else ``None``."""
    if execution.outcome is not Outcome.OK:
        last = (execution.error or "").strip().splitlines()
        return f"{execution.outcome}: {last[-1] if last else 'no message'}"
    if not isinstance(execution.result, Mapping):
        return f"returned {type(execution.result).__name__} instead of a dict"
    if not execution.result:
        return "returned an empty dict"
    return None


def present(sample: Sample) -> list[Mount]:
    """The input files of a sample that are here."""
    sources = (
        (target, Path(source)) for target, source in sample.question.mounts.items()
    )
    return [Mount(source, target) for target, source in sources if source.exists()]


async def verify_apart(
    verifier: Verifier, properties: Sequence[Property], payload: str
) -> Verdicts:
    """Compare a returned dict, as tagged JSON, in a sandbox that did not run the answer's code."""
    wanted = [vars(prop) for prop in properties]
    execution = await verifier.judge(
        compare.__name__,
        "verify",
        [wanted, payload],
        control=[wanted, expected_payload(properties)],
        timeout=VERIFY_TIMEOUT,
    )
    if execution.outcome is not Outcome.OK:
        reason = f"the answer cannot be verified: {execution.outcome}"
        return dict.fromkeys((prop.name for prop in properties), (False, reason))
    try:
        verdicts = _VERDICTS.validate_python(execution.result)
        return {prop.name: verdicts[prop.name] for prop in properties}
    except (ValidationError, KeyError) as error:
        raise SandboxError(
            "verification returned something that is not a verdict"
        ) from error


def expected_payload(properties: Sequence[Property]) -> str:
    """The tagged JSON of a dict that holds the expected values themselves."""
    pairs = [f"[{json.dumps(prop.name)},{prop.expected}]" for prop in properties]
    return f'{{"$":"dict","v":[{",".join(pairs)}]}}'


def verify_here(properties: Sequence[Property], payload: str) -> Verdicts:
    """Compare on the host; for answers that we made ourselves (checking a benchmark)."""
    return _VERDICTS.validate_python(
        compare.verify([vars(p) for p in properties], payload)
    )
