"""What can be said of a returned dict from the question alone: keys, None, formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.formats import Format, kind_of, misfit, read_format
from sandbox.base import Execution, Outcome


def contract_findings(execution: Execution, formats: Mapping[str, str]) -> list[str]:
    """Say how the result of a run departs from what the question asks for.

    Parameters
    ----------
    execution
        A run of a draft.
    formats
        Property name to format text. A format that is not understood is not checked.

    Returns
    -------
    list of str
        One finding per property that is missing, ``None`` or of another type; empty when all
        is well. A run that did not end ``ok`` is itself the finding.
    """
    if execution.outcome != Outcome.OK:
        return [f"the code did not return: {execution.outcome}"]
    result = execution.result
    if not isinstance(result, Mapping) or not result:
        return [f"the function must return a non-empty dict, not {kind_of(result)}"]
    findings = []
    for name, wanted in formats.items():
        if name not in result:
            findings.append(f"`{name}` is missing from the returned dict")
        elif result[name] is None and (execution.caught or not _optional(wanted)):
            findings.append(f"`{name}` is None")
        elif (fault := misfit(result[name], read_format(wanted))) is not None:
            findings.append(f"`{name}` should be {wanted} but {fault}")
    return findings


def caught_findings(execution: Execution) -> list[str]:
    """The exceptions that a draft caught itself: the causes of a ``None``, if anything is."""
    return [
        f"line {caught.line}: the code caught {caught.type}: {caught.message}"
        for caught in execution.caught
    ]


def concrete(execution: Execution, formats: Mapping[str, str]) -> bool:
    """Whether what is wrong with a run says by itself what to correct.

    An exception does, raised or caught, and so does a value of another type or a key that is
    missing; a time limit, a killed process or a ``None`` without a cause does not.
    """
    if execution.outcome != Outcome.OK:
        return execution.outcome == Outcome.EXCEPTION and bool(execution.error)
    given = execution.result if isinstance(execution.result, Mapping) else {}
    rest = {name: wanted for name, wanted in formats.items() if given.get(name, 0) is not None}
    return bool(execution.caught) or bool(contract_findings(execution, rest))


def fulfilled(execution: Execution, formats: Mapping[str, str]) -> int:
    """Count the properties that a run returned in the format asked for."""
    result: Any = execution.result
    if execution.outcome != Outcome.OK or not isinstance(result, Mapping):
        return 0
    given = {name for name in formats if result.get(name) is not None}
    return sum(misfit(result[name], read_format(formats[name])) is None for name in given)


def _optional(wanted: str) -> bool:
    form = read_format(wanted)
    return form.kind == "union" and Format("none") in form.inner
