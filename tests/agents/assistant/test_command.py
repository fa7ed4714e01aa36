"""The assistant as a user meets it: the command, an endpoint, executed code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agents.assistant import read_config
from agents.assistant.command import read_command
from matsmith.__main__ import main
from sandbox.factory import available
from tests.support.endpoint import Endpoint, refusal
from tests.support.samples import table
from tests.support.scripted import code_reply

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

pytestmark = pytest.mark.skipif(
    not available(), reason="no isolating sandbox on this machine"
)


@pytest.fixture(autouse=True)
def no_key(monkeypatch, tmp_path):
    """No endpoint of the machine, and no reply from a cache."""
    monkeypatch.setenv("MATSMITH_SESSIONS", str(tmp_path / "sessions"))


def options(server, name="scripted"):
    # the name keeps replies in the cache apart: it is part of a request
    endpoint = [f"model.base_url={server.url_for('/v1')}", f"model.name={name}"]
    return [*endpoint, "system=reflect", "retrieval=none"]


@pytest.mark.long
def test_a_question_is_answered_with_code_that_was_executed(
    httpserver, tmp_path, capsys
):
    endpoint = Endpoint(httpserver).play(MISSPELT, GOOD)
    script = tmp_path / "rutile.py"
    assert main(["ask", RUTILE, *options(httpserver), "--out", str(script)]) == 0
    shown, progress = capsys.readouterr()
    first, *_ = shown.splitlines()
    assert first == "Symmetry operations: 16; space group: P4_2/mnm."
    assert "pymatgen 20" in shown  # the version that it ran on
    assert "SpacegroupAnalyzer.get_symmetry_operations" in shown
    assert "assumed by the model: " in shown
    assert "4.594 (line " in shown
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
    ran = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True
    )
    assert "P4_2/mnm" in ran.stdout


def test_a_reply_without_code_is_explained(httpserver, capsys):
    Endpoint(httpserver).play(refusal("I would rather not."))
    assert main(["ask", RUTILE, "system=single", *options(httpserver, "refuses")]) == 1
    assert "No answer: the model refused to answer" in capsys.readouterr().out


def test_which_model_is_asked(monkeypatch):
    assert read_config([]).model.provider == "recorded"
    given = read_config(["model.name=n", "model.base_url=http://i"]).model
    assert (given.provider, given.name, given.base_url) == ("openai", "n", "http://i")
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert read_config(["model=none"]).model.provider == "none"
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

    endpoint = ("model=openai", "model.name=n", "model.base_url=http://i")
    assert name(*endpoint) == "tools"
    assert name(*endpoint, "model.tools=text") == "adaptive"
    assert name(*endpoint, "system=rag") == "rag"


def test_words_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.cif", "b.cif"):
        Path(name).touch()
    options = ("--file", "--out", "--timeout", "--continue", "--json")
    for words, *asked_for in table("requests")["words"]:
        asked = read_command(words, options)
        assert [" ".join(asked.words), asked.overrides, asked.files] == asked_for
    assert read_command(["x", "--continue"], options).resume == ""


@pytest.mark.long
def test_what_is_piped_in_is_a_file(httpserver, tmp_path):
    body = "return {'lines': len(open('stdin-1.txt').readlines())}"
    endpoint = Endpoint(httpserver).play(code_reply(body))
    command = [
        sys.executable,
        "-m",
        "matsmith",
        "ask",
        "How many lines?",
        *options(httpserver),
    ]
    out = tmp_path / "deep" / "result"
    out.parent.mkdir()
    done = subprocess.run(
        [*command, "model.cache=false", f"--out={out}"],
        input="1.5\n2.5\n",
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The lines is 2.\n")
    assert "stdin-1.txt` (text, 8 bytes): first lines:\n1.5\n2.5" in endpoint.prompts[0]
    assert (out / "answer.py").is_file()
    (kept,) = (tmp_path / "sessions").glob("*/stdin-1.txt")
    assert (kept.stat().st_mode & 0o77, kept.parent.stat().st_mode & 0o77) == (0, 0)


def test_numbers_in_words_were_not_computed(httpserver, capsys):
    words = "in words: its gap is 1.12 eV and its density 2.33 g/cm^3."
    Endpoint(httpserver).play(words)
    code = main(["ask", "Of silicon?", "--json", *options(httpserver, "states")])
    shown = json.loads(capsys.readouterr().out)
    assert code == 4
    assert shown["computed"] is False
    assert shown["notes"] == [
        "no code was executed; 1.12 eV and 2.33 g/cm^3 are the model's statement"
    ]


def test_an_endpoint_out_of_reach_has_an_exit_code_of_its_own(capsys):
    words = ["model.base_url=http://127.0.0.1:9/v1", "model.name=nobody"]
    assert main(["ask", RUTILE, *words, "model.max_retries=0", "retrieval=none"]) == 5
    assert "Infrastructure error" in capsys.readouterr().out
