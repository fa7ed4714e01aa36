"""One question being worked on: the equipment, the meter and the record.

Every architecture is a short function over an :class:`Episode`, so that all of them count,
record and fail in the same way.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from agents import prompts
from agents.answer import (
    CodeAnswer,
    UnreadableError,
    read_answer,
    read_need,
    read_words,
)
from agents.answer_formats import Reading
from agents.base import Agent, Question, Step, StopReason, Trajectory
from agents.budget import EXECUTION_LIMITS, Budget, BudgetExceeded, Meter
from agents.checks import SHOWN_CHARACTERS, returned
from agents.models import (
    ContextError,
    Fault,
    Message,
    ModelClient,
    ModelError,
    RecordingKey,
    Reply,
)
from agents.models.calls import plain_message
from agents.templates import Templates, using
from foundation.failures import describe_failure
from foundation.secrets import redact, redacted
from retrieval.base import MAP, Hit, QuestionRetriever, RetrievalError, Retriever
from retrieval.prompting import shorten
from sandbox.base import Execution, Mount, Sandbox, SandboxError

_FAILURES: dict[type[Exception], StopReason] = {
    ModelError: "model_error",
    SandboxError: "sandbox_error",
    RetrievalError: "retrieval_error",
}


@dataclass(frozen=True)
class Context:
    """What an architecture works with.

    ``execution_timeout`` is in seconds of one run of a draft; ``packages`` are import names of the
    libraries that questions are about, which the model's role names. ``on_step`` is told of every
    step as it begins and as it is recorded; for progress, never for control.
    """

    model: ModelClient
    retriever: Retriever | None = None
    sandbox: Sandbox | None = None
    budget: Budget = field(default_factory=Budget)
    execution_timeout: float = 60.0
    strict: bool = False
    packages: Sequence[str] = ("pymatgen",)
    k: int | None = None
    templates: Templates | None = None
    on_step: Callable[[Question, Step], None] | None = None

    @property
    def documents(self) -> int:
        """Documents per retrieval: ``retrieval.k``, else what is set for the model."""
        return self.k or self.model.config.documents


class RepliedError(Exception):
    """The model asked for what only the user can give, or answered in words; no failure."""


class Episode:
    """One question, one seed."""

    def __init__(self, context: Context, question: Question, seed: int) -> None:
        self.context = context
        self.question = question
        self.seed = seed
        self.meter = Meter(context.budget)
        self.steps: list[Step] = []
        self.answer: CodeAnswer | Reading | None = None
        self.reply = ""
        self.fault: Fault | None = None
        self._reading_fault = ""  # why nothing could be read from the last reply
        self._asked: Counter[str] = Counter()

    async def retrieve(self, query: str, k: int) -> list[Hit]:
        """Return the ``k`` best documents; none without a retriever."""
        retriever = self.context.retriever
        if retriever is None or k == 0 or not query.strip():
            return []
        self.begin("retrieve", query)
        documents = self._short(await retriever.search(query, k=k))
        hits = [
            {"id": hit.entry.id, "name": hit.entry.qualname, "score": hit.score}
            for hit in documents
        ]
        self.record("retrieve", retriever=retriever.name, query=query, hits=hits)
        return documents

    async def lookup(self, names: Sequence[str], limit: int) -> list[Hit]:
        """Documents of symbols by name, as far as the corpus knows them."""
        retriever = self.context.retriever
        if retriever is None:
            return []
        found: dict[str, Hit] = {}
        for name in dict.fromkeys(names):
            document = await retriever.lookup(name) if len(found) < limit else None
            if document is not None:
                found[document.entry.id] = document
        if found:
            hits = [{"id": i, "name": hit.entry.qualname} for i, hit in found.items()]
            self.record(
                "retrieve", retriever="lookup", query=" ".join(names), hits=hits
            )
        return self._short(list(found.values()))

    def _short(self, documents: Sequence[Hit]) -> list[Hit]:
        limit = self.context.model.config.document_characters
        """Documents cut to what a prompt has room for; a map, which comes first, stays whole."""
        has_map = bool(documents) and documents[0].entry.kind == MAP
        first = list(documents[:1]) if has_map else []
        return [*first, *shorten(documents[len(first) :], self.question.query, limit)]

    async def ask(self, purpose: str, messages: Sequence[Message]) -> str:
        """Return the text of the model's reply, within the budget."""
        return (await self.converse(purpose, messages)).text

    async def converse(
        self,
        purpose: str,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        already_recorded: int = 0,
    ) -> Reply:
        """Return the model's reply, within the budget.

        Of a long conversation each message is recorded once: the first ``already_recorded`` ones
        stand in the steps before this one.
        """
        new_messages = messages[already_recorded:]
        if self.question.wants_code:
            with_pictures = prompts.with_pictures(self.question, messages)
            messages = [prompts.role(self.context.packages), *with_pictures]
        self.meter.check()
        # The first record of a conversation also shows who the model is asked to be.
        recorded = new_messages if already_recorded else messages
        sent = [plain_message(message) for message in recorded]
        self.begin("model", purpose)
        try:
            reply = await self._ask_model(purpose, messages, tools)
        except ModelError as error:
            detail = self._error_detail(error)
            self.record(
                "model", purpose=purpose, messages=sent, error=str(error), **detail
            )
            raise
        self.meter.usage += reply.usage
        self.meter.queued += reply.queued
        self.fault = reply.fault
        detail = _reply_detail(reply, with_calls=bool(tools), earlier=already_recorded)
        self.record("model", purpose=purpose, messages=sent, **detail)
        if not reply.tool_calls:
            self._stop_at_words(reply.text)
        return reply

    async def _ask_model(
        self,
        purpose: str,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
    ) -> Reply:
        """Send a request under the names by which its reply is cached and recorded."""
        # The cache keeps one reply per request of an episode; a recording one per purpose and turn,
        # so that a request which is left out moves no other.
        sample = f"{self.seed}:{self._asked.total()}"
        turn = self._asked[purpose]
        self._asked[purpose] += 1
        question = self.question
        key = RecordingKey(question.id, self.seed, purpose, turn, question.prompt)
        return await self.context.model.ask(
            messages, sample=sample, recording_key=key, tools=tools
        )

    def _error_detail(self, error: ModelError) -> dict[str, Any]:
        """What the record says of a request that failed, besides the error."""
        if isinstance(error, ContextError):
            return {"fault": "context"}
        if self.context.model.recordings is not None:
            return {"recorded": ["failed"]}
        return {}

    def _stop_at_words(self, text: str) -> None:
        """End the episode where a reply asks the user for something, or answers in words."""
        if self.question.asks and (needs := read_need(text)):
            self.reply = text
            raise RepliedError(needs)
        if self.question.writes and (words := read_words(text)):
            self.reply = words
            raise RepliedError

    async def conclude(self, messages: Sequence[Message]) -> StopReason:
        """Ask for the answer in the form that the question wants, and stop."""
        if self.question.wants_code:
            return "answered" if await self.draft(messages) else "format_error"
        for number in range(self.question.tries):
            said = "A first reply held no answer in the form asked for."
            again = [prompts.again(self.question, said)] if number else []
            self.reply = await self.ask(
                "again" if number else "generate", [*messages, *again]
            )
            if self.read():
                return "answered"
        return "format_error"

    def read(self) -> bool:
        """Take the answer out of the last reply; whether it holds one."""
        found: CodeAnswer | Reading | None
        try:
            if self.question.wants_code:
                found = read_answer(self.reply, strict=self.context.strict)
            else:
                found = self.question.answer.read(self.reply)
        except UnreadableError as error:
            self._reading_fault = str(error)
            self.record("parse", status="error", reason=self._reading_fault)
            return False
        self.record("parse", **_parsed(found))
        # An earlier draft that could be read stays the answer.
        self.answer = found or self.answer
        return found is not None

    async def draft(self, messages: Sequence[Message]) -> CodeAnswer | None:
        """Ask for code; one repair prompt when nothing can be read from the reply."""
        self.reply = await self.ask("generate", messages)
        read = self.read()
        if not read and not self.context.strict and self.fault != "refusal":
            repair = prompts.repair(
                self.question.prompt, self.reply, self._reading_fault
            )
            self.reply = await self.ask("repair", repair)
            read = self.read()
        return self.answer if read and isinstance(self.answer, CodeAnswer) else None

    async def run(
        self, code: str, entry: str, mounts: Sequence[Mount] = ()
    ) -> Execution:
        """Run code in the sandbox, within the budget; not recorded. ``mounts``: further inputs."""
        if self.context.sandbox is None:
            raise SandboxError(
                "this architecture executes its drafts and was given no sandbox"
            )
        self.meter.check(EXECUTION_LIMITS)
        execution = await self.context.sandbox.run(
            code,
            entry,
            timeout=self.context.execution_timeout,
            mounts=[*mounts_of(self.question), *mounts],
            collect=self.question.writes,
        )
        self.meter.sandbox_seconds += execution.seconds
        return execution

    async def execute(self, answer: CodeAnswer) -> Execution:
        """Run a draft in the sandbox."""
        self.begin("execute", answer.entry)
        execution = await self.run(answer.code, answer.entry)
        self.record(
            "execute",
            outcome=str(execution.outcome),
            result=returned(execution),
            stdout=execution.stdout[:SHOWN_CHARACTERS],
            stderr=execution.stderr[:SHOWN_CHARACTERS],
            error=(execution.error or "")[-SHOWN_CHARACTERS:],
            seconds=execution.seconds,
            tier=execution.confinement,
        )
        return execution

    def check(self, findings: Sequence[str]) -> None:
        """Record what a check found."""
        self.record("check", findings=list(findings))

    def record(self, kind: Any, **detail: Any) -> None:
        """Record a `Step`."""
        step = Step(kind, redacted(detail))
        self.steps.append(step)
        if self.context.on_step is not None:
            self.context.on_step(self.question, step)

    def begin(self, kind: str, about: str) -> None:
        """Say what begins now."""
        if self.context.on_step is not None:
            step = Step("begin", redacted({"kind": kind, "about": about}))
            self.context.on_step(self.question, step)

    def finish(
        self, reason: StopReason, error: str | None = None, **ended: Any
    ) -> Trajectory:
        """Close the episode with the answer as it stands, and the limit or need that ended it."""
        answer = self.answer
        code = answer if isinstance(answer, CodeAnswer) else None
        return Trajectory(
            question_id=self.question.id,
            seed=self.seed,
            code=code.code if code else None,
            entry=code.entry if code else None,
            value=answer.value if isinstance(answer, Reading) else None,
            answer=redact(self.reply),
            steps=tuple(self.steps),
            usage=self.meter.usage,
            stop_reason=reason,
            format_status=answer.status if answer else "error",
            sandbox_seconds=self.meter.sandbox_seconds,
            seconds=self.meter.seconds,
            error=None if error is None else redact(error),
            fault=self.fault if answer is None else None,
            **ended,
        )


