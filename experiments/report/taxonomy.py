"""Why properties fail: a few words for each, counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from experiments.rows import Row

#: Kinds of wrong numbers, as a reason names them before a colon.
_NUMBERS = re.compile(r"(factor of ten|sign|unit|rounding|neighbouring slot|format|value|text): ")

#: First match decides. The left sides are the words of `experiments.scorers.verify`.
_KINDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^None$"), "is None"),
    (re.compile(r"^missing key$"), "missing from the dict"),
    (re.compile(r"off by "), "number outside the tolerance"),
    (re.compile(r"expected (?:list|tuple|a set|a dict) of \d+, got \d+$"), "wrong length"),
    (re.compile(r"is missing$|is unexpected$|the set lacks"), "wrong keys or members"),
    (
        re.compile(r"expected (?:int|float|str|bool|list|tuple|dict|set|a number|complex)\b"),
        "wrong type",
    ),
    (re.compile(r"expected "), "another value"),
    (re.compile(r"^scored \d"), "not all right"),
    (re.compile(r"not in the form asked for$"), "not in the form asked for"),
)

_OUTCOMES = {
    "no_code": "no code in the reply",
    "no_answer": "no answer in the reply",
    "timeout": "timeout",
    "memory": "out of memory",
    "exit": "left the interpreter",
    "killed": "killed by a signal",
    "no_result": "ended without a result",
    "bad_result": "result cannot be sent",
    "output_flood": "flooded its output",
}


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
    if row.outcome in _OUTCOMES:
        return _OUTCOMES[row.outcome]
    if row.values.get("runnable") == 0:
        return "returned no dict, or an empty one"
    if re.fullmatch(r"(?:[A-Z]+[a-z]+){2,}", reason):
        return reason  # the name of a verdict: AtomCountMismatch
    if found := _NUMBERS.match(reason):
        return found[1]
    return next((kind for pattern, kind in _KINDS if pattern.search(reason)), "another value")


def count_failures(rows: Iterable[Row]) -> Counter[str]:
    """How many properties failed for which kind of reason."""
    kinds = (failure(row, name) for row in rows for name in row.passed or {})
    return Counter(kind for kind in kinds if kind is not None)
