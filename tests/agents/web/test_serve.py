"""``matsmith serve`` as its user, a stranger and a browser meet it."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pytest_httpserver import HTTPServer

from sandbox.factory import available
from tests.support import chromium
from tests.support.endpoint import Endpoint
from tests.support.paths import ROOT
from tests.support.scripted import code_reply

HOSTILE = "<script>document.title = 'taken'</script><img src=x onerror=alert(1)>"
PLOT = f"""
import pathlib
pathlib.Path('out/sub').mkdir(parents=True)
pathlib.Path('out/sub/band gap.csv').write_text('a,b')
import matplotlib
matplotlib.use('agg')
from matplotlib import pyplot
pyplot.plot([1, 2])
pyplot.savefig('out/plot.png')
return {{'lines': len(open('lengths.txt').readlines()), 'text': {HOSTILE!r}}}"""

CELL = """'letters': 3, 'cell': __import__('pymatgen.core').core.Structure(
    [[0, 2.82, 2.82], [2.82, 0, 2.82], [2.82, 2.82, 0]], ['Na', 'Cl'], [[0, 0, 0], [.5, .5, .5]])"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine"),
]


class Server:
    """A running server."""

    def __init__(
        self, process: subprocess.Popen[str], address: str, temporary: Path
    ) -> None:
        self.process = process
        self.temporary = temporary
        self.address = address
        self.url, _, self.token = address.partition("#")
        self.http = httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=120,
        )

    def ask(self, question: str, **more: object) -> list[tuple[str, dict[str, object]]]:
        """Events of a question."""
        answer = self.http.post("api/ask", json={"question": question, **more})
        assert answer.status_code == 200, answer.text
        parts = [part.split("\n") for part in answer.text.split("\n\n")[:-1]]
        return [
            (kind.removeprefix("event: "), json.loads(data[6:])) for kind, data in parts
        ]


