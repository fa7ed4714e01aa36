"""A conversation on a terminal: a line to write on, commands, progress, Ctrl-C at any time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from rich.console import Console

from agents.assistant import scripts, store
from agents.assistant.answers import Answer
from agents.assistant.events import Event
from agents.assistant.files import attach, mentioned
from agents.assistant.session import Session
from agents.assistant.show import print_answer, safe, spent
from sandbox.command import UsageError

PROMPT = "ask> "
#: Exit codes besides 0 (answered) and those of every command.
FAILED, NEEDS_INPUT = 1, 3
HELP = """\
/files             the input files; /files PATH ... adds some, /files drop NAME takes one away
/undo              forget the last question
/save PATH         write the last answer as a script, or as a notebook where PATH ends in .ipynb
/model             which model answers, and how
/cost              what this conversation has cost
/help              this
/quit              end it (so does Ctrl-D); `matsmith ask --continue` resumes it

@PATH in a question adds a file or folder. Alt-Enter begins a new line. Ctrl-C gives up the
question that is being worked on, or clears the line."""


@dataclass
class Terminal:
    """Where a conversation is shown.

    Attributes
    ----------
    timeout
        Seconds of wall time for one question.
    as_json
        Write each answer as one line of JSON.
    """

    output: Console
    progress: Console
    timeout: float | None = None
    as_json: bool = False

    async def ask(self, session: Session, text: str, files: Iterable[str] = ()) -> Answer:
        """Answer one question and show it.

        Raises
        ------
        UsageError
            When an input does not exist.
        """
        question, paths = mentioned(text)
        async with self._watching() as listen:
            answer = await session.ask(
                question, files=[*files, *paths], timeout=self.timeout, listen=listen
            )
        self.show(answer, session)
        return answer

    def show(self, answer: Answer, session: Session) -> None:
        """Show an answer."""
        folder = session.files_of(answer)
        if self.as_json:
            self.output.file.write(json.dumps(store.as_json(answer, folder)) + "\n")
            self.output.file.flush()
        else:
            print_answer(answer, self.output, folder)

    @asynccontextmanager
    async def _watching(self) -> AsyncIterator[Callable[[Event], None]]:
        """Tell what happens: what has ended as a line, what goes on with a spinner."""
        started, doing = time.monotonic(), "beginning"
        with self.progress.status("") as status:

            def turn() -> None:
                status.update(f"[dim]{safe(doing)}  {time.monotonic() - started:.0f} s[/dim]")

            def listen(event: Event) -> None:
                nonlocal doing
                if event.done:
                    self.progress.print(f"[dim]{safe(event.text)}[/dim]", highlight=False)
                else:
                    doing = event.text
                    turn()

            async def tick() -> None:
                while True:
                    turn()
                    await asyncio.sleep(1)

            ticking = asyncio.create_task(tick())
            try:
                yield listen
            finally:
                ticking.cancel()


def exit_code(answer: Answer | None) -> int:
    """0: answered (or nothing was asked), 1: no working code, 3: something is missing."""
    if answer is None or answer.works:
        return 0
    return NEEDS_INPUT if answer.kind == "needs_input" else FAILED


class ClearedError(Exception):
    """Ctrl-C while a line was written. No ``KeyboardInterrupt``: that would end the event loop."""


class Conversation:
    """Questions and commands until the input ends; each question sees the ones before it."""

    def __init__(self, session: Session, terminal: Terminal) -> None:
        self._session = session
        self._terminal = terminal
        self._last: Answer | None = None
        self._commands: dict[str, Callable[[list[str]], None]] = {
            "help": lambda _: self._say(HELP),
            "undo": self._undo,
            "save": self._save,
            "files": self._files,
            "model": self._model,
            "cost": lambda _: self._say(spent(session.usage)),
        }

    async def run(self) -> int:
        """Hold it; returns the exit code that the last question deserves."""
        if session := self._session.turns:
            self._say(f"{len(session)} earlier questions; the last: {session[-1].question[:200]}")
        read = self._reader()
        with _interrupts(self._session):
            while True:
                try:
                    text = (await read()).strip()
                except EOFError:
                    return exit_code(self._last)
                except ClearedError:
                    continue
                if text in {"quit", "exit", "/quit", "/exit"}:
                    return exit_code(self._last)
                if text:
                    await self._take(text)

    async def _take(self, text: str) -> None:
        """One line: a command or a question."""
        try:
            name, _, rest = text.removeprefix("/").partition(" ")
            if text.startswith("/") and "/" not in name:
                if name not in self._commands:
                    raise UsageError(f"/{name}: no such command; /help lists them")  # noqa: TRY301
                self._commands[name](_words(rest))
            else:
                self._last = await self._terminal.ask(self._session, text)
        except UsageError as error:
            self._terminal.progress.print(f"[red]{safe(str(error))}[/red]")

    def _reader(self) -> Callable[[], Awaitable[str]]:
        if not sys.stdin.isatty():
            return lambda: asyncio.to_thread(input)
        keys = KeyBindings()

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        root = store.sessions_folder()
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        line: PromptSession[str] = PromptSession(
            PROMPT,
            history=FileHistory(str(root / "history")),
            completer=Words(self._session, list(self._commands)),
            complete_while_typing=False,
            key_bindings=keys,
            interrupt_exception=ClearedError,
        )
        return lambda: line.prompt_async(handle_sigint=False)

    def _say(self, text: str) -> None:
        self._terminal.progress.print(safe(text), highlight=False)

    def _undo(self, _: list[str]) -> None:
        undone = self._session.undo()
        self._say(f"forgotten: {undone.question[:200]}" if undone else "nothing to undo")

    def _save(self, words: list[str]) -> None:
        if len(words) != 1:
            raise UsageError("/save PATH: where to?")
        turn = next((turn for turn in reversed(self._session.turns) if turn.code), None)
        if turn is None:
            raise UsageError("/save: no answer has code yet")
        scripts.write(turn, Path(words[0]).expanduser())
        self._say(f"written to {words[0]}")

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

    def _model(self, _: list[str]) -> None:
        config = self._session.assistant.config
        model = config.model
        at = f" at {model.base_url}" if model.base_url else ""
        self._say(f"{model.name} ({model.provider}{at}), system={config.system.name}; another: "
                  "end this, then matsmith ask --continue model.name=...")  # fmt: skip


class Words(Completer):
    """Completes commands, ``@path`` and the names of input files."""

    def __init__(self, session: Session, commands: list[str]) -> None:
        self._session = session
        self._commands = sorted([*commands, "quit"])
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        """See :class:`prompt_toolkit.completion.Completer`."""
        before = document.text_before_cursor
        word = before.rpartition(" ")[2]
        if before.startswith("/") and " " not in before:
            names = [f"/{name}" for name in self._commands]
        elif word.startswith("@") or before.startswith(("/files ", "/save ")):
            path = word.removeprefix("@")
            yield from self._paths.get_completions(Document(path, len(path)), event)
            return
        else:
            names = list(self._session.files)
        for name in names:
            if word and name.startswith(word):
                yield Completion(name, start_position=-len(word))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"cannot read the command: {error}") from error


@contextlib.contextmanager
def _interrupts(session: Session) -> Iterator[None]:
    """Ctrl-C gives up the question, never the conversation."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, session.cancel)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
