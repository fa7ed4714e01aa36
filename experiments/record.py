"""One answer and all that became of it.

A `Record` is a file of one JSON line in ``trajectories/``. Rows, tables, pages and exports are
functions of it: a `Row` is what counts and tables need, a line of ``results.jsonl``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    Field,
    PlainValidator,
    ValidationError,
    model_validator,
)

from agents.base import INFRASTRUCTURE, Usage
from experiments.files import read_json
from foundation.errors import UsageError
from foundation.jsonl import read_lines
from foundation.secrets import redact

#: Characters of a reason or an error in a row; the record holds more.
ROW_TEXT = 4000


def _any_text(value: object) -> str:
    """Accept a text that UTF-8 cannot encode; pydantic's own check refuses it."""
    if not isinstance(value, str):
        raise ValueError("is not a text")  # noqa: TRY004 -- what pydantic expects
    return value


#: A text that a model or its code wrote: may hold halves of characters, which UTF-8 cannot.
Text = Annotated[str, PlainValidator(_any_text)]


class Ending(BaseModel, frozen=True):
    """How the work on a question ended.

    Attributes
    ----------
    kind
        ``completed``: there is an answer, or none could be read, and it counts; ``limit``: a limit
        of ``budget`` ended it; ``infrastructure``: a component of matsmith failed, and the
        question is asked again on resume.
    reason
        `agents.base.StopReason`, or ``scoring_error`` and ``record_error``.
    limit
        Name and value of the limit, for ``limit``.
    """

    kind: Literal["completed", "limit", "infrastructure"]
    reason: str
    message: Text | None = None
    limit: tuple[str, float] | None = None

    @classmethod
    def of(
        cls,
        reason: str,
        message: str | None = None,
        limit: tuple[str, float] | None = None,
    ) -> Ending:
        """The ending that a stop reason of an agent means."""
        if reason in INFRASTRUCTURE:
            return cls(kind="infrastructure", reason=reason, message=message or reason)
        kind: Literal["limit", "completed"] = (
            "limit" if reason == "budget" else "completed"
        )
        return cls(kind=kind, reason=reason, message=message, limit=limit)


class AskedQuestion(BaseModel, frozen=True):
    """What was asked, and how answers to it are grouped.

    ``images`` are files in the folder of the run by their keys. Questions of one ``cluster`` are
    not independent; empty: the question stands for itself.
    """

    id: str
    prompt: Text
    formats: dict[str, str]
    files: list[str]
    images: dict[str, str] = {}
    labels: dict[str, str] = {}
    environment: str = ""
    cluster: str = ""


class FinalExecution(BaseModel, frozen=True):
    """The final run of an answer's code; ``result`` as a prompt shows it."""

    outcome: str
    result: Text
    payload: Text | None
    stdout: Text
    stderr: Text
    error: Text | None
    seconds: float
    cpu_seconds: float | None = None
    tier: str


class RecordedScore(BaseModel, frozen=True):
    """The verdict on an answer.

    Attributes
    ----------
    outcome
        How the execution of the final code ended (`sandbox.base.Outcome`), ``no_code`` when
        there was nothing to execute, or what a scorer says of a reply; ``infra`` and
        ``not_finished`` where there is no verdict.
    criteria
        How many verdicts an answer has (properties, slots).
    values
        Named numbers of the scorer; ``None`` is unknown, never zero.
    passed
        Verdict by criterion, ``None`` when unknown.
    """

    outcome: str
    criteria: int = 0
    values: dict[str, float | None] = {}
    passed: dict[str, bool] | None = None
    reasons: dict[str, Text] = {}
    artefacts: dict[str, Text] = {}


class Effort(BaseModel, frozen=True):
    """What was counted while a question was answered.

    Attributes
    ----------
    sandbox_seconds
        Wall time of drafts and of the final execution.
    tier
        Isolation of the last execution.
    reply_faults
        Replies that were no whole answer, by kind.
    recorded
        Prompts to which recorded replies were played, and how many of them have changed since,
        and where; see `agents.models.recordings`.
    """

    seconds: float = 0.0
    sandbox_seconds: float = 0.0
    executions: int = 0
    tier: str | None = None
    reply_faults: dict[str, int] = {}
    recorded: dict[str, int] = {}