@pytest.fixture
def server(httpserver: HTTPServer, tmp_path: Path) -> Iterator[Server]:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [
        sys.executable,
        "-m",
        "matsmith",
        "serve",
        f"model.base_url={httpserver.url_for('/v1')}",
        "model.name=scripted",
        "model.cache=false",
        "system=single",
        "retrieval=none",
    ]
    variables = os.environ | {
        "TMPDIR": str(temporary),
        "MATSMITH_SESSIONS": str(tmp_path / "sessions"),
    }
    with subprocess.Popen(
        command, cwd=ROOT, env=variables, text=True, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().removeprefix("Open ").strip()
            assert address.startswith("http://127.0.0.1:"), address
            yield Server(process, address, temporary)
        finally:
            process.kill()


def test_a_question_with_a_file_from_upload_to_download(
    server: Server, httpserver: HTTPServer
):
    endpoint = Endpoint(httpserver).play(
        code_reply(PLOT), code_reply("return {'twice': 6}")
    )
    upload = {"name": "lengths.txt", "data": base64.b64encode(b"1\n2\n3\n").decode()}
    *steps, (kind, answer) = server.ask("How many lines?", files=[upload])
    assert kind == "answer"
    assert {name for name, _ in steps} == {"step"}
    assert any("asked the model" in str(data["text"]) for _, data in steps)
    assert (answer["kind"], answer["turn"]) == ("answered", 0)
    assert "Lines: 3; text: " in str(answer["html"])
    assert answer["inputs"] == ["lengths.txt"]
    assert "<script" not in str(answer["html"])
    assert "data:image/png;base64," in str(answer["html"])
    saved = server.http.get("api/files/0/sub/band gap.csv")
    assert saved.content == b"a,b"
    assert saved.headers["content-disposition"] == "attachment"
    assert saved.headers["content-type"] == "application/octet-stream"
    assert server.http.get("api/files/0/absent").status_code == 404
    assert server.http.get("api/files/7/absent").status_code == 404
    assert server.ask("And twice that?")[-1][1]["kind"] == "answered"
    assert "How many lines?" in endpoint.prompts[1]
    history = server.http.get("api/history").json()
    assert history["inputs"] == ["lengths.txt"]
    assert [turn["question"] for turn in history["turns"]] == [
        "How many lines?",
        "And twice that?",
    ]
    assert [name for _, name in history["sessions"]] == ["How many lines?"]
    again = {"name": "lengths.txt", "data": base64.b64encode(b"other").decode()}
    asked = server.ask("And these?", files=[again])[-1][1]
    assert asked["inputs"] == ["lengths.txt", "2/lengths.txt"]
    server.http.post("api/drop", json={"name": "2/lengths.txt"})
    assert server.http.get("api/history").json()["inputs"] == ["lengths.txt"]
    server.http.post("api/undo", json={})
    server.http.post("api/undo", json={})
    assert len(server.http.get("api/history").json()["turns"]) == 1
    server.http.post("api/open", json={"name": ""})
    assert server.http.get("api/history").json()["turns"] == []
    server.http.post("api/open", json={"name": history["session"]})
    assert len(server.http.get("api/history").json()["turns"]) == 1
    assert server.http.post("api/open", json={"name": "none"}).status_code == 404


@pytest.mark.parametrize("name", ["\u202efic.live", "cell\u2066.cif", "main.py", "out"])
def test_a_refused_upload_blocks_no_later_question(
    server: Server, httpserver: HTTPServer, name: str
):
    Endpoint(httpserver).play(*[code_reply("return {'one': 1}")] * 2)
    upload = {"name": name, "data": base64.b64encode(b"1\n").decode()}
    server.ask("What is in it?", files=[upload])
    assert server.ask("How much is one?")[-1][0] == "answer"
    assert name not in server.http.get("api/history").json()["inputs"]


def test_nobody_else_is_served_and_a_mistake_is_refused(server: Server):
    http, host = server.http, server.url.removeprefix("http://").rstrip("/")
    assert http.get("api/history").status_code == 200
    for name, value, status in (
        ("Authorization", "Bearer wrong", 401),
        ("Authorization", "", 401),
        ("Host", "rebound.example", 403),
        ("Host", host.replace("127.0.0.1", "rebound.example"), 403),
        ("Origin", "https://other.example", 403),
        ("Origin", "http://127.0.0.1:1", 403),
        ("Origin", "null", 403),
        ("Sec-Fetch-Site", "cross-site", 403),
        ("Sec-Fetch-Site", "same-site", 403),
    ):
        refused = http.get("api/history", headers={name: value})
        assert refused.status_code == status, (name, value)
        assert "turns" not in refused.text
    assert (
        http.get("api/history", headers={"Origin": f"http://{host}"}).status_code == 200
    )
    page = httpx.get(server.url)
    assert server.token not in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    assert httpx.get(f"{server.url}page.js").status_code == 200
    assert httpx.get(f"{server.url}../app.py").status_code == 404
    bodies: list[tuple[dict[str, object], int, str]] = [
        ({"question": ""}, 400, "question"),
        ({"question": "x", "more": 1}, 400, "more"),
        ({"question": "x", "files": [{"name": "../x", "data": ""}]}, 400, "name"),
        ({"question": "x", "files": [{"name": ".x", "data": ""}]}, 400, "name"),
        ({"question": "x", "files": [{"name": "x", "data": "?"}]}, 400, "base64"),
        ({"question": "x" * 41_000_000}, 413, "40,000,000"),
    ]
    for body, status, says in bodies:
        refused = server.http.post("api/ask", json=body)
        assert refused.status_code == status
        assert says in refused.json()["error"]
    for turn in ("0", "-1", "9" * 5000, "0x0"):
        assert server.http.get(f"api/files/{turn}/x").status_code == 404
    assert server.http.get("api/history").json()["turns"] == []


def test_the_token_stands_in_no_list_of_processes(tmp_path: Path):
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(
        f"#!/bin/sh\nstat -c %a $(echo $1 | sed s,file://,,) > {seen}.new\n"
        f"ps -e -ww -o args >> {seen}.new\nmv {seen}.new {seen}\n"
    )
    browser.chmod(0o755)
    command = [sys.executable, "-m", "matsmith", "serve", "--open", "model=none"]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        env=os.environ
        | {"BROWSER": f"{browser} %s", "MATSMITH_SESSIONS": str(tmp_path)},
    ) as process:
        try:
            assert process.stdout is not None
            token = process.stdout.readline().partition("#")[2].strip()
            until = time.monotonic() + 60
            while not seen.exists() and time.monotonic() < until:
                time.sleep(0.1)
            mode, *listed = seen.read_text().splitlines()
        finally:
            process.kill()
    assert len(token) > 20
    assert mode == "600"
    assert any("matsmith.html" in line for line in listed)
    assert not any(token in line for line in listed)


