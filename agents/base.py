"""The vocabulary of an architecture: question in, trajectory out.

No expected value is reachable from here: those live in ``experiments``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agents.answer_formats import CODE, AnswerFormat

StopReason = Literal[
    "answered",  # the architecture is done (reflect: its own checks were satisfied)
    "iterations",  # the last permitted iteration was used
    "repeated",  # the model sent a draft that had failed again, twice
    "needs_input",  # the model asked for what only the user can give; see Question.asks
    "budget",  # a limit on calls, tokens, dollars or seconds was reached: not finished
    "context",  # a prompt was longer than the model's window
    "format_error",  # no code could be read from any reply
    "model_error",  # the endpoint failed after its retries: infrastructure, not a score
    "sandbox_error",  # the sandbox failed after its retries: infrastructure, not a score
    "retrieval_error",  # the retriever failed: infrastructure, not a score
    "agent_error",  # the architecture itself raised: infrastructure, not a score
]

INFRASTRUCTURE: frozenset[str] = frozenset(
    {"model_error", "sandbox_error", "retrieval_error", "agent_error"}
)


@dataclass(frozen=True)
class Image:
    """A picture that belongs to a question.

    Attributes
    ----------
    key
        Stable name of what it shows (hash of a file, or generator with parameters): requests are
        told apart by it, so that another version of a drawing library asks nothing anew.
    """

    data: bytes = field(repr=False)
    mime: str
    key: str


@dataclass(frozen=True)
class Document:
    """A text that belongs to a question (a paper, a table), shown under its name."""

    name: str
    text: str = field(repr=False)


@dataclass(frozen=True)
class Question:
    """What an agent sees.

    Attributes
    ----------
    id
        Stable name of the question.
    prompt
        The whole question as text.
    formats
        Property name to the format asked for (``"float"``, ``"list[str]"``, ...).
        All of it also stands in the prompt.
    mounts
        Input files: path inside the sandbox (relative) to path on the host, read-only.
    search
        What documents are searched with; ``None``: the prompt.
    answer
        The form of the answer: code, or a value that is read from the reply.
    parts
        Documents and images beside the prompt.
    asks
        Whether a reply may ask for what is missing (``needs input: ...``), which ends the work.
    writes
        Whether the code has a folder ``out`` whose files belong to the answer.
    """

    id: str
    prompt: str
    formats: Mapping[str, str] = field(default_factory=dict)
    mounts: Mapping[str, str] = field(default_factory=dict)
    search: str | None = None
    answer: AnswerFormat = CODE
    parts: tuple[Document | Image, ...] = ()
    asks: bool = False
    writes: bool = False

    @property
    def query(self) -> str:
        """What documents are searched with."""
        return self.prompt if self.search is None else self.search


@dataclass(frozen=True)
class Usage:
    """What was spent. ``None`` is unknown, never zero."""

    calls: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    cost_usd: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            calls=self.calls + other.calls,
            cached_calls=self.cached_calls + other.cached_calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            estimated=self.estimated or other.estimated,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )

    def __str__(self) -> str:
        cached = f", {self.cached_calls} replies out of the cache" if self.cached_calls else ""
        about = " (estimated)" if self.estimated else ""
        cost = "unknown" if self.cost_usd is None else f"${self.cost_usd:.4f}"
        return f"{self.calls} requests{cached}, {self.tokens} tokens{about}, cost {cost}"

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class Step:
    """One thing an agent did, as plain JSON-able data.

    ``kind`` is ``retrieve`` (query, hits with id and score), ``model`` (purpose, messages,
    reply, usage; where there is one, reasoning, fault and adjusted), ``parse`` (status),
    ``check`` (findings), ``execute`` (outcome, result, stdout, stderr, error, seconds) or
    ``tool`` (name, arguments, result, seconds). In a conversation with tools ``model`` also has
    calls, and earlier: how many messages stand in the steps before it. ``begin`` (kind, about) is
    told to ``on_step`` when a retrieval, a request, an execution or a tool begins; no trajectory
    holds it.
    """

    kind: Literal["retrieve", "model", "parse", "check", "execute", "tool", "begin"]
    detail: Mapping[str, Any]


@dataclass(frozen=True)
class Trajectory:
    """Everything an agent did for one question.

    Attributes
    ----------
    code, entry
        The final answer, ``None`` when there is none (and where the answer is not code).
    value
        The answer where it is not code, as it was read from the reply; JSON-able.
    answer
        The last reply as text.
    stop_reason
        Why the agent stopped; see :data:`StopReason`.
    format_status
        ``strict`` (the tag contract was kept), ``repaired`` or ``error``.
    fault
        Why the last reply of an episode without code was none (:data:`agents.models.Fault`);
        ``None`` where the model just did not write any.
    limit
        Name and value of the limit that ended it (``("calls", 20)``), for ``budget`` only.
    needs
        What the model asked for, for ``needs_input`` only.
    """

    question_id: str
    seed: int
    code: str | None
    entry: str | None
    answer: str
    steps: Sequence[Step]
    usage: Usage
    stop_reason: StopReason
    format_status: Literal["strict", "repaired", "error"]
    sandbox_seconds: float = 0.0
    seconds: float = 0.0
    error: str | None = None
    fault: str | None = None
    limit: tuple[str, float] | None = None
    value: Any = None
    needs: str | None = None


class Agent(Protocol):
    """An architecture. Built once, used for many questions concurrently."""

    name: str

    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """Answer ``question``; never raises for a failing part, see ``stop_reason``."""
        ...
