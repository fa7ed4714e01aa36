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

needed = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not here")

#: Texts of a page that cover each other, stick out or are too small or too faint to be read.
FAULTS = """(() => {
  const shown = [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility());
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) faults.push(`the page is ${root.scrollWidth} px wide`);
  const name = (e) => `${e.tagName}.${e.getAttribute("class")} ${e.textContent.slice(0, 40)}`;
  const own = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  const scrolls = (e) => e.closest(".wide, pre, .highlight");
  const range = document.createRange();
  const box = (e) => { range.selectNodeContents(e); return range.getBoundingClientRect(); };
  const labels = shown.filter((e) => own(e) && e.closest("figure"));
  const boxes = labels.map(box);
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b, k) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 1 && high > 3) faults.push(`${name(labels[i])} and ${name(labels[i + k + 1])}`);
  }));
  const rgb = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const text = getComputedStyle(at).backgroundColor;
      const colour = rgb(text);
      if (text.startsWith("rgb") && (colour[3] ?? 1) === 1) return colour;
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  };
  for (const e of shown.filter(own)) {
    const style = getComputedStyle(e), at = box(e);
    if (parseFloat(style.fontSize) < 11) faults.push(`small: ${name(e)}`);
    if (!scrolls(e) && (at.right > innerWidth + 1 || at.left < -1)) faults.push(`out: ${name(e)}`);
    const ink = rgb(e.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(ground(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.4) faults.push(`faint: ${name(e)}`);
  }
  return faults;
})()"""


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
            if value := self.evaluate(f"(() => {{ try {{ return {condition} }} catch {{}} }})()"):
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
            width=width, height=900, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        for url in ("about:blank", address):  # another fragment alone would load nothing
            self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def complaints(self) -> list[str]:
        """What the browser logged as an error: refused scripts, failed requests, exceptions."""
        self.evaluate("0")
        kinds = {"Runtime.exceptionThrown", "Log.entryAdded"}
        return [json.dumps(event) for event in self.events if event.get("method") in kinds]

    def picture(self, path: Path) -> None:
        """Write a PNG of the whole page."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browser(folder: Path, *options: str) -> Iterator[Tab]:
    """Start a browser with a profile in ``folder``, and end it."""
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
        "--no-first-run", "--disable-background-networking", "--disable-component-update",
        "--disable-sync", "--hide-scrollbars", f"--user-data-dir={folder}",
        "--remote-debugging-port=0", *options, "about:blank",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = iter(process.stderr)
            host = next(m[1] for line in lines if (m := re.search(r"ws://(127[^/]+)/", line)))
            with connect(f"ws://{host}/devtools/page/{_tab(host)}", max_size=None) as socket:
                yield Tab(socket)
        finally:
            process.terminate()
            process.stderr.close() if process.stderr else None
            process.wait(timeout=30)


def _tab(host: str) -> str:
    with urllib.request.urlopen(f"http://{host}/json/list") as answer:
        pages: Sequence[dict[str, str]] = json.load(answer)
    return next(page["id"] for page in pages if page["type"] == "page")
