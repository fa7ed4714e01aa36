"""Corpora: kept while nothing has changed, written, made of texts that are there, or of chunks."""

import asyncio
import json
import logging
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgen.library import build_library, read_library
from docgen.render import document as text_of
from docgen.render import prose
from docgen.sources import read_sources
from docgen.texts import (
    SHIPPED,
    SUFFIX,
    VERSION,
    TextsError,
    WrittenText,
    documented,
    file_name,
    prewritten,
    read_texts,
    source_hash,
    text_files,
    write_texts,
)
from docgen.writing import WriteOptions
from indexes import RetrievalError
from indexes.chunks import breakpoints, package_corpus, semantic_corpus, sentences
from indexes.corpus import read_corpus, replaced_folder
from indexes.embedding import HashingEmbedding
from indexes.llm_doc import Writer, llm_doc_corpus
from sandbox.base import SandboxError
from sandbox.environments import site_packages
from tests.support.symbols import symbol
from tests.support.writers import DocModel, StubbornModel

BRICK = "brickwork.shapes.Brick"
CLAY = "## What it does\nA block of clay.\n\n## Example\n```python\nBrick()\n```"


async def build(package, cache, model, **kw):
    writer = Writer(
        model, WriteOptions(attempts=1, shipped=kw.pop("shipped", True)), **kw
    )
    return await llm_doc_corpus(
        ["brickwork"], package, writer=writer, cache=cache, show_progress=False
    )


def contents(corpus):
    return [text_of(entry) for entry in corpus.entries]


def test_documents_carry_what_a_retriever_promises(corpus):
    documents = {entry.qualname: entry for entry in corpus.entries}
    volume = documents["brickwork.wall.Wall.volume"]
    expected = {
        "id": "llm_doc:brickwork.wall.Wall.volume",
        "kind": "method",
        "path": "brickwork/wall.py",
        "package": "brickwork-dist",
        "version": "1.2",
        "corpus": "llm_doc",
    }
    assert {key: getattr(volume, key) for key in expected} == expected
    facts, separator, text = text_of(volume).partition("\n---\n")
    assert separator
    assert facts.splitlines()[0] == "brickwork.wall.Wall.volume"
    assert "signature: volume(courses: int = 3) -> float" in facts
    assert text.startswith("## What it does\nVolume of the wall.")
    assert len({entry.id for entry in corpus.entries}) == len(corpus.entries)
    for name, document in documents.items():  # none is private or a test
        assert "._" not in name
        assert "test" not in document.path
        assert "SECRET" not in text_of(document)


@pytest.mark.parametrize(
    "damage", ["flip", "truncate", "manifest", "missing", "other code"]
)
async def test_a_corpus_is_read_again_or_named_and_rebuilt(
    package, cache, corpus, damage, caplog
):
    model = DocModel()
    again = await build(package, cache, model)
    assert (model.prompts, contents(again), again.aliases) == (
        [],
        contents(corpus),
        corpus.aliases,
    )
    documents, manifest = (
        corpus.folder / "documents.jsonl",
        corpus.folder / "manifest.json",
    )
    if damage == "flip":
        documents.write_bytes(documents.read_bytes().replace(b"Walls", b"Falls"))
    elif damage == "truncate":
        documents.write_bytes(documents.read_bytes()[:-40])
    elif damage == "manifest":
        manifest.write_text("{")
    elif damage == "missing":
        documents.unlink()
    else:
        content = json.loads(manifest.read_text())
        assert len(content["manifest"]["code"]) == 64
        content["manifest"]["code"] = "0" * 64
        manifest.write_text(json.dumps(content))
    with caplog.at_level(logging.WARNING):
        again = await build(package, cache, DocModel())
    said = "out of date (code changed)" if damage == "other code" else "damaged"
    assert f"{corpus.folder} is {said}" in caplog.text
    assert contents(again) == contents(corpus)
    assert read_corpus(cache, again.manifest) is not None


