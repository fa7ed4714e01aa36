"""Examples of documents: run in the real sandbox, looked up where inputs are missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from docgen.check import check_texts, example_of, table
from docgen.example_probe import check
from docgen.library import read_library
from docgen.prompts import source_hash
from docgen.symbols import Library
from docgen.texts import Text
from sandbox.base import SandboxConfig, SandboxError
from sandbox.factory import get_sandbox
from tests.docgen.models import DocModel

MODULE = '''
"""Kilns."""
class Kiln:
    """A kiln."""
    colour: str
    def __init__(self, volume, fuel="wood"):
        self.volume = volume
        self.fuel = fuel
    def burn(self, hours, *, damp=False):
        """Burn."""
        return hours * self.volume
    @classmethod
    def large(cls):
        """A large one."""
        return cls(1000)

def fire(path):
    """Read a file."""
    return open(path).read()
'''


@pytest.fixture(autouse=True)
def _kilns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kilns.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize(
    ("code", "verdict", "error"),
    [
        ("from kilns import Kiln\nKiln(3).burn(2)", "runs", ""),
        ("Kiln(3).burn(2)", "runs", ""),  # borrowed from the module
        ("from kilns import Kiln, Klin", "fails", "cannot import name 'Klin'"),
        ("Kiln(3).burn(2, wet=True)", "fails", "unexpected keyword argument 'wet'"),
        ("1 / 0", "fails", "ZeroDivisionError: division by zero (line 1)"),
        ("Kiln(", "fails", "SyntaxError"),
        ("fire('kiln.txt')", "inputs", ""),
        ("fire('kiln.txt', 3)", "fails", "takes 1 positional argument but 2"),
        ("kiln.burn(hours)", "inputs", ""),
        ("kiln.burn(hours, wet=True)", "fails", "looked up: kiln.burn(...): got an unexpected"),
        ("k = Kiln(size)\nk.burn(3, damp=True)\nk.volume, k.colour", "inputs", ""),
        ("k = Kiln(size)\nk.cool()", "fails", "looked up: k.cool: Kiln has no cool"),
        ("k = Kiln.large(size)", "fails", "looked up: Kiln.large(...): too many"),
        ("from kilns import Klin\nKlin(size)", "fails", "looked up: from kilns import Klin"),
        ("k = Kiln(*sizes)\nk.burn(**settings)", "inputs", ""),
        ("raise SystemExit", "fails", "SystemExit"),
    ],
)
def test_what_is_found_out_about_an_example(code: str, verdict: str, error: str) -> None:
    found = check(code, "kilns", "kilns.Kiln.burn")
    assert found["verdict"] == verdict, found
    assert error in str(found["error"])


def test_borrowed_names_are_told() -> None:
    assert check("Kiln(3)", "kilns", "kilns.Kiln")["borrowed"] == ["Kiln"]
    assert check("from kilns import Kiln\nKiln(3)", "kilns", "kilns.Kiln")["borrowed"] == []


def document(library: Library, name: str, code: str) -> Text:
    text = "## What it does\nIt does.\n\n## Notes\n- Hot.\n"
    text += f"\n## Example\n```python\n{code}\n```\n\n## Asked as\n- how" if code else ""
    return Text(name, source_hash(library.symbols[name]), "2", "somebody", "2026-11", text)


class Repairing(DocModel):
    def reply(self, prompt: str) -> str:
        assert "ZeroDivisionError" in prompt
        assert "<symbol>\njson.encoder.JSONEncoder\n</symbol>" in prompt
        return "Here:\n```python\nfrom json import JSONEncoder\nJSONEncoder().encode([1])\n```"


@pytest.fixture
def library() -> Library:
    import json

    return read_library(["json"], Path(json.__file__).parents[1]).public()


async def run(library: Library, texts: list[Text], model: DocModel | None = None) -> str:
    try:
        sandbox = get_sandbox(SandboxConfig(options={"warmup": False}))
    except SandboxError as error:
        pytest.skip(str(error))
    async with sandbox:
        results = await check_texts(texts, library, sandbox, model=model)
    for name, (text, checked) in results.items():
        assert text.example == checked.verdict
        assert text.qualname == name
    return table(results)


async def test_verdicts_come_out_of_the_sandbox(library: Library) -> None:
    told = await run(
        library,
        [
            document(library, "json.loads", "from json import loads\nloads('[1]')"),
            document(library, "json.dumps", "dumps([1])"),
            document(library, "json.load", "load(handle)"),
            document(library, "json.encoder.JSONEncoder", "1 / 0"),
            document(library, "json.decoder", ""),
        ],
    )
    assert "5 documents: 1 without code, 1 need inputs" in told
    assert "2 run, 1 fail" in told
    assert "of 3 examples that can run, 2 do as they are (1 of them import all they use)" in told
    assert "fails: json.encoder.JSONEncoder: ZeroDivisionError: division by zero (line 1)" in told


async def test_a_model_repairs_once(library: Library) -> None:
    text = document(library, "json.encoder.JSONEncoder", "1 / 0")
    told = await run(library, [text], Repairing())
    assert "0 do as they are (0 of them import all they use) and 1 after a repair" in told


def test_the_example_is_the_code_under_its_heading(library: Library) -> None:
    text = document(library, "json.loads", "loads('1')")
    assert example_of(text.text) == "loads('1')\n"
    assert example_of(replace(text, text="## What it does\n```python\n1\n```").text) == ""
