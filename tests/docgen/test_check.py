"""Examples of documents: run in the real sandbox, as they stand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from docgen.check import Checker, check_texts, example_of, table
from docgen.example_probe import check
from docgen.library import read_library
from docgen.symbols import Library
from docgen.texts import Text, source_hash
from sandbox.base import SandboxConfig, SandboxError
from sandbox.factory import get_sandbox


@pytest.mark.parametrize(
    ("code", "verdict", "error"),
    [
        ("from json import loads\nprint(loads('[1]'))", "runs", ""),
        ("loads('[1]')", "inputs", "name 'loads' is not defined"),  # nothing is lent to it
        ("from json import loud", "fails", "cannot import name 'loud'"),
        ("from json import loads\nloads('1', wet=True)", "fails", "unexpected keyword argument"),
        ("1 / 0", "fails", "ZeroDivisionError: division by zero (line 1)"),
        ("import jsonn", "fails", "No module named 'jsonn'"),
        ("f(", "fails", "SyntaxError"),
        ("open('kiln.txt')", "inputs", "No such file"),
        ("raise SystemExit", "fails", "SystemExit"),
    ],
)
def test_what_is_found_out_about_an_example(code: str, verdict: str, error: str) -> None:
    found = check(code)
    assert found["verdict"] == verdict, found
    assert error in str(found["error"])
    assert found["printed"] == ("[1]\n" if verdict == "runs" else "")


def document(library: Library, name: str, code: str) -> Text:
    text = "## What it does\nIt does.\n\n## Notes\n- Hot.\n"
    text += f"\n## Example\n```python\n{code}\n```\n\n## Asked as\n- how" if code else ""
    return Text(name, source_hash(library.symbols[name]), "2", "somebody", "2026-11", text)


@pytest.fixture
def library() -> Library:
    import json

    return read_library(["json"], Path(json.__file__).parents[1]).public()


async def run(texts: list[Text]) -> str:
    try:
        sandbox = get_sandbox(SandboxConfig(options={"warmup": False}))
    except SandboxError as error:
        pytest.skip(str(error))
    async with sandbox:
        return table(await check_texts(texts, Checker(sandbox)))


async def test_verdicts_come_out_of_the_sandbox(library: Library) -> None:
    told = await run(
        [
            document(library, "json.loads", "from json import loads\nloads('[1]')"),
            document(library, "json.dumps", "dumps([1])"),
            document(library, "json.load", "load(handle)"),
            document(library, "json.encoder.JSONEncoder", "1 / 0"),
            document(library, "json.decoder", ""),
        ],
    )
    assert "5 documents: 1 examples run as they stand, 2 use names" in told
    assert "1 fail, 1 have no code" in told
    assert "fails: json.encoder.JSONEncoder: ZeroDivisionError: division by zero (line 1)" in told


def test_the_example_is_the_code_under_its_heading(library: Library) -> None:
    text = document(library, "json.loads", "loads('1')")
    assert example_of(text.text) == "loads('1')\n"
    assert example_of(replace(text, text="## What it does\n```python\n1\n```").text) == ""