class Record(BaseModel, frozen=True):
    """One answer: question, steps, reply, execution, score, usage, ending.

    Attributes
    ----------
    config_hash
        Of the run; empty in records of earlier versions.
    steps
        `agents.base.Step`, as plain data with their kinds.
    fault
        Why the last reply of an answer without code was none (`agents.models.Fault`).
    judged
        `experiments.scorers.judge.Verdict` as plain data.
    judge_usage
        Not part of ``usage``.
    """

    config_hash: str = ""
    question: AskedQuestion
    seed: int
    steps: list[dict[str, Any]]
    code: Text | None
    entry: Text | None
    answer: Text
    value: Any = None
    format_status: str
    fault: str | None
    execution: FinalExecution | None
    score: RecordedScore
    judged: list[dict[str, Any]] = []
    usage: Usage
    judge_usage: Usage = Usage()
    effort: Effort
    ending: Ending

    @model_validator(mode="before")
    @classmethod
    def _earlier(cls, plain: Any) -> Any:
        """Records of earlier versions are read under the names of this one."""
        if not isinstance(plain, Mapping) or "ending" in plain:
            return plain
        ending = _ending_of(plain, str(plain["verdict"]["outcome"]))
        effort = {"seconds": plain["seconds"]}
        return {**plain, "ending": ending, "score": plain["verdict"], "effort": effort}

    def line(self) -> str:
        """The record as one line of JSON; what is no JSON in a step is shown as Python shows it."""
        return redact(json.dumps(self.model_dump(), default=repr)) + "\n"


def _ending_of(plain: Mapping[str, Any], outcome: str) -> Ending:
    """The ending of an earlier version's row or record."""
    reason = str(plain["stop_reason"])
    if outcome == "infra" and reason not in INFRASTRUCTURE:
        return Ending(
            kind="infrastructure", reason="scoring_error", message=plain["error"]
        )
    return Ending.of(reason, plain["error"], plain.get("limit"))


