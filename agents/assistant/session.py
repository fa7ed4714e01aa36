"""The assistant as terminal, notebook and page share it: questions in, answers and events out."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agents import prompts
from agents.assistant import results, store
from agents.assistant.answers import Answer
from agents.assistant.config import AssistantConfig, open_parts
from agents.assistant.events import Event, EventKind, event_of, listening
from agents.assistant.files import attach, look
from agents.assistant.tracing import run_final
from agents.base import Question, Step, Usage
from agents.episode import mounts_of
from agents.toolbox import library_of
from sandbox import environments
from sandbox.base import SandboxError
from sandbox.outputs import valid

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
        if runtime.sandbox is None:
            raise ValueError("the assistant executes its answers: it needs a sandbox")
        self.config = config
        self.runtime = runtime
        self.sandbox = runtime.sandbox
        model = runtime.model
        self.model = model.name if model.llm else f"{model.name} (no LLM)"
        self.folders = environments.source_folders(config.env) if runtime.versions else ()
        lock = environments.lock_file(config.env)
        self.lock = hashlib.sha256(lock.read_bytes()).hexdigest()

    def session(self, folder: Path | None = None) -> Session:
        """A conversation.

        Parameters
        ----------
        folder
            Where it is kept (:func:`agents.assistant.store.new_session`), and resumed from where
            it has turns; ``None``: nowhere.

        Raises
        ------
        UsageError
            When what is there is no conversation.
        """
        return Session(self, folder)


class Session:
    """A conversation: every question sees the ones before it. One question at a time.

    Attributes
    ----------
    turns
        The answers so far.
    files
        Inputs by the name under which code sees them; kept for later questions.
    folder
        Where it is kept; ``None``: nowhere.
    """

    def __init__(self, assistant: Assistant, folder: Path | None = None) -> None:
        self.assistant = assistant
        self.folder = folder
        self.turns: list[Answer] = [] if folder is None else store.load(folder)
        known = [Path(file.path) for turn in self.turns[-1:] for file in turn.inputs]
        self.files: dict[str, Path] = attach({}, [path for path in known if path.exists()])
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
        question = valid(question)
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
                answer = self._result(question, spent)
        except asyncio.CancelledError:  # of whoever waits for the answer
            self._task.cancel()
            await asyncio.wait({self._task})
            raise
        finally:
            self._task = None
        answer = replace(
            answer,
            seconds=time.monotonic() - started,
            model=self.assistant.model,
            versions=self.assistant.runtime.versions,
            lock=self.assistant.lock,
        )
        self.turns.append(answer)
        if self.folder is not None:
            await asyncio.to_thread(store.save, self.folder, len(self.turns), answer)
        return answer

    def _result(self, question: str, spent: _Spent) -> Answer:
        assert self._task is not None
        try:
            return self._task.result()
        except SandboxError as error:  # outside of an episode: with the inputs, or the answer
            return Answer(question, "broken", str(error), usage=spent.usage)

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

    @property
    def busy(self) -> bool:
        """Whether a question is being worked on."""
        return self._task is not None

    def cancel(self, why: str = "cancelled") -> None:
        """Give up the question that is being worked on, if there is one: it ends ``stopped``."""
        if self._task is not None:
            self._why = why
            self._task.cancel()

    def undo(self) -> Answer | None:
        """Forget the last question; returns its answer, ``None`` when there is none."""
        if self.turns and self.folder is not None:
            store.forget(self.folder, len(self.turns))
        return self.turns.pop() if self.turns else None

    def files_of(self, answer: Answer) -> Path | None:
        """Where the files of one of the turns lie; ``None`` where nothing is kept."""
        if self.folder is None or answer not in self.turns:
            return None
        return self.folder / str(self.turns.index(answer) + 1)

    @property
    def usage(self) -> Usage:
        """Spent on all questions."""
        return sum((turn.usage for turn in self.turns), Usage())

    async def _work(self, text: str, spent: _Spent) -> Answer:
        with listening(spent.step):
            runtime, sandbox = self.assistant.runtime, self.assistant.sandbox
            spent.say("preparing", f"looking into {', '.join(self.files)}" if self.files else "")
            looked = await look(sandbox, self.files)
            told = [turn for turn in self.turns if turn.works or turn.kind == "needs_input"]
            asks = not (told and told[-1].kind == "needs_input")  # once, and not again
            turns = [
                (turn.question, str(turn.code) if turn.works else "", turn.returned or turn.text)
                for turn in told[-TURNS:]
            ]
            prompt = prompts.free_question(text, looked.lines, turns, asks=asks)
            mounts = {name: str(path) for name, path in self.files.items()}
            question = Question("ask", prompt, mounts=mounts, search=text, asks=asks, writes=True)
            trajectory = await runtime.agent.solve(question)
            ran = None
            if trajectory.code is not None and trajectory.entry is not None:
                spent.say("running", "running the answer")
                execution, trace = await run_final(
                    sandbox, trajectory.code, trajectory.entry, timeout=runtime.timeout,
                    mounts=mounts_of(question),
                )  # fmt: skip
                said = "\n".join([text, *(f"{asked}\n{got}" for asked, _, got in turns)])
                ran = results.Ran(
                    execution, trace, said, library_of(runtime.retriever), self.assistant.folders
                )
            return await asyncio.to_thread(results.answer_of, text, trajectory, ran, looked)


class _Spent:
    """Turns steps into events and adds up what they cost, for a question that is cancelled."""

    def __init__(self, started: float, listen: Listen) -> None:
        self.usage = Usage()
        self._started = started
        self._listen = listen

    def say(self, kind: EventKind, text: str) -> None:
        """Tell of something that begins and is no step of the architecture."""
        if text:
            self._listen(Event(kind, text, False, time.monotonic() - self._started))

    def step(self, step: Step) -> None:
        """Tell of a step."""
        if step.kind == "model" and "usage" in step.detail:
            self.usage += Usage(**step.detail["usage"])
        event = event_of(step, self._started)
        if event is not None:
            self._listen(event)
