"""Texts that need not be written: shipped with the project, or imported."""

import logging

import pytest

from docgen.library import build_library, read_library
from docgen.sources import read_sources
from docgen.texts import (
    SHIPPED,
    SUFFIX,
    VERSION,
    Text,
    TextsError,
    file_name,
    prewritten,
    read_texts,
    render_text,
    source_hash,
    text_files,
    write_texts,
)
from sandbox.base import SandboxError
from sandbox.environments import site_packages
from tests.docgen.models import DocModel
from tests.indexes.test_corpus import build

BRICK = "brickwork.shapes.Brick"
CLAY = "## What it does\nA block of clay.\n\n## Example\n```python\nBrick()\n```"


def put(package, cache, **changes):
    """A file that was imported, about the class ``Brick`` as it is now."""
    symbol = read_library(["brickwork"], package).symbols[BRICK]
    fields = {"prompt": "1", "writer": "an LLM", "date": "2026-11", "text": CLAY, **changes}
    path = cache / "written" / file_name("brickwork-dist", "1.1")
    write_texts(path, [Text(BRICK, source_hash(symbol), **fields)])
    return path


async def test_every_document_says_who_wrote_it(package, cache):
    put(package, cache)
    corpus = await build(package, cache, DocModel())
    documents = {d.metadata["qualname"]: d for d in corpus.documents}
    assert "A block of clay." in documents[BRICK].page_content
    metadata = documents[BRICK].metadata
    assert (metadata["writer"], metadata["written"], metadata["prompt"]) == (
        "an LLM",
        "2026-11",
        "1",
    )
    others = [d.metadata for name, d in documents.items() if name != BRICK]
    assert {(m["writer"], m["prompt"]) for m in others} == {("somebody", VERSION)}
    assert corpus.manifest.writers == {"an LLM": 1, "somebody": len(others)}


async def test_a_new_file_makes_another_corpus(package, cache):
    before = await build(package, cache, DocModel())
    put(package, cache)  # from an older prompt than what was just written
    assert (await build(package, cache, DocModel())).manifest.writers.keys() == {"somebody"}
    put(package, cache, prompt=VERSION)
    after = await build(package, cache, DocModel())
    assert before.manifest.writers.keys() == {"somebody"}
    assert after.manifest.writers["an LLM"] == 1
    without = await build(package, cache, DocModel(), shipped=False)
    assert [d.page_content for d in without.documents] == [d.page_content for d in before.documents]


async def test_a_changed_symbol_is_written_again_and_named(package, cache, caplog):
    put(package, cache)
    shapes = package / "brickwork/shapes.py"
    shapes.write_text(shapes.read_text().replace("width < 0", "width <= 0"))
    with caplog.at_level(logging.WARNING):
        corpus = await build(package, cache, DocModel())
    assert f"1 of 1 documented symbols have changed since and are written by somebody: {BRICK}" in (
        caplog.text
    )
    assert corpus.manifest.writers == {"somebody": len(corpus.documents)}


@pytest.mark.parametrize("damage", ["cut", "not JSON", "another file", "half a row"])
async def test_a_damaged_file_is_one_line(package, cache, damage):
    path = put(package, cache)
    path.write_bytes(
        {
            "cut": path.read_bytes()[:-20],
            "not JSON": b"hello\n",
            "another file": b"\x00\xff",
            "half a row": b'{"qualname": "x"}',
        }[damage]
    )
    with pytest.raises(TextsError, match="not a file of written documentation") as error:
        await build(package, cache, DocModel())
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_the_bytes_depend_on_the_texts_only(tmp_path):
    texts = [Text(name, "hash", "1", "an LLM", "2026-11", "text") for name in "ab"]
    write_texts(tmp_path / "one", texts)
    write_texts(tmp_path / "two", texts[::-1])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert read_texts(tmp_path / "one") == texts


def test_files_of_other_distributions_are_not_read(tmp_path):
    for name in ("brick", "brick-work", "Brick"):
        write_texts(tmp_path / file_name(name, "1.0"), [])
    found = [path.name for path in text_files(["brick"], [tmp_path])]
    assert found == ["Brick-1.0.jsonl.gz", "brick-1.0.jsonl.gz"]


def test_a_failing_example_is_marked():
    text = Text(BRICK, "hash", "1", "an LLM", "2026-11", CLAY, "fails")
    assert "## Example\n(This example fails when it is run.)\n```python" in render_text(text)
    assert render_text(Text(BRICK, "hash", "1", "an LLM", "2026-11", CLAY, "runs")) == CLAY


@pytest.mark.parametrize("path", sorted(SHIPPED.glob(f"*{SUFFIX}")), ids=lambda p: p.name)
def test_shipped_texts_are_sound(path):
    texts = read_texts(path)
    assert texts
    assert all(text.text.startswith("## What it does\n") for text in texts)
    assert len({text.qualname for text in texts}) == len(texts)


def test_shipped_texts_fit_the_pinned_library():
    try:
        folder = site_packages("live")
    except SandboxError as error:
        pytest.skip(str(error))
    packages = ["pymatgen.analysis.defects"]
    library = build_library(read_sources(packages, folder)).public()
    texts, outdated = prewritten(library, text_files(library.versions, [SHIPPED]))
    (file,) = text_files(library.versions, [SHIPPED])
    assert len(texts) == len(read_texts(file))
    assert not outdated


def test_an_unreadable_file_is_named(tmp_path):
    with pytest.raises(TextsError, match="absent"):
        read_texts(tmp_path / "absent")
