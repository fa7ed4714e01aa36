"""A conversation on a terminal: a line to write on, commands, progress, Ctrl-C at any time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from agents.assistant import store
from agents.assistant.answers import Answer
from agents.assistant.events import Event
from agents.assistant.files import attach, mentioned
from agents.assistant.session import Session
from agents.assistant.show import print_answer, safe, spent
from matsmith.core.errors import UsageError
from matsmith.core.progress import saying

#: Exit codes besides 0 (answered) and those of every command.
FAILED, NEEDS_INPUT = 1, 3
HELP = """\
/files             the input files; /files PATH ... adds some, /files drop NAME takes one away
/retry             ask the last question again, past the cache
/undo              forget the last question
/save PATH         write the last answer: a script (.py), or a folder with its files
/model [NAME]      which model answers, and how; NAME: another one of the same endpoint
/sessions          the conversations so far; `matsmith ask --continue ID` goes on with one
/cost              what this conversation has cost
/help              this
/quit              end it (so does Ctrl-D); `matsmith ask --continue` resumes it

@PATH in a question adds a file or folder. Alt-Enter begins a new line. Ctrl-C gives up the
question that is being worked on, or clears the line."""


@dataclass
class Terminal:
    """Where a conversation is shown, and how questions are asked."""

    output: Console
    progress: Console
    timeout: float | None = None  # seconds of wall time for one question
    as_json: bool = False  # each answer as one line of JSON
    seed: int = field(default_factory=lambda: time.time_ns() // 1_000_000)  # counts up: /retry

    async def ask(
        self, session: Session, text: str, files: Iterable[str] = (), *, again: bool = False
    ) -> Answer:
        """Answer one question and show it; ``again``: past the cache."""
        known = attach(session.files, list(files))
        question, paths = mentioned(text, known)
        self.seed += again
        with watching(self.progress) as listen:
            answer = await session.ask(
                question, files=[*known.values(), *paths], timeout=self.timeout, listen=listen,
                seed=self.seed if again else 0,
            )  # fmt: skip
        folder = session.files_of(answer)
        if self.as_json:
            print(json.dumps(store.as_json(answer, folder)), file=self.output.file, flush=True)
        else:
            print_answer(answer, self.output, folder)
        return answer


@contextlib.contextmanager
def watching(console: Console) -> Iterator[Callable[[Event], None]]:
    """Tell what happens: what has ended as a line, what goes on with a spinner and its time."""
    with saying("", console) as say:
        say("beginning")

        def listen(event: Event) -> None:
            if event.done:
                console.print(f"[dim]{safe(event.text)}[/dim]", highlight=False)
            else:
                say(event.text)

        yield listen


def exit_code(answer: Answer | None) -> int:
    """0: answered (or nothing was asked), 1: no working code, 3: something is missing."""
    if answer is None or answer.works or answer.kind == "explained":
        return 0
    return NEEDS_INPUT if answer.kind == "needs_input" else FAILED


class ClearedError(Exception):
    """Ctrl-C while a line was written. No ``KeyboardInterrupt``: that would end the event loop."""


class Conversation:
    """Questions and commands until the input ends; each question sees the ones before it."""

    def __init__(self, session: Session, terminal: Terminal) -> None:
        self._session = session
        self._terminal = terminal
        self.last: Answer | None = None
        self._commands: dict[str, Callable[[list[str]], Awaitable[None] | None]] = {
            "help": lambda _: self._say(HELP),
            "retry": self._retry,
            "undo": self._undo,
            "save": self._save,
            "files": self._files,
            "model": self._model,
            "sessions": self._sessions,
            "cost": lambda _: self._say(spent(session.usage)),
        }

    async def run(self) -> int:
        """Hold it; returns the exit code that the last question deserves."""
        if session := self._session.turns:
            self._say(f"{len(session)} earlier questions; the last: {session[-1].question[:200]}")
        read = self._reader()
        # Ctrl-C gives up the question, never the conversation.
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._session.cancel)
        while True:
            try:
                text = (await read()).strip()
            except EOFError:
                break
            except ClearedError:
                continue
            if text in {"quit", "exit", "/quit", "/exit"}:
                break
            if text:
                await self.take(text)
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        return exit_code(self.last)

    async def take(self, text: str) -> None:
        """One line: a command or a question."""
        try:
            name, _, rest = text.removeprefix("/").partition(" ")
            if text.startswith("/") and "/" not in name:
                if name not in self._commands:
                    raise UsageError(f"/{name}: no such command; /help lists them")  # noqa: TRY301
                working = self._commands[name](shlex.split(rest))
                if working is not None:
                    await working
            else:
                self.last = await self._terminal.ask(self._session, text)
        except (UsageError, ValueError) as error:  # also of shlex
            self._terminal.progress.print(f"[red]{safe(str(error))}[/red]")

    def _reader(self) -> Callable[[], Awaitable[str]]:
        if not sys.stdin.isatty():
            return lambda: asyncio.to_thread(input)
        from agents.assistant.line import reader  # noqa: PLC0415 -- prompt_toolkit is slow to import

        return reader(list(self._commands), ClearedError)

    def _say(self, text: str) -> None:
        self._terminal.progress.print(safe(text), highlight=False)

    def _undo(self, _: list[str]) -> None:
        undone = self._session.undo()
        self._say(f"forgotten: {undone.question[:200]}" if undone else "nothing to undo")

    async def _retry(self, _: list[str]) -> None:
        undone = self._session.undo()
        if undone is None:
            raise UsageError("/retry: nothing was asked yet")
        self.last = await self._terminal.ask(self._session, undone.question, again=True)

    def _save(self, words: list[str]) -> None:
        if len(words) != 1:
            raise UsageError("/save PATH: where to?")
        turn = next((turn for turn in reversed(self._session.turns) if turn.code), None)
        if turn is None:
            raise UsageError("/save: no answer has code yet")
        for path in store.deliver(turn, Path(words[0]).expanduser()):
            self._say(f"written to {path}")

    def _sessions(self, _: list[str]) -> None:
        listed = [f"{name}  {question[:100]}" for name, question in store.titles()[:20]]
        self._say("\n".join(listed) or "none is kept yet")

    def _files(self, words: list[str]) -> None:
        session = self._session
        if words[:1] == ["drop"]:
            for name in words[1:]:
                if session.files.pop(name, None) is None:
                    raise UsageError(f"/files drop {name}: there is no such input")
        else:
            session.files = attach(session.files, words)
        listed = [f"{name}  {path}" for name, path in session.files.items()]
        self._say("\n".join(listed) or "no input files")

    async def _model(self, words: list[str]) -> None:
        if words:
            await self._session.assistant.switch(words[0])
        config = self._session.assistant.config
        model = config.model
        at = f" at {model.base_url}" if model.base_url else ""
        self._say(f"{model.name} ({model.provider}{at}), system={config.system.name}")
