"""The vocabulary of an architecture: question in, trajectory out.

No expected value is reachable from here: those live in ``experiments``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agents.answer_formats import CODE, AnswerFormat

StopReason = Literal[
    "answered",  # the architecture is done (reflect: its own checks were satisfied)
    "iterations",  # the last permitted iteration was used
    "repeated",  # the model sent a failed draft again, or there was nothing new to send it
    "needs_input",  # the model asked for what only the user can give; see Question.asks
    "budget",  # a limit on calls, tokens, dollars or seconds was reached: not finished
    "context",  # a prompt was longer than the model's window
    "format_error",  # no answer in the form that was asked for could be read from any reply
    "crashed",  # system=command: the program ended with an error, and left no answer
    "timeout",  # system=command: the program was stopped, and left no answer
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

    ``key`` names what it shows (hash of a file, or generator with parameters): requests are told
    apart by it, so that another version of a drawing library asks nothing anew.
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
    formats
        Property name to the format asked for (``"float"``, ``"list[str]"``, ...).
        All of it also stands in the prompt.
    mounts
        Input files: path inside the sandbox (relative) to path on the host, read-only.
    search
        What documents are searched with; ``None``: the prompt.
    answer
        The form of the answer: code, or a value that is read from the reply.
    attachments
        Documents and images beside the prompt.
    searched
        A text that documents are retrieved from, in place of the libraries' documentation.
    tries
        How often an answer in the form asked for is asked for; the published systems differ.
    asks
        Whether a reply may ask for what is missing (``needs input: ...``), which ends the work.
    writes
        Whether the code has a folder ``out`` whose files belong to the answer; an answer in words
        (``in words: ...``) is one too.
    """

    id: str
    prompt: str
    formats: Mapping[str, str] = field(default_factory=dict)
    mounts: Mapping[str, str] = field(default_factory=dict)
    search: str | None = None
    answer: AnswerFormat = CODE
    attachments: tuple[Document | Image, ...] = ()
    asks: bool = False
    writes: bool = False
    searched: Document | None = None
    tries: int = 1

    @property
    def wants_code(self) -> bool:
        """Whether the answer is a function to be executed, not a value in the reply."""
        return self.answer == CODE

    @property
    def query(self) -> str:
        """What documents are searched with."""
        return self.prompt if self.search is None else self.search


@dataclass(frozen=True)
class Usage:
    """What was spent; ``None`` is unknown, and so is all of it where it is ``unmetered``."""

    calls: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    cost_usd: float | None = 0.0
    unmetered: bool = False

    def __add__(self, other: Usage) -> Usage:
        priced = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.calls + other.calls,
            self.cached_calls + other.cached_calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.estimated or other.estimated,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if priced else None,
            self.unmetered or other.unmetered,
        )

    def __str__(self) -> str:
        if self.unmetered:
            return "requests, tokens and cost unknown"
        cached = f", {self.cached_calls} cached replies" if self.cached_calls else ""
        about = " (estimated)" if self.estimated else ""
        cost = "unknown" if self.cost_usd is None else f"${self.cost_usd:.4f}"
        return (
            f"{self.calls} requests{cached}, {self.tokens} tokens{about}, cost {cost}"
        )

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


class Agent(ABC):
    """An architecture. Built once, used for many questions concurrently.

    What it can and needs is declared on its class; an architecture is refused where it cannot
    answer, and gets no more than it uses.

    Attributes
    ----------
    name
        Of its configuration.
    uses_retrieval
        Whether it looks documents up; one that does not is the same with every ``retrieval``.
    retrieval_mode
        The one mode of retrieval that it is made for.
    writes_code
        Whether its answers are always code; otherwise they have the form that a question wants.
    executes
        Whether it runs code before it answers.
    llm
        Whether a language model is behind its answers; ``None``: as the model is configured.
    reads_files
        Whether it sees the input files of a question whose answer is not code.
    retrieves_on_demand
        Whether documents are first needed when the model asks for them.
    needs_reference
        Whether it answers from a benchmark's reference answer (see `knowing`).
    """

    name: str
    uses_retrieval: ClassVar[bool] = True
    retrieval_mode: ClassVar[str | None] = None
    writes_code: ClassVar[bool] = True
    executes: ClassVar[bool] = True
    llm: ClassVar[bool | None] = None
    reads_files: ClassVar[bool] = True
    retrieves_on_demand: ClassVar[bool] = False
    needs_reference: ClassVar[bool] = False

    @abstractmethod
    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """Answer ``question``; never raises for a failing part, see ``stop_reason``."""

    def knowing(self, reference: Any) -> Agent:
        """The system with the reference answer of one question, for those that need it."""
        raise TypeError(
            f"{self.name} answers without a reference ({type(reference).__name__})"
        )
