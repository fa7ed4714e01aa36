"""Judges a structure by two rules, in the verification sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from agents.answer_formats import Block
from agents.base import Trajectory
from experiments.benchmarks.atomworld.actions import Target
from experiments.benchmarks.atomworld.crystal import Crystal
from experiments.benchmarks.atomworld.pictures import crystal, drawn, pictures
from experiments.benchmarks.atomworld.property_command import compare
from experiments.samples import Sample
from experiments.scorers.base import ALL_CORRECT, Metric, Score, Tools
from experiments.scorers.grading import given, grade

#: Seconds of processor time for one verification; the matcher needs 30 for 640 sites.
TIMEOUT = 120.0
GRADER = Path(__file__).with_name("grade.py")
PART = "structure"
UNREADABLE = {"OutputFormatError", "CIFParsingError", "TooLarge", "TooManySites", "TooExpensive"}
TOO_EXPENSIVE: Mapping[str, Any] = {"passed": False, "error": "TooExpensive"}


@dataclass(frozen=True)
class StructureScorer:
    """Compares the CIF of an answer with the target.

    Attributes
    ----------
    target
        Which reading of the sentence the strict rule asks for.
    """

    target: Target = "literal"
    metrics: Sequence[Metric] = (
        Metric(ALL_CORRECT, "strict", "right cell and species, every atom within 0.02 Å"),
        Metric("published", "published", "the authors' grader accepts it"),
        Metric("echo", "echo", "the authors' grader accepts the unchanged input"),
        Metric("above_echo", "published above echo",
               "share of what the unchanged input leaves, (published - echo) / (1 - echo)",
               of="published", baseline="echo"),
        Metric("strict_echo", "strict echo", "the unchanged input is right by the strict rule"),
        Metric("strict_above_echo", "strict above echo", "the same share by the strict rule",
               of=ALL_CORRECT, baseline="strict_echo"),
        Metric("readable", "readable", "the answer is a CIF that can be parsed"),
        Metric("order", "order kept", "right, with the rows in the target's order"),
    )  # fmt: skip
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
        said = await self.judge(sample, answer.value, reply, tools)
        strict, published, echo = said["strict"], said["published"] or {}, said["echo"]
        return Score(
            outcome=answer.outcome,
            values={
                "published": _flag(published.get("passed")),
                "echo": _flag(echo["published"]["passed"] if echo else None),
                "strict_echo": _flag(echo["strict"]["passed"] if echo else None),
                "readable": float(strict["error"] not in UNREADABLE),
                "order": _flag(strict["passed"] and strict.get("order")),
                "worst": strict.get("worst"),
                "max_dist": published.get("max_dist"),
                "contact": strict.get("contact"),
                **self.more(sample, strict),
            },
            passed={PART: bool(strict["passed"])},
            reasons={} if strict["passed"] else {PART: answer.reason or strict["error"]},
            artefacts={
                "error": strict["error"] or "",
                "published error": published.get("error") or "",
            },
            figures=self.figures(sample, strict.get("shown")),
            execution=answer.execution,
        )

    async def judge(
        self, sample: Sample, value: Any, reply: str, tools: Tools
    ) -> Mapping[str, Any]:
        """The verdicts ``strict``, ``published`` and ``echo``; ``None`` where there is none."""
        target, block = sample.target, value if isinstance(value, str) else None
        wanted, authors, before = (target[n] for n in (self.target, "published", "before"))
        said = await verdict(tools, "verdicts", wanted, authors, before, block, reply)
        if said is not None:
            return said
        # Apart: the matcher may need minutes for a right answer; only its verdict lacks then.
        return {
            "strict": await verdict(tools, "strictly", wanted, block) or TOO_EXPENSIVE,
            "published": await verdict(tools, "as_published", authors, reply),
            "echo": await verdict(tools, "echo", wanted, authors, before),
        }

    def more(self, sample: Sample, strict: Mapping[str, Any]) -> Mapping[str, float | None]:  # noqa: ARG002 -- for subclasses
        """Further values."""
        return {}

    def figures(self, sample: Sample, answer: Mapping[str, Any] | None) -> Mapping[str, str]:
        """Pictures of the structures, by their titles."""
        return pictures(sample.target["before"], sample.target[self.target], answer)


@dataclass(frozen=True)
class FamilyScorer(StructureScorer):
    """Judges an answer by the rule that its question names.

    Attributes
    ----------
    command
        A program of the user's own that calculates the property of StructProp; empty: EMT.
    """

    command: str = ""
    metrics: Sequence[Metric] = (
        *StructureScorer.metrics[:-1],
        Metric("sound", "strict without errata", "without questions whose target is wrong"),
        Metric(
            "error", "worst distance", "of a point from its place, where readable", bounded=False
        ),
    )

    async def judge(
        self, sample: Sample, value: Any, reply: str, tools: Tools
    ) -> Mapping[str, Any]:
        """See :meth:`StructureScorer.judge`."""
        rule, wanted = sample.target["rule"], sample.target["given"]
        said = await verdict(tools, rule, wanted, _plainest(value), reply)
        if said is None:
            return {"strict": TOO_EXPENSIVE, "published": None, "echo": None}
        if self.command and said["strict"]["passed"]:
            before, after = (
                crystal(one).to_cif() for one in (wanted["before"], said["strict"]["shown"])
            )
            compared = await compare(self.command, before, after, wanted["trend"])
            said = {**said, "strict": {**said["strict"], **compared}}
        return said

    def more(self, sample: Sample, strict: Mapping[str, Any]) -> Mapping[str, float | None]:
        """See :meth:`StructureScorer.more`."""
        rule = sample.target["rule"]
        sound = rule == "generated" and "erratum" not in sample.labels
        return {
            "sound": float(strict["passed"]) if sound else None,
            "error": strict.get("worst") if rule == "moved_points" else None,
            "value": strict.get("value"),
            "original": strict.get("original"),
        }

    def figures(self, sample: Sample, answer: Mapping[str, Any] | None) -> Mapping[str, str]:
        """See :meth:`StructureScorer.figures`."""
        wanted = sample.target["given"]
        if "target" in wanted:
            return drawn({"target": wanted["target"], "answer": answer})
        if sample.target["rule"] == "changed":
            return drawn({"before": wanted["before"], "answer": answer})
        return {}


async def verdict(tools: Tools, rule: str, *arguments: Any) -> Mapping[str, Any] | None:
    """What a function of the grader says; ``None`` when the answer took it past a limit."""
    said: Mapping[str, Any] | None = await grade(tools, GRADER, rule, *arguments, timeout=TIMEOUT)
    return said


def _plainest(value: Any) -> Any:
    """What code returned as JSON; of anything else a text that is no answer to anything."""
    try:
        value = value.tolist() if isinstance(value, np.ndarray) else value
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return "not JSON"
    return value


def plain(crystal: Crystal) -> dict[str, Any]:
    """As a target travels: JSON-able."""
    return {
        "cell": list(crystal.cell),
        "species": list(crystal.species),
        "fractions": crystal.fractions.tolist(),
    }


def _flag(passed: bool | None) -> float | None:
    return None if passed is None else float(passed)


Arm = Literal["direct", "tool", "tool_inline", "file"]