async def test_changed_sources_are_named_and_only_they_are_written(
    package, cache, corpus, caplog
):
    wall = package / "brickwork/wall.py"
    wall.write_text(wall.read_text().replace("one * courses", "courses * one"))
    model = DocModel()
    with caplog.at_level(logging.WARNING):
        again = await build(package, cache, model)
    assert "source files changed" in caplog.text
    assert [p.splitlines()[1] for p in model.prompts] == ["brickwork.wall.Wall.volume"]
    assert again.manifest.sources_digest != corpus.manifest.sources_digest
    metadata = package / "brickwork-1.2.dist-info/METADATA"
    metadata.write_text(metadata.read_text().replace("1.2", "1.3"))
    newer = await build(
        package, cache, DocModel()
    )  # another corpus, made from the same texts
    assert newer.manifest.versions == {"brickwork-dist": "1.3", "brickwork": None}
    assert newer.folder != again.folder
    assert again.folder.exists()
    assert len(model.prompts) == 1


async def test_an_incomplete_corpus_is_an_error_that_says_what_to_do(package, cache):
    model = StubbornModel(refuse={BRICK: "raise"})
    with pytest.raises(RetrievalError) as caught:
        await build(package, cache, model)
    assert f"{BRICK}: ConnectionError: refused" in str(caught.value)
    assert "the same command resumes" in str(caught.value)
    assert not list((cache / "corpora").glob("llm_doc-*/documents.jsonl"))
    healed = StubbornModel()
    corpus = await build(package, cache, healed)
    assert 0 < len(healed.prompts) < len(corpus.entries)


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    (target / "old").write_text("old")

    def fill(error=None):
        with replaced_folder(target) as fresh:
            (fresh / "new").write_text("new")
            if error is not None:
                raise error
        return [path.name for path in target.iterdir()]

    with pytest.raises(RuntimeError):
        fill(RuntimeError("killed"))
    assert [path.name for path in target.iterdir()] == ["old"]
    assert fill() == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


async def test_two_tasks_build_it_once(package, cache):
    models = [DocModel(), DocModel()]
    corpora = await asyncio.gather(*(build(package, cache, model) for model in models))
    assert corpora[0].entries == corpora[1].entries
    asked = [len(model.prompts) for model in models]
    assert min(asked) == 0 < max(asked)


# -- texts that need not be written: shipped with the project, or imported


def put(package, cache, **changes):
    """A file that was imported, about the class ``Brick`` as it is now."""
    symbol = read_library(["brickwork"], package).symbols[BRICK]
    fields = {
        "prompt": "1",
        "writer": "an LLM",
        "date": "2026-11",
        "text": CLAY,
        **changes,
    }
    path = cache / "written" / file_name("brickwork-dist", "1.1")
    write_texts(path, [WrittenText(BRICK, source_hash(symbol), **fields)])
    return path


async def test_every_document_says_who_wrote_it_and_a_new_file_makes_another_corpus(
    package, cache
):
    before = await build(package, cache, DocModel())
    put(package, cache)  # from an older prompt than what was just written
    assert (await build(package, cache, DocModel())).manifest.writers.keys() == {
        "somebody"
    }
    put(package, cache, prompt=VERSION)
    corpus = await build(package, cache, DocModel())
    documents = {entry.qualname: entry for entry in corpus.entries}
    assert "A block of clay." in text_of(documents[BRICK])
    brick = documents[BRICK]
    origin = (brick.writer, brick.written, brick.prompt)
    assert origin == ("an LLM", "2026-11", VERSION)
    others = [symbol for name, symbol in documents.items() if name != BRICK]
    assert {(symbol.writer, symbol.prompt) for symbol in others} == {
        ("somebody", VERSION)
    }
    assert corpus.manifest.writers == {"an LLM": 1, "somebody": len(others)}
    without = await build(package, cache, DocModel(), shipped=False)
    assert contents(without) == contents(before)


async def test_a_changed_symbol_is_written_again_and_named(package, cache, caplog):
    put(package, cache)
    shapes = package / "brickwork/shapes.py"
    shapes.write_text(shapes.read_text().replace("width < 0", "width <= 0"))
    with caplog.at_level(logging.WARNING):
        corpus = await build(package, cache, DocModel())
    said = f"1 of 1 documented symbols have changed since and are written by somebody: {BRICK}"
    assert said in caplog.text
    assert corpus.manifest.writers == {"somebody": len(corpus.entries)}


@pytest.mark.parametrize(
    "content", [None, b"hello\n", b"\x00\xff", b'{"qualname": "x"}']
)
async def test_a_damaged_file_is_one_line(package, cache, content):
    path = put(package, cache)
    path.write_bytes(path.read_bytes()[:-20] if content is None else content)
    with pytest.raises(
        TextsError, match="not a file of written documentation"
    ) as error:
        await build(package, cache, DocModel())
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(TextsError, match="absent"):
        read_texts(path.with_name("absent"))


