"""What can be said of an execution from the question alone: keys, None, formats; and its text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.base import Execution, Outcome
from sandbox.inside.formats import Format, kind_of, misfit, read_format
from sandbox.inside.values import represent, type_name

SHOWN_CHARACTERS = 4000  # of stdout, of a traceback, of the returned values in a record


def contract_findings(execution: Execution, formats: Mapping[str, str]) -> list[str]:
    """Say how the result of a run departs from the formats that the question asks for.

    One finding per property that is missing, ``None`` or of another type; a run that did not end
    ``ok`` is itself the finding. A format that is not understood is not checked.
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
    rest = {
        name: wanted
        for name, wanted in formats.items()
        if given.get(name, 0) is not None
    }
    return bool(execution.caught) or bool(contract_findings(execution, rest))


def fulfilled(execution: Execution, formats: Mapping[str, str]) -> int:
    """Count the properties that a run returned in the format asked for."""
    result: Any = execution.result
    if execution.outcome != Outcome.OK or not isinstance(result, Mapping):
        return 0
    given = {name for name in formats if result.get(name) is not None}
    return sum(
        misfit(result[name], read_format(formats[name])) is None for name in given
    )


def _optional(wanted: str) -> bool:
    form = read_format(wanted)
    return form.kind == "union" and Format("none") in form.inner


def returned(execution: Execution, limit: int = SHOWN_CHARACTERS) -> str:
    """What a run returned, as :func:`show` shows it; a run that failed returned nothing."""
    if execution.outcome != Outcome.OK:
        return "nothing was returned"
    return show(execution.result, limit)


def show(value: Any, limit: int = SHOWN_CHARACTERS) -> str:
    """Value as a prompt or a record shows it: one line per key of a dict, cut at ``limit``."""
    if not isinstance(value, Mapping):
        return cut(_short(value, limit), limit)
    each = max(200, limit // max(1, len(value)))
    lines: list[str] = []
    size = 0
    for key, item in value.items():
        lines.append(f"{cut(represent(key, each), each)}: {_short(item, each)}")
        size += len(lines[-1]) + 1
        if size > limit + 1:
            break
    return cut("\n".join(lines), limit)


def cut(text: str, limit: int) -> str:
    """A text of at most ``limit`` characters, and a mark where there were more."""
    return text if len(text) <= limit else text[:limit] + " ..."


def _short(value: Any, limit: int) -> str:
    name = type_name(value)
    text = f"{represent(value, limit)} ({name})"
    return text if len(text) <= limit else f"{text[:limit]} ... ({name})"
