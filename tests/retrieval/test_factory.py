import pytest

from indexes import RetrievalError
from indexes.embedding import HashingEmbedding, build_embedding
from matsmith.core.command import Group
from matsmith.core.configuration import CONF
from retrieval.config import read_config

WALL = "brickwork.wall.Wall"
VECTORS = HashingEmbedding(1024)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"modus": "lexical"},
            r"retrieval.modus: no such key.*retrieval.name, retrieval.source",
        ),
        (
            {"evidence": {"link": 1}},
            r"retrieval.evidence.link: .*retrieval.evidence.members",
        ),
        (
            {"writer": {"tries": 1}},
            r"retrieval.writer.tries: .*retrieval.writer.concurrency",
        ),
        ({"mode": "psychic"}, r"retrieval.mode=psychic: .*'lexical'"),
        ({"k": 0}, r"retrieval.k=0: .*greater than 0"),
        ({"source": "llm_doc", "over": "absent"}, "no Python source under"),
        ({"source": "live", "sandbox": False}, "source=live needs a sandbox"),
        (
            {"source": "code", "mode": "graph", "embedding": VECTORS},
            "source llm_doc or live, not code",
        ),
        *(
            ({"mode": mode}, "needs an embedding")
            for mode in ("dense", "hybrid", "graph")
        ),
        ({"source": "llm_doc_semantic"}, "needs an embedding"),
    ],
)
async def test_what_cannot_be_made_names_the_key_and_the_choices(make, config, message):
    with pytest.raises(RetrievalError, match=message):
        await make(**config)


def test_shipped_configurations_are_valid(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    for path in (CONF / "retrieval").glob("*.yaml"):
        assert read_config(Group(path.stem).read("retrieval")).name == path.stem
    made = {
        p.stem: build_embedding(Group(p.stem).read("embedding"))
        for p in (CONF / "embedding").glob("*.yaml")
    }
    assert made["none"] is None
    assert isinstance(made["hashing"], HashingEmbedding)
    assert made["openai"] is not None


async def test_none_is_no_retriever(make):
    assert await make(source="none") is None


@pytest.mark.parametrize("source", ["llm_doc_semantic", "official_doc", "code"])
async def test_every_source_of_chunks_answers_and_looks_up(make, source):
    retriever = await make(source=source, default_embedding="hashing")
    documents = await retriever.search("volume of a wall in courses", k=3)
    assert {d.metadata["corpus"] for d in documents} == {source}
    assert {d.metadata["kind"] for d in documents} == {"chunk"}
    assert any("brickwork.wall" in d.metadata["qualname"] for d in documents)
    assert WALL in (await retriever.lookup("brickwork.Wall")).metadata["covers"]
    assert await retriever.lookup("Roof") is None


@pytest.mark.parametrize("mode", ["lexical", "dense", "hybrid", "graph"])
async def test_the_installed_library_is_a_source_with_every_mode(make, mode):
    retriever = await make(VECTORS, source="live", mode=mode)
    documents = await retriever.search("volume of a wall in courses", k=3)
    assert {d.metadata["corpus"] for d in documents} == {"live"}
    assert WALL in {d.metadata["qualname"] for d in documents}
    found = (await retriever.lookup("Brick.describe")).metadata
    assert found["qualname"] == "brickwork.shapes.Shape.describe"
    assert (found["package"], found["version"]) == ("brickwork-dist", "1.2")


@pytest.mark.parametrize(
    "config",
    [
        {"mode": "lexical"},
        {"mode": "lexical", "per_property": True},
        {"mode": "dense", "embedding": None, "default_embedding": "hashing"},
        {"mode": "dense", "per_property": True},
        {"mode": "hybrid"},
        {"mode": "graph"},
    ],
    ids=str,
)
async def test_every_mode_finds_the_wall(make, config):
    retriever = await make(**{"embedding": VECTORS, **config})
    query = "How large is the volume of a wall of three courses?\n- `volume`: Volume of the wall."
    documents = await retriever.search(query, k=3)
    names = [d.metadata["qualname"] for d in documents]
    assert WALL in names
    scores = [d.metadata["score"] for d in documents]
    assert scores == sorted(scores, reverse=True)
    assert len(set(names)) == len(names) == 3


@pytest.mark.parametrize("tokens", [40, 120, 2000])
async def test_an_index_holds_what_the_query_is_about_first_and_fits_its_room(
    make, tokens
):
    retriever = await make(index=True, index_tokens=tokens)
    documents = [
        d for d in retriever.corpus.documents if d.metadata["kind"] != "module"
    ]
    first, *others = await retriever.search("volume of the wall", k=3)
    assert [d.metadata["id"] for d in others] == [
        d.metadata["id"] for d in await (await make()).search("volume of the wall", k=3)
    ]
    assert len(first.page_content) <= 4 * tokens
    listed = set(first.metadata["covers"])
    assert WALL in listed
    assert (len(listed) == len(documents)) is (tokens == 2000)
    alone = await (await make(index="alone", index_tokens=tokens)).search("volume", k=3)
    assert [d.metadata["kind"] for d in alone] == ["index"]


async def test_search_is_deterministic_and_an_answer_can_be_changed_without_harm(make):
    retriever = await make()
    first = [d.metadata["id"] for d in await retriever.search("bricks and walls", k=8)]
    for k in (8, 3):
        again = await retriever.search("bricks and walls", k=k)
        assert [d.metadata["id"] for d in again] == first[:k]
        again[0].page_content, again[0].metadata["id"] = "spoiled", "spoiled"
    assert list(await retriever.search("zirconium", k=5)) == []
    with pytest.raises(RetrievalError, match="k must be at least 1"):
        await retriever.search("wall", k=0)


async def test_lookup(make):
    retriever = await make()
    for name, expected in {
        WALL: WALL,
        "brickwork.Wall": WALL,
        "brickwork.Wall.volume": f"{WALL}.volume",
        "Wall": WALL,
        "Wall.volume": f"{WALL}.volume",
        "Brick.describe": "brickwork.shapes.Shape.describe",
        "build()": "brickwork.wall.build",
        "volume": None,  # Wall, Shape and Brick have one
        "Roof": None,
        "": None,
    }.items():
        document = await retriever.lookup(name)
        assert (document and document.metadata["qualname"]) == expected


async def test_class_and_the_types_it_needs_are_found_together(make):
    documents = await (await make()).search("repeat a brick in courses", k=4)
    assert {WALL, "brickwork.shapes.Brick"} <= {
        d.metadata["qualname"] for d in documents
    }
