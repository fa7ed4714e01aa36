"""What stays open between calls, on an event loop and a thread of its own.

Calls therefore work in a script, in a notebook (where a loop is already running) and from
``async`` code alike.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import queue
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, Self, TypeVar

from agents.assistant import Assistant as Parts
from agents.assistant import Event, open_assistant, read_config

T = TypeVar("T")
Listen = Callable[[Event], None]
_TICK = 0.1  # seconds between looks for an interrupt


@cache
def loop() -> asyncio.AbstractEventLoop:
    """The loop; it runs until the process ends."""
    made = asyncio.new_event_loop()
    threading.Thread(target=made.run_forever, name="matsmith", daemon=True).start()
    return made


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine on the loop."""
    return asyncio.run_coroutine_threadsafe(work, loop())


def wait(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that runs on the loop.

    Ctrl-C (or a notebook's interrupt) cancels it and is raised when it has ended.
    """
    future = submit(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


class Heard:
    """Events that come from the loop's thread, passed on in the thread of whoever waits."""

    def __init__(self, listen: Listen | None) -> None:
        self._listen = listen
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def put(self, event: Event) -> None:
        """Take an event, on any thread."""
        self._events.put(event)

    def until(self, future: Future[T], cancel: Callable[[], object]) -> T:
        """Pass events on until there is a result; an interrupt cancels the work and is raised."""
        try:
            while not future.done() or not self._events.empty():
                try:
                    event = self._events.get(timeout=_TICK)
                except queue.Empty:
                    continue
                if self._listen is not None:
                    self._listen(event)
        except BaseException:
            loop().call_soon_threadsafe(cancel)
            concurrent.futures.wait([future])  # what became of it does not matter any more
            raise
        return future.result()


class Opened:
    """What settings describe; the first use opens it, `close` or the end of the process closes it.

    Parameters
    ----------
    settings
        Words of the command line, such as ``"model=openai"``, ``"model.name=gpt-4o"`` or
        ``"system=rag"``; ``matsmith ask --help`` lists them.
    say
        Told what is being built, the first time.

    Raises
    ------
    UsageError
        When a setting is wrong, in one line.
    """

    _fixed: tuple[str, ...] = ()
    _warm = True

    def __init__(self, *settings: str, say: Callable[[str], None] = lambda _: None) -> None:
        self.settings = settings
        self._config = read_config([*self._fixed, *settings])
        self._say = say
        self._kept: tuple[Future[Parts], asyncio.Event, Future[None]] | None = None

    async def _parts(self) -> Parts:
        """The opened parts; runs on the loop only."""
        if self._kept is None:
            ready: Future[Parts] = Future()
            stop = asyncio.Event()
            self._kept = (ready, stop, submit(self._keep(ready, stop)))
            atexit.register(self.close)
        try:
            return await asyncio.shield(asyncio.wrap_future(self._kept[0]))
        except Exception:
            self._kept = None  # the next use tries again
            raise

    async def _keep(self, ready: Future[Parts], stop: asyncio.Event) -> None:
        try:
            async with open_assistant(self._config, say=self._say, warm=self._warm) as parts:
                ready.set_result(parts)
                await stop.wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)

    def close(self) -> None:
        """Stop the sandbox and close connections. Idempotent."""
        kept, self._kept = self._kept, None
        if kept is not None:
            atexit.unregister(self.close)
            loop().call_soon_threadsafe(kept[1].set)
            kept[2].result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def __repr__(self) -> str:
        return f"matsmith.{type(self).__name__}({', '.join(map(repr, self.settings))})"