class Row(BaseModel, extra="ignore", frozen=True):
    """What tables and summaries need of a record; fields as there.

    Texts are cut to `ROW_TEXT` characters. An unknown price or count is ``None``. ``digest`` is the
    SHA-256 of the record's line, by which a record that was changed later is noticed; empty in
    rows of earlier versions.
    """

    config_hash: str
    question_id: str
    seed: int
    labels: dict[str, str]
    cluster: str
    criteria: int = Field(validation_alias=AliasChoices("criteria", "parts"))
    outcome: str
    values: dict[str, float | None]
    passed: dict[str, bool] | None
    reasons: dict[str, str]
    artefacts: dict[str, str]
    ending: Ending
    format_status: str | None
    calls: int | None
    cached_calls: int | None
    prompt_tokens: int | None
    completion_tokens: int | None
    tokens_estimated: bool
    cost_usd: float | None
    executions: int
    seconds: float
    sandbox_seconds: float
    tier: str | None
    fault: str | None = None
    reply_faults: dict[str, int] = {}
    judge_calls: int = 0
    judge_tokens: int = 0
    judge_cost_usd: float | None = 0.0
    recorded: dict[str, int] = {}
    digest: str = ""

    @model_validator(mode="before")
    @classmethod
    def _earlier(cls, plain: Any) -> Any:
        """Rows of earlier versions are read under the names of this one."""
        if not isinstance(plain, Mapping) or "ending" in plain:
            return plain
        return {**plain, "ending": _ending_of(plain, str(plain["outcome"]))}

    @classmethod
    def of(cls, record: Record, line: str) -> Row:
        """The row of a record, whose line is ``line``."""
        question, score, effort = record.question, record.score, record.effort
        usage, judge = record.usage, record.judge_usage
        metered = not usage.unmetered
        message = record.ending.message
        ending = record.ending.model_copy(
            update={"message": shortened(message) if message else None}
        )
        return cls(
            config_hash=record.config_hash,
            question_id=question.id,
            seed=record.seed,
            labels=question.labels,
            cluster=question.cluster,
            criteria=score.criteria,
            outcome=score.outcome,
            values=score.values,
            passed=score.passed,
            reasons={name: shortened(text) for name, text in score.reasons.items()},
            artefacts={name: shortened(text) for name, text in score.artefacts.items()},
            ending=ending,
            format_status=record.format_status,
            calls=usage.calls if metered else None,
            cached_calls=usage.cached_calls if metered else None,
            prompt_tokens=usage.prompt_tokens if metered else None,
            completion_tokens=usage.completion_tokens if metered else None,
            tokens_estimated=usage.estimated,
            cost_usd=usage.cost_usd,
            executions=effort.executions,
            seconds=round(effort.seconds, 3),
            sandbox_seconds=round(effort.sandbox_seconds, 3),
            tier=effort.tier,
            fault=record.fault,
            reply_faults=effort.reply_faults,
            judge_calls=judge.calls,
            judge_tokens=judge.tokens,
            judge_cost_usd=judge.cost_usd,
            recorded=effort.recorded,
            digest=hashlib.sha256(line.encode()).hexdigest(),
        )

    @property
    def infra(self) -> bool:
        """Whether a component of matsmith failed; such a row is retried on resume."""
        return self.ending.kind == "infrastructure"

    @property
    def not_finished(self) -> bool:
        """Whether a limit on the question ended it before it had an answer."""
        return self.ending.kind == "limit"

    @property
    def error(self) -> str | None:
        """What the ending says."""
        return self.ending.message

    @property
    def key(self) -> tuple[str, int]:
        """Question and seed: what there is one answer to in a run."""
        return self.question_id, self.seed

    @property
    def scored(self) -> bool:
        """Whether there is a verdict."""
        return self.passed is not None

    @property
    def tokens(self) -> int | None:
        """Of prompts and replies together; ``None`` is unknown."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens

    @property
    def passed_count(self) -> int:
        """Criteria that passed."""
        return sum((self.passed or {}).values())

    @property
    def all_correct(self) -> bool:
        """Whether every criterion passed; an answer without any is not judged by that."""
        return self.passed is not None and self.passed_count == self.criteria > 0


def shortened(text: str) -> str:
    """What a row holds of a text: both ends of a long one, and no halves of characters."""
    text = text.encode("utf-8", "backslashreplace").decode()
    if len(text) <= ROW_TEXT:
        return text
    return f"{text[: ROW_TEXT // 2]} ... {text[-ROW_TEXT // 2 :]}"


def read_rows(path: Path) -> Iterator[Row]:
    """Stream the rows of a ``results.jsonl``; a half-written last line is left out."""
    if not path.exists():
        return
    for number, line in read_lines(path):
        try:
            yield Row.model_validate_json(line)
        except (ValidationError, LookupError) as error:
            raise UsageError(
                f"{path}, line {number}: is not a result row; remove the line or the folder"
            ) from error


def read_record(path: Path) -> Record:
    """The record in a file, also one of an earlier version."""
    try:
        return Record.model_validate(read_json(path))
    except (ValidationError, LookupError, TypeError) as error:
        raise UsageError(
            f"{path}: is not the record of an answer; remove the file and its line in "
            "results.jsonl, and give the command of the run again"
        ) from error


#: Fields of a row that mean the same in every version.
_VERDICT = ("question_id", "seed", "outcome", "passed")


def mismatch(row: Row, path: Path) -> str | None:
    """How a row differs from the record in its file; ``None`` where it fits.

    A row of an earlier version has no digest, and other counts: its verdict has to fit.
    """
    if not row.digest and not path.exists():
        return None
    try:
        line = path.read_text(encoding="utf-8")
        expected = Row.of(read_record(path), line)
    except (OSError, UnicodeDecodeError, UsageError) as error:
        return f"its record cannot be read ({error})"
    if row.digest and expected.digest != row.digest:
        return "its record was changed after the run"
    fields = [
        name
        for name in (Row.model_fields if row.digest else _VERDICT)
        if getattr(expected, name) != getattr(row, name)
    ]
    return (
        f"its row says otherwise than its record ({', '.join(fields)})"
        if fields
        else None
    )
