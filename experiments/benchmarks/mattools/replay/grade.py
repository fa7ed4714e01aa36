"""One recorded function, run once, judged by the scorers that are asked for."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from experiments.benchmarks.mattools.published import (
    MatToolsScorer,
    Ran,
    run_recorded,
    score_published,
)
from experiments.benchmarks.mattools.replay.recorded import Recorded
from experiments.samples import Sample
from experiments.scorers.properties import not_runnable, present
from sandbox.base import Execution, Mount, Outcome, Sandbox, SandboxError
from sandbox.wire import WireError, decode


class Graded(BaseModel):
    """One generation judged by one scorer: one line of ``results.jsonl``.

    Attributes
    ----------
    outcome
        ``all_correct``, ``some_wrong`` or ``not_runnable``.
    reason
        Why it is not ``all_correct``.
    passed, wrong
        Properties; ``wrong`` is ``None`` when they were never compared.
    failed
        Names of the properties that did not pass, of a runnable answer.
    seconds
        Wall time of everything that was done for it; both scorers share one execution.
    cpu_seconds
        Processor time of the function alone, where it is known; this is what the limit is about.
    same_as
        Key of the generation with the same code that ran in its place.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    scorer: str
    outcome: str
    reason: str
    passed: int = 0
    wrong: int | None = None
    failed: list[str] = []
    detail: str = ""
    seconds: float = 0.0
    cpu_seconds: float | None = None
    same_as: str | None = None


@dataclass(frozen=True)
class Bench:
    """Where functions run, where they are judged, and by what."""

    samples: Mapping[str, Sample]
    unit_tests: Mapping[str, str]
    sandbox: Sandbox
    verifier: Sandbox
    timeout: float


async def grade(recorded: Recorded, scorers: Sequence[str], bench: Bench) -> list[Graded]:
    """Run one generation, and judge it by each scorer.

    Raises
    ------
    SandboxError
        When a sandbox failed: nothing is known then.
    """
    started = time.monotonic()
    sample = bench.samples[recorded.question_id]
    mounts = present(sample)
    ran = await run_recorded(
        recorded.code, recorded.entry, sandbox=bench.sandbox, timeout=bench.timeout, mounts=mounts
    )
    judges = {"published": _published, "typed": _typed}
    found = [await judges[name](recorded, ran, sample, bench, mounts) for name in scorers]
    seconds = round(time.monotonic() - started, 3)
    times = {"seconds": seconds, "cpu_seconds": ran.cpu_seconds}
    return [graded.model_copy(update=times) for graded in found]


async def _published(
    recorded: Recorded, ran: Ran, sample: Sample, bench: Bench, mounts: Sequence[Mount]
) -> Graded:
    name = recorded.question_id
    score = await score_published(
        ran, bench.unit_tests[name], name=name, verifier=bench.verifier, mounts=mounts
    )
    names = [prop.name for prop in sample.properties]
    failed = [name for name in names if any(error.startswith(name) for error in score.errors)]
    total = score.properties or len(names)
    return Graded(
        key=recorded.key,
        scorer="published",
        outcome=score.outcome,
        reason=score.reason,
        passed=0 if score.wrong is None else total - score.wrong,
        wrong=score.wrong,
        failed=failed if score.outcome == "some_wrong" else [],
        detail="; ".join(score.errors) or score.detail,
    )


async def _typed(
    recorded: Recorded, ran: Ran, sample: Sample, bench: Bench, mounts: Sequence[Mount]
) -> Graded:
    def graded(outcome: str, reason: str, **rest: Any) -> Graded:
        return Graded(key=recorded.key, scorer="typed", outcome=outcome, reason=reason, **rest)

    if ran.stage == "start":
        # What stands around the function ended the script; imported, the function may still run.
        execution = await bench.sandbox.run(
            recorded.code, recorded.entry, timeout=bench.timeout, mounts=mounts
        )
        if execution.outcome is Outcome.INFRA:
            raise SandboxError(execution.error or "the sandbox failed")
        payload, reason, detail = _imported(execution)
    else:
        payload, reason, detail = _returned(ran, recorded.entry)
    if payload is None:
        return graded("not_runnable", reason, detail=detail)
    verdicts = (await MatToolsScorer().verify(bench.verifier, sample, payload)).each
    failed = [name for name, (passed, _) in verdicts.items() if not passed]
    return graded(
        "some_wrong" if failed else "all_correct",
        "wrong_value" if failed else "",
        passed=len(verdicts) - len(failed),
        wrong=len(failed),
        failed=failed,
        detail="; ".join(f"{name}: {verdicts[name][1]}" for name in failed),
    )


def _returned(ran: Ran, entry: str) -> tuple[str | None, str, str]:
    """The returned dict as tagged JSON, else why there is none and what shows it."""
    if not ran.stage:  # it never ran, or the sandbox ended it: that holds for every scorer
        return None, ran.reason, ran.detail
    if ran.stage == "call":
        if ran.error.startswith("NameError") and f"'{entry}'" in ran.error:
            return None, "no_function", f"the code defines no function {entry!r}"
        killed = ran.error.startswith("killed by")
        return None, "killed" if killed else "exception" if ran.error else "exit", ran.error
    if ran.returned is None:
        return None, str(Outcome.BAD_RESULT), "the result is too large or nested too deep"
    try:
        value = decode(ran.returned.encode("utf-8", "surrogatepass"))
    except WireError as error:
        return None, str(Outcome.BAD_RESULT), str(error)
    if not isinstance(value, Mapping):
        return None, "no_dict", f"returned {type(value).__name__} instead of a dict"
    return (ran.returned, "", "") if value else (None, "empty_dict", "returned an empty dict")


def _imported(execution: Execution) -> tuple[str | None, str, str]:
    fault = not_runnable(execution)
    if fault is None and execution.payload is not None:
        return execution.payload, "", ""
    detail = fault or "no result"
    if "the code defines no function" in detail:
        return None, "no_function", detail
    if execution.outcome is not Outcome.OK:
        return None, str(execution.outcome), detail
    return None, "no_dict" if execution.result else "empty_dict", detail
