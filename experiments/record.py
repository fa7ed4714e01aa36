"""One answer and its verdict, as a line of ``results.jsonl``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from agents.base import INFRASTRUCTURE
from matsmith.core.errors import UsageError
from matsmith.core.jsonl import read_lines


class Row(BaseModel, extra="ignore", frozen=True):
    """One answer and its verdict: one line of ``results.jsonl``; older ones have more fields.

    Attributes
    ----------
    outcome
        How the execution of the final code ended (`sandbox.base.Outcome`), ``no_code`` when
        there was nothing to execute, ``infra`` when a component of matsmith failed,
        ``not_finished`` when a limit of ``budget`` ended it.
    cluster
        Questions of one cluster are not independent; empty: the question stands for itself.
    criteria
        How many verdicts an answer has (properties, slots); ``parts`` in earlier runs.
    values
        Named numbers of the scorer; ``None`` is unknown, never zero.
    passed
        Verdict by criterion, ``None`` when unknown (``infra``, ``not_finished``).
    judge_calls, judge_tokens, judge_cost_usd
        Not part of the other counts. An unknown price or count is ``None``.
    seconds, sandbox_seconds
        Wall time of the agent; of its executions and of the final one.
    fault
        Why the last reply of an answer without code was none (`agents.models.Fault`).
    limit
        Name and value of the limit that ended it, for ``not_finished``.
    recorded
        Prompts to which recorded replies were played, and how many of them have changed since,
        and where; see `agents.models.recordings`.
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
    stop_reason: str | None
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
    error: str | None
    fault: str | None = None
    reply_faults: dict[str, int] = {}
    judge_calls: int = 0
    judge_tokens: int = 0
    judge_cost_usd: float | None = 0.0
    limit: tuple[str, float] | None = None
    recorded: dict[str, int] = {}

    @property
    def infra(self) -> bool:
        """Whether a component of matsmith failed; such a row is retried on resume."""
        return self.outcome == "infra" or self.stop_reason in INFRASTRUCTURE

    @property
    def not_finished(self) -> bool:
        """Whether a limit on the question ended it before it had an answer."""
        return self.stop_reason == "budget"

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
        """Whether every criterion passed."""
        return self.passed is not None and self.passed_count == self.criteria


def read_rows(path: Path) -> Iterator[Row]:
    """Stream the rows of a ``results.jsonl``; a half-written last line is left out."""
    if not path.exists():
        return
    for number, line in read_lines(path):
        try:
            yield Row.model_validate_json(line)
        except ValidationError as error:
            raise UsageError(
                f"{path}, line {number}: is not a result row; remove the line or the folder"
            ) from error
