"""What a benchmark holds: a question together with what verifies its answer.

Nothing in ``agents``, ``retrieval``, ``indexes``, ``docgen`` or ``sandbox`` imports this
package, so no import path leads from an agent to an expected value.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agents.base import Question
from sandbox.environments import cache_folder


@dataclass(frozen=True)
class Property:
    """One property that a question asks for, and how its value is verified.

    Attributes
    ----------
    name, description, format
        As they stand in the prompt.
    expected
        The gold value as tagged JSON (``sandbox.inside.tagged``), as text.
    compare
        ``equal`` (same value; ``True`` is not ``1``; sequences compare by content, a tuple or
        array may stand for a list) or ``close`` (same shape, numbers within
        ``atol + rtol * abs(expected)``).
    rtol, atol
        Tolerances of ``close``; ``atol`` in the unit of the property.
    erratum
        What is known to be wrong with the property itself (no right answer passes, any answer
        passes, ...), else ``None``. Scores are given with and without such properties.
    """

    name: str
    description: str
    format: str
    expected: str
    compare: Literal["equal", "close"] = "equal"
    rtol: float = 1e-3
    atol: float = 0.0
    erratum: str | None = None


@dataclass(frozen=True)
class Sample:
    """A question, its verification and where it runs.

    Attributes
    ----------
    environment
        Sandbox environment (a folder of ``sandbox/envs``).
    labels
        Free labels for break-downs: ``area``, ``package``, ``level``, ...
    target
        What the benchmark's own scorer compares with beside or instead of ``properties``;
        JSON-able.
    cluster
        Questions of one cluster are not independent (one paper, one symbol); empty: the question
        stands for itself.
    unavailable
        Why the sample cannot be run here (an input file is missing), else ``None``. Such a sample
        is reported, never scored.
    private
        Nothing of it but digests and verdicts is kept in a run folder.
    reference
        A right answer, for `experiments.baselines`: the value that a reply should give, or an
        `agents.answer.CodeAnswer` where it is code; ``None``: nobody knows one.
    """

    question: Question
    properties: tuple[Property, ...] = ()
    environment: str = "live"
    labels: Mapping[str, str] = field(default_factory=dict)
    unavailable: str | None = None
    target: Any = None
    cluster: str = ""
    private: bool = False
    reference: Any = field(default=None, repr=False)


def absent(name: str, reason: str, **labels: str) -> Sample:
    """Stands for questions that a release lacks: reported with the reason, never asked."""
    return Sample(Question(name, ""), labels=labels, unavailable=reason)


def json_entries(file: Path | zipfile.Path) -> Iterator[tuple[str, Any]]:
    """Every entry of a JSON array, or of a file with JSON in each line, after where it stands.

    Raises
    ------
    ValueError
        With the place, for what is not valid JSON.
    """
    text = file.read_text(encoding="utf-8")
    whole, line = text.lstrip().startswith("["), 0
    try:
        if whole:
            yield from (
                (f"{file}, item {n}", item)
                for n, item in enumerate(json.loads(text), 1)
            )
            return
        for line, each in enumerate(text.split("\n"), 1):
            if each.strip():
                yield f"{file}:{line}", json.loads(each)
    except json.JSONDecodeError as error:
        place = error.lineno if whole else line
        raise ValueError(f"{file}:{place}: is not valid JSON ({error.msg})") from error


def cached_file(benchmark: str, data: bytes, suffix: str) -> Path:
    """An input file on the host, in the cache of a benchmark, named by its content."""
    digest = hashlib.sha256(data).hexdigest()[:16]
    path = cache_folder() / "questions" / benchmark / f"{digest}{suffix}"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return path
