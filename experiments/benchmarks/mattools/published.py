"""The published verification of MatTools: a unit test judges an answer.

It runs in the verification sandbox, with `.unit_tests` around it; here are only the data that come
back. An answer is the returned dict as typed data, or (`PrintedScorer`) what a script printed.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from agents.base import Trajectory
from experiments.benchmarks.mattools import stdout_rules
from experiments.samples import Sample
from experiments.scorers.base import CRITERIA, Metric, Score, ScoringContext
from experiments.scorers.properties import (
    PropertyScorer,
    Verdicts,
    present,
)
from sandbox.base import Execution, Outcome, SandboxError, Verifier

#: Seconds for a unit test; it compares data.
UNIT_TEST_TIMEOUT = 60.0


class UnitTestVerdict(BaseModel, frozen=True):
    """What a unit test says: ``ok``, errors with their count, or an exception of its own.

    ``each`` has verdicts on single properties (``None``: it gives none), if they were asked for.
    """

    ok: bool
    errors: tuple[str, ...] = ()
    wrong: int | None = None
    properties: int | None = None
    exception: str | None = None
    each: Mapping[str, bool | None] = {}


async def run_unit_test(
    verifier: Verifier, sample: Sample, payload: str, *, each: bool = False
) -> UnitTestVerdict:
    """Run the unit test of a sample on an answer (tagged JSON).

    ``verifier`` did not run the code under test. With ``each``, properties are judged one by one as
    well. A unit test that cannot be loaded is a `SandboxError`.
    """
    name = sample.question.id
    unit_test = sample.target
    # A test that does not name the folder of input files cannot read them.
    read = [
        mount for mount in present(sample) if mount.target.split("/")[0] in unit_test
    ]
    properties = [prop.name for prop in sample.properties] if each else []
    execution = await verifier.judge(
        "experiments.benchmarks.mattools.unit_tests",
        "judge",
        [unit_test, name, payload, properties],
        control=[unit_test, name, "{}", []],  # an empty answer
        timeout=UNIT_TEST_TIMEOUT,
        mounts=read,
    )
    if execution.outcome is not Outcome.OK:
        return UnitTestVerdict(
            ok=False, exception=f"the unit test ended with {execution.outcome}"
        )
    return UnitTestVerdict.model_validate(execution.result)


#: Only this compares with published figures.
AUTHORS_RULE = Metric(
    "published",
    "authors' rule",
    "properties that count by the authors' unit test, which judges an answer as a whole",
    out_of=CRITERIA,
)


@dataclass(frozen=True)
class MatToolsScorer(PropertyScorer):
    """Judges by the published unit test: the sample's target."""

    metrics: Sequence[Metric] = (*PropertyScorer.metrics, AUTHORS_RULE)
    warmup: str = "import numpy, pymatgen.core\n"

    async def verify(
        self, verifier: Verifier, sample: Sample, payload: str
    ) -> tuple[Verdicts, Mapping[str, float]]:
        """See above; each property counts for itself."""
        names = self.criteria(sample)
        verdict = await run_unit_test(verifier, sample, payload, each=True)
        counted = len(names) if verdict.ok else 0
        if verdict.wrong is not None and verdict.properties is not None:
            counted = verdict.properties - verdict.wrong
        return judge_each(verdict, names), {"published": counted}

    def nothing(self, sample: Sample) -> Mapping[str, float]:
        """The values of an answer without a dict: by both rules."""
        return {**super().nothing(sample), "published": 0.0}


def judge_each(
    verdict: UnitTestVerdict, names: Sequence[str]
) -> dict[str, tuple[bool, str]]:
    """Say for each property whether it passed, and why not.

    A message belongs to the property that it names. Where one names none, or the test raised,
    the verdicts on single properties decide; where the test does not give these, nothing passed.
    """
    if verdict.ok:
        return dict.fromkeys(names, (True, ""))
    named: dict[str | None, str] = {}
    reason = f"cannot be compared ({verdict.exception})"
    if verdict.exception is None:
        named = attribute(verdict.errors, names)
        reason = "; ".join(verdict.errors)
        if None not in named:
            return {name: (name not in named, named.get(name, "")) for name in names}
    return {
        name: (True, "")
        if verdict.each.get(name) is True
        else (False, named.get(name) or reason)
        for name in names
    }


