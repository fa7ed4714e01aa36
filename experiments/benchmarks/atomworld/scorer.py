"""Judges a structure by two rules, in the verification sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agents.answer_formats import CODE
from agents.base import Trajectory
from experiments.benchmarks.atomworld.actions import Target
from experiments.benchmarks.atomworld.crystal import Crystal
from experiments.benchmarks.atomworld.pictures import pictures
from experiments.samples import Sample
from experiments.scorers.base import ALL_CORRECT, Metric, Score, Tools
from experiments.scorers.grading import given, grade

#: Seconds of processor time for one verification; the matcher needs 30 for 640 sites.
TIMEOUT = 120.0
GRADER = Path(__file__).with_name("grade.py")
PART = "structure"
UNREADABLE = {"OutputFormatError", "CIFParsingError", "TooLarge", "TooManySites", "TooExpensive"}


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
        block = answer.value if isinstance(answer.value, str) else None
        reply = trajectory.answer if sample.question.answer != CODE else f"<cif>{block or ''}</cif>"
        target = sample.target
        wanted, authors, before = (target[n] for n in (self.target, "published", "before"))
        said = await _verdict(tools, "verdicts", wanted, authors, before, block, reply)
        if said is None:
            # Apart: the matcher may need minutes for a right answer; only its verdict lacks then.
            said = {
                "strict": await _verdict(tools, "strictly", wanted, block)
                or {"passed": False, "error": "TooExpensive"},
                "published": await _verdict(tools, "as_published", authors, reply),
                "echo": await _verdict(tools, "echo", wanted, authors, before),
            }
        strict, published, echo = said["strict"], said["published"] or {}, said["echo"] or {}
        return Score(
            outcome=answer.outcome,
            values={
                "published": _flag(published.get("passed")),
                "echo": _flag(echo["published"]["passed"] if echo else None),
                "strict_echo": _flag(echo["strict"]["passed"] if echo else None),
                "readable": float(strict["error"] not in UNREADABLE),
                "order": _flag(strict["passed"] and strict["order"]),
                "worst": strict.get("worst"),
                "max_dist": published.get("max_dist"),
                "contact": strict.get("contact"),
            },
            passed={PART: bool(strict["passed"])},
            reasons={} if strict["passed"] else {PART: answer.reason or strict["error"]},
            artefacts={
                "error": strict["error"] or "",
                "published error": published.get("error") or "",
            },
            figures=pictures(before, wanted, strict.get("shown")),
            execution=answer.execution,
        )


async def _verdict(tools: Tools, rule: str, *arguments: Any) -> Mapping[str, Any] | None:
    said: Mapping[str, Any] | None = await grade(tools, GRADER, rule, *arguments, timeout=TIMEOUT)
    return said


def plain(crystal: Crystal) -> dict[str, Any]:
    """As a target travels: JSON-able."""
    return {
        "cell": list(crystal.cell),
        "species": list(crystal.species),
        "fractions": crystal.fractions.tolist(),
    }


def _flag(passed: bool | None) -> float | None:
    return None if passed is None else float(passed)


Arm = Literal["direct", "tool", "tool_inline"]
