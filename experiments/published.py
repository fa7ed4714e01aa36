"""The published scorer of MatTools: printed answers, read back, judged by a unit test.

Three steps, three rules: the code runs as ``main.py`` with a line that prints its result; the
whole stdout must be one literal dict (`experiments.stdout_rules`); that dict goes to the unit
test in a second sandbox (`experiments.unit_tests`). Everything that reads untrusted text runs
inside; here are only the data that come back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from experiments import stdout_rules, unit_tests
from experiments.tasks import Property
from sandbox.base import Execution, Mount, Outcome, Sandbox, SandboxError

#: Seconds for a unit test; it compares data.
UNIT_TEST_TIMEOUT = 60.0

#: Ends of a unit test that an answer can bring about by its sheer size.
ANSWERS_FAULT = frozenset(
    {Outcome.TIMEOUT, Outcome.MEMORY, Outcome.OUTPUT_FLOOD, Outcome.KILLED, Outcome.NO_RESULT}
)


@dataclass(frozen=True)
class PublishedScore:
    """What the published rules make of one answer.

    Attributes
    ----------
    outcome
        ``all_correct``, ``some_wrong`` or ``not_runnable``.
    reason
        Why it is not runnable (``exception``, ``no_output``, ``unparsable_stdout``,
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
    """What a unit test says: ``ok``, errors with their count, or an exception of its own."""

    ok: bool
    errors: tuple[str, ...] = ()
    wrong: int | None = None
    properties: int | None = None
    exception: str | None = None
    seconds: float = 0.0


async def score_published(
    code: str,
    entry: str,
    unit_test: str,
    *,
    name: str,
    sandbox: Sandbox,
    verifier: Sandbox,
    timeout: float,
    mounts: Sequence[Mount] = (),
) -> PublishedScore:
    """Judge one recorded function by the published rules.

    Parameters
    ----------
    code, entry
        The function's source and name.
    unit_test, name
        Source of the unit test, and the name of its function.
    sandbox, verifier
        Where the code runs, and where the unit test does: never the same.
    timeout
        Seconds for the code.
    mounts
        Input files of the question.

    Raises
    ------
    SandboxError
        When a sandbox failed: nothing is known about the answer then.
    """
    if not code.strip() or not entry.strip():
        return PublishedScore("not_runnable", "no_code")
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
        return PublishedScore(
            "not_runnable",
            str(execution.outcome),
            detail=execution.error or "",
            seconds=execution.seconds,
        )
    answer, reason, detail = _printed(execution)
    if answer is None:
        return PublishedScore("not_runnable", reason, detail=detail, seconds=execution.seconds)
    verdict = await run_unit_test(verifier, unit_test, name, answer)
    seconds = execution.seconds + verdict.seconds
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


def _printed(execution: Execution) -> tuple[str | None, str, str]:
    """The answer as tagged JSON (or ``None``), the reason and what shows it."""
    # The code under test shares its sandbox with the rules and can forge this: it can claim
    # another answer, nothing more.
    value = execution.result
    if not isinstance(value, Mapping) or execution.payload is None:
        return None, str(Outcome.BAD_RESULT), "the reading of stdout was tampered with"
    node = json.loads(execution.payload).get("answer")
    reason = value.get("reason")
    detail = str(value.get("error") or value.get("stdout") or "").strip()
    if node is None or reason is not None:
        return None, str(reason or Outcome.BAD_RESULT), detail
    return json.dumps(node), "", detail


async def run_unit_test(
    verifier: Sandbox, unit_test: str, name: str, payload: str
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

    Raises
    ------
    SandboxError
        When the sandbox failed.
    """
    code = (
        f"{_source(unit_tests)}\n\n{unit_test}\n\n"
        # `repr` of a str is a literal whatever it holds: nothing of the answer becomes code.
        f"def verified():\n    return verdict({name}, {payload!r})\n"
    )
    execution = await verifier.run(code, "verified", timeout=UNIT_TEST_TIMEOUT)
    if execution.outcome in ANSWERS_FAULT:
        return UnitTestVerdict(ok=False, exception=f"the unit test ended with {execution.outcome}")
    found = execution.result
    if execution.outcome is not Outcome.OK or not isinstance(found, Mapping):
        raise SandboxError(
            f"the unit test {name} ended with {execution.outcome}: {execution.error}"
        )
    return UnitTestVerdict(
        ok=found["ok"] is True,
        errors=tuple(map(str, found.get("errors", ()))),
        wrong=found.get("wrong"),
        properties=found.get("properties"),
        exception=found.get("exception"),
        seconds=execution.seconds,
    )


async def verify_by_unit_test(
    verifier: Sandbox, unit_test: str, name: str, properties: Sequence[Property], payload: str
) -> dict[str, tuple[bool, str]]:
    """Judge each property by a published unit test.

    Parameters
    ----------
    verifier
        A sandbox that did not run the code under test.
    unit_test, name, payload
        See `run_unit_test`.
    properties
        Whose names begin the messages of the unit test.

    Raises
    ------
    SandboxError
        When the sandbox failed, or a message names no property.
    """
    verdict = await run_unit_test(verifier, unit_test, name, payload)
    names = [prop.name for prop in properties]
    if verdict.exception is not None:
        return dict.fromkeys(names, (False, f"cannot be compared ({verdict.exception})"))
    return attribute(verdict.errors, names)


def attribute(errors: Sequence[str], names: Sequence[str]) -> dict[str, tuple[bool, str]]:
    """Say which property each message of a unit test is about.

    Raises
    ------
    SandboxError
        When a message is about none of them.
    """
    found: dict[str, str] = {}
    for error in errors:
        about = [
            name
            for name in names
            if error.startswith(name) and not error[len(name) :][:1].isidentifier()
        ]
        if not about:
            raise SandboxError(f"a message of the unit test names no property: {error[:200]}")
        found.setdefault(max(about, key=len), error)
    return {name: (name not in found, found.get(name, "")) for name in names}


def table_test(name: str, table: Sequence[Mapping[str, Any]]) -> str:
    """Source of the unit test that a table of properties stands for."""
    plain = json.dumps(list(table))
    return f"def {name}(properties):\n    return by_table(json.loads({plain!r}))(properties)\n"


def _source(module: Any) -> str:
    return Path(module.__file__).read_text(encoding="utf-8")
