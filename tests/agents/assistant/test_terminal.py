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

from sandbox.factory import available
from tests.agents.scripted import code_reply
from tests.endpoint import Body, Endpoint, late, respond

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine"),
]
EDGE = code_reply("return {'edge_A': 4.25}")
SLEEPS = code_reply("import time\ntime.sleep(300)\nreturn {'x': 1}")
PROMPT = "ask>"


def command(server: HTTPServer, *more: str) -> list[str]:
    endpoint = [f"model.base_url={server.url_for('/v1')}", "model.name=m", "model.cache=false"]
    return ["-m", "matsmith", "ask", *endpoint, "system=single", "retrieval=none", *more]


def variables(folder: Path) -> dict[str, str]:
    kept = {n: v for n, v in os.environ.items() if not n.startswith("OPENAI_")}
    return kept | {"MATSMITH_SESSIONS": str(folder), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}


class Typing:
    """A person at a terminal."""

    def __init__(self, server: HTTPServer, folder: Path, *more: str) -> None:
        self.child = pexpect.spawn(
            sys.executable, command(server, *more), env=variables(folder), timeout=60,
            encoding="utf-8", dimensions=(40, 120),
        )  # fmt: skip

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
        if "To the endpoint" in str(body):
            return respond(late(4, EDGE), body)
        return respond(SLEEPS if "To the sandbox" in str(body) else EDGE, body)

    Endpoint(httpserver).play(play)
    typing = Typing(httpserver, folder)
    typing.see(PROMPT)
    typing.write("half a questi")
    typing.child.sendintr()  # while writing: the line is cleared
    typing.see(PROMPT)
    typing.child.sendintr()  # at an empty line
    typing.see(PROMPT)
    typing.enter("To the endpoint")
    typing.see("asking the model")
    typing.child.sendintr()  # while the model is asked
    typing.see("Stopped:")
    typing.see("cancelled")
    typing.see(PROMPT)
    typing.enter("To the sandbox")
    typing.see("running the answer")
    typing.child.sendintr()  # while code runs
    typing.see("Stopped:")
    typing.see("cancelled")
    typing.see(PROMPT)
    typing.enter("What is the edge?")
    typing.see("'edge_A': 4.25")
    typing.see(PROMPT)
    assert typing.end() == 0
    assert "half a questi" not in (folder / "history").read_text()


def test_a_signal_from_outside_is_a_ctrl_c(httpserver: HTTPServer, folder: Path):
    Endpoint(httpserver).play(SLEEPS)
    typing = Typing(httpserver, folder)
    typing.see(PROMPT)
    os.kill(typing.child.pid, signal.SIGINT)
    typing.enter("To the sandbox")
    typing.see("running the answer")
    os.kill(typing.child.pid, signal.SIGINT)
    typing.see("Stopped:")
    typing.see("cancelled")
    typing.see(PROMPT)
    assert typing.end() == 1


def test_paste_history_completion_and_commands(
    httpserver: HTTPServer, folder: Path, tmp_path: Path
):
    endpoint = Endpoint(httpserver).play(EDGE)
    (tmp_path / "lengths.csv").write_text("a,b\n1,2\n")
    typing = Typing(httpserver, folder, "--file", str(tmp_path / "lengths.csv"))
    typing.see(PROMPT)
    typing.write("\x1b[200~First line\nsecond line\x1b[201~")  # a paste, as terminals send it
    typing.enter()
    typing.see("'edge_A': 4.25 Å")
    typing.see("written by the model, not computed: edge_A")
    typing.see(PROMPT)
    assert "First line\nsecond line" in endpoint.prompts[0]
    assert "1 rows, separator ',', columns: a, b" in endpoint.prompts[0]
    typing.write("\x1b[A")  # the arrow: the last question
    typing.enter(" again")
    typing.see("'edge_A': 4.25")
    typing.see(PROMPT)
    assert "second line again" in endpoint.prompts[1]
    typing.write("/hel\t")
    typing.enter()
    typing.see("Ctrl-C gives up")
    typing.see(PROMPT)
    typing.enter("/undo")
    typing.see("forgotten: First line")
    typing.see(PROMPT)
    typing.enter("/cost")
    typing.see("1 calls, 10 tokens")
    typing.see(PROMPT)
    typing.enter("/model")
    typing.see("m (openai at http://")
    typing.see(PROMPT)
    typing.enter("/files")
    typing.see("lengths.csv")
    typing.see(PROMPT)
    typing.enter("/files drop lengths.csv")
    typing.see("no input files")
    typing.see(PROMPT)
    typing.enter("/nothing")
    typing.see("/nothing: no such command")
    typing.see(PROMPT)
    typing.enter("what is in @none.cif")
    typing.see("@none.cif: no such file")
    typing.see(PROMPT)
    typing.enter(f"/save {tmp_path / 'edge.py'}")
    typing.see("written to")
    typing.see(PROMPT)
    assert typing.end() == 0
    ran = subprocess.run(
        [sys.executable, tmp_path / "edge.py"], cwd=tmp_path, capture_output=True, text=True,
        check=True, env={},
    )  # fmt: skip
    assert ran.stdout == "{'edge_A': 4.25}\n"


def test_a_conversation_is_kept_and_goes_on(httpserver: HTTPServer, folder: Path):
    endpoint = Endpoint(httpserver).play("needs input: the energies of the phases")
    asked = subprocess.run(
        [sys.executable, *command(httpserver), "Is it stable?"], env=variables(folder),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert asked.returncode == 3
    assert "Needs input: the energies of the phases" in asked.stdout
    assert len(endpoint.bodies) == 1  # asked once: no repair, no further draft
    endpoint.play(EDGE)
    went_on = subprocess.run(
        [sys.executable, *command(httpserver), "--continue", "--json", "They are 1 and 2 eV."],
        env=variables(folder), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert went_on.returncode == 0, went_on.stderr
    answer = json.loads(went_on.stdout)
    assert (answer["kind"], answer["values"][0]["value"]) == ("answered", 4.25)
    assert answer["values"][0]["origin"]["kind"] == "assumed"
    (prompt,) = endpoint.prompts
    assert "Is it stable?" in prompt
    assert "needs input: the energies of the phases" in prompt
    assert "already asked" in prompt
    modes = {path.stat().st_mode & 0o77 for path in folder.rglob("*.json")}
    assert modes == {0}


def test_a_time_limit_and_a_piped_conversation(httpserver: HTTPServer, folder: Path):
    Endpoint(httpserver).play(EDGE, SLEEPS)
    done = subprocess.run(
        [sys.executable, *command(httpserver, "--timeout", "15")], env=variables(folder),
        input="What is the edge?\nSleep.\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "'edge_A': 4.25" in done.stdout
    assert "Stopped: the time limit of 15 s was reached" in done.stdout
    assert done.returncode == 1