@dataclass
class System(Agent):
    """An architecture as a function over an :class:`Episode`.

    It is a dataclass: its fields, but for ``context``, are the keys of its configuration.
    """

    context: Context

    @abstractmethod
    async def _steps(self, episode: Episode) -> StopReason:
        """Work on the question until there is an answer, or no more to do."""

    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """Work on a question; whatever fails, steps and usage are kept."""
        with using(self.context.templates):
            return await self._solve(question, seed)

    async def _solve(self, question: Question, seed: int) -> Trajectory:
        episode = Episode(self.context, question, seed)
        try:
            text, retriever = question.searched, self.context.retriever
            if text is not None and isinstance(retriever, QuestionRetriever):
                own = await retriever.over(text.name, text.text)
                episode.context = replace(self.context, retriever=own)
            reason = await self._steps(episode)
            if (recordings := self.context.model.recordings) is not None:
                recordings.ended(question.id, seed)
        except RepliedError as error:
            needs = str(error) or None
            if needs or any(step.kind == "execute" for step in episode.steps):
                # A draft from before the request is no answer; words replace what was executed.
                episode.answer = None
            return episode.finish("needs_input" if needs else "answered", needs=needs)
        except BudgetExceeded as limit:
            return episode.finish(
                "budget", str(limit), limit=(limit.limit, limit.bound)
            )
        except ContextError as error:  # what was found until here is the answer
            episode.fault = "context"
            return episode.finish("context", str(error))
        except tuple(_FAILURES) as error:
            failed = next(
                _FAILURES[kind] for kind in _FAILURES if isinstance(error, kind)
            )
            return episode.finish(failed, str(error))
        except Exception as error:  # noqa: BLE001 -- what was spent until here must stay on record
            return episode.finish(
                "agent_error", f"the agent failed: {describe_failure(error, self)}"
            )
        return episode.finish(reason)


