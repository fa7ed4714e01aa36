"""One recorded function, run once, judged by the scorers that are asked for."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict

from experiments.benchmarks.mattools import stdout_rules
from experiments.benchmarks.mattools.published import (
    MatToolsScorer,
    attribute,
    run_unit_test,
    source_of,
)
from experiments.benchmarks.mattools.replay.recorded import Recorded
from experiments.samples import Sample
from experiments.scorers.properties import not_runnable, present
from sandbox.base import Execution, Outcome, Sandbox, SandboxError
from sandbox.wire import WireError, decode


class Graded(BaseModel):
    """One generation judged by one scorer: one line of ``results.jsonl``.

    Attributes
    ----------
    outcome
        ``all_correct``, ``some_wrong`` or ``not_runnable``.
    reason
        Why it is not ``all_correct``, as a code: of `.stdout_rules.run_and_read`, ``no_code``,
        ``no_function``, ``unit_test``, ``wrong_value``, or how the sandbox ended it.
    passed, wrong
        Properties; ``wrong`` is ``None`` when they were never compared.
    failed
        Names of the properties that did not pass, of a runnable answer.
    detail
        Messages of the unit test, what the code printed, or the last line of its traceback.
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
class Grader:
    """Where functions run, where they are judged, and by what."""

    samples: Mapping[str, Sample]
    sandbox: Sandbox
    verifier: Sandbox
    timeout: float


@dataclass(frozen=True)
class Ran:
    """What one execution showed: what was printed, what was returned.

    Attributes
    ----------
    answer
        The printed dict as tagged JSON, ``None`` when the published rules find none.
    reason, detail
        Why there is none, and what shows it.
    ended, returned
        As `.stdout_rules.run_and_read` says; empty when the sandbox ended it.
    """

    answer: str | None = None
    reason: str = ""
    detail: str = ""
    ended: str = ""
    returned: str | None = None
    cpu_seconds: float | None = None


async def grade(recorded: Recorded, scorers: tuple[str, ...], bench: Grader) -> list[Graded]:
    """Run one generation, and judge it by each scorer.

    Raises
    ------
    SandboxError
        When a sandbox failed: nothing is known then.
    """
    started = time.monotonic()
    sample = bench.samples[recorded.question_id]
    ran = await _run(recorded, sample, bench)
    judges = {"published": _published, "typed": _typed}
    found = {name: await judges[name](recorded, ran, sample, bench) for name in scorers}
    seconds = round(time.monotonic() - started, 3)
    return [
        Graded(key=recorded.key, scorer=name, seconds=seconds, cpu_seconds=ran.cpu_seconds, **rest)
        for name, rest in found.items()
    ]


async def _run(recorded: Recorded, sample: Sample, bench: Grader) -> Ran:
    """Run a function as the published scorer does: ``main.py``, which prints what it returns."""
    if not recorded.code.strip() or not recorded.entry.strip():
        return Ran(reason="no_code")
    script = f"{recorded.code}\nprint({recorded.entry}())"
    code = f"{source_of(stdout_rules)}\n\ndef published():\n    return run_and_read({script!r})\n"
    execution = await _execute(code, "published", sample, bench)
    return replace(_ran(execution), cpu_seconds=execution.cpu_seconds)


async def _execute(code: str, entry: str, sample: Sample, bench: Grader) -> Execution:
    execution = await bench.sandbox.run(code, entry, timeout=bench.timeout, mounts=present(sample))
    if execution.outcome is Outcome.INFRA:
        raise SandboxError(execution.error or "the sandbox failed")
    return execution


