"""The line on which a conversation is written: history, completion, a paste of several lines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from agents.assistant import store

PROMPT = "ask> "


def reader(commands: list[str], cleared: type[Exception]) -> Callable[[], Awaitable[str]]:
    """Reads a line from a terminal; Ctrl-C raises ``cleared``."""
    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    history = store.private(store.sessions_folder() / "history")
    line: PromptSession[str] = PromptSession(
        PROMPT, history=FileHistory(str(history)), completer=Words(commands),
        complete_while_typing=False, key_bindings=keys, interrupt_exception=cleared,
    )  # fmt: skip
    return lambda: line.prompt_async(handle_sigint=False)


class Words(Completer):
    """Completes commands, ``@path`` and the paths of commands."""

    def __init__(self, commands: list[str]) -> None:
        self._commands = sorted([*commands, "quit"])
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        """See :class:`prompt_toolkit.completion.Completer`."""
        before = document.text_before_cursor
        word = before.rpartition(" ")[2]
        if before.startswith("/") and " " not in before:
            names = [f"/{name}" for name in self._commands if f"/{name}".startswith(word)]
            yield from (Completion(name, -len(word)) for name in names)
        elif word.startswith("@") or before.startswith(("/files ", "/save ")):
            path = word.removeprefix("@")
            yield from self._paths.get_completions(Document(path, len(path)), event)
