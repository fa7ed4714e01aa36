"""The record of an answer, out of its trajectory and its score."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from agents.base import Image, Step, Trajectory, Usage
from agents.checks import show
from agents.models.recordings import counted
from experiments.record import (
    AskedQuestion,
    Effort,
    Ending,
    FinalExecution,
    Record,
    RecordedScore,
)
from experiments.run.store import image_name
from experiments.samples import Sample
from experiments.scorers.base import Score
from experiments.scorers.judge import Judge
from foundation import secrets
from sandbox.base import Execution

#: Characters of a returned value in a record.
RETURNED_CHARACTERS = 20_000
#: Characters of a figure.
MAX_FIGURE = 60_000
_NO_FIGURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 40" width="300" height="40">'
    f'<text x="4" y="24" fill="#76808b">larger than {MAX_FIGURE} characters: not kept</text></svg>'
)


def make_record(
    config_hash: str,
    sample: Sample,
    trajectory: Trajectory,
    ending: Ending,
    score: Score | None,
    *,
    criteria: int,
    judge: Judge | None = None,
) -> Record:
    """Everything that led to a verdict, without the expected values.

    ``score`` is ``None`` where nothing was judged; ``criteria`` is how many verdicts an answer
    has. Of a private question nothing but digests, verdicts and counts is kept.
    """
    execution = score.execution if score else None
    record = Record(
        config_hash=config_hash,
        question=_question(sample),
        seed=trajectory.seed,
        steps=[{"kind": step.kind, **step.detail} for step in trajectory.steps],
        code=trajectory.code,
        entry=trajectory.entry,
        answer=trajectory.answer,
        value=trajectory.value,
        format_status=trajectory.format_status,
        fault=trajectory.fault,
        execution=_execution(execution) if execution else None,
        score=_score(score, ending, criteria),
        judged=[asdict(verdict) for verdict in judge.verdicts] if judge else [],
        usage=trajectory.usage,
        judge_usage=judge.usage if judge else Usage(),
        effort=_effort(trajectory, execution),
        ending=ending,
    )
    record = Record.model_validate(secrets.redacted(record.model_dump()))
    return redacted(record) if sample.private else record


def _question(sample: Sample) -> AskedQuestion:
    question = sample.question
    images = [part for part in question.attachments if isinstance(part, Image)]
    return AskedQuestion(
        id=question.id,
        prompt=question.prompt,
        formats=dict(question.formats),
        files=sorted(question.mounts),
        images={image.key: image_name(image) for image in images},
        labels=dict(sample.labels),
        environment=sample.environment,
        cluster=sample.cluster,
    )


def _execution(execution: Execution) -> FinalExecution:
    return FinalExecution(
        outcome=str(execution.outcome),
        result=show(execution.result, RETURNED_CHARACTERS),
        payload=execution.payload,
        stdout=execution.stdout,
        stderr=execution.stderr,
        error=execution.error,
        seconds=execution.seconds,
        cpu_seconds=execution.cpu_seconds,
        tier=execution.confinement,
    )


def _score(score: Score | None, ending: Ending, criteria: int) -> RecordedScore:
    if score is None:
        outcome = "not_finished" if ending.kind == "limit" else "infra"
        return RecordedScore(outcome=outcome, criteria=criteria)
    return RecordedScore(
        outcome=score.outcome,
        criteria=criteria,
        values=dict(score.values),
        passed=None if score.passed is None else dict(score.passed),
        reasons=dict(score.reasons),
        artefacts=dict(score.artefacts),
    )


def _effort(trajectory: Trajectory, execution: Execution | None) -> Effort:
    drafts = [step.detail for step in trajectory.steps if step.kind == "execute"]
    tool_runs = [
        step.detail.get("executions", 0)
        for step in trajectory.steps
        if step.kind == "tool"
    ]
    tier = (
        execution.confinement
        if execution
        else drafts[-1].get("tier")
        if drafts
        else None
    )
    return Effort(
        seconds=trajectory.seconds,
        sandbox_seconds=trajectory.sandbox_seconds
        + (execution.seconds if execution else 0.0),
        executions=len(drafts) + sum(tool_runs),
        tier=tier or None,
        reply_faults=_reply_faults(trajectory.steps),
        recorded=counted(step.detail for step in trajectory.steps),
    )


def _reply_faults(steps: Sequence[Step]) -> dict[str, int]:
    return dict(
        Counter(step.detail["fault"] for step in steps if "fault" in step.detail)
    )


def redacted(record: Record) -> Record:
    """What may be kept of a private question: verdicts, counts, and a digest of its text."""
    digest = hashlib.sha256(record.question.prompt.encode()).hexdigest()
    question = record.question.model_copy(
        update={"prompt": f"private, SHA-256 {digest}", "files": [], "images": {}}
    )
    execution = record.execution and record.execution.model_copy(
        update={
            "result": "",
            "payload": None,
            "stdout": "",
            "stderr": "",
            "error": None,
        }
    )
    score = record.score.model_copy(update={"reasons": {}, "artefacts": {}})
    message = "private" if record.ending.message else None
    return record.model_copy(
        update={
            "question": question,
            "steps": [],
            "code": None,
            "entry": None,
            "answer": "",
            "value": None,
            "execution": execution,
            "score": score,
            "judged": [],
            "ending": record.ending.model_copy(update={"message": message}),
        }
    )


def make_figures(sample: Sample, score: Score | None) -> dict[str, str]:
    """The pictures of a verdict by title; one says so in place of what a page should not hold."""
    if score is None or sample.private:
        return {}
    return {
        title: figure if _fits_page(figure) else _NO_FIGURE
        for title, figure in score.figures.items()
    }


def _fits_page(figure: str) -> bool:
    drawn = figure.startswith(("<svg ", "data:image/png;base64,"))
    return drawn and len(figure) <= MAX_FIGURE