def test_files_hold_texts_in_one_order_and_are_those_of_their_distribution(tmp_path):
    texts = [
        WrittenText(name, "hash", "1", "an LLM", "2026-11", "one\u2028line")
        for name in "ab"
    ]
    (tmp_path / "written").mkdir()
    for name, held in (("brick", texts), ("brick-work", []), ("Brick", texts[::-1])):
        write_texts(tmp_path / "written" / file_name(name, "1.0"), held)
    found = text_files(["brick"], tmp_path)
    assert [path.name for path in found] == ["Brick-1.0.jsonl.gz", "brick-1.0.jsonl.gz"]
    assert found[0].read_bytes() == found[1].read_bytes()
    assert read_texts(found[0]) == texts


def test_a_failing_example_is_marked():
    text = WrittenText(BRICK, "hash", "1", "an LLM", "2026-11", CLAY, "fails")
    brick = symbol(BRICK, "class")
    mark = "## Example\n(This example fails when it is run.)\n```python"
    assert mark in prose(documented(brick, text))
    assert prose(documented(brick, replace(text, example="runs"))) == CLAY.strip()


def test_shipped_texts_are_sound_and_fit_the_pinned_library():
    for path in SHIPPED.glob(f"*{SUFFIX}"):
        texts = read_texts(path)
        assert texts
        assert all(text.text.startswith("## What it does\n") for text in texts)
        assert len({text.qualname for text in texts}) == len(texts)
    try:
        folder = site_packages("live")
    except SandboxError as error:
        pytest.skip(str(error))
    library = build_library(
        read_sources(["pymatgen.analysis.defects"], folder)
    ).public()
    (file,) = text_files(library.versions, SHIPPED)
    known, outdated = prewritten(library, [file])
    assert len(known) == len(read_texts(file))
    assert not outdated


# -- chunks


@pytest.mark.parametrize(
    ("source", "shown", "hidden"),
    [
        ("code", "def volume(self, courses", "SECRET"),
        (
            "official_doc",
            "brickwork.wall.Wall.volume(courses: int = 3) -> float\n\nVolume of the",
            "return one * courses",
        ),
        ("llm_doc_semantic", "Volume of the wall.", "return one * courses"),
    ],
)
async def test_chunks_know_their_symbols(package, cache, source, shown, hidden, caplog):
    (package / "brickwork/felt.py").write_text("X = '\u2028'  # ends no line\n")

    async def made():
        if source != "llm_doc_semantic":
            return await package_corpus(source, ["brickwork"], package, cache=cache)
        whole = await build(package, cache, None)
        embedding = HashingEmbedding(256)
        return await semantic_corpus(whole, embedding, cache=cache, show_progress=False)

    corpus = await made()
    assert (await made()).entries == corpus.entries
    assert "damaged" not in caplog.text
    assert len({entry.id for entry in corpus.entries}) == len(corpus.entries)
    files = {document.path for document in corpus.entries}
    assert source == "official_doc" or len(corpus.entries) > len(files)
    for document in corpus.entries:
        assert document.kind == "chunk"
        assert document.corpus == source
        assert "test" not in document.path
        assert hidden not in document.text
        assert source == "llm_doc_semantic" or len(document.text) <= 1000
    volume = [d for d in corpus.entries if "brickwork.wall.Wall.volume" in d.covers]
    assert any(shown in document.text for document in volume)


@given(st.text(alphabet="ab .?!\n", max_size=80))
def test_sentences_lose_nothing(text):
    assert "".join(sentences(text)) == text


def test_sentences_and_chunks_end_where_they_should():
    found = [
        sentence.strip() for sentence in sentences("One. Two 1.5 eV!\n\nThree\nFour")
    ]
    assert found == ["One.", "Two 1.5 eV!", "Three", "Four"]
    topic, other = [1.0, 0.0], [0.0, 1.0]
    assert breakpoints([topic] * 15 + [other] * 15) == [14]
    assert breakpoints([topic]) == []
    assert breakpoints([[0.0, 0.0], topic, topic]) in ([0], [])
    assert breakpoints(np.tile(topic, (10, 1)).tolist()) == []
