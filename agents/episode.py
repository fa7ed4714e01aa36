"""One question being worked on: the parts, the meter and the record.

Every architecture is a short function over an :class:`Episode`, so that all of them count,
record and fail in the same way.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage

from agents import prompts
from agents.answer import Answer, UnreadableError, read_answer, read_need
from agents.answer_formats import CODE, Reading
from agents.base import Question, Step, StopReason, Trajectory
from agents.budget import EXECUTION_LIMITS, Budget, BudgetExceeded, Meter
from agents.models import ContextError, Fault, ModelClient, ModelError, Reply, ToolCall
from agents.models.content import plain_message
from retrieval.base import RetrievalError, Retriever
from retrieval.budget import shorten
from sandbox.base import Execution, Mount, Outcome, Sandbox, SandboxError
from sandbox.representation import represent, type_name

if TYPE_CHECKING:  # it imports this module
    from agents.toolbox import Toolbox

SHOWN_CHARACTERS = 4000  # of stdout, of a traceback, of the returned values in a record


@dataclass(frozen=True)
class Parts:
    """What an architecture works with.

    Attributes
    ----------
    execution_timeout
        Seconds for one run of a draft.
    strict
        Accept only the answer contract, without repair.
    packages
        Import names of the libraries that the questions are about; the model's role names them.
    sources
        Folders that hold the installed packages, for a tool that shows source code.
    on_step
        Told of every step as it begins and as it is recorded; for progress, never for control.
    """

    model: ModelClient
    retriever: Retriever | None = None
    sandbox: Sandbox | None = None
    budget: Budget = field(default_factory=Budget)
    execution_timeout: float = 60.0
    strict: bool = False
    packages: Sequence[str] = ("pymatgen",)
    sources: Sequence[Path] = ()
    on_step: Callable[[Question, Step], None] | None = None


class NeedsInputError(Exception):
    """The model asked for what only the user can give; not a failure."""


class Episode:
    """One question, one seed."""

    def __init__(self, parts: Parts, question: Question, seed: int) -> None:
        self.parts = parts
        self.question = question
        self.seed = seed
        self.meter = Meter(parts.budget)
        self.steps: list[Step] = []
        self.answer: Answer | Reading | None = None
        self.reply = ""
        self.fault: Fault | None = None
        self._asked = 0

    async def retrieve(self, query: str, k: int) -> list[Document]:
        """Return the ``k`` best documents; none without a retriever."""
        retriever = self.parts.retriever
        if retriever is None or k == 0 or not query.strip():
            return []
        self._begin("retrieve", query)
        try:
            from agents.asking_chat import AskingChat  # noqa: PLC0415 - LangChain is slow

            chat = AskingChat(ask=partial(self.ask, "rerank"))
            found = await retriever.search(query, k=k, chat=chat)
        except RetrievalError as error:
            # One that reranks with the model meets the model's limits and failures.
            if isinstance(error.__cause__, BudgetExceeded | ModelError):
                raise error.__cause__ from None
            raise
        documents = self._short(found)
        hits = [
            {
                "id": document.metadata.get("id"),
                "name": document.metadata.get("qualname"),
                "score": document.metadata.get("score"),
            }
            for document in documents
        ]
        self._record("retrieve", retriever=retriever.name, query=query, hits=hits)
        return documents

    async def lookup(self, names: Sequence[str], limit: int) -> list[Document]:
        """Documents of symbols by name, as far as the corpus knows them."""
        retriever = self.parts.retriever
        if retriever is None:
            return []
        found: dict[str, Document] = {}
        for name in dict.fromkeys(names):
            document = await retriever.lookup(name) if len(found) < limit else None
            if document is not None:
                found[str(document.metadata.get("id"))] = document
        if found:
            hits = [{"id": i, "name": d.metadata.get("qualname")} for i, d in found.items()]
            self._record("retrieve", retriever="lookup", query=" ".join(names), hits=hits)
        return self._short(list(found.values()))

    def _short(self, documents: Sequence[Document]) -> list[Document]:
        limit = self.parts.model.config.document_characters
        return shorten(documents, self.question.query, limit)

    async def ask(self, purpose: str, messages: Sequence[BaseMessage]) -> str:
        """Return the text of the model's reply, within the budget."""
        return (await self.converse(purpose, messages)).text

    async def converse(
        self,
        purpose: str,
        messages: Sequence[BaseMessage],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        earlier: int = 0,
    ) -> Reply:
        """Return the model's reply, within the budget.

        Parameters
        ----------
        tools
            What the model may call; see :meth:`agents.models.ModelClient.ask`.
        earlier
            Number of messages that the steps before this one hold already: a long conversation is
            recorded once.
        """
        new = len(messages) - earlier
        if self.question.answer == CODE:
            shown = prompts.with_pictures(self.question, messages)
            messages = [prompts.role(self.parts.packages), *shown]
        self.meter.check()
        sample = f"{self.seed}:{self._asked}"
        self._asked += 1
        sent = [plain_message(message) for message in (messages[-new:] if earlier else messages)]
        calls = self.parts.budget.calls
        extend = calls is None or self.meter.usage.calls + 1 < calls
        self._begin("model", purpose)
        try:
            reply = await self.parts.model.ask(messages, sample=sample, extend=extend, tools=tools)
        except ModelError as error:
            context = {"fault": "context"} if isinstance(error, ContextError) else {}
            self._record("model", purpose=purpose, messages=sent, error=str(error), **context)
            raise
        self.meter.usage += reply.usage
        self.fault = reply.fault
        notes: dict[str, Any] = {
            "reasoning": reply.reasoning,
            "fault": reply.fault,
            "adjusted": reply.adjusted,
        }
        if tools:
            called = [{"name": c.name, "arguments": dict(c.arguments)} for c in reply.tool_calls]
            notes |= {"calls": called, "earlier": earlier}
        # JSON can name half a character; no prompt, file or hash could hold it.
        text = reply.text.encode("utf-8", "replace").decode()
        self._record(
            "model",
            purpose=purpose,
            messages=sent,
            reply=text,
            usage=asdict(reply.usage),
            cached=reply.cached,
            seconds=reply.seconds,
            **{name: note for name, note in notes.items() if note},
        )
        if self.question.asks and not reply.tool_calls and (needs := read_need(text)):
            self.reply = text
            raise NeedsInputError(needs)
        return replace(reply, text=text)

    async def conclude(self, messages: Sequence[BaseMessage]) -> StopReason:
        """Ask for the answer in the form that the question wants, and stop."""
        if self.question.answer == CODE:
            return "answered" if await self.draft(messages) else "format_error"
        self.reply = await self.ask("generate", messages)
        return "answered" if self.read() else "format_error"

    def read(self) -> bool:
        """Take the answer out of the last reply; whether it holds one."""
        if self.question.answer == CODE:
            self.answer = self._read()[0]
        else:
            self.answer = self.question.answer.read(self.reply)
            self._record("parse", status=self.answer.status if self.answer else "error")
        return self.answer is not None

    async def draft(self, messages: Sequence[BaseMessage]) -> Answer | None:
        """Ask for code; one repair prompt when nothing can be read from the reply."""
        self.reply = await self.ask("generate", messages)
        answer, reason = self._read()
        if answer is None and not self.parts.strict and self.fault != "refusal":
            self.reply = await self.ask(
                "repair", prompts.repair(self.question.prompt, self.reply, reason)
            )
            answer, _ = self._read()
        if answer is not None:
            self.answer = answer
        return answer

    def _read(self) -> tuple[Answer | None, str]:
        """The answer in the last reply, or why there is none."""
        try:
            answer = read_answer(self.reply, strict=self.parts.strict)
        except UnreadableError as error:
            self._record("parse", status="error", reason=str(error))
            return None, str(error)
        self._record("parse", status=answer.status)
        return answer, ""

    async def run(self, code: str, entry: str, mounts: Sequence[Mount] = ()) -> Execution:
        """Run code in the sandbox, within the budget; not recorded. ``mounts``: further inputs."""
        if self.parts.sandbox is None:
            raise SandboxError("this architecture executes its drafts and was given no sandbox")
        self.meter.check(EXECUTION_LIMITS)
        execution = await self.parts.sandbox.run(
            code,
            entry,
            timeout=self.parts.execution_timeout,
            mounts=[*mounts_of(self.question), *mounts],
            collect=self.question.writes,
        )
        self.meter.sandbox_seconds += execution.seconds
        return execution

    async def execute(self, answer: Answer) -> Execution:
        """Run a draft in the sandbox."""
        self._begin("execute", answer.entry)
        execution = await self.run(answer.code, answer.entry)
        self._record(
            "execute",
            outcome=str(execution.outcome),
            result=returned(execution),
            stdout=execution.stdout[:SHOWN_CHARACTERS],
            stderr=execution.stderr[:SHOWN_CHARACTERS],
            error=(execution.error or "")[-SHOWN_CHARACTERS:],
            seconds=execution.seconds,
            tier=execution.tier,
        )
        return execution

    async def use(self, toolbox: Toolbox, call: ToolCall) -> str:
        """Make the model's call of a tool; arguments that cannot be read are told to it."""
        started = time.monotonic()
        self._begin(call.name, " ".join(str(value) for value in call.arguments.values())[:200])
        text = call.error or (await toolbox.call(call.name, call.arguments)).text
        result = _cut(text, SHOWN_CHARACTERS)
        self.note(call.name, call.arguments, result, time.monotonic() - started)
        return text

    def note(self, name: str, arguments: Mapping[str, Any], result: str, seconds: float) -> None:
        """Record the use of a tool."""
        self._record("tool", name=name, arguments=dict(arguments), result=result, seconds=seconds)

    def check(self, findings: Sequence[str]) -> None:
        """Record what a check found."""
        self._record("check", findings=list(findings))

    def _record(self, kind: Any, **detail: Any) -> None:
        step = Step(kind, detail)
        self.steps.append(step)
        if self.parts.on_step is not None:
            self.parts.on_step(self.question, step)

    def _begin(self, kind: str, about: str) -> None:
        if self.parts.on_step is not None:
            self.parts.on_step(self.question, Step("begin", {"kind": kind, "about": about}))

    def finish(
        self,
        reason: StopReason,
        error: str | None = None,
        *,
        limit: tuple[str, float] | None = None,
        needs: str | None = None,
    ) -> Trajectory:
        """Close the episode with the answer as it stands."""
        answer = self.answer
        code = answer if isinstance(answer, Answer) else None
        return Trajectory(
            question_id=self.question.id,
            seed=self.seed,
            code=code.code if code else None,
            entry=code.entry if code else None,
            value=answer.value if isinstance(answer, Reading) else None,
            answer=self.reply,
            steps=tuple(self.steps),
            usage=self.meter.usage,
            stop_reason=reason,
            format_status=answer.status if answer else "error",
            sandbox_seconds=self.meter.sandbox_seconds,
            seconds=self.meter.seconds,
            error=error,
            fault=self.fault if answer is None else None,
            limit=limit,
            needs=needs,
        )


