"""The assistant as terminal, notebook and page share it: questions in, answers and events out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agents import prompts
from agents.assistant import results
from agents.assistant.answers import Answer
from agents.assistant.config import AssistantConfig, open_parts
from agents.assistant.events import Event, event_of, listening
from agents.assistant.files import attach
from agents.base import Question, Step, Usage
from agents.episode import mounts_of
from sandbox.base import Execution

if TYPE_CHECKING:  # LangChain is slow to import
    from agents.runtime import Runtime

TURNS = 5  # earlier questions that a prompt of a conversation shows

Listen = Callable[[Event], None]


@asynccontextmanager
async def open_assistant(
    config: AssistantConfig, *, say: Callable[[str], None] = lambda _: None, warm: bool = True
) -> AsyncIterator[Assistant]:
    """Build everything that works on questions; at the end, stop it.

    Parameters
    ----------
    say
        Told what is being built.
    warm
        Start the sandbox now; otherwise the first execution does.

    Raises
    ------
    UsageError, SandboxError, RetrievalError
        When something is not available; the message says what to do.
    """
    async with open_parts(config, say=say, warm=warm) as runtime:
        yield Assistant(config, runtime)


class Assistant:
    """Model, documents and sandbox, shared by any number of conversations."""

    def __init__(self, config: AssistantConfig, runtime: Runtime) -> None:
        self.config = config
        self.runtime = runtime

    def session(self) -> Session:
        """A new conversation."""
        return Session(self)


class Session:
    """A conversation: every question sees the ones before it. One question at a time.

    Attributes
    ----------
    turns
        The answers so far.
    files
        Inputs by the name under which code sees them; kept for later questions.
    """

    def __init__(self, assistant: Assistant) -> None:
        self.assistant = assistant
        self.turns: list[Answer] = []
        self.files: dict[str, Path] = {}
        self._task: asyncio.Task[Answer] | None = None
        self._why = ""

    async def ask(
        self,
        question: str,
        *,
        files: Sequence[str | Path] = (),
        timeout: float | None = None,
        listen: Listen | None = None,
    ) -> Answer:
        """Answer a question; the final code is executed whatever the architecture does.

        Parameters
        ----------
        files
            Further inputs, files or folders: shown to the code read-only.
        timeout
            Seconds of wall time after which the question is given up (``stopped``).
        listen
            Told what happens, as it happens.

        Raises
        ------
        UsageError
            When an input does not exist; the conversation stays as it was.
        RuntimeError
            When another question is being worked on.
        """
        if self._task is not None:
            raise RuntimeError("this session is working on a question; wait for it, or cancel it")
        self.files = attach(self.files, files)
        started = time.monotonic()
        spent = _Spent(started, listen or (lambda _: None))
        self._why = "cancelled"
        self._task = asyncio.create_task(self._work(question, spent))
        try:
            done, _ = await asyncio.wait({self._task}, timeout=timeout)
            if not done:
                self.cancel(f"the time limit of {timeout:g} s was reached")
                await asyncio.wait({self._task})
            if self._task.cancelled():
                answer = Answer(question, "stopped", self._why, usage=spent.usage)
            else:
                answer = self._task.result()
        except asyncio.CancelledError:  # of whoever waits for the answer
            self._task.cancel()
            await asyncio.wait({self._task})
            raise
        finally:
            self._task = None
        answer = replace(answer, seconds=time.monotonic() - started)
        self.turns.append(answer)
        return answer

    async def stream(
        self, question: str, *, files: Sequence[str | Path] = (), timeout: float | None = None
    ) -> AsyncIterator[Event | Answer]:
        """What :meth:`ask` tells and, as the last item, what it returns.

        Leaving the loop early cancels the question.
        """
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        asking = asyncio.create_task(
            self.ask(question, files=files, timeout=timeout, listen=queue.put_nowait)
        )
        asking.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            yield asking.result()
        finally:
            if not asking.done():
                asking.cancel()
                await asyncio.wait({asking})

    def cancel(self, why: str = "cancelled") -> None:
        """Give up the question that is being worked on, if there is one: it ends ``stopped``."""
        if self._task is not None:
            self._why = why
            self._task.cancel()

    def undo(self) -> Answer | None:
        """Forget the last question; returns its answer, ``None`` when there is none."""
        return self.turns.pop() if self.turns else None

    @property
    def usage(self) -> Usage:
        """Spent on all questions."""
        return sum((turn.usage for turn in self.turns), Usage())

    async def _work(self, text: str, spent: _Spent) -> Answer:
        with listening(spent.step):
            runtime = self.assistant.runtime
            mounts = {name: str(path) for name, path in self.files.items()}
            turns = [
                (turn.question, str(turn.code), turn.returned) for turn in self.turns if turn.works
            ]
            prompt = prompts.free_question(text, sorted(mounts), turns[-TURNS:])
            question = Question("ask", prompt, mounts=mounts, search=text)
            trajectory = await runtime.agent.solve(question)
            execution: Execution | None = None
            if trajectory.code is not None and trajectory.entry is not None:
                assert runtime.sandbox is not None
                execution = await runtime.sandbox.run(
                    trajectory.code, trajectory.entry, timeout=runtime.timeout,
                    mounts=mounts_of(question),
                )  # fmt: skip
            return results.answer_of(text, trajectory, execution, runtime)


class _Spent:
    """Turns steps into events and adds up what they cost, for a question that is cancelled."""

    def __init__(self, started: float, listen: Listen) -> None:
        self.usage = Usage()
        self._started = started
        self._listen = listen

    def step(self, step: Step) -> None:
        if step.kind == "model" and "usage" in step.detail:
            self.usage += Usage(**step.detail["usage"])
        event = event_of(step, self._started)
        if event is not None:
            self._listen(event)
