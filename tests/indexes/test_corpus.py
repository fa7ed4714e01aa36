from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

import pytest

from docgen.writer import WriteOptions
from indexes.corpus import Corpus, CorpusError, read_corpus, replaced_folder
from indexes.llm_doc import Writer, llm_doc_corpus
from tests.docgen.models import DocModel, StubbornModel


async def build(package: Path, cache: Path, model: DocModel, **kw: bool) -> Corpus:
    options = WriteOptions(attempts=1)
    return await llm_doc_corpus(
        ["brickwork"],
        package,
        writer=Writer(model, options, **kw),
        cache=cache,
        show_progress=False,
    )


def test_documents_carry_what_a_retriever_promises(corpus: Corpus) -> None:
    documents = {d.metadata["qualname"]: d for d in corpus.documents}
    volume = documents["brickwork.wall.Wall.volume"]
    assert volume.metadata["id"] == "llm_doc:brickwork.wall.Wall.volume"
    assert volume.metadata["kind"] == "method"
    assert volume.metadata["path"] == "brickwork/wall.py"
    assert volume.metadata["package"] == "brickwork-dist"
    assert volume.metadata["version"] == "1.2"
    assert volume.metadata["corpus"] == "llm_doc"
    facts, separator, text = volume.page_content.partition("\n---\n")
    assert separator
    assert facts.splitlines()[0] == "brickwork.wall.Wall.volume"
    assert "signature: volume(courses: int = 3) -> float" in facts
    assert text.startswith("## What it does\nVolume of the wall.")
    assert len({d.metadata["id"] for d in corpus.documents}) == len(corpus.documents)


def test_no_document_is_private_or_a_test(corpus: Corpus) -> None:
    for document in corpus.documents:
        assert "._" not in document.metadata["qualname"]
        assert "test" not in document.metadata["path"]
        assert "SECRET" not in document.page_content


async def test_the_second_time_it_is_read_not_written(
    package: Path, cache: Path, corpus: Corpus
) -> None:
    model = DocModel()
    again = await build(package, cache, model)
    assert model.prompts == []
    assert [d.page_content for d in again.documents] == [d.page_content for d in corpus.documents]
    assert again.aliases == corpus.aliases


@pytest.mark.parametrize("damage", ["flip", "truncate", "manifest", "missing"])
async def test_a_damaged_corpus_is_named_and_rebuilt(
    package: Path, cache: Path, corpus: Corpus, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    documents = corpus.folder / "documents.jsonl"
    if damage == "flip":
        documents.write_bytes(documents.read_bytes().replace(b"Walls", b"Falls"))
    elif damage == "truncate":
        documents.write_bytes(documents.read_bytes()[:-40])
    elif damage == "manifest":
        (corpus.folder / "manifest.json").write_text("{")
    else:
        documents.unlink()
    with caplog.at_level(logging.WARNING):
        again = await build(package, cache, DocModel())
    assert "is damaged" in caplog.text
    assert corpus.folder.name in caplog.text
    assert [d.page_content for d in again.documents] == [d.page_content for d in corpus.documents]
    assert read_corpus(cache, again.manifest) is not None


async def test_changed_sources_are_named_and_only_they_are_written(
    package: Path, cache: Path, corpus: Corpus, caplog: pytest.LogCaptureFixture
) -> None:
    wall = package / "brickwork/wall.py"
    wall.write_text(wall.read_text().replace("one * courses", "courses * one"))
    model = DocModel()
    with caplog.at_level(logging.WARNING):
        again = await build(package, cache, model)
    assert "source files changed" in caplog.text
    assert [p.splitlines()[1] for p in model.prompts] == ["brickwork.wall.Wall.volume"]
    assert again.manifest.sources_digest != corpus.manifest.sources_digest


async def test_a_new_version_is_another_corpus_made_from_the_same_texts(
    package: Path, cache: Path, corpus: Corpus
) -> None:
    metadata = package / "brickwork-1.2.dist-info/METADATA"
    metadata.write_text(metadata.read_text().replace("1.2", "1.3"))
    model = DocModel()
    again = await build(package, cache, model)
    assert model.prompts == []
    assert again.folder != corpus.folder
    assert again.manifest.versions == {"brickwork-dist": "1.3", "brickwork": None}
    assert corpus.folder.exists()


async def test_an_incomplete_corpus_is_an_error_that_says_what_to_do(
    package: Path, cache: Path
) -> None:
    model = StubbornModel(refuse={"brickwork.shapes.Brick": "raise"})
    with pytest.raises(CorpusError) as caught:
        await build(package, cache, model)
    message = str(caught.value)
    assert "brickwork.shapes.Brick: ConnectionError: refused" in message
    assert "the same command resumes" in message
    assert not list((cache / "corpora").glob("llm_doc-*/documents.jsonl"))
    healed = StubbornModel()
    corpus = await build(package, cache, healed)
    assert 0 < len(healed.prompts) < len(corpus.documents)


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "old").write_text("old")

    def fail() -> None:
        with replaced_folder(target) as fresh:
            (fresh / "new").write_text("new")
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        fail()
    assert [p.name for p in target.iterdir()] == ["old"]
    with replaced_folder(target) as fresh:
        (fresh / "new").write_text("new")
    assert [p.name for p in target.iterdir()] == ["new"]
    assert [p.name for p in tmp_path.iterdir()] == ["target"]


async def test_two_tasks_build_it_once(package: Path, cache: Path) -> None:
    models = [DocModel(), DocModel()]
    corpora = await asyncio.gather(*(build(package, cache, model) for model in models))
    assert corpora[0].documents == corpora[1].documents
    asked = [len(model.prompts) for model in models]
    assert min(asked) == 0 < max(asked)


def test_documents_of_other_code_are_stale(
    package: Path, cache: Path, corpus: Corpus, caplog: pytest.LogCaptureFixture
) -> None:
    path = corpus.folder / "manifest.json"
    content = json.loads(path.read_text())
    assert len(content["manifest"]["code"]) == 64
    assert read_corpus(cache, corpus.manifest) is not None
    content["manifest"]["code"] = "0" * 64
    path.write_text(json.dumps(content))
    assert read_corpus(cache, corpus.manifest) is None
    assert "is out of date (code changed): rebuilding it" in caplog.text
