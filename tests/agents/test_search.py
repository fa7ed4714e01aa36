"""What a user's question is searched with."""

import pytest

from agents.assistant import AssistantService, read_config
from agents.episode import Context
from agents.runtime import Runtime
from agents.systems.single import Rag
from tests.support.scripted import ListRetriever, client, code_reply

GOOD = code_reply("return {'density': 2.2}")


def session(retriever, sandbox):
    model, chat = client(GOOD)
    parts = Context(model, retriever, sandbox)
    runtime = Runtime(Rag(parts, k=12), model, retriever, sandbox, None, 120.0, {})
    return AssistantService(read_config(["model=none"]), runtime).session(), chat


async def test_the_question_alone_is_the_query(live_sandbox):
    retriever = ListRetriever("m.A")
    conversation, chat = session(retriever, live_sandbox)
    await conversation.ask("What is rock salt?")
    await conversation.ask("density of NaCl")
    assert retriever.queries == ["What is rock salt?", "density of NaCl"]
    assert "Earlier in this conversation" not in chat.prompts[0]
    assert "Earlier in this conversation" in chat.prompts[1]


@pytest.mark.long
async def test_words_of_the_assistant_find_nothing(live_sandbox, llm_doc):
    conversation, chat = session(llm_doc, live_sandbox)
    await conversation.ask("density of NaCl")
    assert "pymatgen.core.structure.IStructure.density" in chat.prompts[0]
    conversation, chat = session(llm_doc, live_sandbox)
    await conversation.ask("hello")
    assert "<document " not in chat.prompts[0]
