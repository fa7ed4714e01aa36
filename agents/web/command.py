"""The command ``matsmith serve``."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from agents.assistant import read_config, store
from agents.assistant.session import open_assistant
from agents.web.app import Page
from sandbox.command import UsageError

GRACE = 3  # seconds that open connections have at the end


class _Server(uvicorn.Server):
    """Ends by our own signal handlers, and without raising the signal again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


async def serve(arguments: Sequence[str]) -> int:
    """Serve one conversation until Ctrl-C.

    Raises
    ------
    UsageError, SandboxError, RetrievalError
        When something is wrong or not available.
    """
    port, overrides, opens, resume = _read(arguments)
    config = read_config(overrides)
    with _listening(port) as listener, tempfile.TemporaryDirectory(prefix="matsmith-") as inputs:
        port = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)

        def say(text: str) -> None:
            print(text, file=sys.stderr)

        async with open_assistant(config, say=say) as assistant:
            folder = store.last_session() if resume else store.new_session()
            session = assistant.session(folder)
            app = Page(session, Path(inputs)).app(port=port, token=token)
            settings = uvicorn.Config(
                app, log_level="warning", access_log=False, lifespan="off", ws="none",
                server_header=False, timeout_graceful_shutdown=GRACE,
            )  # fmt: skip
            server = _Server(settings)

            def end() -> None:
                server.should_exit = True
                session.cancel("the server ended")

            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, end)
            address = f"http://127.0.0.1:{port}/#{token}"
            print(f"Open {address}\nOnly this machine can, and only with the part after '#'. "
                  "Ctrl-C ends it.", flush=True)  # fmt: skip
            if opens:
                await asyncio.to_thread(webbrowser.open, address)
            await server.serve(sockets=[listener])
    return 0


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise UsageError(f"--port {port}: {error.strerror}; choose another") from error
    return listener


def _read(arguments: Sequence[str]) -> tuple[int, list[str], bool, bool]:
    """Port, settings, whether to open a browser, whether to resume."""
    port, overrides, rest = 0, [], list(arguments)
    opens = resume = False
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name == "--port":
            value = value if equals else (rest.pop(0) if rest else "")
            if not (value.isdecimal() and value.isascii() and int(value) < 2**16):
                raise UsageError(f"--port {value}: a number from 0 (any free one) to 65535")
            port = int(value)
        elif word == "--open":
            opens = True
        elif word == "--continue":
            resume = True
        else:
            overrides.append(word)
    return port, overrides, opens, resume