def attribute(errors: Sequence[str], names: Sequence[str]) -> dict[str | None, str]:
    """Say which property each message of a unit test is about; ``None``: it names none.

    A message is about the longest name that it begins with, else the first that stands in it.
    """
    error_of: dict[str | None, str] = {}
    for error in errors:
        places = {
            name: match.start()
            for name in names
            if (match := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", error))
        }
        about = min(places, key=lambda name: (places[name], -len(name)), default=None)
        error_of.setdefault(about, error)
    return error_of


def table_test(name: str, table: Sequence[Mapping[str, Any]]) -> str:
    """Source of the unit test that a table of properties stands for."""
    plain = json.dumps(list(table))
    return f"import json\n\nglobals()[{name!r}] = by_table(json.loads({plain!r}))\n"


#: Artefact of a score: `outcome`, and for a runnable answer how many properties are wrong.
VERDICT = "published verdict"


@dataclass(frozen=True)
class PrintedScorer(MatToolsScorer):
    """Judges the text that an answer prints, as the authors do: `benchmark.rules=published`.

    ``main.py`` holds the code and prints what its function returns; the whole of stdout has to be
    one dict, which the unit test judges as a whole. The artefact `VERDICT` is ``all_correct 0``,
    ``some_wrong N`` or ``not_runnable``; the outcome of a score says why nothing could be read
    (see `.stdout_rules.run_and_read`, ``no_code``, ``unit_test``, or how the sandbox ended it).
    """

    async def score(
        self, sample: Sample, trajectory: Trajectory, context: ScoringContext
    ) -> Score:
        """See above."""
        code = trajectory.code or ""
        entry = trajectory.entry or ""
        if not code.strip() or not entry.strip():
            return self._unreadable(sample, "no_code", "there is no code")
        if context.verifier is None:
            raise SandboxError(
                "answers are verified in a sandbox, but none is available"
            )
        script = f"{code}\nprint({entry}())"
        rules = inspect.getsource(stdout_rules)
        program = f"{rules}\n\ndef published():\n    return run_and_read({script!r})\n"
        execution = await context.run(sample, program, "published")
        answer, reason, detail = _printed(execution)
        if answer is None:
            return self._unreadable(sample, reason, detail, execution)
        test = partial(run_unit_test, context.verifier, sample, answer)
        verdict = await test()
        if verdict.exception is not None:
            return self._unreadable(sample, "unit_test", verdict.exception, execution)
        names = self.criteria(sample)
        each = judge_each(verdict if verdict.ok else await test(each=True), names)
        wrong = 0 if verdict.ok else verdict.wrong or 0
        counted = float((verdict.properties or len(names)) - wrong)
        return Score(
            outcome=str(execution.outcome),
            values={"runnable": 1.0, "published": counted},
            passed={name: right for name, (right, _) in each.items()},
            reasons={name: why for name, (right, why) in each.items() if not right},
            artefacts={
                VERDICT: f"{'all_correct' if verdict.ok else 'some_wrong'} {wrong}"
            },
            execution=execution,
        )

    def _unreadable(
        self,
        sample: Sample,
        outcome: str,
        reason: str,
        execution: Execution | None = None,
    ) -> Score:
        failed = self._failed(sample, outcome, reason or outcome, execution)
        return replace(failed, artefacts={VERDICT: "not_runnable"})


def _printed(execution: Execution) -> tuple[str | None, str, str]:
    """The printed dict as tagged JSON; else why there is none, and what shows it."""
    if execution.outcome is not Outcome.OK:
        return None, str(execution.outcome), execution.error or ""
    # The code under test shares its sandbox with the rules and can forge all of this: it can
    # claim another answer, nothing more.
    value: Any = execution.result
    if not isinstance(value, Mapping) or execution.payload is None:
        return None, str(Outcome.BAD_RESULT), "the reading of stdout was tampered with"
    node = json.loads(execution.payload).get("answer")
    if (
        isinstance(value.get("answer"), Mapping)
        and node is not None
        and not value.get("reason")
    ):
        return json.dumps(node), "", ""
    texts = {
        name: text.strip() if isinstance(text := value.get(name), str) else ""
        for name in ("reason", "error", "stdout")
    }
    return (
        None,
        texts["reason"] or str(Outcome.BAD_RESULT),
        texts["error"] or texts["stdout"],
    )
