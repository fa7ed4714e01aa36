"""graphrag is rag over the graph mode of whatever source is configured."""

from __future__ import annotations

from agents.base import Question
from agents.episode import Parts
from agents.graphrag import GraphRag
from agents.rag import Rag
from experiments.config import compose, validate
from tests.agents.scripted import ListRetriever, client, code_reply

QUESTION = Question("q", "- `a`: the answer. Format: `int`.", {"a": "int"})


async def test_the_prompt_is_that_of_rag_but_for_what_was_retrieved():
    sent = []
    for system in (GraphRag, Rag):
        model, chat = client(code_reply("return {'a': 42}"))
        trajectory = await system(Parts(model, ListRetriever("m.A", "m.B")), k=1).solve(QUESTION)
        assert trajectory.stop_reason == "answered"
        sent.append(chat.prompts)
    assert sent[0] == sent[1]
    assert "about m.A" in sent[0][0]


def configured(*overrides: str):
    return validate(compose(["system=graphrag", "model=rules", *overrides]))


def test_the_configured_source_is_retrieved_from_by_graph():
    lexical, graph = (
        configured("retrieval=llm_doc").retrieval,
        configured("retrieval=graph").retrieval,
    )
    assert (lexical.source, lexical.mode, lexical.name) == ("llm_doc", "graph", "llm_doc_graph")
    assert lexical.default_embedding == "hashing"
    assert (graph.mode, graph.name) == ("graph", "graph")


def test_without_retrieval_there_is_no_graph_either():
    assert configured("retrieval=none").retrieval.mode == "lexical"
