import pytest

from indexes.embedding import HashingEmbedding, build_embedding
from matsmith.core.command import Group
from matsmith.core.configuration import CONF
from retrieval.base import RetrievalError
from retrieval.config import RetrievalConfigError, read_config
from retrieval.factory import get_retriever


async def bare(config, package, folder):
    """A retriever without writer, embedding and sandbox."""
    return await get_retriever(
        config, packages=[package], site_packages=folder, writer=None, embedding=None,
        cache=folder / "cache", progress=False,
    )  # fmt: skip


async def test_none_is_no_retriever(tmp_path):
    retriever = await bare({"name": "none"}, "brickwork", tmp_path)
    assert retriever is None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"modus": "lexical"}, "retrieval.modus: no such key; valid keys: name, source, mode"),
        ({"evidence": {"link": 1}}, "retrieval.evidence.link: no such key; valid keys: members"),
        ({"writer": {"tries": 1}}, "retrieval.writer.tries: no such key; valid keys: concurrency"),
        ({"mode": "psychic"}, r"retrieval.mode: .*'lexical'.*\(got 'psychic'\)"),
        ({"k": 0}, r"retrieval.k: .*greater than 0.*\(got 0\)"),
    ],
)
def test_wrong_configurations_name_the_key_and_the_choices(config, message):
    with pytest.raises(RetrievalConfigError, match=message):
        read_config({"name": "x", **config})


@pytest.mark.parametrize("path", sorted((CONF / "retrieval").glob("*.yaml")), ids=lambda p: p.stem)
def test_shipped_configurations_are_valid(path):
    assert read_config(Group(path.stem).read("retrieval")).name == path.stem


