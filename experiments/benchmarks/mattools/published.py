"""The published verification of MatTools: a unit test judges the returned dict, as typed data.

It runs in the verification sandbox, with `.unit_tests` around it; here are only the data that come
back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from experiments.benchmarks.mattools import unit_tests
from experiments.samples import Sample
from experiments.scorers.base import Metric
from experiments.scorers.properties import ANSWERS_FAULT, Judged, PropertyScorer, present
from sandbox.base import Mount, Outcome, Sandbox, SandboxError

#: Seconds for a unit test; it compares data.
UNIT_TEST_TIMEOUT = 60.0


class UnitTestVerdict(BaseModel):
    """What a unit test says: ``ok``, errors with their count, or an exception of its own.

    ``each`` has verdicts on single properties (``None``: it gives none), if they were asked for.
    """

    model_config = ConfigDict(frozen=True)

    ok: bool
    errors: tuple[str, ...] = ()
    wrong: int | None = None
    properties: int | None = None
    exception: str | None = None
    each: Mapping[str, bool | None] = {}


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
        f"{source_of(unit_tests)}\n\n"
        f"def verified():\n    test = load({unit_test!r}, {name!r})\n"
        f"    return verdict(test, {payload!r}, {list(properties)!r})\n"
    )
    read = [mount for mount in mounts if mount.target.split("/")[0] in unit_test]
    execution = await verifier.run(code, "verified", timeout=UNIT_TEST_TIMEOUT, mounts=read)
    if execution.outcome in ANSWERS_FAULT:
        return UnitTestVerdict(ok=False, exception=f"the unit test ended with {execution.outcome}")
    if execution.outcome is not Outcome.OK:
        last = (execution.error or "no message").strip().splitlines()[-1]
        raise SandboxError(f"the unit test of {name} ended with {execution.outcome}: {last}")
    return UnitTestVerdict.model_validate(execution.result)


#: Only this compares with published figures.
AUTHORS_RULE = Metric(
    "published",
    "authors' rule",
    "properties that count by the authors' unit test, which judges an answer as a whole",
    of_parts=True,
)


@dataclass(frozen=True)
class MatToolsScorer(PropertyScorer):
    """Judges by the published unit test: the sample's target."""

    metrics: Sequence[Metric] = (*PropertyScorer.metrics, AUTHORS_RULE)
    warmup: str = "import numpy, pymatgen.core\n"

    async def verify(self, verifier: Sandbox, sample: Sample, payload: str) -> Judged:
        """See above; each property counts for itself.

        Raises
        ------
        SandboxError
            When the verification itself failed.
        """
        names = self.parts(sample)
        verdict = await run_unit_test(
            verifier, sample.target, sample.question.id, payload,
            mounts=present(sample), properties=names,
        )  # fmt: skip
        counted = len(names) if verdict.ok else 0
        if verdict.wrong is not None and verdict.properties is not None:
            counted = verdict.properties - verdict.wrong
        return Judged(judge_each(verdict, names), {"published": counted})

    def nothing(self, sample: Sample) -> Mapping[str, float]:
        """The values of an answer without a dict: by both rules."""
        return {**super().nothing(sample), "published": 0.0}


def judge_each(verdict: UnitTestVerdict, names: Sequence[str]) -> dict[str, tuple[bool, str]]:
    """Say for each property whether it passed, and why not.

    A message belongs to the property that it names. Where one names none, or the test raised,
    the verdicts on single properties decide; where the test does not give these, nothing passed.
    """
    if verdict.ok:
        return dict.fromkeys(names, (True, ""))
    named: dict[str | None, str] = {}
    said = f"cannot be compared ({verdict.exception})"
    if verdict.exception is None:
        named, said = attribute(verdict.errors, names), "; ".join(verdict.errors)
        if None not in named:
            return {name: (name not in named, named.get(name, "")) for name in names}
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
    return f"import json\n\nglobals()[{name!r}] = by_table(json.loads({plain!r}))\n"


def source_of(module: Any) -> str:
    """The text of a module that runs inside a sandbox."""
    return Path(module.__file__).read_text(encoding="utf-8")
