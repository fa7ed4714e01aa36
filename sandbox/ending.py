"""How a run ended: from the supervisor's words and the bytes of the child to an `Execution`.

The bytes could have been written by the code itself. So they are read under caps, and whatever goes
wrong while they are read is the fault of the code, never of the machine.
"""

from __future__ import annotations

import os
import signal
from dataclasses import replace

from sandbox.base import Execution, Outcome
from sandbox.exchange import read_report
from sandbox.inside.decoding import WireError, decode
from sandbox.inside.tagged import KEEP

KILLED_BY = "the code was killed by signal"
SIGKILLED = f"{KILLED_BY} SIGKILL"
#: Why the supervisor ends a run -> its outcome, and the reason in words.
REASONS = {
    "timeout": (Outcome.TIMEOUT, "the code used up its processor time and was killed"),
    "wall": (Outcome.TIMEOUT, "the code used up its wall time and was killed"),
    "memory": (Outcome.MEMORY, "the code used more memory than allowed and was killed"),
    "output_flood": (
        Outcome.OUTPUT_FLOOD,
        "the code printed more than 16 MB and was killed",
    ),
    "bad_result": (Outcome.BAD_RESULT, "the result is larger than 16 MB"),
}
#: Kinds of a message that name an outcome, with the reason as their payload.
_REPORTED = {
    outcome.encode(): outcome
    for outcome in (
        Outcome.EXCEPTION,
        Outcome.MEMORY,
        Outcome.EXIT,
        Outcome.BAD_RESULT,
    )
}


def read_ending(reason: str | None, status: int, message: bytes) -> Execution:
    """Outcome, result, payload, error, files and caught exceptions of a run.

    ``reason`` is a key of `REASONS`, or ``None`` where the child ended by itself; ``status`` its
    wait status; ``message`` what it wrote as its result.
    """
    try:
        report = read_report(message)
        done = _outcome(reason, status, report.message)
    except Exception as error:  # noqa: BLE001 - see the top of this file
        return _unreadable(type(error).__name__)
    if done.outcome is not Outcome.OK:
        return replace(done, caught=report.caught)
    return replace(done, caught=report.caught, files=report.files, left=report.left)


def _outcome(reason: str | None, status: int, message: bytes) -> Execution:
    if reason is not None:
        outcome, text = REASONS[reason]
        return Execution(outcome, error=text)
    if os.WIFSIGNALED(status):
        return _killed(os.WTERMSIG(status))
    if not message:
        code = os.waitstatus_to_exitcode(status)
        text = f"the process ended with status {code}, no result"
        return Execution(Outcome.NO_RESULT, error=text)
    return _told(message)


def _killed(number: int) -> Execution:
    named = number in set(signal.Signals)
    name = signal.Signals(number).name if named else str(number)
    return Execution(Outcome.KILLED, error=f"{KILLED_BY} {name}")


def _told(message: bytes) -> Execution:
    kind, _, payload = message.partition(b"\n")
    if kind == b"ok":
        try:
            return Execution(Outcome.OK, decode(payload), payload.decode("utf-8"))
        except WireError as error:
            return _unreadable(str(error))
    if kind in _REPORTED:
        text = payload[: 2 * KEEP].decode(errors="replace")
        return Execution(_REPORTED[kind], error=text)
    return _unreadable("unknown kind")


def _unreadable(why: str) -> Execution:
    return Execution(Outcome.BAD_RESULT, error=f"the result cannot be read: {why}")
