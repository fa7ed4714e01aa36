"""Ctrl-C and TERM end a command within seconds, in order where that can be.

What waits is cancelled, and cleans up. Where an event loop is busy with one long computation, which
hears of no cancellation, the computation is interrupted.
"""

from __future__ import annotations

import _thread
import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

Done = TypeVar("Done")
BUSY_SECONDS = 0.5  # a loop that has not heard by then computes something

#: Cancels the work of an event loop that is running, and tells when the loop has heard.
_running: list[Callable[[threading.Event], object]] = []


async def cancelled_by_signals(work: Coroutine[Any, Any, Done]) -> Done:
    """The work, which Ctrl-C and TERM cancel inside `terminable`."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()

    def cancel(heard: threading.Event) -> None:
        heard.set()
        task.cancel()

    asked: list[threading.Event] = []

    def cancel_soon(heard: threading.Event) -> None:
        asked.append(heard)
        loop.call_soon_threadsafe(cancel, heard)

    _running.append(cancel_soon)
    try:
        return await work
    finally:
        _running.pop()
        for heard in asked:  # also where a computation was interrupted
            heard.set()


class _Ending:
    """What came, and who is told of it."""

    def __init__(self) -> None:
        self.came: list[int] = []
        self._heard: threading.Event | None = None
        self._interrupted_by_us = False
        self._is_over = False

    def close(self) -> None:
        """The command has ended: nothing that comes now is for it."""
        self._is_over = True

    def __call__(self, number: int, _: FrameType | None) -> None:
        """Handle a signal: the first one cancels, a further one interrupts."""
        if self._is_over:
            return
        if self._interrupted_by_us:
            self._interrupted_by_us = False
            if self._heard is not None and self._heard.is_set():
                return  # the loop has heard meanwhile
            raise KeyboardInterrupt
        is_first = not self.came
        self.came.append(number)
        if not (is_first and _running):
            raise KeyboardInterrupt
        self._heard = threading.Event()
        _running[-1](self._heard)
        timer = threading.Timer(BUSY_SECONDS, self._interrupt, [signal.Signals(number)])
        timer.daemon = True
        timer.start()

    def _interrupt(self, number: signal.Signals) -> None:
        is_busy = self._heard is not None and not self._heard.is_set()
        if is_busy and not self._is_over:
            self._interrupted_by_us = True
            _thread.interrupt_main(number)


@contextmanager
def terminable() -> Iterator[list[int]]:
    """Inside, Ctrl-C and TERM, as batch systems send it, end a command; what came is listed.

    Ctrl-C stays ignored where it is (in the background of a script). Who hears of both is
    afterwards as it was, whatever the command did.
    """
    ending = _Ending()
    mine = threading.current_thread() is threading.main_thread()
    heard = (signal.SIGINT, signal.SIGTERM) if mine else ()
    before = {number: signal.getsignal(number) for number in heard}
    try:
        for number, handler in before.items():
            if number == signal.SIGTERM or handler not in {signal.SIG_IGN, None}:
                signal.signal(number, ending)
        yield ending.came
    finally:
        ending.close()
        for number, handler in before.items():
            if handler is not None:  # Python can set back only what it knows
                signal.signal(number, handler)
