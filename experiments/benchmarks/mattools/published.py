"""The published scorer of MatTools: printed answers, read back, judged by a unit test.

Three steps, three rules: the code runs as ``main.py`` with a line that prints its result; the
whole stdout must be one literal dict (`.stdout_rules`); that dict goes to the unit test in a second
sandbox (`.unit_tests`). Everything that reads untrusted text runs inside; here are only the data
that come back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from experiments.benchmarks.mattools import stdout_rules, unit_tests
from experiments.samples import Sample
from experiments.scorers.base import Metric
from experiments.scorers.properties import ANSWERS_FAULT, Judged, PropertyScorer, present
from sandbox.base import Execution, Mount, Outcome, Sandbox, SandboxError

#: Seconds for a unit test; it compares data.
UNIT_TEST_TIMEOUT = 60.0


@dataclass(frozen=True)
class PublishedScore:
    """What the published rules make of one answer.

    Attributes
    ----------
    outcome
        ``all_correct``, ``some_wrong`` or ``not_runnable``.
    reason
        Why it is not runnable (``exception``, ``killed``, ``no_output``, ``unparsable_stdout``,
        ``no_dict``, ``empty_dict``, ``no_code``, ``unit_test``, or how the sandbox ended it);
        ``wrong_value`` for ``some_wrong``; empty for ``all_correct``.
    wrong, properties
        As the unit test counts them; ``None`` when it did not get to count.
    errors
        Messages of the unit test.
    detail
        What the code printed, or the last line of its traceback.
    seconds
        Wall time of both runs.
    """

    outcome: Literal["all_correct", "some_wrong", "not_runnable"]
    reason: str = ""
    wrong: int | None = None
    properties: int | None = None
    errors: tuple[str, ...] = ()
    detail: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class UnitTestVerdict:
    """What a unit test says: ``ok``, errors with their count, or an exception of its own.

    ``each`` has verdicts on single properties (``None``: it gives none), if they were asked for.
    """

    ok: bool
    errors: tuple[str, ...] = ()
    wrong: int | None = None
    properties: int | None = None
    exception: str | None = None
    each: Mapping[str, bool | None] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Ran:
    """What one execution of a recorded function showed: what it printed, what it returned.

    Attributes
    ----------
    answer
        The printed dict as tagged JSON, ``None`` when the published rules find none.
    reason, detail
        Why there is none; what the code printed, or the last line of its traceback.
    returned
        What the function returned, as tagged JSON; ``None`` when it did not return.
    stage
        How far the script got: ``start`` (the last line was not reached), ``call`` (the function
        was called, or is not there), ``returned``; empty when the sandbox ended it.
    error
        Last line of the traceback.
    seconds
        Wall time.
    cpu_seconds
        Processor time; ``None`` when it is not known.
    """

    answer: str | None
    reason: str
    detail: str = ""
    returned: str | None = None
    stage: str = ""
    error: str = ""
    seconds: float = 0.0
    cpu_seconds: float | None = None


async def run_recorded(
    code: str, entry: str, *, sandbox: Sandbox, timeout: float, mounts: Sequence[Mount] = ()
) -> Ran:
    """Run one recorded function as the published scorer does: print what it returns.

    Parameters
    ----------
    code, entry
        The function's source and name.
    sandbox
        Where it runs.
    timeout
        Seconds of processor time.
    mounts
        Input files of the question.

    Raises
    ------
    SandboxError
        When the sandbox failed: then nothing is known about the answer.
    """
    if not code.strip() or not entry.strip():
        return Ran(None, "no_code")
    script = f"{code}\nprint({entry}())"
    execution = await sandbox.run(
        f"{_source(stdout_rules)}\n\ndef published():\n    return run_and_read({script!r})\n",
        "published",
        timeout=timeout,
        mounts=mounts,
    )
    if execution.outcome is Outcome.INFRA:
        raise SandboxError(execution.error or "the sandbox failed")
    if execution.outcome is not Outcome.OK:
        detail = execution.error or ""
        return replace(Ran(None, str(execution.outcome), detail), **_times(execution))
    return replace(_ran(execution), **_times(execution))


def _times(execution: Execution) -> dict[str, Any]:
    return {"seconds": execution.seconds, "cpu_seconds": execution.cpu_seconds}


def _ran(execution: Execution) -> Ran:
    # The code under test shares its sandbox with the rules and can forge all of this: it can
    # claim another answer, nothing more.
    value = execution.result
    if not isinstance(value, Mapping) or execution.payload is None:
        tampered = "the reading of stdout was tampered with"
        return Ran(None, str(Outcome.BAD_RESULT), tampered)
    node = json.loads(execution.payload).get("answer")
    reason = value.get("reason")
    returned = value.get("returned")
    error = _text(value.get("error"))
    found = node is not None and reason is None
    return Ran(
        answer=json.dumps(node) if found else None,
        reason="" if found else _text(reason) or str(Outcome.BAD_RESULT),
        detail=error or _text(value.get("stdout")),
        returned=returned if isinstance(returned, str) else None,
        stage=_text(value.get("stage")),
        error=error,
    )


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


async def score_published(
    ran: Ran, unit_test: str, *, name: str, verifier: Sandbox, mounts: Sequence[Mount] = ()
) -> PublishedScore:
    """Judge what a recorded function printed by the published rules.

    Parameters
    ----------
    ran
        Its execution.
    unit_test, name
        Source of the unit test, and the name of its function.
    verifier
        Where the unit test runs: another sandbox than the function's.
    mounts
        Input files of the question; a unit test may read them, too.

    Raises
    ------
    SandboxError
        When the sandbox failed: then nothing is known about the answer.
    """
    if ran.answer is None:
        return PublishedScore("not_runnable", ran.reason, detail=ran.detail, seconds=ran.seconds)
    verdict = await run_unit_test(verifier, unit_test, name, ran.answer, mounts=mounts)
    seconds = ran.seconds + verdict.seconds
    if verdict.exception is not None:
        return PublishedScore(
            "not_runnable", "unit_test", detail=verdict.exception, seconds=seconds
        )
    return PublishedScore(
        "all_correct" if verdict.ok else "some_wrong",
        "" if verdict.ok else "wrong_value",
        wrong=0 if verdict.ok else verdict.wrong,
        properties=verdict.properties,
        errors=verdict.errors,
        seconds=seconds,
    )


async def run_unit_test(
    verifier: Sandbox,
    unit_test: str,
    name: str,
    payload: str,
    *,
    mounts: Sequence[Mount] = (),
    properties: Sequence[str] = (),
) -> UnitTestVerdict:
    """Run a unit test on an answer.

    Parameters
    ----------
    verifier
        A sandbox that did not run the code under test.
    unit_test, name
        Its source, and its function: takes the answer, returns ``"ok"`` or a list.
    payload
        The answer as tagged JSON.
    mounts
        Input files of the question; a test that does not name their folder cannot read them, and
        is spared their transfer.
    properties
        Names of properties to judge one by one as well.

    Raises
    ------
    SandboxError
        When the sandbox failed, or the unit test cannot be loaded.
    """
    # `repr` of a str is a literal whatever it holds: nothing of the answer becomes code.
    code = (
        f"{_source(unit_tests)}\n\n"
        f"def verified():\n    test = load({unit_test!r}, {name!r})\n"
        f"    return verdict(test, {payload!r}, {list(properties)!r})\n"
    )
    read = [mount for mount in mounts if mount.target.split("/")[0] in unit_test]
    execution = await verifier.run(code, "verified", timeout=UNIT_TEST_TIMEOUT, mounts=read)
    if execution.outcome in ANSWERS_FAULT:
        return UnitTestVerdict(ok=False, exception=f"the unit test ended with {execution.outcome}")
    found = execution.result
    if execution.outcome is not Outcome.OK or not isinstance(found, Mapping):
        last = (execution.error or "no message").strip().splitlines()[-1]
        raise SandboxError(f"the unit test of {name} ended with {execution.outcome}: {last}")
    return UnitTestVerdict(
        ok=found["ok"] is True,
        errors=tuple(map(str, found.get("errors", ()))),
        wrong=found.get("wrong"),
        properties=found.get("properties"),
        exception=found.get("exception"),
        each=found.get("each", {}),
        seconds=execution.seconds,
    )


#: Only this compares with published figures.
AUTHORS_RULE = Metric(
    "published",
    "authors' rule",
    "properties that count by the authors' unit test, which judges an answer as a whole",
    of_parts=True,
)


@dataclass(frozen=True)
class MatToolsScorer(PropertyScorer):
    """Judges by the published unit test, the sample's target; without one, by the properties."""

    metrics: Sequence[Metric] = (*PropertyScorer.metrics, AUTHORS_RULE)

    async def verify(self, verifier: Sandbox, sample: Sample, payload: str) -> Judged:
        """See above.

        Raises
        ------
        SandboxError
            When the verification itself failed.
        """
        if sample.target is None:
            return await super().verify(verifier, sample, payload)
        names = self.parts(sample)
        verdict = await run_unit_test(
            verifier,
            sample.target,
            sample.question.id,
            payload,
            mounts=present(sample),
            properties=names,
        )
        counted = len(names) if verdict.ok else 0
        if verdict.wrong is not None and verdict.properties is not None:
            counted = verdict.properties - verdict.wrong
        return Judged(judge_each(verdict, names), {"published": counted})

    def nothing(self, sample: Sample) -> Mapping[str, float]:
        """The values of an answer without a dict: by both rules."""
        return {"runnable": 0.0} | ({} if sample.target is None else {"published": 0.0})


