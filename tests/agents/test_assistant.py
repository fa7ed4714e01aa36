"""The assistant as a user meets it: the command, an endpoint, executed code."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from agents.assistant import main, read_config
from sandbox.factory import available
from tests.agents.scripted import code_reply
from tests.endpoint import Endpoint, refusal

RUTILE = "How many symmetry operations has rutile TiO2, and what is its space group?"
DRAFT = """\
from pymatgen.core import Lattice, Structure
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer
cell = Lattice.tetragonal(4.594, 2.959)
rutile = Structure.from_spacegroup("P4_2/mnm", cell, ["Ti", "O"], [[0, 0, 0], [0.305, 0.305, 0]])
analyzer = SpacegroupAnalyzer(rutile)
return {
    "symmetry_operations": len(analyzer.get_symmetry_operations()),
    "space_group": analyzer.{method}(),
}"""
GOOD = code_reply(DRAFT.replace("{method}", "get_space_group_symbol"))
MISSPELT = code_reply(DRAFT.replace("{method}", "get_spacegroup_symbol"))

pytestmark = pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No endpoint of the machine, and no reply from a cache."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MATSMITH_SESSIONS", str(tmp_path / "sessions"))


def options(server: HTTPServer, name: str = "scripted") -> list[str]:
    # the name keeps replies in the cache apart: it is part of a request
    endpoint = [f"model.base_url={server.url_for('/v1')}", f"model.name={name}"]
    return [*endpoint, "system=reflect", "retrieval=none"]


@pytest.mark.long
def test_a_question_is_answered_with_code_that_was_executed(
    httpserver: HTTPServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    endpoint = Endpoint(httpserver).play(MISSPELT, GOOD)
    script = tmp_path / "rutile.py"
    assert main(["ask", RUTILE, *options(httpserver), "--out", str(script)]) == 0
    shown, progress = capsys.readouterr()
    assert "'symmetry_operations': 16\n" in shown
    assert "'space_group': 'P4_2/mnm'\n" in shown
    assert "pymatgen 20" in shown  # the version that it ran on
    assert "computed by SpacegroupAnalyzer.get_symmetry_operations" in shown
    assert "assumed by the model: 2.959, 4.594, 'P4_2/mnm'" in shown
    assert (
        "pymatgen.symmetry.analyzer.SpacegroupAnalyzer.get_space_group_symbol  pymatgen-core"
        in shown
    )
    assert "1. exception: AttributeError" in shown
    assert "2. ok" in shown
    assert "scripted: 2 calls, 20 tokens, price unknown" in shown
    assert "executed a draft: exception" in progress
    assert RUTILE in endpoint.prompts[0]
    assert "AttributeError" in endpoint.prompts[1]
    assert "`get_space_group_symbol`" in endpoint.prompts[1]  # by introspection
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "P4_2/mnm" in ran.stdout


@pytest.mark.long
def test_the_model_without_an_llm_declines_clearly(capsys: pytest.CaptureFixture[str]):
    assert main(["ask", RUTILE, "model=rules"]) == 1
    shown, _ = capsys.readouterr()
    assert "without an LLM" in shown
    assert "OPENAI_API_KEY" in shown


@pytest.mark.long
def test_files_are_shown_to_the_code_read_only(
    httpserver: HTTPServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    data = tmp_path / "lengths.txt"
    data.write_text("1.5 2.5")
    body = (
        "text = open('lengths.txt').read()\n"
        "try:\n    open('lengths.txt', 'w')\nexcept OSError:\n    writable = False\n"
        "else:\n    writable = True\n"
        "return {'sum': sum(map(float, text.split())), 'writable': writable}"
    )
    endpoint = Endpoint(httpserver).play(code_reply(body))
    assert main(["ask", "Add them.", *options(httpserver), f"--file={data}"]) == 0
    assert "- `lengths.txt` (text, 7 bytes): first lines:\n1.5 2.5" in endpoint.prompts[0]
    assert str(tmp_path) not in endpoint.prompts[0]
    shown, _ = capsys.readouterr()
    assert "'sum': 4.0" in shown
    assert "'writable': False" in shown
    assert data.read_text() == "1.5 2.5"


def test_a_reply_without_code_is_explained(
    httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]
):
    Endpoint(httpserver).play(refusal("I would rather not."))
    assert main(["ask", RUTILE, "system=single", *options(httpserver, "refuses")]) == 1
    assert "No code: the model refused to answer" in capsys.readouterr().out


def test_settings_of_the_model_are_those_of_the_bench(
    httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]
):
    endpoint = Endpoint(httpserver).play(code_reply("return {'edge': 1}"))
    given = ["model.temperature=null", "model.max_tokens=77", "model.cache=false"]
    assert main(["ask", "x", "system=single", *options(httpserver), *given]) == 0
    assert "temperature" not in endpoint.bodies[0]
    assert endpoint.bodies[0]["max_completion_tokens"] == 77


@pytest.mark.long
def test_a_conversation_keeps_what_was_found(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    first, second = code_reply("return {'edge': 4.25}"), code_reply("return {'twice': 8.5}")
    endpoint = Endpoint(httpserver).play(first, second)
    monkeypatch.setattr("sys.stdin", io.StringIO("What is the edge?\n\nAnd twice that?\nquit\n"))
    assert main(["ask", *options(httpserver)]) == 0
    assert "Earlier in this conversation" not in endpoint.prompts[0]
    assert "Question: What is the edge?" in endpoint.prompts[1]
    assert "'edge': 4.25" in endpoint.prompts[1]
    assert "'twice': 8.5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ask", "x", "--file", "no/such.cif"], "file no/such.cif: no such file"),
        (["ask", "what is in @no/such.cif?"], "@no/such.cif?: no such file"),
        (["ask", "x", "--file"], "--file: its value is missing"),
        (["ask", "x", "--timeout", "soon"], "--timeout soon: a number of seconds"),
        (["ask", "--continue"], "there is no conversation to continue"),
        (["ask", "x", "--out", "no/such/folder.py"], "its folder does not exist"),
        (["ask", "x", "model.name=gpt-4o", "retrieval=none"], "OPENAI_API_KEY"),
        (["ask", "x", "model=rules", "env=nowhere", "retrieval=none"], "no environment 'nowhere'"),
        (["ask", "x", "packages=[pymatgen,nopackage]"], "nopackage: is not installed in 'live'"),
        (["ask", "x", "model.name=m", "model.temprature=1"], "model.temprature: no such key"),
        (["ask", "x", "model=magic"], "choose from anthropic"),
        (["ask", "x", "sandbox.backend=nowhere", "retrieval=none"], "no backend 'nowhere'"),
        (["ask", "x", "sandbox.env=live"], "sandbox.env: no such key"),
        (["ask", "x", "--system", "rag"], "--system: no such option"),
        (["answer", "x"], "no command 'answer'; there are: ask, serve, mcp, cache"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "Traceback" not in error


def test_which_model_is_asked(monkeypatch: pytest.MonkeyPatch):
    assert read_config([]).model.provider == "rules"
    given = read_config(["model.name=n", "model.base_url=http://i"]).model
    assert (given.provider, given.name, given.base_url) == ("openai", "n", "http://i")
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert read_config(["model=rules"]).model.provider == "rules"
    keyed = read_config([]).model
    assert (keyed.provider, keyed.name, keyed.base_url) == ("openai", "gpt-4o", None)
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://h/v1")
    monkeypatch.setenv("OPENAI_MODEL", "m")
    local = read_config([]).model
    assert (local.name, local.base_url) == ("m", "http://h/v1")


def test_which_architecture_answers():
    def name(*more):
        return read_config([*more]).system.name

    assert name("model=rules") == "reflect"
    endpoint = ("model=openai", "model.name=n", "model.base_url=http://i")
    assert name(*endpoint) == "tools"
    assert name(*endpoint, "model.tools=text") == "adaptive"
    assert name(*endpoint, "system=rag") == "rag"


def test_a_sentence_with_an_equals_sign_is_a_question(
    httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]
):
    endpoint = Endpoint(httpserver).play(code_reply("return {'edge': 1}"))
    given = ["system=single", "model.cache=false", *options(httpserver)]
    assert main(["ask", "which cell has a = 4?", *given]) == 0
    assert "which cell has a = 4?" in endpoint.prompts[0]
