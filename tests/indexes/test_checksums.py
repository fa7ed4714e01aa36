"""One flipped bit in any file of a corpus or an index is noticed when it is opened."""

import logging
import random

import numpy as np
import pytest

from indexes.checksums import CHECKSUMS, damage, write_checksums
from indexes.corpus import read_corpus, written_pages
from indexes.dense import dense_index
from indexes.embedding import HashingEmbedding
from indexes.graph import graph_index
from indexes.lexical import lexical_index

EMBEDDING = HashingEmbedding(64)
QUERY = "volume of a brickwork.wall.Wall"


def flip(path):
    """Flip a random bit of a file."""
    content = bytearray(path.read_bytes())
    position = random.Random(path.name).randrange(len(content) * 8)
    content[position // 8] ^= 1 << position % 8
    path.write_bytes(content)


async def lexical(corpus):
    return (await (await lexical_index(corpus)).scores(QUERY)).tolist()


async def dense(corpus):
    index = await dense_index(corpus, EMBEDDING, show_progress=False)
    return np.round(await index.scores(QUERY), 5).tolist()


async def graph(corpus):
    index = await graph_index(corpus, EMBEDDING)
    answer = await index.query(QUERY, "mix", 10)
    await index.close()
    return answer


async def pages(corpus):
    folder = await written_pages(corpus)
    return {path.name: path.read_bytes() for path in folder.glob("*.json*")}


@pytest.mark.parametrize("use", [lexical, dense, graph, pages])
async def test_a_flipped_bit_in_an_index_is_noticed_and_the_index_built_anew(
    corpus, cache, use, caplog
):
    before = await use(corpus)
    (folder,) = (path for path in (cache / "indexes").iterdir() if path.is_dir())
    names = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    full = [name for name in names if (folder / name).stat().st_size]
    assert CHECKSUMS in map(str, full)
    with caplog.at_level(logging.WARNING):
        assert await use(corpus) == before
    assert not caplog.messages
    for name in full:
        if not (folder / name).exists():  # Chroma names a folder anew
            continue
        flip(folder / name)
        with caplog.at_level(logging.WARNING):
            assert await use(corpus) == before
        (line,) = caplog.messages
        assert line.endswith("rebuilding it")
        assert str(folder) in line
        assert "\n" not in line
        caplog.clear()
        assert damage(folder, leave_out=("stamp.json",)) is None


async def test_every_file_of_chroma_is_covered(corpus, cache, caplog):
    await dense(corpus)
    (chroma,) = cache.glob("indexes/*/chroma")
    vectors = [path for path in chroma.rglob("*.bin") if path.stat().st_size]
    for name in [chroma / "chroma.sqlite3", *vectors]:
        whole = name.read_bytes()
        flip(name)
        wrong = damage(chroma.parent, leave_out=("stamp.json",))
        assert name.name in wrong
        name.write_bytes(whole)


async def test_a_flipped_bit_in_a_corpus_is_noticed(corpus, cache, caplog):
    assert read_corpus(cache, corpus.manifest) is not None
    for name in ("documents.jsonl", "manifest.json"):
        whole = (corpus.folder / name).read_bytes()
        flip(corpus.folder / name)
        assert read_corpus(cache, corpus.manifest) is None
        (corpus.folder / name).write_bytes(whole)
    changed = whole.replace(b'"brickwork', b'"brickwosk', 1)  # in a name
    (corpus.folder / "manifest.json").write_bytes(changed)
    assert read_corpus(cache, corpus.manifest) is None
    assert "rebuilding it" in caplog.text


@pytest.mark.parametrize("change", ["more", "less", "other", "sums"])
def test_files_that_come_go_or_change_are_damage(tmp_path, change):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"abc")
    write_checksums(tmp_path)
    assert damage(tmp_path) is None
    if change == "more":
        (tmp_path / "another").touch()
    elif change == "less":
        (tmp_path / "folder" / "file").unlink()
    elif change == "other":
        (tmp_path / "folder" / "file").write_bytes(b"abd")
    else:
        (tmp_path / CHECKSUMS).write_text("[]")
    assert damage(tmp_path)


async def test_a_copy_that_chroma_writes_into_goes_with_the_index(
    corpus, cache, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for _ in range(3):
        index = await dense_index(corpus, EMBEDDING, show_progress=False)
        assert (await index.scores(QUERY)).any()
        assert len(list(tmp_path.glob("matsmith-index-*"))) == 1
        del index
        assert not list(tmp_path.glob("matsmith-index-*"))
