"""What a user's question is searched with."""

from __future__ import annotations

import pytest

from agents.assistant import Assistant, Session, read_config
from agents.episode import Parts
from agents.rag import Rag
from agents.runtime import Runtime
from retrieval.base import Retriever
from sandbox.base import Sandbox
from tests.agents.scripted import ListRetriever, ScriptedModel, client, code_reply

GOOD = code_reply("return {'density': 2.2}")


def session(retriever: Retriever, sandbox: Sandbox) -> tuple[Session, ScriptedModel]:
    model, chat = client(GOOD)
    parts = Parts(model, retriever, sandbox)
    runtime = Runtime(Rag(parts, k=12), model, retriever, sandbox, None, 120.0, {})
    return Assistant(read_config(["model=rules"]), runtime).session(), chat


async def test_the_question_alone_is_the_query(live_sandbox: Sandbox):
    retriever = ListRetriever("m.A")
    conversation, chat = session(retriever, live_sandbox)
    await conversation.ask("What is rock salt?")
    await conversation.ask("density of NaCl")
    assert retriever.queries == ["What is rock salt?", "density of NaCl"]
    assert "Earlier in this conversation" not in chat.prompts[0]
    assert "Earlier in this conversation" in chat.prompts[1]


@pytest.mark.long
async def test_words_of_the_assistant_find_nothing(live_sandbox: Sandbox, llm_doc: Retriever):
    conversation, chat = session(llm_doc, live_sandbox)
    await conversation.ask("density of NaCl")
    assert "pymatgen.core.structure.IStructure.density" in chat.prompts[0]
    conversation, chat = session(llm_doc, live_sandbox)
    await conversation.ask("hello")
    assert "<document " not in chat.prompts[0]
