"""Judges a structure by two rules, in the verification sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.answer_formats import Block
from agents.base import Trajectory
from agents.drawing import structure_svg
from experiments.benchmarks.atomworld.actions import Target
from experiments.benchmarks.atomworld.crystal import Crystal
from experiments.samples import Sample
from experiments.scorers.base import Metric, Score, Tools, read_metrics
from experiments.scorers.grading import given, grade

#: Seconds of processor time for one verification; the matcher needs 30 for 640 sites.
TIMEOUT = 120.0
GRADER = "experiments.benchmarks.atomworld.grade"
PART = "structure"
SAME = 0.02  # Å; atoms that are nearer are in the same place
UNREADABLE = {"OutputFormatError", "CIFParsingError", "TooLarge", "TooManySites", "TooExpensive"}
METRICS = read_metrics(__file__)
TOO_EXPENSIVE: Mapping[str, Any] = {"passed": False, "error": "TooExpensive"}


@dataclass(frozen=True)
class StructureScorer:
    """Compares an answer with the target, or judges it by the rule that its question names.

    ``target`` is the reading of the sentence that the strict rule asks for.
    """

    target: Target = "literal"
    metrics: Sequence[Metric] = METRICS["structure"]
    executes: bool = True
    #: What a verification worker imports once.
    warmup: str = "import pymatgen.analysis.structure_matcher, pymatgen.io.cif, scipy.optimize\n"

    def parts(self, sample: Sample) -> Sequence[str]:  # noqa: ARG002 -- the same for all
        """See :class:`experiments.scorers.base.Scorer`."""
        return (PART,)

    async def score(self, sample: Sample, trajectory: Trajectory, tools: Tools) -> Score:
        """See :class:`experiments.scorers.base.Scorer`."""
        answer = await given(sample, trajectory, tools)
        reply = trajectory.answer
        if not isinstance(sample.question.answer, Block):
            reply = f"<cif>{answer.value}</cif>" if isinstance(answer.value, str) else ""
        said = await self._judged(sample.target, answer.value, reply, tools)
        strict, published, echo = said["strict"], said.get("published") or {}, said.get("echo")
        error = strict["error"] or ""
        return Score(
            outcome=answer.outcome,
            values={
                "published": _flag(published.get("passed")),
                "echo": _flag(echo["published"]["passed"] if echo else None),
                "strict_echo": _flag(echo["strict"]["passed"] if echo else None),
                "readable": float(error not in UNREADABLE),
                "worst": strict.get("worst"),
                "max_dist": published.get("max_dist"),
                "max_dist_angstrom": published.get("max_dist_angstrom"),
                **_of_family(sample, strict),
            },
            passed={PART: bool(strict["passed"])},
            reasons={} if strict["passed"] else {PART: answer.reason or error},
            artefacts={"error": error, "published error": published.get("error") or ""},
            figures=self._figures(sample.target, strict.get("shown")),
            execution=answer.execution,
        )

    async def _judged(
        self, target: Mapping[str, Any], value: Any, reply: str, tools: Tools
    ) -> Mapping[str, Any]:
        """The verdicts ``strict``, ``published`` and ``echo``, where there are such.

        Of an action apart: the matcher may need minutes for a right answer, and then only its
        verdict lacks. An answer that runs into the limit by itself is not parsed again.
        """

        async def verdict(rule: str, *arguments: Any) -> Any:
            return await grade(tools, GRADER, rule, *arguments, timeout=TIMEOUT)

        if "rule" in target:
            said = await verdict(target["rule"], target["given"], _plainest(value), reply)
            return said or {"strict": TOO_EXPENSIVE}
        block = value if isinstance(value, str) else None
        wanted, authors, before = (target[n] for n in (self.target, "published", "before"))
        strict = await verdict("strictly", wanted, block)
        published = strict and await verdict("as_published", authors, reply)
        return {
            "strict": strict or TOO_EXPENSIVE,
            "published": published,
            "echo": await verdict("echo", wanted, authors, before),
        }

    def _figures(self, target: Mapping[str, Any], answer: Any) -> Mapping[str, str]:
        if "rule" not in target:
            return pictures(before=target["before"], target=target[self.target], answer=answer)
        known = {name: target["given"].get(name) for name in ("before", "target")}
        drawn = target["rule"] in {"generated", "changed"}
        return pictures(**known, answer=answer) if drawn else {}


def _of_family(sample: Sample, strict: Mapping[str, Any]) -> Mapping[str, float | None]:
    rule = sample.target.get("rule")
    if rule is None:
        return {}
    sound = rule == "generated" and "erratum" not in sample.labels
    return {
        "sound": float(strict["passed"]) if sound else None,
        "error": strict.get("worst") if rule == "moved_points" else None,
        "value": strict.get("value"),
        "original": strict.get("original"),
    }


def _plainest(value: Any) -> Any:
    """What code returned as JSON; of anything else a text that is no answer to anything."""
    try:
        value = value.tolist() if isinstance(value, np.ndarray) else value
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return "not JSON"
    return value


def _flag(passed: bool | None) -> float | None:
    return None if passed is None else float(passed)


def pictures(**structures: Mapping[str, Any] | None) -> dict[str, str]:
    """Titles to SVG texts, of ``before``, ``target`` and ``answer`` as far as they are there.

    Rings are around atoms that the action takes away or changes (before), that it brings or
    changes (target), and that are not where the target has them (answer). An answer is drawn from
    the plain data that the verification sandbox hands back: its text is never parsed here.
    """
    known = {title: Crystal.of(plain) for title, plain in structures.items() if plain is not None}
    drawn = {}
    for title, one in known.items():
        other = known.get("before" if title == "target" else "target", one)
        ringed = one.unlike(other, SAME) if "before" in known else []
        fractions = one.fractions.tolist()
        drawn[title] = structure_svg(one.lattice.tolist(), one.species, fractions, marked=ringed)
    return drawn
