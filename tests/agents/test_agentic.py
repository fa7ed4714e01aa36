"""agentic: every step's reply decides what the next prompt holds."""

from collections.abc import Sequence

from langchain_core.documents import Document

from agents.base import Question
from agents.episode import Context
from agents.systems.agentic import Agentic
from tests.agents.scripted import ListRetriever, client, code_reply

QUESTION = Question("q", "- `a`: a volume. Format: `float`.", {"a": "float"})
GOOD = code_reply("return {'a': 8.0}")


class TwoQueries(ListRetriever):
    """The query decides what is found."""

    async def search(self, query: str, *, k: int) -> Sequence[Document]:
        await super().search(query, k=k)
        start = 2 if "second" in query else 0
        return self.documents[start : start + k]


def retriever(kind=ListRetriever):
    return kind("m.A", "m.B", "m.C", "m.D", "pymatgen.core.lattice.Lattice")


async def test_queries_indices_and_names_lead_to_the_documents_of_the_last_prompt():
    model, chat = client(
        "<queries>\n1. first thing\n- second thing\n</queries>",
        "<indices>3, 1, 99, 3</indices>",
        "<names>\nm.D\n</names>",
        "<indices>1, 2</indices>",
        GOOD,
    )
    found = retriever(TwoQueries)
    trajectory = await Agentic(Context(model, found), k=3, top=2, sources=0).solve(QUESTION)
    assert found.queries == ["first thing", "second thing"]
    # 1. m.A 2. m.B 3. m.C 4. m.D 5. Lattice, each once
    assert chat.prompts[1].count("m.C: about m.C") == 1
    assert "5. pymatgen.core.lattice.Lattice" in chat.prompts[1]
    # the reranked two go to the recognition of names, then come behind what was looked up
    assert "1. m.D" in chat.prompts[3]
    assert "2. m.C" in chat.prompts[3]
    last = chat.prompts[4]
    assert "about m.D" in last
    assert "about m.C" in last
    assert "about m.A" not in last
    assert trajectory.stop_reason == "answered"
    assert [s.detail["purpose"] for s in trajectory.steps if s.kind == "model"] == [
        "decompose", "rerank", "names", "rerank", "generate",
    ]  # fmt: skip


async def test_a_name_that_is_not_there_is_resolved_to_the_nearest_and_reported():
    model, chat = client(
        "<queries>x</queries>", "<names>\npymatgen.core.Latice\nm.Zzz\n</names>", GOOD
    )
    trajectory = await Agentic(Context(model, retriever()), k=1, sources=0).solve(QUESTION)
    assert "about pymatgen.core.lattice.Lattice" in chat.prompts[2]
    checks = [f for s in trajectory.steps if s.kind == "check" for f in s.detail["findings"]]
    assert any("`pymatgen.core.Latice` does not exist" in check for check in checks)
    assert any("`m.Zzz` is not in the symbol table" in check for check in checks)


async def test_unreadable_replies_are_recorded_and_change_nothing():
    model, chat = client("no tags", "none", "nothing", "none", GOOD)
    trajectory = await Agentic(Context(model, retriever()), k=5, top=2, sources=0).solve(QUESTION)
    checks = [f for s in trajectory.steps if s.kind == "check" for f in s.detail["findings"]]
    assert [check.partition(":")[0] for check in checks] == ["decompose", "rerank", "names"]
    assert "about m.A" in chat.prompts[3]
    assert "about m.B" in chat.prompts[3]
    assert "about m.C" not in chat.prompts[3]
    assert trajectory.stop_reason == "answered"


async def test_source_of_what_was_named_comes_from_the_installed_library(live_sandbox):
    found = ListRetriever("pymatgen.core.lattice.Lattice.cubic")
    found.documents[0].metadata["kind"] = "method"
    names = "<names>pymatgen.core.lattice.Lattice.cubic</names>"
    model, chat = client("<queries>x</queries>", names, GOOD)
    await Agentic(Context(model, found, live_sandbox)).solve(QUESTION)
    assert '<source name="pymatgen.core.lattice.Lattice.cubic">' in chat.prompts[2]
    assert "def cubic(" in chat.prompts[2]


async def test_prompts_carry_no_hint_about_a_benchmark():
    model, chat = client("<queries>x</queries>", "<names>m.A</names>", GOOD)
    await Agentic(Context(model, retriever()), k=1, sources=0).solve(QUESTION)
    text = "\n".join(chat.prompts).lower()
    for hint in ("defect", "mattools", "benchmark", "unit test", "live"):
        assert hint not in text.replace("live_", "")
