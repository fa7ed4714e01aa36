"""What is kept of one answer: its row, and the trajectory that led to it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from agents.base import Image, Trajectory, Usage
from agents.episode import show
from experiments.judge import Verdict
from experiments.rows import Row
from experiments.samples import Sample
from experiments.scorers.base import Score
from experiments.store import image_name

#: Characters of a returned value in a trajectory.
SHOWN = 20_000
#: Characters of a reason or an error in a row; the trajectory holds more.
TOLD = 4000
#: Characters of a figure.
MAX_FIGURE = 60_000


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
    usage: Usage = trajectory.usage
    execution = score.execution
    drafts = [step for step in trajectory.steps if step.kind == "execute"]
    final_seconds = execution.seconds if execution else 0.0
    tiers = [execution.tier] if execution else [str(s.detail.get("tier") or "") for s in drafts]
    return Row(
        config_hash=config_hash,
        question_id=sample.question.id,
        seed=trajectory.seed,
        labels=dict(sample.labels),
        cluster=sample.cluster,
        parts=parts,
        outcome=score.outcome,
        values=dict(score.values),
        passed=None if score.passed is None else dict(score.passed),
        reasons={name: _told(reason) for name, reason in score.reasons.items()},
        artefacts={name: _told(text) for name, text in score.artefacts.items()},
        stop_reason=trajectory.stop_reason,
        format_status=trajectory.format_status,
        calls=usage.calls,
        cached_calls=usage.cached_calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        tokens_estimated=usage.estimated,
        cost_usd=usage.cost_usd,
        executions=len(drafts),
        seconds=round(trajectory.seconds, 3),
        sandbox_seconds=round(trajectory.sandbox_seconds + final_seconds, 3),
        tier=tiers[-1] or None if tiers else None,
        error=_told(error) if (error := score.error or trajectory.error) else None,
        fault=trajectory.fault,
        reply_faults=Counter(s.detail["fault"] for s in trajectory.steps if "fault" in s.detail),
        judge_calls=judge.calls,
        judge_tokens=judge.tokens,
        judge_cost_usd=judge.cost_usd,
        limit=trajectory.limit,
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
        sample.question, prompt=f"private, SHA-256 {digest}", mounts={}, parts=(), search=None
    )
    error = "private" if score.error or trajectory.error else None
    execution = score.execution and replace(
        score.execution, result=None, payload=None, stdout="", stderr="", error=None, caught=()
    )
    return (
        replace(sample, question=question, target=None),
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
                for part in sample.question.parts
                if isinstance(part, Image)
            },
            "labels": dict(sample.labels),
            "environment": sample.environment,
        },
        "seed": trajectory.seed,
        "steps": [{"kind": step.kind, **step.detail} for step in trajectory.steps],
        "code": trajectory.code,
        "entry": trajectory.entry,
        "answer": trajectory.answer,
        "value": trajectory.value,
        "stop_reason": trajectory.stop_reason,
        "format_status": trajectory.format_status,
        "fault": trajectory.fault,
        "usage": asdict(trajectory.usage),
        "seconds": trajectory.seconds,
        "error": score.error or trajectory.error,
        "execution": None
        if execution is None
        else {
            "outcome": str(execution.outcome),
            "result": show(execution.result, SHOWN),
            "payload": execution.payload,
            "stdout": execution.stdout,
            "stderr": execution.stderr,
            "error": execution.error,
            "seconds": execution.seconds,
            "cpu_seconds": execution.cpu_seconds,
            "tier": execution.tier,
        },
        "verdict": {
            "outcome": score.outcome,
            "values": dict(score.values),
            "passed": score.passed,
            "reasons": dict(score.reasons),
        },
        "judged": [asdict(verdict) for verdict in judged],
    }