def judge_each(verdict: UnitTestVerdict, names: Sequence[str]) -> dict[str, tuple[bool, str]]:
    """Say for each property whether it passed, and why not.

    A message belongs to the property that it names. Where one names none, or the test raised,
    the verdicts on single properties decide; where the test does not give these, nothing passed.
    """
    if verdict.ok:
        return dict.fromkeys(names, (True, ""))
    named = {} if verdict.exception is not None else attribute(verdict.errors, names)
    if verdict.exception is None and None not in named:
        return {name: (name not in named, named.get(name, "")) for name in names}
    said = (
        f"cannot be compared ({verdict.exception})"
        if verdict.exception
        else "; ".join(verdict.errors)
    )
    return {
        name: (True, "") if verdict.each.get(name) is True else (False, named.get(name) or said)
        for name in names
    }


def attribute(errors: Sequence[str], names: Sequence[str]) -> dict[str | None, str]:
    """Say which property each message of a unit test is about; ``None``: it names none.

    A message is about the longest name that it begins with, else the first that stands in it.
    """
    found: dict[str | None, str] = {}
    for error in errors:
        places = {
            name: match.start()
            for name in names
            if (match := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", error))
        }
        about = min(places, key=lambda name: (places[name], -len(name)), default=None)
        found.setdefault(about, error)
    return found


def table_test(name: str, table: Sequence[Mapping[str, Any]]) -> str:
    """Source of the unit test that a table of properties stands for."""
    plain = json.dumps(list(table))
    return (
        f"import json\n\ndef {name}(properties):\n"
        f"    return by_table(json.loads({plain!r}))(properties)\n"
    )


def _source(module: Any) -> str:
    return Path(module.__file__).read_text(encoding="utf-8")
