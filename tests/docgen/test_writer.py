from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from docgen.library import read_library
from docgen.prompts import documentation_order
from docgen.symbols import Library
from docgen.texts import Checkpoint, WrittenText, source_hash
from docgen.writer import WriteReport, write_documentation
from docgen.writing import WriteOptions
from tests.support.writers import DocModel, StubbornModel, read_prompt

FAST = WriteOptions(attempts=2)


@pytest.fixture
def library(package: Path) -> Library:
    return read_library(["brickwork"], package)


def asked(model: DocModel) -> list[list[str]]:
    """The symbols of every request."""
    return [[s["symbol"] for s in read_prompt(prompt)] for prompt in model.prompts]


async def run(
    library: Library, model: DocModel, path: Path, options: WriteOptions = FAST
) -> WriteReport:
    return await write_documentation(
        library, model, checkpoint=Checkpoint(path), options=options
    )


async def test_everything_is_written_callees_first(
    library: Library, tmp_path: Path
) -> None:
    model = DocModel()
    report = await run(
        library, model, tmp_path / "c.jsonl", WriteOptions(concurrency=1)
    )
    assert report.complete
    assert sorted(report.texts) == sorted(library.symbols)
    needs = documentation_order(library)
    seen: set[str] = set()
    for names in asked(model):
        assert all(
            need in seen or need in names for name in names for need in needs[name]
        )
        seen |= set(names)
    assert seen == set(library.symbols)
    assert len(model.prompts) < len(seen)  # small symbols of a module share requests


async def test_only_changed_symbols_are_written_again(
    package: Path, tmp_path: Path
) -> None:
    await run(read_library(["brickwork"], package), DocModel(), tmp_path / "c.jsonl")
    wall = package / "brickwork/wall.py"
    text = wall.read_text().replace("one * courses", "courses * one")
    wall.write_text(text + "\n\ndef paint(wall: Wall) -> None:\n    '''Paint it.'''\n")
    report = await run(
        read_library(["brickwork"], package), DocModel(), tmp_path / "c.jsonl"
    )
    # the module lists what is defined in it
    changed = {"brickwork.wall", "brickwork.wall.Wall.volume"}
    assert set(report.written) == {*changed, "brickwork.wall.paint"}


@pytest.mark.parametrize("answer", ["raise", "", "I cannot help with that."])
async def test_failures_are_reported_and_block_what_builds_on_them(
    library: Library, tmp_path: Path, answer: str
) -> None:
    model = StubbornModel(refuse={"brickwork.shapes.Brick": answer})
    report = await run(library, model, tmp_path / "c.jsonl")
    assert list(report.failed) == ["brickwork.shapes.Brick"]
    assert report.blocked["brickwork.wall.build"] == "brickwork.shapes.Brick"
    assert not set(report.blocked) & set(report.texts)
    assert "brickwork.shapes.Mortar" in report.texts  # independent of the failure
    names = [name for group in asked(model) for name in group]
    assert names.count("brickwork.shapes.Brick") == 2  # two attempts
    assert not set(report.blocked) & set(names)

    again = StubbornModel()
    healed = await run(library, again, tmp_path / "c.jsonl")
    assert healed.complete
    names = [name for group in asked(again) for name in group]
    assert sorted(names) == sorted([*report.failed, *report.blocked])


async def test_a_dead_endpoint_ends_the_run_early(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = StubbornModel(refuse=dict.fromkeys(library.symbols, "raise"))
    monkeypatch.setattr("docgen.writer._GIVE_UP", 3)
    options = WriteOptions(attempts=1, concurrency=1)
    report = await run(library, model, tmp_path / "c.jsonl", options)
    assert report.calls == 3  # small symbols are asked for together, and fail together
    assert report.stopped is not None
    assert "refused" in report.stopped
    accounted = {*report.texts, *report.failed, *report.blocked, *report.pending}
    assert accounted == set(library.symbols)


@pytest.mark.parametrize("limit", [1, 5])
async def test_a_limit_on_calls_is_kept_exactly(
    library: Library, tmp_path: Path, limit: int
) -> None:
    model = DocModel()
    options = WriteOptions(max_calls=limit, concurrency=4)
    report = await run(library, model, tmp_path / "c.jsonl", options)
    assert len(model.prompts) == report.calls == limit
    assert len(report.texts) >= limit
    assert not report.complete


@pytest.mark.parametrize("cut", [1, 10, 100])
async def test_what_is_finished_is_kept_and_a_half_written_line_costs_one_item(
    library: Library, tmp_path: Path, cut: int
) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"qualname": "x"}\n[]\nnot json\n')
    whole = await run(library, DocModel(), path)
    assert (whole.prompt_tokens, whole.cost_usd) == (
        None,
        None,
    )  # the model did not tell
    model = DocModel()
    report = await run(library, model, path)
    assert model.prompts == []  # a second run asks nothing
    assert sorted(report.reused) == sorted(library.symbols)
    path.write_bytes(path.read_bytes()[:-cut])
    report = await run(library, model, path)
    assert len(model.prompts) == 1
    assert report.texts == whole.texts
    other = await run(
        library, DocModel("other"), path
    )  # whose texts are not taken for its own
    assert other.reused == []


@dataclass
class Forgetful(DocModel):
    """Leaves out one symbol of a request for several."""

    forgets: str = ""

    def reply(self, prompt: str) -> str:
        names = [s["symbol"] for s in read_prompt(prompt)]
        if len(names) == 1 or self.forgets not in names:
            return super().reply(prompt)
        return (
            super().reply(prompt).replace(f"# {self.forgets}\n", "# something.else\n")
        )


async def test_what_a_shared_request_misses_is_asked_for_alone(
    library: Library, tmp_path: Path
) -> None:
    model = Forgetful(forgets="brickwork.shapes.Bond.HEADER")
    report = await run(library, model, tmp_path / "c.jsonl")
    assert report.complete
    groups = [names for names in asked(model) if model.forgets in names]
    assert [len(names) > 1 for names in groups] == [True, False]
    assert report.calls == len(model.prompts)
    flat = [name for names in asked(model) for name in names if name != model.forgets]
    assert sorted(flat) == sorted(
        set(library.symbols) - {model.forgets}
    )  # the others only once


async def test_given_texts_are_used_where_the_source_is_the_same(
    library: Library, tmp_path: Path
) -> None:
    brick, joint = "brickwork.shapes.Brick", "brickwork.wall.joint"
    clay = "## What it does\nClay."
    text = WrittenText(
        brick, source_hash(library.symbols[brick]), "1", "an LLM", "2026-11", clay
    )
    model = DocModel()
    report = await write_documentation(
        library, model, checkpoint=Checkpoint(tmp_path / "c.jsonl"), given={brick: text}
    )
    assert report.shipped == [brick]
    assert report.texts[brick].text == clay
    assert (report.texts[brick].writer, report.texts[joint].writer) == (
        "an LLM",
        "somebody",
    )
    assert any("Clay." in prompt for prompt in model.prompts)  # others build on it
    assert brick not in [name for names in asked(model) for name in names]
