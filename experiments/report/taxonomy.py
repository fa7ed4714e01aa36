"""Why properties fail: a few words for each, counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from experiments.run.rows import Row
from experiments.samples import data_of

_KNOWN = data_of(__file__)
_KINDS = [(re.compile(pattern), kind) for pattern, kind in _KNOWN["reasons"]]
_OUTCOMES: Mapping[str, str] = _KNOWN["outcomes"]
#: Of system=command, where it left no answer.
_ENDS: Mapping[str, str] = _KNOWN["ends"]


def failure(row: Row, name: str) -> str | None:
    """In a few words why a property failed; ``None`` when it passed or is unknown."""
    if row.passed is None or row.passed.get(name, False):
        return None
    reason = row.reasons.get(name, "")
    if row.outcome == "exception":
        found = re.match(r"exception: ([\w.]+)", reason)
        kind = found[1].rpartition(".")[2] if found else "exception"
        return f"raised {kind}"
    if row.fault == "context":
        return "the prompt is longer than the model's window"
    if end := _ENDS.get(row.stop_reason or ""):
        return end
    if row.outcome in _OUTCOMES:
        return _OUTCOMES[row.outcome]
    if row.values.get("runnable") == 0:
        return "returned no dict, or an empty one"
    if re.fullmatch(r"(?:[A-Z]+[a-z]+){2,}", reason):
        return reason  # the name of a verdict: AtomCountMismatch
    return next((kind for pattern, kind in _KINDS if pattern.search(reason)), "another value")


def count_failures(rows: Iterable[Row]) -> Counter[str]:
    """How many properties failed for which kind of reason."""
    kinds = (failure(row, name) for row in rows for name in row.passed or {})
    return Counter(kind for kind in kinds if kind is not None)