def test_shipped_embeddings_are_valid(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    made = {
        p.stem: build_embedding(Group(p.stem).read("embedding"))
        for p in (CONF / "embedding").glob("*.yaml")
    }
    assert made["none"] is None
    assert isinstance(made["hashing"], HashingEmbedding)
    assert made["openai"] is not None


async def test_a_missing_package_is_a_retrieval_error(tmp_path):
    with pytest.raises(RetrievalError, match="no Python source under"):
        await bare({"name": "x", "source": "llm_doc"}, "absent", tmp_path)


@pytest.mark.parametrize(
    ("source", "kind"),
    [("llm_doc_semantic", "chunk"), ("official_doc", "chunk"), ("code", "chunk")],
)
async def test_every_source_answers_and_looks_up(make, source, kind):
    retriever = await make(source=source, default_embedding="hashing")
    documents = await retriever.search("volume of a wall in courses", k=3)
    assert {d.metadata["corpus"] for d in documents} == {source}
    assert {d.metadata["kind"] for d in documents} == {kind}
    assert any("brickwork.wall" in d.metadata["qualname"] for d in documents)
    found = await retriever.lookup("brickwork.Wall")
    assert found is not None
    assert "brickwork.wall.Wall" in found.metadata["covers"]
    assert await retriever.lookup("Roof") is None


@pytest.mark.parametrize("mode", ["lexical", "dense", "hybrid", "graph"])
async def test_the_installed_library_is_a_source_with_every_mode(make, mode):
    retriever = await make(HashingEmbedding(1024), source="live", mode=mode)
    documents = await retriever.search("volume of a wall in courses", k=3)
    assert {d.metadata["corpus"] for d in documents} == {"live"}
    assert "brickwork.wall.Wall" in {d.metadata["qualname"] for d in documents}
    found = await retriever.lookup("Brick.describe")
    assert found is not None
    assert found.metadata["qualname"] == "brickwork.shapes.Shape.describe"
    assert (found.metadata["package"], found.metadata["version"]) == ("brickwork-dist", "1.2")


async def test_the_installed_library_needs_a_sandbox(package):
    with pytest.raises(RetrievalError, match="source=live needs a sandbox"):
        await bare({"name": "x", "source": "live"}, "brickwork", package)


async def test_a_graph_needs_documents_of_symbols(make):
    with pytest.raises(RetrievalConfigError, match="source llm_doc or live, not code"):
        await make(HashingEmbedding(64), source="code", mode="graph")


async def test_an_embedding_can_be_the_default(make):
    retriever = await make(mode="dense", default_embedding="hashing")
    (first, *_) = await retriever.search("volume of the wall", k=3)
    assert first.metadata["qualname"].startswith("brickwork.wall.Wall")


@pytest.mark.parametrize("mode", ["dense", "hybrid", "graph"])
async def test_dense_needs_an_embedding(make, mode):
    with pytest.raises(RetrievalConfigError, match="needs an embedding"):
        await make(mode=mode)


@pytest.mark.parametrize(
    "config",
    [
        {"mode": "lexical"},
        {"mode": "lexical", "per_property": True},
        {"mode": "dense"},
        {"mode": "dense", "per_property": True},
        {"mode": "hybrid"},
        {"mode": "graph"},
    ],
    ids=str,
)
async def test_every_mode_finds_the_wall(make, config):
    retriever = await make(HashingEmbedding(1024), **config)
    query = "How large is the volume of a wall of three courses?\n- `volume`: Volume of the wall."
    documents = await retriever.search(query, k=3)
    names = [d.metadata["qualname"] for d in documents]
    assert "brickwork.wall.Wall" in names
    scores = [d.metadata["score"] for d in documents]
    assert scores == sorted(scores, reverse=True)
    assert len(set(names)) == len(names) == 3


@pytest.mark.parametrize("tokens", [40, 120, 2000])
async def test_an_index_holds_what_the_query_is_about_first_and_fits_its_room(make, tokens):
    retriever = await make(index=True, index_tokens=tokens)
    documents = [d for d in retriever.corpus.documents if d.metadata["kind"] != "module"]
    first, *others = await retriever.search("volume of the wall", k=3)
    assert [d.metadata["id"] for d in others] == [
        d.metadata["id"] for d in await (await make()).search("volume of the wall", k=3)
    ]
    assert len(first.page_content) <= 4 * tokens
    listed = set(first.metadata["covers"])
    assert "brickwork.wall.Wall" in listed
    assert (len(listed) == len(documents)) is (tokens == 2000)
    alone = await (await make(index="alone", index_tokens=tokens)).search("volume", k=3)
    assert [d.metadata["kind"] for d in alone] == ["index"]


async def test_search_is_deterministic_and_k_is_a_prefix(make):
    retriever = await make()
    first = [d.metadata["id"] for d in await retriever.search("bricks and walls", k=8)]
    second = [d.metadata["id"] for d in await retriever.search("bricks and walls", k=8)]
    few = [d.metadata["id"] for d in await retriever.search("bricks and walls", k=3)]
    assert first == second
    assert few == first[:3]


async def test_an_answer_can_be_changed_without_harm(make):
    retriever = await make()
    (document,) = await retriever.search("mortar", k=1)
    document.page_content = "spoiled"
    document.metadata["qualname"] = "spoiled"
    (again,) = await retriever.search("mortar", k=1)
    assert again.metadata["qualname"] == "brickwork.shapes.Mortar"


async def test_nothing_matches_nothing(make):
    retriever = await make()
    assert list(await retriever.search("zirconium", k=5)) == []
    with pytest.raises(RetrievalError, match="k must be at least 1"):
        await retriever.search("wall", k=0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("brickwork.wall.Wall", "brickwork.wall.Wall"),
        ("brickwork.Wall", "brickwork.wall.Wall"),
        ("brickwork.Wall.volume", "brickwork.wall.Wall.volume"),
        ("Wall", "brickwork.wall.Wall"),
        ("Wall.volume", "brickwork.wall.Wall.volume"),
        ("Brick.describe", "brickwork.shapes.Shape.describe"),
        ("build()", "brickwork.wall.build"),
        ("volume", None),  # Wall, Shape and Brick have one
        ("Roof", None),
        ("", None),
    ],
)
async def test_lookup(make, name, expected):
    document = await (await make()).lookup(name)
    assert (document and document.metadata["qualname"]) == expected
