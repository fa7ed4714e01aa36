"""The assistant as terminal, notebook and page share it: questions in, answers and events out."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from agents import prompts
from agents.assistant import results, store
from agents.assistant.answers import Answer, Event, ending, event_of
from agents.assistant.config import AssistantConfig, packages
from agents.assistant.files import attach, look
from agents.base import Agent, Question, Step, Usage
from agents.budget import Meter
from agents.episode import mounts_of
from agents.models import RecordingScope
from agents.runtime import Runtime, open_client, open_runtime, open_writer
from agents.templates import using
from sandbox import environments
from sandbox.base import SandboxError
from sandbox.exchange import valid

TURNS = 5  # earlier questions that a prompt of a conversation shows
TOLD = 6000  # characters of each part of them
AGAIN = 3.0  # seconds until a question that goes on all the same is given up once more
TRIES = 3  # answers to a question, as long as they fail

Listen = Callable[[Event], None]


@asynccontextmanager
async def open_assistant(
    config: AssistantConfig,
    *,
    say: Callable[[str], None] = lambda _: None,
    warm: bool = True,
) -> AsyncIterator[AssistantService]:
    """Build everything that works on questions; at the end, stop it.

    ``say`` is told what is being built. Unless ``warm``, the first execution starts the sandbox.
    `UsageError`, `SandboxError` and `RetrievalError` say what is not available, and what to do.
    """
    scope = RecordingScope("ask", {}, config.system.name, config.retrieval.name)
    async with AsyncExitStack() as stack:
        client = open_client(config.model, scope=scope)
        stack.push_async_callback(client.close)
        there = await asyncio.to_thread(packages, config, say)
        opened = open_runtime(
            config,
            config.env,
            there,
            client=client,
            writer=open_writer(config, client, Meter()),
            say=say,
            executes=True,
            warm=warm,
            late=True,
        )
        yield AssistantService(config, await stack.enter_async_context(opened))


class AssistantService:
    """Model, documents and sandbox, shared by any number of conversations."""

    def __init__(self, config: AssistantConfig, runtime: Runtime) -> None:
        assert runtime.sandbox is not None  # opened with `executes`
        self.config = config
        self.runtime = runtime
        self.sandbox = runtime.sandbox
        self.lock = hashlib.sha256(
            environments.lock_file(config.env).read_bytes()
        ).hexdigest()

    async def switch(self, name: str) -> None:
        """Ask another model of the same endpoint from now on."""
        model = self.config.model.model_copy(update={"name": name, "price": None})
        client = open_client(model)
        self.config = self.config.model_copy(update={"model": model})
        await self.runtime.model.close()
        self.runtime = replace(
            self.runtime, model=client, agent=self.agent(model=client)
        )

    def agent(self, **changes: Any) -> Agent:
        """The agent with changes of its equipment."""
        agent: Any = self.runtime.agent
        changed: Agent = replace(agent, context=replace(agent.context, **changes))
        return changed

    def session(self, folder: Path | None = None) -> Session:
        """A conversation, kept in a folder (`store.new_session`) and resumed if it has turns."""
        return Session(self, folder)


class Session:
    """A conversation: every question sees the ones before it. One question at a time.

    It has its ``turns``, the answers so far, and its ``files``, inputs by the name under which code
    sees them, which are kept for later questions.
    """

    def __init__(self, assistant: AssistantService, folder: Path | None = None) -> None:
        self.assistant = assistant
        self.folder = folder
        self.turns: list[Answer] = [] if folder is None else store.load(folder)
        # A question that was given up may have been so before its inputs were looked at.
        told = [
            t for t in self.turns if t.inputs or t.kind not in {"stopped", "broken"}
        ]
        known = told[-1].inputs if told else ()
        self.files = {
            f.name: path for f in known if os.access(path := Path(f.path), os.R_OK)
        }
        self._task: asyncio.Task[Answer] | None = None
        self._why = ""

    async def ask(
        self,
        question: str,
        *,
        files: Sequence[str | Path] = (),
        timeout: float | None = None,
        listen: Listen | None = None,
        seed: int = 0,
    ) -> Answer:
        """Answer a question; the final code is executed whatever the architecture does.

        ``files`` are further inputs, files or folders, which the code sees read-only; where one
        does not exist (`UsageError`), the conversation stays as it was. After ``timeout`` seconds
        of wall time the question is given up (``stopped``). ``listen`` is told what happens, as it
        happens. Another ``seed`` than before asks past the cache.
        """
        if self._task is not None:
            raise RuntimeError(
                "this session is working on a question; wait for it, or cancel it"
            )
        question = valid(question)
        self.files = attach(self.files, files)
        started = time.monotonic()
        steps: list[Step] = []

        def note(step: Step) -> None:
            steps.append(step)
            if listen is not None and (event := event_of(step, started)) is not None:
                listen(event)

        self._why = ""
        self._task = asyncio.create_task(self._work(question, note, seed))
        try:
            done, _ = await asyncio.wait({self._task}, timeout=timeout)
            if not done:
                self.cancel(f"the time limit of {timeout:g} s was reached")
                await asyncio.wait({self._task})
            if self._why or self._task.cancelled():
                answer = Answer(question, "stopped", self._why, usage=_spent(steps))
            else:
                answer = self._task.result()
        except (
            SandboxError
        ) as error:  # outside of an episode: with the inputs, or the answer
            answer = Answer(question, "broken", str(error), usage=_spent(steps))
        except asyncio.CancelledError:  # of whoever waits for the answer
            self._task.cancel()
            await asyncio.wait({self._task})
            raise
        finally:
            self._task = None
        answer = replace(
            answer,
            seconds=time.monotonic() - started,
            model=self.assistant.runtime.model.name,
            versions=self.assistant.runtime.versions,
            lock=self.assistant.lock,
        )
        self.turns.append(answer)
        if self.folder is not None:
            try:
                await asyncio.to_thread(
                    store.save, self.folder, len(self.turns), answer
                )
            except OSError as error:  # it has been paid for
                why = f"this answer is kept nowhere: {self.folder}: {error.strerror}"
                return replace(answer, notes=(*answer.notes, why))
        return answer

    @property
    def busy(self) -> bool:
        """Whether a question is being worked on."""
        return self._task is not None

    def cancel(self, why: str = "cancelled") -> None:
        """Give up the question that is being worked on, if there is one: it ends ``stopped``."""
        if self._task is not None:
            self._why = why
            self._end(self._task)

    def _end(self, task: asyncio.Task[Answer]) -> None:
        """Cancel until it takes: `asyncio.wait_for` loses a cancellation that meets its result."""
        if not task.done():
            task.cancel()
            asyncio.get_running_loop().call_later(AGAIN, self._end, task)

    def undo(self) -> Answer | None:
        """Forget the last question; returns its answer, ``None`` when there is none."""
        if self.turns and self.folder is not None:
            store.forget(self.folder, len(self.turns))
        return self.turns.pop() if self.turns else None

    @property
    def usage(self) -> Usage:
        """Spent on all questions."""
        return sum((turn.usage for turn in self.turns), Usage())

    async def _work(self, text: str, note: Callable[[Step], None], seed: int) -> Answer:
        """Ask until the code works, `TRIES` times at most: what failed is shown the next time."""

        def begin(kind: str, about: str = "") -> None:
            note(Step("begin", {"kind": kind, "about": about}))

        runtime, sandbox = self.assistant.runtime, self.assistant.sandbox
        agent = self.assistant.agent(on_step=lambda _, step: note(step))
        templates = self.assistant.config.prompts
        if self.files:
            begin("look", ", ".join(self.files))
        looked = await look(sandbox, self.files)
        seen = {file.sha256 for turn in self.turns for file in turn.inputs}
        drawn = {
            file.name for file in looked.files if file.sha256 in seen
        }  # by an earlier turn
        looked = replace(
            looked,
            figures=tuple(f for f in looked.figures if f.title not in drawn),
            new=frozenset(
                file.name
                for file in looked.files
                if file.sha256 not in seen or file.name in text
            ),
        )
        earlier = self.turns[-TURNS:]
        with using(templates):
            turns = [_as_turn(turn) for turn in earlier]
        asks = not (
            earlier and earlier[-1].kind == "needs_input"
        )  # once, and not again
        said = "\n".join(
            [text, *(f"{t.question}\n{t.returned or t.text}" for t in earlier)]
        )
        mounts = {name: str(path) for name, path in self.files.items()}
        attempts: list[prompts.Attempt] = []
        key = hashlib.sha256(text.encode()).hexdigest()[:12]
        usage, steps = Usage(), tuple[Step, ...]()
        while True:
            with using(templates):
                prompt = prompts.free_question(
                    text, looked.lines, turns, asks=asks, attempts=attempts
                )
            name = f"{key}-{len(self.turns)}-{len(attempts)}"  # what recordings are kept by
            question = Question(
                name, prompt, mounts=mounts, search=text, asks=asks, writes=True
            )
            done = await agent.solve(question, seed=seed)
            usage, steps = usage + done.usage, (*steps, *done.steps)
            done = replace(done, usage=usage, steps=steps)
            failed = [attempt.outcome for attempt in attempts]
            answer = results.answer_of(text, done, looked, failed)
            if done.code is not None and done.entry is not None:
                begin("final")
                ran = await results.run_final(
                    sandbox,
                    done.code,
                    done.entry,
                    timeout=runtime.timeout,
                    mounts=mounts_of(question),
                )
                answer = await asyncio.to_thread(
                    results.completed, answer, ran, looked, said
                )
            if answer.kind != "failed":
                return answer
            ended = ending(answer.outcome, answer.error or answer.text)
            returned = (
                "" if answer.error else answer.returned or "nothing that has a value"
            )
            attempts.append(
                prompts.Attempt(
                    len(attempts) + 1,
                    answer.code or "",
                    ended,
                    traceback=answer.error,
                    printed=answer.printed[:TOLD],
                    returned=returned,
                )
            )
            if len(attempts) == TRIES:
                return replace(answer, tried=(*answer.tried, attempts[-1].outcome))
            begin("again", attempts[-1].outcome)


def _as_turn(turn: Answer) -> str:
    """A turn as later prompts show it, whatever became of it."""
    ended = {
        "answered": f"Returned:\n{turn.returned}",
        "failed": f"It does not work: {turn.outcome}\n{turn.error or turn.text}",
        "needs_input": f"Your reply: needs input: {turn.text}",
        "explained": f"Your reply: {turn.text}",
        "stopped": f"No reply: the user's limit or the user ended it ({turn.text})",
        "broken": "No reply: something besides you failed",
        "no_code": f"No reply: {turn.text}",
    }
    code = (turn.code or "")[:TOLD]
    return prompts.free_turn(
        turn.question, turn.said[:TOLD], code, ended[turn.kind][:TOLD]
    )


def _spent(steps: Sequence[Step]) -> Usage:
    """What steps cost; a request that was given up is paid for, nobody knows how much."""
    paid = [
        Usage(**s.detail["usage"])
        for s in steps
        if s.kind == "model" and "usage" in s.detail
    ]
    if steps and steps[-1].kind == "begin" and steps[-1].detail["kind"] == "model":
        paid.append(Usage(calls=1, estimated=True, cost_usd=None))
    return sum(paid, Usage())
