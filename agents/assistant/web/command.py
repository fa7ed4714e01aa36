"""The command ``matsmith serve``."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from rich.console import Console

from agents.assistant import AssistantConfig, store
from agents.assistant.session import open_assistant
from agents.assistant.web.app import Page
from matsmith.core.errors import UsageError

GRACE = 3  # seconds that open connections have at the end
#: Sends a browser on, so that the address with its token is no argument of a process.
_REDIRECT = '<!DOCTYPE html><meta http-equiv="refresh" content="0; url={address}">\n'


class _Server(uvicorn.Server):
    """Ends by our own signal handlers, and without raising the signal again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


async def serve(config: AssistantConfig, resume: str | None, *, port: int, opens: bool) -> int:
    """Serve conversations until Ctrl-C; for ``resume`` see `store.find_session`."""
    folder = store.find_session(resume)
    with (
        _listening(port) as listener,
        tempfile.TemporaryDirectory(prefix="matsmith-") as inputs,
        tempfile.TemporaryDirectory(prefix="matsmith-") as private,
    ):
        port = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)

        say = Console(stderr=True, soft_wrap=True, highlight=False)
        async with open_assistant(config, say=say.print) as assistant:
            page = Page(assistant.session(folder), Path(inputs))
            settings = uvicorn.Config(
                page.app(port=port, token=token), log_level="warning", access_log=False,
                lifespan="off", ws="none", server_header=False, timeout_graceful_shutdown=GRACE,
            )  # fmt: skip
            server = _Server(settings)

            def end() -> None:
                server.should_exit = True
                page.session.cancel("the server ended")

            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, end)
            address = f"http://127.0.0.1:{port}/#{token}"
            print(f"Open {address}\nOnly this machine can, and only with the part after '#'. "
                  "Ctrl-C ends it.", flush=True)  # fmt: skip
            if opens:
                redirect = store.private(Path(private) / "matsmith.html")
                redirect.write_text(_REDIRECT.format(address=address), encoding="utf-8")
                await asyncio.to_thread(webbrowser.open, redirect.as_uri())
            await server.serve(sockets=[listener])
            await page.close()
    return 0


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        why = (error.strerror or "").partition(" (while")[0]
        raise UsageError(f"--port {port}: {why}; choose another") from error
