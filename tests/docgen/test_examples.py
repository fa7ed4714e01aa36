"""Examples that are written, taken out of unit tests, chosen, and fall back to facts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from docgen.calls import CodeResolver
from docgen.check import PROBE, ExampleChecker, code_of, example_of
from docgen.check import main as check
from docgen.example_probe import check as probe
from docgen.examples import (
    GALLERY,
    ExampleWriter,
    mine,
    scripts,
    split,
    unfit,
    unstable,
)
from docgen.facts import FELL_BACK, contents
from docgen.library import build_library, read_library
from docgen.prompts import Prompter
from docgen.render import prose as prose_of
from docgen.sources import read_sources
from docgen.symbols import Library
from docgen.texts import (
    EXAMPLES,
    WrittenText,
    best,
    examples,
    read_texts,
    source_hash,
    write_texts,
)
from docgen.writing import Content
from sandbox.base import Sandbox, SandboxConfig, SandboxError
from sandbox.environments import site_packages
from sandbox.factory import get_sandbox
from tests.support.samples import sample, table, write_package
from tests.support.writers import DocModel

FOLDER = Path(__import__("json").__file__).parents[1]
DUMPS = (
    "# json.dumps\n```python\nfrom json import dumps\n\nprint(dumps([1], {}))\n```\n"
)


@dataclass
class Writer(DocModel):
    """Gives one reply after the other."""

    replies: list[str] = field(default_factory=list)

    def reply(self, prompt: str) -> str:
        return self.replies[len(self.prompts) - 1]


@pytest.fixture
def library() -> Library:
    return read_library(["json"], FOLDER).public()


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    try:
        opened = get_sandbox(SandboxConfig(options={"warmup": False}))
    except SandboxError as error:
        pytest.skip(str(error))
    async with opened as sandbox:
        yield sandbox


async def written(
    library: Library, sandbox: Sandbox, *replies: str
) -> tuple[Writer, dict[str, WrittenText]]:
    model = Writer(replies=list(replies))
    names = ["json.dumps", "json.load"]
    writer = ExampleWriter(library, model, ExampleChecker(sandbox), {}, "")
    made, unanswered = await writer.write(names, Prompter(library))
    assert not unanswered
    return model, {text.qualname: text for text in made}


async def test_a_script_that_fails_goes_back_with_the_failure(
    library: Library, sandbox: Sandbox
) -> None:
    needs = "# json.load\nNeeds FILE: nobody has it.\n"
    model, made = await written(
        library,
        sandbox,
        DUMPS.format("wet=True") + needs,
        DUMPS.format("indent=1"),
        needs,
    )
    assert "<symbol>\njson.load\n" in model.prompts[0]
    assert "unexpected keyword argument 'wet' (line 3)" in model.prompts[1]
    assert "# json.load\ntry once" in model.prompts[1]
    assert "json.dumps" not in model.prompts[2]  # done; only the other is asked for
    assert made["json.dumps"].example == "runs"
    assert "Prints:\n```text\n[\n 1\n]\n```" in made["json.dumps"].text
    assert made["json.load"].text == "## Example\nNeeds FILE: nobody has it.\n"
    assert made["json.load"].example == "inputs"


async def test_a_script_that_never_runs_is_kept_as_failed(
    library: Library, sandbox: Sandbox
) -> None:
    _, made = await written(library, sandbox, *[DUMPS.format("wet=True")] * 3)
    assert made["json.dumps"].example == "fails"
    assert "unexpected keyword" in made["json.dumps"].text.splitlines()[-1]
    assert made["json.load"].example == "none"


async def test_examples_out_of_unit_tests(tmp_path: Path, sandbox: Sandbox) -> None:
    write_package(tmp_path, sample("json_tests"))
    sources = read_sources(["json"], FOLDER)
    library = build_library(sources).public()
    found = scripts(tmp_path, CodeResolver(sources), library)
    assert found.keys() == {"json.dumps", "json.loads"}
    own = "import json\n\ntext = json.dumps([3])\nprint(json.loads(text))\n"
    assert (
        found["json.loads"][0] == own
    )  # what the base sets up, and nothing that serves nothing
    found["json.loads"] = ["1 / 0", found["json.loads"][1]]  # the second one runs
    (text,) = await mine(library, found, ["json.loads"], ExampleChecker(sandbox))
    code = "import json\n\n\ndef make_encoded():\n    return json.dumps({'a': [1, 2]})"
    code += (
        "\n\nencoded = make_encoded()\nfound = json.loads(encoded)\nprint(found['a'])\n"
    )
    assert (
        text.text
        == f"## Example\n```python\n{code}```\nPrints:\n```text\n[1, 2]\n```\n"
    )
    longer = replace(text, writer="somebody", text=text.text + "# more")
    assert best([longer, text], ["json.loads"]) == {"json.loads": text}
    fails = replace(text, text="", example="fails")
    assert best([fails, longer], ["json.loads"]) == {"json.loads": longer}


def test_what_is_wrong_with_a_script_before_and_after_it_runs() -> None:
    assert unfit("print(dumps(1))", "json.dumps") == ""
    assert unfit("print(1)", "json.dumps") == "it does not use dumps"
    assert "longer" in unfit("dumps" + " " * 5000, "json.dumps")
    assert unstable(" \n") == "it prints nothing"
    assert "address" in unstable("<object at 0x7f0012345678>")
    assert split("```python\n1\n```", ["a.b"]) == {"a.b": "```python\n1\n```"}
    assert split("# a.b\nx\n## `a.c`\ny", ["a.b", "a.c"]) == {
        "a.b": "\nx\n",
        "a.c": "\ny",
    }


def test_most_shipped_examples_run() -> None:
    texts = [text for file in EXAMPLES.glob("*.jsonl.gz") for text in read_texts(file)]
    runs = [text for text in texts if text.example == "runs"]
    assert len(runs) >= 0.8 * len(texts) > 0
    assert all("\nPrints:\n```text\n" in text.text for text in runs)
    assert not any(unfit(example_of(text.text), text.qualname) for text in runs)


async def test_the_gallery_runs(sandbox: Sandbox) -> None:
    ran = await sandbox.call(PROBE, "check", code_of(GALLERY.read_text()), timeout=60)
    assert ran.result["verdict"] == "runs", ran


def test_what_documents_hold_and_what_a_changed_signature_does(tmp_path: Path) -> None:
    def read(parameter: str) -> Library:
        source = f'def fire({parameter}):\n    """Fire."""\n    return {parameter}\n'
        (tmp_path / "kilns.py").write_text(source)
        return read_library(["kilns"], tmp_path).public()

    library, file = read("heat"), tmp_path / "kilns-0.jsonl.gz"
    at = source_hash(library.symbols["kilns.fire"])
    example = "## Example\n```python\nprint(fire(heat=3))\n```"
    write_texts(
        file, [WrittenText("kilns.fire", at, "1", "somebody", "2026", example, "runs")]
    )
    prose = "## What it does\nProse.\n\n## Example\nold\n\n## Asked as\nhow"
    written = {
        "kilns.fire": WrittenText("kilns.fire", at, "2", "somebody", "2026", prose)
    }

    def document(library: Library, content: Content) -> str:
        found = examples(library, [file])
        symbols = contents(content, library, written, found)
        return next(prose_of(s) for s in symbols if s.qualname == "kilns.fire")

    asked, call = "\n\n## Asked as\nhow", "```python\nprint(fire(heat=3))\n```"
    held: dict[Content, str] = {
        "written": prose,
        "prose": f"## What it does\nProse.{asked}",
    }
    held["all"] = f"## What it does\nProse.\n\n## Example\n{call}{asked}"
    assert {content: document(library, content) for content in held} == held
    assert "result = fire(heat)" in document(library, "facts")
    assert document(library, "examples").endswith(f"\n\n## Example\n{call}")
    changed = document(read("temperature"), "examples")
    assert "heat=3" not in changed
    assert FELL_BACK in changed
    assert "result = fire(temperature)" in changed


@pytest.mark.parametrize(
    ("code", "verdict", "error"), table("documentation")["examples"]
)
def test_what_is_found_out_about_an_example(
    code: str, verdict: str, error: str
) -> None:
    found = probe(code)
    assert found["verdict"] == verdict, found
    assert error in str(found["error"])
    assert found["printed"] == ("[1]\n" if verdict == "runs" else "")


@pytest.mark.long
def test_check_runs_examples_of_changed_symbols_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "six-0.jsonl.gz", tmp_path / "out.jsonl.gz"
    call = "## Example\n```python\nfrom six import {0}\n\nprint({0}({1}))\n```\n"
    calls = {"ensure_str": "'a'", "ensure_text": "'a', removed=1"}
    made = [
        WrittenText(f"six.{n}", "old", "1", "me", "", call.format(n, a), "runs")
        for n, a in calls.items()
    ]
    needs = WrittenText(
        "six.ensure_binary", "old", "1", "me", "", "## Example\nNeeds X: why", "inputs"
    )
    write_texts(file, [*made, needs])
    assert check(["package=six", f"file={file}", "examples=true", f"out={out}"]) == 0
    printed = capsys.readouterr().out
    assert "3 examples: 1 run as they stand, 1 use names, files" in printed
    assert ", 1 fail\nfails: six.ensure_text: TypeError: " in printed
    found = {text.qualname: text for text in read_texts(out)}
    assert [t.example for t in found.values()] == ["inputs", "runs", "fails"]
    assert all(text.source_hash != "old" for text in found.values())
    library = read_library(["six"], site_packages("live")).public()
    symbols = {s.qualname: s for s in contents("all", library, {}, found)}
    first = [symbols[name].section("Example").splitlines()[:2] for name in found]
    assert first[0][0] == "Needs X: why"
    assert first[1][0] == "```python"
    assert first[2] == ["(This example fails when it is run.)", FELL_BACK]
