"""A page in headless Chromium, driven over the DevTools protocol."""

from __future__ import annotations

import base64
import itertools
import json
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.support.paths import DATA

needed = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="chromium is not here"
)

#: Texts of a page that cover each other, stick out or are too small or too faint to be read.
FAULTS = (DATA / "faults.js").read_text(encoding="utf-8")


class Tab:
    """One page of a running browser."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.numbers = itertools.count(1)
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """The result of a command of the protocol."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv(timeout=60))
            if message.get("id") == number:
                assert "error" not in message, message
                return dict(message["result"])
            self.events.append(message)

    def evaluate(self, script: str) -> Any:
        """The value of an expression, awaited."""
        done = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def wait(self, condition: str) -> Any:
        """The value of an expression once it is true; at most a minute. A fault is not true."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if value := self.evaluate(
                f"(() => {{ try {{ return {condition} }} catch {{}} }})()"
            ):
                return value
            time.sleep(0.05)
        raise AssertionError(f"not within a minute: {condition}")

    def open(self, address: str, *, width: int = 1400, dark: bool = False) -> None:
        """Load a page at a width, in light or dark colours."""
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Log.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        for url in (
            "about:blank",
            address,
        ):  # another fragment alone would load nothing
            self.call("Page.navigate", url=url)
        self.wait(
            "document.readyState === 'complete' && location.href !== 'about:blank'"
        )

    def complaints(self) -> list[str]:
        """What the browser logged as an error: refused scripts, failed requests, exceptions."""
        self.evaluate("0")
        kinds = {"Runtime.exceptionThrown", "Log.entryAdded"}
        entries = [event for event in self.events if event.get("method") in kinds]
        # a graphics driver without hardware complains of its speed
        return [
            json.dumps(event)
            for event in entries
            if event["params"].get("entry", {}).get("source") != "rendering"
        ]

    def picture(self, path: Path) -> None:
        """Write a PNG of the whole page."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browser(folder: Path, *options: str) -> Iterator[Tab]:
    """Start a browser with a profile in ``folder``, and end it."""
    command = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        f"--user-data-dir={folder}",
        "--remote-debugging-port=0",
        *options,
        "about:blank",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = iter(process.stderr)
            host = next(
                m[1] for line in lines if (m := re.search(r"ws://(127[^/]+)/", line))
            )
            with connect(
                f"ws://{host}/devtools/page/{_tab(host)}", max_size=None
            ) as socket:
                yield Tab(socket)
        finally:
            process.terminate()
            process.stderr.close() if process.stderr else None
            process.wait(timeout=30)


def _tab(host: str) -> str:
    with urllib.request.urlopen(f"http://{host}/json/list") as answer:
        pages: Sequence[dict[str, str]] = json.load(answer)
    return next(page["id"] for page in pages if page["type"] == "page")