def _ran(execution: Execution) -> Ran:
    if execution.outcome is not Outcome.OK:
        return Ran(reason=str(execution.outcome), detail=execution.error or "")
    # The code under test shares its sandbox with the rules and can forge all of this: it can
    # claim another answer, nothing more.
    value = execution.result
    if not isinstance(value, Mapping) or execution.payload is None:
        tampered = "the reading of stdout was tampered with"
        return Ran(reason=str(Outcome.BAD_RESULT), detail=tampered)
    told = {name: text.strip() if isinstance(text := value.get(name), str) else ""
            for name in ("reason", "error", "stdout", "ended", "returned")}  # fmt: skip
    node = json.loads(execution.payload).get("answer")
    found = node is not None and value.get("reason") is None
    return Ran(
        answer=json.dumps(node) if found else None,
        reason="" if found else told["reason"] or str(Outcome.BAD_RESULT),
        detail=told["error"] or told["stdout"],
        ended=told["ended"],
        returned=told["returned"] or None,
    )


def _no(reason: str, detail: str = "") -> dict[str, Any]:
    return {"outcome": "not_runnable", "reason": reason, "detail": detail}


def _judged(right: bool, passed: int, failed: list[str], detail: str, wrong: int) -> dict[str, Any]:
    return {
        "outcome": "all_correct" if right else "some_wrong",
        "reason": "" if right else "wrong_value",
        "passed": passed, "wrong": wrong, "failed": failed, "detail": detail,
    }  # fmt: skip


async def _published(recorded: Recorded, ran: Ran, sample: Sample, bench: Grader) -> dict[str, Any]:
    if ran.answer is None:
        return _no(ran.reason, ran.detail)
    verdict = await run_unit_test(
        bench.verifier, sample.target, recorded.question_id, ran.answer, mounts=present(sample)
    )
    if verdict.exception is not None:
        return _no("unit_test", verdict.exception)
    names = [prop.name for prop in sample.properties]
    about = attribute(verdict.errors, names)
    wrong = verdict.wrong or 0
    passed = (verdict.properties or len(names)) - wrong
    failed = [name for name in names if name in about]
    return _judged(verdict.ok, passed, failed, "; ".join(verdict.errors), wrong)


async def _typed(recorded: Recorded, ran: Ran, sample: Sample, bench: Grader) -> dict[str, Any]:
    if ran.ended == "start":
        # What stands around the function ended the script; imported, the function may still run.
        execution = await _execute(recorded.code, recorded.entry, sample, bench)
        payload, reason, detail = _imported(execution)
    else:
        payload, reason, detail = _returned(ran, recorded.entry)
    if payload is None:
        return _no(reason, detail)
    verdicts = (await MatToolsScorer().verify(bench.verifier, sample, payload)).each
    failed = [name for name, (passed, _) in verdicts.items() if not passed]
    detail = "; ".join(f"{name}: {verdicts[name][1]}" for name in failed)
    return _judged(not failed, len(verdicts) - len(failed), failed, detail, len(failed))


def _returned(ran: Ran, entry: str) -> tuple[str | None, str, str]:
    """The returned dict as tagged JSON, else why there is none and what shows it."""
    if not ran.ended:  # it never ran, or the sandbox ended it: that holds for every scorer
        return None, ran.reason, ran.detail
    if ran.ended == "no_function":
        return None, ran.ended, f"the code defines no function {entry!r}"
    if ran.ended != "returned":
        return None, ran.ended, ran.detail
    bad = str(Outcome.BAD_RESULT)
    if ran.returned is None:
        return None, bad, "the result is too large or nested too deep"
    try:
        value = decode(ran.returned.encode("utf-8", "surrogatepass"))
    except WireError as error:
        return None, bad, str(error)
    if not isinstance(value, Mapping):
        return None, "no_dict", f"returned {type(value).__name__} instead of a dict"
    return (ran.returned, "", "") if value else (None, "empty_dict", "returned an empty dict")


def _imported(execution: Execution) -> tuple[str | None, str, str]:
    detail = not_runnable(execution)
    if detail is None:
        return execution.payload, "", ""
    if "the code defines no function" in detail:  # as `sandbox.runner` says it
        return None, "no_function", detail
    if execution.outcome is not Outcome.OK:
        return None, str(execution.outcome), detail
    return None, "no_dict" if execution.result else "empty_dict", detail
