"""A conversation on a terminal: a line to write on, commands, Ctrl-C at any time."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import (
    CompleteEvent,
    Completer,
    Completion,
    PathCompleter,
)
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from agents.assistant import store
from agents.assistant.answers import Answer
from agents.assistant.config import USAGE
from agents.assistant.files import attach, expanded
from agents.assistant.session import Session
from agents.assistant.show import safe, spent
from agents.assistant.terminal import Terminal, exit_code
from foundation.errors import UsageError

PROMPT = "ask> "


class ClearedError(Exception):
    """Ctrl-C while a line was written. No ``KeyboardInterrupt``: that would end the event loop."""


class Conversation:
    """Questions and commands until the input ends; each question sees the ones before it."""

    def __init__(self, session: Session, terminal: Terminal) -> None:
        self._session = session
        self._terminal = terminal
        self.last: Answer | None = None
        self._commands: dict[str, Callable[[list[str]], Awaitable[None] | None]] = {
            "help": lambda _: self._say(USAGE["conversation"]),
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
            self._say(
                f"{len(session)} earlier questions; the last: {session[-1].question[:200]}"
            )
        typed = sys.stdin.isatty()
        read = (
            _reader(list(self._commands))
            if typed
            else partial(asyncio.to_thread, input)
        )
        # Ctrl-C gives up the question, never the conversation.
        asyncio.get_running_loop().add_signal_handler(
            signal.SIGINT, self._session.cancel
        )
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

    def _say(self, text: str) -> None:
        self._terminal.progress.print(safe(text), highlight=False)

    def _undo(self, _: list[str]) -> None:
        undone = self._session.undo()
        self._say(
            f"forgotten: {undone.question[:200]}" if undone else "nothing to undo"
        )

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
        for path in store.deliver(turn, expanded(words[0])):
            self._say(f"written to {path}")

    def _sessions(self, _: list[str]) -> None:
        listed = [f"{name}  {question[:100]}" for name, question in store.titles()[:20]]
        self._say("\n".join(listed) or "none is kept yet")

    def _files(self, words: list[str]) -> None:
        session = self._session
        if words[:1] == ["drop"]:
            for name in words[1:]:
                if session.files.pop(name, None) is None:
                    raise UsageError(f"/files drop {name}: no such input")
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


def _reader(commands: list[str]) -> Callable[[], Awaitable[str]]:
    """Reads a line from a terminal, with history, completion and a paste of several lines."""
    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    history = store.private(store.sessions_folder() / "history")
    line: PromptSession[str] = PromptSession(
        PROMPT,
        history=FileHistory(str(history)),
        completer=Words(commands),
        complete_while_typing=False,
        key_bindings=keys,
        interrupt_exception=ClearedError,
    )
    return lambda: line.prompt_async(handle_sigint=False)


class Words(Completer):
    """Completes commands, ``@path`` and the paths of commands."""

    def __init__(self, commands: list[str]) -> None:
        self._commands = sorted([*commands, "quit"])
        self._paths = PathCompleter(expanduser=True)

    def get_completions(
        self, document: Document, event: CompleteEvent
    ) -> Iterable[Completion]:
        """See :class:`prompt_toolkit.completion.Completer`."""
        before = document.text_before_cursor
        word = before.rpartition(" ")[2]
        if before.startswith("/") and " " not in before:
            names = [
                f"/{name}" for name in self._commands if f"/{name}".startswith(word)
            ]
            yield from (Completion(name, -len(word)) for name in names)
        elif word.startswith("@") or before.startswith(("/files ", "/save ")):
            path = word.removeprefix("@")
            yield from self._paths.get_completions(Document(path, len(path)), event)
