"""What stays open between calls, on an event loop and a thread of its own (anyio's portal).

Calls therefore work in a script, in a notebook (where a loop is already running) and from
``async`` code alike.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import queue
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, ExitStack
from functools import cache
from typing import Generic, Self, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from agents.assistant import AssistantConfig, Event, read_config

T = TypeVar("T")
Made = TypeVar("Made")
Listen = Callable[[Event], None]
_TICK = 0.1  # seconds between looks for an interrupt


@cache
def portal() -> BlockingPortal:
    """The way to the loop; it runs until the process ends."""
    stack = ExitStack()
    made = stack.enter_context(start_blocking_portal(name="matsmith"))
    atexit.register(stack.close)
    return made


def wait(
    future: Future[T], cancel: Callable[[], object],
    heard: queue.SimpleQueue[Event], listen: Listen | None,
) -> T:  # fmt: skip
    """The result of what runs on the loop; its events are passed on in this thread.

    Ctrl-C (or a notebook's interrupt) calls ``cancel`` on the loop, and is raised when the work has
    ended.
    """
    try:
        while not future.done() or not heard.empty():
            try:
                event = heard.get(timeout=_TICK)
            except queue.Empty:
                continue
            if listen is not None:
                listen(event)
    except BaseException:
        portal().start_task_soon(cancel)
        concurrent.futures.wait([future])  # what became of it does not matter any more
        raise
    return future.result()


class Opened(Generic[Made]):
    """What settings describe; the first use opens it, `close` or the end of the process closes it.

    Settings are words of the command line, such as ``"model=openai"``, ``"model.name=gpt-4o"`` or
    ``"system=rag"``; ``matsmith ask --help`` lists them. ``say`` is told what is being built.
    """

    def __init__(self, *settings: str, say: Callable[[str], None] = lambda _: None) -> None:
        self.settings = settings
        self._config = self._checked(read_config(settings))
        self._say = say
        self._stack = ExitStack()
        self._made: Made | None = None

    @staticmethod
    def _checked(config: AssistantConfig) -> AssistantConfig:
        return config

    def _open(self) -> AbstractAsyncContextManager[Made]:
        raise NotImplementedError

    def _opened(self) -> Made:
        """What is opened; blocks until it is."""
        if self._made is None:
            made = portal().wrap_async_context_manager(self._open())
            self._made = self._stack.enter_context(made)
            atexit.register(self.close)
        return self._made

    def close(self) -> None:
        """Stop the sandbox and close connections. Idempotent."""
        self._made = None
        atexit.unregister(self.close)
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"matsmith.{type(self).__name__}({', '.join(map(repr, self.settings))})"