def test_stop_ends_the_question_and_ctrl_c_the_server(
    server: Server, httpserver: HTTPServer
):
    sleeps = code_reply("import time\ntime.sleep(500)\nreturn {}")
    Endpoint(httpserver).play(sleeps)
    with server.http.stream(
        "POST", "api/ask", json={"question": "Sleep, and I go."}
    ) as answer:
        assert next(answer.iter_lines()) == "event: step"
    assert server.http.get("api/history").json()["working"] == "Sleep, and I go."
    with server.http.stream("GET", "api/events") as again:  # the page was loaded anew
        lines = again.iter_lines()
        assert next(lines) == "event: step"
        server.http.post("api/cancel", json={})
        assert '"kind": "stopped"' in "".join(lines)
    assert server.http.get("api/history").json()["working"] is None
    with server.http.stream("POST", "api/ask", json={"question": "Sleep."}) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "event: step"
        assert server.http.post("api/ask", json={"question": "x"}).status_code == 409
        assert server.http.post("api/undo", json={}).status_code == 409
        server.http.post("api/cancel", json={})
        assert '"kind": "stopped"' in "".join(lines)
    with server.http.stream(
        "POST", "api/ask", json={"question": "Sleep again."}
    ) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "event: step"
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=60) == 0
        with contextlib.suppress(httpx.HTTPError):
            list(lines)
    assert list(server.temporary.glob("matsmith-*")) == []


@chromium.needed
def test_in_a_browser(server: Server, httpserver: HTTPServer, tmp_path: Path):
    Endpoint(httpserver).play(
        code_reply(PLOT.replace("'lines': len(open('lengths.txt').readlines())", CELL))
    )
    graphics = "--enable-unsafe-swiftshader"  # WebGL without hardware
    with chromium.browser(tmp_path / "profile", graphics) as tab:
        tab.open(server.address)
        tab.wait("document.getElementById('model').textContent === 'scripted'")
        tab.evaluate(
            "document.getElementById('question').value = 'How many <b>letters</b>?'"
        )
        tab.evaluate("document.getElementById('ask').click()")
        assert (
            tab.wait("document.querySelector('article[data-kind]')?.dataset.kind")
            == "answered"
        )
        assert tab.evaluate("document.querySelector('.steps').textContent").count(
            "asked the model"
        )
        assert tab.evaluate("document.querySelector('.head').textContent").startswith(
            "Letters: 3;"
        )
        assert (
            tab.evaluate(
                "document.querySelector('.question').getBoundingClientRect().top"
            )
            < 300
        )
        assert (
            tab.evaluate("document.title") == "matsmith"
        )  # what the code returned is text
        assert tab.evaluate("document.querySelectorAll('b').length") == 0
        assert tab.wait("document.querySelector('figure img').naturalWidth") > 0
        assert tab.evaluate("document.querySelectorAll('div.drawn canvas').length") == 1
        assert tab.evaluate("document.querySelector('.legend').textContent") == (
            "Na 4Cl 4"
        )
        assert "27 atoms" in tab.evaluate("document.querySelector('.legend').title")
        buttons = (
            "[...document.querySelectorAll('.save button')].map((b) => b.textContent)"
        )
        assert tab.evaluate(buttons) == ["CIF", "POSCAR", "PNG"]
        for width, dark in ((1400, False), (1400, True), (400, False), (400, True)):
            tab.open(server.address, width=width, dark=dark)
            tab.wait(
                "document.querySelector('article[data-kind]') !== null"
            )  # the history
            tab.evaluate(
                "document.querySelectorAll('details').forEach((e) => { e.open = true; })"
            )
            assert tab.evaluate(chromium.FAULTS) == []
        assert tab.complaints() == []
        tab.open(f"{server.url}#wrong")
        assert "token" in tab.wait("document.getElementById('problem').textContent")


@chromium.needed
def test_without_webgl_the_still_picture_stays(
    server: Server, httpserver: HTTPServer, tmp_path: Path
):
    Endpoint(httpserver).play(code_reply(f"return {{{CELL}}}"))
    server.ask("A cell?")
    without = "HTMLCanvasElement.prototype.getContext = () => null"
    with chromium.browser(tmp_path / "profile") as tab:
        tab.call("Page.enable")
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=without)
        tab.open(server.address)
        tab.wait("document.querySelector('.save button') !== null")
        assert tab.wait("document.querySelector('figure img').naturalWidth") > 0
        assert tab.evaluate("document.querySelectorAll('div.drawn').length") == 0