@dataclass
class Retrieving(System):
    """An architecture that looks documents up.

    Parameters
    ----------
    k
        Documents per retrieval (published: 5; ``None``: as many as the model is configured for).
    """

    k: int | None = None

    @property
    def documents(self) -> int:
        """Documents per retrieval."""
        return self.k or self.context.documents


def _reply_detail(reply: Reply, *, with_calls: bool, earlier: int) -> dict[str, Any]:
    """What the record says of a reply; of what is mostly absent only what is there."""
    optional: dict[str, Any] = {
        "reasoning": reply.reasoning,
        "fault": reply.fault,
        "adjusted": reply.adjusted,
    }
    if with_calls:
        calls = [
            {"name": call.name, "arguments": dict(call.arguments)}
            for call in reply.tool_calls
        ]
        optional |= {"calls": calls, "earlier": earlier}
    detail = {
        "reply": reply.text,
        "usage": asdict(reply.usage),
        "cached": reply.cached,
        "seconds": reply.seconds,
        **{name: value for name, value in optional.items() if value},
    }
    if reply.changed is not None:
        detail["recorded"] = list(reply.changed)
    return detail


def _parsed(found: CodeAnswer | Reading | None) -> dict[str, str]:
    """How an answer was read, for the record."""
    if found is None:
        return {"status": "error"}
    rule = {"rule": found.rule} if found.rule else {}
    return {"status": found.status, **rule}


def mounts_of(question: Question) -> list[Mount]:
    """Read-only inputs of a question, for the sandbox."""
    return [Mount(Path(source), target) for target, source in question.mounts.items()]
