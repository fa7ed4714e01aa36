"""What is kept of one answer: its row, and the trajectory that led to it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from agents.base import Image, Trajectory, Usage
from agents.checks import show
from agents.models.recordings import counted
from experiments.run.rows import Row
from experiments.run.store import image_name
from experiments.samples import Sample
from experiments.scorers.base import Score
from experiments.scorers.judge import Verdict

#: Characters of a returned value in a trajectory.
SHOWN = 20_000
#: Characters of a reason or an error in a row; the trajectory holds more.
TOLD = 4000
#: Characters of a figure.
MAX_FIGURE = 60_000

#: What a row has of its trajectory as it is, and what a trajectory file has of it, of the final
#: execution and of the verdict.
_ENDED = ("seed", "stop_reason", "format_status", "fault", "limit")
_KEPT = ("seed", "code", "entry", "answer", "value", "stop_reason", "format_status", "fault",
         "seconds")  # fmt: skip
_EXECUTED = ("payload", "stdout", "stderr", "error", "seconds", "cpu_seconds", "tier")
_JUDGED = ("outcome", "values", "passed", "reasons")


def make_row(
    config_hash: str,
    sample: Sample,
    trajectory: Trajectory,
    score: Score,
    *,
    parts: int,
    judge: Usage = Usage(),  # noqa: B008 -- frozen
) -> Row:
    """One line of ``results.jsonl``; ``parts`` is how many verdicts an answer has."""
    usage, execution = trajectory.usage, score.execution
    drafts = [step for step in trajectory.steps if step.kind == "execute"]
    ran = sum(s.detail.get("executions", 0) for s in trajectory.steps if s.kind == "tool")
    final_seconds = execution.seconds if execution else 0.0
    tiers = [execution.tier] if execution else [str(s.detail.get("tier") or "") for s in drafts]
    counts = ("calls", "cached_calls", "prompt_tokens", "completion_tokens")
    return Row(
        config_hash=config_hash,
        question_id=sample.question.id,
        labels=dict(sample.labels),
        cluster=sample.cluster,
        parts=parts,
        outcome=score.outcome,
        values=dict(score.values),
        passed=None if score.passed is None else dict(score.passed),
        reasons={name: _told(reason) for name, reason in score.reasons.items()},
        artefacts={name: _told(text) for name, text in score.artefacts.items()},
        **{name: getattr(trajectory, name) for name in _ENDED},
        **{name: None if usage.unmetered else getattr(usage, name) for name in counts},
        tokens_estimated=usage.estimated,
        cost_usd=usage.cost_usd,
        executions=len(drafts) + ran,
        seconds=round(trajectory.seconds, 3),
        sandbox_seconds=round(trajectory.sandbox_seconds + final_seconds, 3),
        tier=tiers[-1] or None if tiers else None,
        error=_told(error) if (error := score.error or trajectory.error) else None,
        reply_faults=Counter(s.detail["fault"] for s in trajectory.steps if "fault" in s.detail),
        judge_calls=judge.calls,
        judge_tokens=judge.tokens,
        judge_cost_usd=judge.cost_usd,
        recorded=counted(step.detail for step in trajectory.steps),
    )


def _told(text: str) -> str:
    """What a row can hold of any text: not without end, and no halves of characters."""
    whole = text.encode("utf-8", "backslashreplace").decode()
    return whole if len(whole) <= TOLD else f"{whole[: TOLD // 2]} ... {whole[-TOLD // 2 :]}"


def make_figures(score: Score) -> dict[str, str]:
    """The pictures of a verdict; a text says so in place of what a page should not hold."""
    return {
        title: figure
        if figure.startswith(("<svg ", "data:image/png;base64,")) and len(figure) <= MAX_FIGURE
        else _NO_FIGURE
        for title, figure in score.figures.items()
    }


_NO_FIGURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 40" width="300" height="40">'
    f'<text x="4" y="24" fill="#76808b">larger than {MAX_FIGURE} characters: not kept</text></svg>'
)


def veiled(
    sample: Sample, trajectory: Trajectory, score: Score
) -> tuple[Sample, Trajectory, Score]:
    """What may be kept of a private question: verdicts and counts, and a digest of its text."""
    digest = hashlib.sha256(sample.question.prompt.encode()).hexdigest()
    question = replace(
        sample.question, prompt=f"private, SHA-256 {digest}", mounts={}, attachments=(), search=None
    )
    error = "private" if score.error or trajectory.error else None
    execution = score.execution and replace(
        score.execution, result=None, payload=None, stdout="", stderr="", error=None, caught=()
    )
    return (
        replace(sample, question=question, target=None, reference=None),
        replace(trajectory, code=None, entry=None, answer="", value=None, steps=(), error=error),
        replace(score, reasons={}, artefacts={}, figures={}, execution=execution, error=error),
    )


def make_trajectory(
    sample: Sample, trajectory: Trajectory, score: Score, judged: Sequence[Verdict] = ()
) -> dict[str, Any]:
    """Everything that led to the row, without the expected values, as JSON-able data."""
    execution = score.execution
    return {
        "question": {
            "id": sample.question.id,
            "prompt": sample.question.prompt,
            "formats": dict(sample.question.formats),
            "files": sorted(sample.question.mounts),
            "images": {
                part.key: image_name(part)
                for part in sample.question.attachments
                if isinstance(part, Image)
            },
            "labels": dict(sample.labels),
            "environment": sample.environment,
        },
        "steps": [{"kind": step.kind, **step.detail} for step in trajectory.steps],
        **{name: getattr(trajectory, name) for name in _KEPT},
        "usage": asdict(trajectory.usage),
        "error": score.error or trajectory.error,
        "execution": execution
        and {
            "outcome": str(execution.outcome),
            "result": show(execution.result, SHOWN),
            **{name: getattr(execution, name) for name in _EXECUTED},
        },
        "verdict": {name: getattr(score, name) for name in _JUDGED},
        "judged": [asdict(verdict) for verdict in judged],
    }
