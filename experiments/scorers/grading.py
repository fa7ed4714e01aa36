"""Answers that are values: how one is found, and judged by a function, a letter or a grader.

A question can ask for its value in the reply, or for code whose function returns
``{"answer": value}``. Both end in the same scorer. What a library has to parse (CIF, LaTeX, lax
JSON) a grader parses in the sandbox for verification, under its limits.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base import Trajectory
from agents.models import FAULTS
from experiments.samples import Sample
from experiments.scorers.base import Metric, Score, Scorer, ScoringContext
from experiments.scorers.properties import not_runnable
from sandbox.base import Execution, Outcome, SandboxError

#: Seconds of processor time for one verdict, unless a grader needs more.
TIMEOUT = 30.0
#: Gives a share between 0 and 1, whether an answer is right, or a whole `Score`.
Scoring = Callable[[Sample, Any], float | bool | Score]
#: How far a number that is no count may be off, as a share of it.
TOLERANCE = 1e-3


@dataclass(frozen=True)
class ExtractedAnswer:
    """The value that an answer gives, or the reason why there is none.

    JSON-able from a reply, any value that the sandbox hands back where the answer is code.
    """

    value: Any
    reason: str | None = None
    execution: Execution | None = None

    @property
    def outcome(self) -> str:
        """How the answer came about, as a row records it."""
        if self.execution is not None:
            return str(self.execution.outcome)
        return "no_answer" if self.value is None else "ok"


async def extract_answer(
    sample: Sample, trajectory: Trajectory, context: ScoringContext
) -> ExtractedAnswer:
    """Read the value of an answer: from its reply, or from the dict that its code returns."""
    if not sample.question.wants_code:
        reason = _silent(trajectory) if trajectory.value is None else None
        return ExtractedAnswer(trajectory.value, reason)
    if trajectory.code is None or trajectory.entry is None:
        return ExtractedAnswer(None, _silent(trajectory))
    execution = await context.run(sample, trajectory.code, trajectory.entry)
    fault = not_runnable(execution)
    value = execution.result.get("answer") if fault is None else None
    if fault is None and value is None:
        fault = "the returned dict has nothing under 'answer'"
    return ExtractedAnswer(value, fault, execution)


def _silent(trajectory: Trajectory) -> str | None:
    """Why there is no answer, where it is known."""
    ends = {"crashed": "AgentCrashed", "timeout": "AgentTimeout"}
    return FAULTS.get(trajectory.fault or "") or ends.get(trajectory.stop_reason)


async def grade(
    context: ScoringContext,
    grader: str,
    rule: str,
    *arguments: Any,
    control: Sequence[Any],
    timeout: float = TIMEOUT,
) -> Any:
    """Call a function of a grader in the sandbox for verification; see `Verifier.judge`.

    ``control`` are the arguments with a right or an empty answer. ``None`` when the answer made it
    fail, or took it past a limit (of ``timeout`` seconds of processor time); a `SandboxError` where
    there is no sandbox, or the grader fails with ``control``, too.
    """
    if context.verifier is None:
        raise SandboxError("answers are verified in a sandbox, but there is none")
    verdict = await context.verifier.judge(
        grader, rule, arguments, control=control, timeout=timeout
    )
    return verdict.result if verdict.outcome is Outcome.OK else None


def accuracy(sample: Sample, answer: Any) -> bool:
    """Whether an answer is the target: numbers within `TOLERANCE`, words in any case."""
    return _same(sample.target, answer)


def _same(target: Any, answer: Any) -> bool:
    if isinstance(target, Mapping):
        return isinstance(answer, Mapping) and all(
            key in answer and _same(value, answer[key]) for key, value in target.items()
        )
    if isinstance(target, list):
        fits = isinstance(answer, list) and len(answer) == len(target)
        return fits and all(map(_same, target, answer))
    if isinstance(target, int | float) and not isinstance(target, bool):
        is_number = isinstance(answer, int | float) and not isinstance(answer, bool)
        tolerance = 0.0 if isinstance(target, int) else TOLERANCE
        return (
            is_number
            and abs(answer) < 1e308
            and math.isclose(answer, target, rel_tol=tolerance)
        )
    return str(answer).strip().casefold() == str(target).strip().casefold()


@dataclass(frozen=True)
class FunctionScorer(Scorer):
    """What ``function`` says of each answer; a reply without a readable answer scores 0.

    Where a question asks for code (``executes``), the answer is what stands under ``answer`` in
    the dict that its function returns.
    """

    function: Scoring
    executes: bool = False

    @property
    def metrics(self) -> Sequence[Metric]:
        """See :class:`experiments.scorers.base.Scorer`."""
        about = (inspect.getdoc(self.function) or "what the scorer gives").splitlines()[
            0
        ]
        return (Metric("score", getattr(self.function, "__name__", "score"), about),)

    async def score(
        self, sample: Sample, trajectory: Trajectory, context: ScoringContext
    ) -> Score:
        """See :class:`experiments.scorers.base.Scorer`."""
        answer = await extract_answer(sample, trajectory, context)
        if answer.value is None:
            reason = answer.reason or "no answer could be read from the reply"
            return Score(
                answer.outcome,
                {"score": 0.0},
                {"answer": False},
                {"answer": reason},
                execution=answer.execution,
            )
        judged = self.function(sample, answer.value)
        if isinstance(judged, Score):
            return judged
        right = judged >= 1
        reasons = {} if right else {"answer": f"the answer is {answer.value!r:.200}"}
        return Score(
            "ok",
            {"score": float(judged)},
            {"answer": right},
            reasons,
            execution=answer.execution,
        )


def reading_rule(trajectory: Trajectory) -> str:
    """The rule by which the answer was read from its reply (`Reading.rule`); empty for none."""
    rules = [
        str(step.detail.get("rule", ""))
        for step in trajectory.steps
        if step.kind == "parse"
    ]
    return rules[-1] if rules else ""


def published_letter(reply: str) -> str:
    """What the script of MatTools' authors takes for the letter: the reply without its tags."""
    return reply.strip().replace("<answer>", "").replace("</answer>", "").strip()


