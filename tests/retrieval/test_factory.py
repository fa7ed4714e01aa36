import pytest

from foundation.command import Group
from foundation.configuration import CONF
from indexes import RetrievalError
from indexes.embedding import HashingEmbedding, build_embedding
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
    assert {hit.entry.corpus for hit in documents} == {source}
    assert {hit.entry.kind for hit in documents} == {"chunk"}
    assert any("brickwork.wall" in hit.entry.qualname for hit in documents)
    assert WALL in (await retriever.lookup("brickwork.Wall")).entry.covers
    assert await retriever.lookup("Roof") is None


@pytest.mark.parametrize("mode", ["lexical", "dense", "hybrid", "graph"])
async def test_the_installed_library_is_a_source_with_every_mode(make, mode):
    retriever = await make(VECTORS, source="live", mode=mode)
    documents = await retriever.search("volume of a wall in courses", k=3)
    assert {hit.entry.corpus for hit in documents} == {"live"}
    assert WALL in {hit.entry.qualname for hit in documents}
    found = (await retriever.lookup("Brick.describe")).entry
    assert found.qualname == "brickwork.shapes.Shape.describe"
    assert (found.package, found.version) == ("brickwork-dist", "1.2")


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
    names = [hit.entry.qualname for hit in documents]
    assert WALL in names
    scores = [hit.score for hit in documents]
    assert scores == sorted(scores, reverse=True)
    assert len(set(names)) == len(names) == 3


@pytest.mark.parametrize("tokens", [40, 120, 2000])
async def test_an_index_holds_what_the_query_is_about_first_and_fits_its_room(
    make, tokens
):
    retriever = await make(index=True, index_tokens=tokens)
    symbols = [e for e in retriever.corpus.entries if e.kind != "module"]
    first, *others = await retriever.search("volume of the wall", k=3)
    assert [hit.entry.id for hit in others] == [
        hit.entry.id for hit in await (await make()).search("volume of the wall", k=3)
    ]
    assert len(first.text) <= 4 * tokens
    listed = set(first.entry.covers)
    assert WALL in listed
    assert (len(listed) == len(symbols)) is (tokens == 2000)
    alone = await (await make(index="alone", index_tokens=tokens)).search("volume", k=3)
    assert [hit.entry.kind for hit in alone] == ["index"]


async def test_search_is_deterministic(make):
    retriever = await make()
    first = [hit.entry.id for hit in await retriever.search("bricks and walls", k=8)]
    for k in (8, 3):
        again = await retriever.search("bricks and walls", k=k)
        assert [hit.entry.id for hit in again] == first[:k]
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
        assert (document and document.entry.qualname) == expected


async def test_class_and_the_types_it_needs_are_found_together(make):
    documents = await (await make()).search("repeat a brick in courses", k=4)
    assert {WALL, "brickwork.shapes.Brick"} <= {hit.entry.qualname for hit in documents}
