"""Work in threads that ends when whoever waits for it is cancelled.

``asyncio.to_thread`` cannot be cancelled: after Ctrl-C or TERM the process would live on until the
thread is done, which is never where a build hangs. Here the thread is told, and what it waits for
(a program, a sandbox) looks whether it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, TypeVar

from foundation.signals import cancelled_by_signals

LOOK_SECONDS = 0.1  # between two looks whether to stop
Made = TypeVar("Made")
_stop: ContextVar[threading.Event | None] = ContextVar("stop", default=None)


class StoppedError(Exception):
    """The work was given up: whoever waited for it was cancelled."""


async def in_thread(work: Callable[..., Made], *arguments: Any, **options: Any) -> Made:
    """Like ``asyncio.to_thread``; a cancellation stops the work, and waits for its end."""
    stop = threading.Event()
    context = copy_context()
    context.run(_stop.set, stop)
    call = partial(context.run, work, *arguments, **options)
    future = asyncio.get_running_loop().run_in_executor(None, call)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait({future})
        if not future.cancelled():
            future.exception()  # what became of it does not matter any more
        raise


async def to_the_end(work: Callable[[], object]) -> None:
    """Work in a thread of its own, which nothing stops.

    Also at the end of the process, when executors take no work any more.
    """
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def whole() -> None:
        try:
            work()
        finally:
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=whole, daemon=True).start()
    await asyncio.shield(asyncio.ensure_future(done.wait()))


def check() -> None:
    """Raise `StoppedError` in work that is to stop; for loops that take long."""
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise StoppedError


def run(work: Coroutine[Any, Any, Made]) -> Made:
    """Like ``asyncio.run``, from a thread or not; stopped work is cancelled.

    In the main thread Ctrl-C and TERM stop it: raised in the middle of any of its tasks, they could
    keep the others from ending.
    """
    watched = _watched(work)
    if threading.current_thread() is threading.main_thread():
        watched = cancelled_by_signals(watched)
    return asyncio.run(watched)


async def _watched(work: Coroutine[Any, Any, Made]) -> Made:
    task = asyncio.create_task(work)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=LOOK_SECONDS)
            check()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # it may have stopped by itself, which nobody asks for
    return task.result()


def execute(
    command: Sequence[str],
    *,
    given: str = "",
    timeout: float | None = None,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a fixed program to its end, and take what it writes.

    ``given`` is its input, ``options`` are those of `subprocess.Popen`. Where it has to end early,
    so does all that it started.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        process_group=0,
        **options,
    ) as process:
        try:
            stdout, stderr = _communicate(process, given, timeout)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def _communicate(
    process: subprocess.Popen[str], given: str, timeout: float | None
) -> tuple[str, str]:
    waited = 0.0
    while True:
        check()
        try:
            return process.communicate(given, timeout=LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            waited += LOOK_SECONDS
            if timeout is not None and waited >= timeout:
                raise subprocess.TimeoutExpired(process.args, timeout) from None
