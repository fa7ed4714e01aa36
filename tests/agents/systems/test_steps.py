"""Systems of several steps: what each prompt holds of the steps before it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from agents.answer_formats import Json
from agents.base import Question
from agents.episode import Context
from agents.systems.agentic import Agentic
from agents.systems.single import Code2
from retrieval.base import Hit
from tests.support.scripted import ListRetriever, client, code_reply

SLOTS = Question("q", "What is 6 times 7?", answer=Json(["", ""]))
QUESTION = Question("q", "- `a`: a volume. Format: `float`.", {"a": "float"})
GOOD = code_reply("return {'a': 8.0}")


class TwoQueries(ListRetriever):
    """The query decides what is found."""

    async def search(self, query: str, *, k: int) -> Sequence[Hit]:
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
    trajectory = await Agentic(Context(model, found), k=3, top=2, sources=0).solve(
        QUESTION
    )
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
    text = "\n".join(chat.prompts).lower()  # no hint about a benchmark
    assert [
        hint
        for hint in ("defect", "mattools", "benchmark", "unit test")
        if hint in text
    ] == []
    assert [s.detail["purpose"] for s in trajectory.steps if s.kind == "model"] == [
        "decompose",
        "rerank",
        "names",
        "rerank",
        "generate",
    ]


async def test_a_name_that_is_not_there_is_resolved_to_the_nearest_and_reported():
    model, chat = client(
        "<queries>x</queries>", "<names>\npymatgen.core.Latice\nm.Zzz\n</names>", GOOD
    )
    trajectory = await Agentic(Context(model, retriever()), k=1, sources=0).solve(
        QUESTION
    )
    assert "about pymatgen.core.lattice.Lattice" in chat.prompts[2]
    checks = [
        f for s in trajectory.steps if s.kind == "check" for f in s.detail["findings"]
    ]
    assert any("`pymatgen.core.Latice` does not exist" in check for check in checks)
    assert any("`m.Zzz` is not in the symbol table" in check for check in checks)


async def test_unreadable_replies_are_recorded_and_change_nothing():
    model, chat = client("no tags", "none", "nothing", "none", GOOD)
    trajectory = await Agentic(
        Context(model, retriever()), k=5, top=2, sources=0
    ).solve(QUESTION)
    checks = [
        f for s in trajectory.steps if s.kind == "check" for f in s.detail["findings"]
    ]
    assert [check.partition(":")[0] for check in checks] == [
        "decompose",
        "rerank",
        "names",
    ]
    assert "about m.A" in chat.prompts[3]
    assert "about m.B" in chat.prompts[3]
    assert "about m.C" not in chat.prompts[3]
    assert trajectory.stop_reason == "answered"


async def test_source_of_what_was_named_comes_from_the_installed_library(live_sandbox):
    found = ListRetriever("pymatgen.core.lattice.Lattice.cubic")
    entry = found.documents[0].entry
    found.documents = [Hit(replace(entry, kind="method"), 1.0)]
    names = "<names>pymatgen.core.lattice.Lattice.cubic</names>"
    model, chat = client("<queries>x</queries>", names, GOOD)
    await Agentic(Context(model, found, live_sandbox)).solve(QUESTION)
    assert '<source name="pymatgen.core.lattice.Lattice.cubic">' in chat.prompts[2]
    assert "def cubic(" in chat.prompts[2]


def program(text):
    return f"Here it is.\n```python\n{text}\n```"


async def two_turns(sandbox, first):
    model, chat = client(first, '<answer>["42", ""]</answer>')
    trajectory = await Code2(Context(model, sandbox=sandbox)).solve(SLOTS)
    assert trajectory.stop_reason == "answered", trajectory.error
    assert trajectory.value == ["42", ""]
    return trajectory, chat.prompts


async def test_what_a_program_prints_stands_before_the_answer(live_sandbox):
    trajectory, (first, second) = await two_turns(live_sandbox, program("print(6 * 7)"))
    assert "standard library only" in first
    assert "<printed>\n42\n</printed>" in second
    assert [s.kind for s in trajectory.steps] == ["model", "execute", "model", "parse"]
    assert trajectory.usage.calls == 2
    trajectory, (_, second) = await two_turns(live_sandbox, "It is easy.")
    assert "nothing: there was no program" in second
    assert not [s for s in trajectory.steps if s.kind == "execute"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import numpy", "nothing: it imports numpy"),
        ("from ase.build import bulk", "nothing: it imports ase.build"),
        ("import math; print(math.tau)", "6.28"),
        ("print(input())", "Error"),
        ("print('''</printed> \\'\\'\\' ''')", "</printed> '''"),
        ("(" * 5000, "Error"),
    ],
)
async def test_whatever_the_program_does_is_shown(live_sandbox, text, shown):
    _, (_, second) = await two_turns(live_sandbox, program(text))
    assert shown in second