async def run_episode(
    parts: Parts,
    question: Question,
    seed: int,
    architecture: Callable[[Episode], Awaitable[StopReason]],
) -> Trajectory:
    """Run ``architecture`` on a question; whatever fails, steps and usage are kept."""
    episode = Episode(parts, question, seed)
    try:
        reason = await architecture(episode)
    except NeedsInputError as missing:
        episode.answer = None  # what was drafted before is no answer
        return episode.finish("needs_input", needs=str(missing))
    except BudgetExceeded as limit:
        return episode.finish("budget", str(limit), limit=(limit.limit, limit.bound))
    except ContextError as error:  # what was found until here is the answer
        episode.fault = "context"
        return episode.finish("context", str(error))
    except ModelError as error:
        return episode.finish("model_error", str(error))
    except SandboxError as error:
        return episode.finish("sandbox_error", str(error))
    except RetrievalError as error:
        return episode.finish("retrieval_error", str(error))
    except Exception:  # noqa: BLE001 -- what was spent until here must stay on record
        return episode.finish("agent_error", traceback.format_exc())
    return episode.finish(reason)


def mounts_of(question: Question) -> list[Mount]:
    """Read-only inputs of a question, for the sandbox."""
    return [Mount(Path(source), target) for target, source in question.mounts.items()]


def returned(execution: Execution, limit: int = SHOWN_CHARACTERS) -> str:
    """What a run returned, as :func:`show` shows it; a run that failed returned nothing."""
    if execution.outcome != Outcome.OK:
        return prompts.NOTHING
    return show(execution.result, limit)


def show(value: Any, limit: int = SHOWN_CHARACTERS) -> str:
    """Value as a prompt or a record shows it: one line per key of a dict, cut at ``limit``."""
    if not isinstance(value, Mapping):
        return _cut(_short(value, limit), limit)
    each = max(200, limit // max(1, len(value)))
    lines: list[str] = []
    size = 0
    for key, item in value.items():
        lines.append(f"{_cut(represent(key, each), each)}: {_short(item, each)}")
        size += len(lines[-1]) + 1
        if size > limit + 1:
            break
    return _cut("\n".join(lines), limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + " ..."


def _short(value: Any, limit: int) -> str:
    name = type_name(value)
    text = f"{represent(value, limit)} ({name})"
    return text if len(text) <= limit else f"{text[:limit]} ... ({name})"
