"""What a user's question is searched with."""

from __future__ import annotations

import pytest

from agents.assistant import solve
from agents.episode import Parts
from agents.rag import Rag
from agents.runtime import Runtime
from retrieval.base import Retriever
from sandbox.base import Sandbox
from tests.agents.scripted import ListRetriever, client, code_reply

GOOD = code_reply("return {'density': 2.2}")


def runtime(retriever: Retriever, sandbox: Sandbox) -> Runtime:
    model, _ = client(GOOD)
    parts = Parts(model, retriever, sandbox)
    return Runtime(Rag(parts, k=12), model, retriever, sandbox, None, 120.0, {})


async def test_the_question_alone_is_the_query(live_sandbox: Sandbox):
    retriever = ListRetriever("m.A")
    turns = [("What is rock salt?", "code", "NaCl")]
    found = await solve(runtime(retriever, live_sandbox), "density of NaCl", turns=turns)
    assert retriever.queries == ["density of NaCl"]
    assert (
        "Earlier in this conversation" in found.trajectory.steps[1].detail["messages"][1]["content"]
    )


@pytest.mark.long
async def test_words_of_the_assistant_find_nothing(live_sandbox: Sandbox, llm_doc: Retriever):
    found = await solve(runtime(llm_doc, live_sandbox), "density of NaCl")
    assert "pymatgen.core.structure.IStructure.density" in found.sources
    assert (await solve(runtime(llm_doc, live_sandbox), "hello")).sources == []
