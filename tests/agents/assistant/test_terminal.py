"""The conversation as a person meets it: a terminal, keys, Ctrl-C at every state."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from foundation.configuration import data_of
from sandbox.factory import available
from tests.support.endpoint import Body, Endpoint, late, respond
from tests.support.scripted import code_reply

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine"),
]
EDGE = code_reply("return {'edge_A': 4.25}")
SLEEPS = code_reply("import time\ntime.sleep(300)\nreturn {'x': 1}")
PROMPT = "ask>"
SECONDS = (
    240  # a cold machine under load needs one for what takes a warm one half a second
)


def command(server: HTTPServer, *more: str) -> list[str]:
    endpoint = [
        f"model.base_url={server.url_for('/v1')}",
        "model.name=m",
        "model.cache=false",
    ]
    return [
        "-m",
        "matsmith",
        "ask",
        *endpoint,
        "system=single",
        "retrieval=none",
        *more,
    ]


def variables(folder: Path) -> dict[str, str]:
    kept = {n: v for n, v in os.environ.items() if not n.startswith("OPENAI_")}
    return kept | {
        "MATSMITH_SESSIONS": str(folder),
        "TERM": "xterm",
        "PROMPT_TOOLKIT_NO_CPR": "1",
    }


class Typing:
    """A person at a terminal."""

    def __init__(self, server: HTTPServer, folder: Path, *more: str) -> None:
        self.child = pexpect.spawn(
            sys.executable,
            command(server, *more),
            env=variables(folder),
            timeout=SECONDS,
            encoding="utf-8",
            dimensions=(40, 120),
        )

    def see(self, text: str) -> str:
        self.child.expect_exact(text)
        return str(self.child.before)

    def write(self, text: str) -> None:
        self.child.send(text)

    def enter(self, text: str = "") -> None:
        self.child.send(f"{text}\r")

    def end(self) -> int:
        self.enter("/quit")
        self.child.expect(pexpect.EOF)
        self.child.close()
        return int(self.child.exitstatus)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def test_ctrl_c_leaves_the_question_and_never_the_conversation(
    httpserver: HTTPServer, folder: Path
):
    def play(body: Body) -> Response:
        # each question is told of the ones before it: the last one decides
        replies = {
            "To the endpoint": late(10, EDGE),
            "To the sandbox": SLEEPS,
            "the edge?": EDGE,
        }
        last = max(replies, key=str(body["messages"]).rfind)
        return respond(replies[last], body)

    Endpoint(httpserver).play(play)
    typing = Typing(httpserver, folder)
    typing.see(PROMPT)
    typing.write("half a questi")
    typing.child.sendintr()  # while writing: the line is cleared
    typing.see("half a questi  ")  # as it is left behind, in grey: with the prompt
    typing.see(PROMPT)
    typing.child.sendintr()  # at an empty line
    typing.see(f"{PROMPT}  ")
    typing.see(PROMPT)
    typing.enter("To the endpoint")
    typing.see("asking the model")
    typing.child.sendintr()  # while the model is asked
    typing.see("Stopped:")
    typing.see("cancelled")
    typing.see(PROMPT)
    os.kill(typing.child.pid, signal.SIGINT)  # of somebody else
    typing.enter("To the sandbox")
    typing.see("running the answer")
    os.kill(typing.child.pid, signal.SIGINT)  # while code runs
    typing.see("Stopped:")
    typing.see("cancelled")
    typing.see(PROMPT)
    typing.enter("What is the edge?")
    typing.see("The edge is 4.25 Å.")
    typing.see(PROMPT)
    assert typing.end() == 0
    history = folder / "history"
    assert (history.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (
        0o600,
        0o700,
    )
    assert "half a questi" not in (folder / "history").read_text()


def test_ctrl_c_ends_a_beginning_at_once(httpserver: HTTPServer, folder: Path):
    typing = Typing(httpserver, folder)
    typing.see("beginning")
    typing.child.sendintr()
    typing.see("Interrupted.")
    typing.child.expect(pexpect.EOF)
    assert PROMPT not in typing.child.before
    typing.child.close()
    assert typing.child.exitstatus == 130


#: What is typed, and what is seen before the next prompt.
LINES: list[tuple[str, list[str]]] = data_of(__file__, "terminal")


def test_paste_history_completion_and_commands(
    httpserver: HTTPServer, folder: Path, tmp_path: Path
):
    endpoint = Endpoint(httpserver).play(EDGE)
    (tmp_path / "lengths.csv").write_text("a,b\n1,2\n")
    typing = Typing(httpserver, folder, "--file", str(tmp_path / "lengths.csv"))
    typing.see(PROMPT)
    for typed, seen in LINES:
        typing.write(typed.format(folder=tmp_path))
        if typed.endswith("\t"):  # completed beside the terminal's loop
            typing.see("p")
        typing.enter()
        for text in seen:
            typing.see(text)
        typing.see(PROMPT)
    assert typing.end() == 0
    assert "First line\nsecond line" in endpoint.prompts[0]
    assert "1 rows, separator ',', columns: a, b" in endpoint.prompts[0]
    assert "second line again" in endpoint.prompts[1]
    assert [body["model"] for body in endpoint.bodies] == ["m", "m", "m", "other"]
    ran = subprocess.run(
        [sys.executable, "edge.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={},
    )
    assert ran.stdout == "{'edge_A': 4.25}\n"


def test_a_conversation_is_kept_and_goes_on(
    httpserver: HTTPServer, folder: Path, tmp_path: Path
):
    endpoint = Endpoint(httpserver).play("needs input: the energies of the phases")
    (tmp_path / "phases").mkdir()
    (tmp_path / "phases/a.csv").write_text("a,b\n1,2\n")
    asked = subprocess.run(
        [
            sys.executable,
            *command(httpserver, "--file", "phases/a.csv"),
            "Is it stable?",
        ],
        env=variables(folder),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 3
    assert "Needs input: the energies of the phases" in asked.stdout
    assert len(endpoint.bodies) == 1  # asked once: no repair, no further draft
    endpoint.play(EDGE)
    went_on = subprocess.run(
        [
            sys.executable,
            *command(httpserver),
            "--continue",
            "--json",
            "They are 1 and 2 eV.",
        ],
        env=variables(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert went_on.returncode == 0, went_on.stderr
    answer = json.loads(went_on.stdout)
    assert (answer["kind"], answer["values"][0]["value"]) == ("answered", 4.25)
    assert answer["values"][0]["repeats"] == 2  # it was not computed
    (prompt,) = endpoint.prompts
    assert "Is it stable?" in prompt
    assert "`phases/a.csv` (table" in prompt  # by the name that its user gave it
    assert "needs input: the energies of the phases" in prompt
    assert "already asked" in prompt
    modes = {path.stat().st_mode & 0o77 for path in folder.rglob("*.json")}
    assert modes == {0}


def test_a_time_limit_and_a_piped_conversation(httpserver: HTTPServer, folder: Path):
    Endpoint(httpserver).play(SLEEPS)
    done = subprocess.run(
        [sys.executable, *command(httpserver, "--timeout", "4")],
        env=variables(folder),
        input="/help\nSleep.\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Ctrl-C gives up" in done.stderr
    assert "Stopped: the time limit of 4 s was reached" in done.stdout
    assert done.returncode == 1
