"""What can be said of a returned dict from the question alone: keys, None, formats."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sandbox.base import Execution, Outcome
from sandbox.representation import type_name
from sandbox.wire import Members


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
        return [f"the function must return a non-empty dict, not {_kind(result)}"]
    findings = []
    for name, wanted in formats.items():
        if name not in result:
            findings.append(f"`{name}` is missing from the returned dict")
        elif result[name] is None:
            findings.append(f"`{name}` is None")
        elif not fits(result[name], wanted):
            kind = _kind(result[name])
            findings.append(f"`{name}` should be {wanted} but is {kind}")
    return findings


def fulfilled(execution: Execution, formats: Mapping[str, str]) -> int:
    """Count the properties that a run returned in the format asked for."""
    result = execution.result
    if execution.outcome != Outcome.OK or not isinstance(result, Mapping):
        return 0
    given = {name for name in formats if result.get(name) is not None}
    return sum(fits(result[name], formats[name]) for name in given)


_SIMPLE: dict[str, tuple[type, ...]] = {
    "int": (int, np.integer),
    "float": (int, float, np.integer, np.floating),
    "complex": (int, float, complex, np.number),
    "str": (str,),
    "dict": (Mapping,),
    "set": (set, frozenset, Members),
}
_FORMAT = re.compile(r"\W*(bool|int|float|str|list|dict|tuple|set|complex)\b")


def fits(value: Any, wanted: str) -> bool:
    """Whether ``value`` has the format ``wanted`` (``float``, ``list[str]``, ...).

    A tuple or an array may stand for a list; ``True`` is no number; a format that is not
    understood fits everything.
    """
    match = _FORMAT.match(wanted.lower())
    if match is None:
        return True
    kind, truth = match[1], isinstance(value, (bool, np.bool_))
    if kind == "bool" or truth:
        return truth and kind == "bool"
    if kind in _SIMPLE:
        return isinstance(value, _SIMPLE[kind])
    if not isinstance(value, (list, tuple, np.ndarray)):
        return False
    inner = re.search(r"\[(.*)\]", wanted)
    if kind != "list" or inner is None or not _flat(inner[1]):
        return True
    return all(fits(item, inner[1]) for item in list(value)[:100])


def _flat(wanted: str) -> bool:
    return wanted.strip().lower() in {"bool", "int", "float", "str", "list[float]", "list[int]"}


def _kind(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        return f"{type_name(value)} of {type_name(value[0])}"
    return type_name(value)