#: Artefact of answers that are one letter: which one was given, ``-`` for none.
GIVEN_LETTER = "given"
RIGHT_LETTER = "right"
#: Label of questions that are asked several times with their choices in another order.
ROTATED = "question"
CIRCULAR = Metric(
    "fair",
    "circular",
    "questions whose letter is right in every order of their choices (guessing: less than 1 %"
    " of four orders)",
    every=ROTATED,
)


@dataclass(frozen=True)
class ChoiceScorer(Scorer):
    """Compares the letter of a reply with the right one.

    Both ways of reading count: *fair*, the letter that a reply means, as a person reads it;
    *published*, what the authors' script reads, a bare letter with or without its tags.
    """

    metrics: Sequence[Metric] = (
        Metric(
            "fair", "fair", "the letter that the reply means is right (guessing: 25 %)"
        ),
        Metric(
            "published",
            "published",
            "the reply is the right letter, in tags or bare, and nothing else",
        ),
    )
    executes: bool = False

    def criteria(self, sample: Sample) -> Sequence[str]:  # noqa: ARG002 -- the same for all
        """See :class:`experiments.scorers.base.Scorer`."""
        return ("letter",)

    async def score(
        self,
        sample: Sample,
        trajectory: Trajectory,
        context: ScoringContext,  # noqa: ARG002 -- of the protocol
    ) -> Score:
        """See :class:`experiments.scorers.base.Scorer`."""
        right = trajectory.value == sample.target
        reply = trajectory.answer or str(trajectory.value or "")
        published = published_letter(reply) == sample.target
        letter = "-" if trajectory.value is None else str(trajectory.value)
        reason = (
            "the reply names no letter" if letter == "-" else f"the letter is {letter}"
        )
        return Score(
            outcome="ok" if letter != "-" else "no_answer",
            values={"fair": float(right), "published": float(published)},
            passed={"letter": right},
            reasons={} if right else {"letter": reason},
            artefacts={
                GIVEN_LETTER: letter,
                RIGHT_LETTER: str(sample.target),
                "read from": reading_rule(trajectory),
            },
        )
