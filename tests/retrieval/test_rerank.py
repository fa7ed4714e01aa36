"""Reranking by a scripted chat model; the model without an LLM answers the same prompt."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document

from agents.base import Question
from agents.budget import Budget
from agents.episode import Parts
from agents.episode_chat import EpisodeChat
from agents.rag import Rag
from agents.rules import RulesChatModel
from retrieval.base import RetrievalError
from retrieval.config import RetrievalConfigError
from retrieval.rerank import ModelReranker, read_order, request
from retrieval.retriever import CorpusRetriever
from tests.agents.scripted import ScriptedModel, client, code_reply
from tests.retrieval.conftest import Make

QUERY = "volume of a wall of bricks"


def documents(*names: str) -> list[Document]:
    return [Document(f"{n}\nabout {n}", metadata={"qualname": n, "id": n}) for n in names]


async def order(reply: object, *, k: int = 5) -> tuple[str, ModelReranker]:
    reranker = ModelReranker(ScriptedModel(script=[reply]), candidates=20)
    found = await reranker.order(QUERY, documents("a", "b", "c", "d"), k)
    marks = {d.metadata["reranked"] for d in found}
    assert marks == {reranker.counts.unreadable == 0}
    return "".join(str(d.metadata["qualname"]) for d in found), reranker


@pytest.mark.parametrize(
    ("reply", "k", "expected"),
    [
        ("<indices>3, 1</indices>", 5, "cabd"),
        ("I think\n<indices>4,4, 9, 2</indices>", 5, "dbac"),
        ("<indices>4, 3, 2, 1</indices>", 2, "dcab"),  # no more than it was asked for
    ],
)
async def test_the_model_gives_the_order(reply: str, k: int, expected: str) -> None:
    found, reranker = await order(reply, k=k)
    assert found == expected
    assert (reranker.counts.asked, reranker.counts.unreadable) == (1, 0)


@pytest.mark.parametrize("reply", ["", "3, 1", "<indices>none</indices>", "<indices>7</indices>"])
async def test_an_unreadable_reply_keeps_the_order_and_is_counted(
    reply: str, caplog: pytest.LogCaptureFixture
) -> None:
    found, reranker = await order(reply)
    assert found == "abcd"
    assert (reranker.counts.asked, reranker.counts.unreadable) == (1, 1)
    assert "no candidate could be read from 1 of 1 replies" in caplog.text


async def test_a_model_that_fails_is_an_error() -> None:
    with pytest.raises(RetrievalError, match="the model that reranks failed: gone"):
        await order(ConnectionError("gone"))


async def test_one_document_needs_no_model() -> None:
    reranker = ModelReranker(ScriptedModel(script=[ValueError()]), candidates=5)
    assert len(await reranker.order(QUERY, documents("a"), 5)) == 1
    assert reranker.counts.asked == 0


def test_a_request_shows_names_and_first_lines() -> None:
    long = Document("m.X\nkind: class\n" + "word " * 500, metadata={"qualname": "m.X"})
    text = request(QUERY, [long], 3)
    assert "1. m.X: kind: class word" in text
    assert len(text) < 800
    assert read_order("<indices>3, 1; 3 and 7</indices>", 5) == [2, 0]


async def test_the_factory_reranks_among_more_candidates_than_it_returns(make: Make) -> None:
    plain = [d.metadata["qualname"] for d in await (await make()).search(QUERY, k=6)]
    model = ScriptedModel(script=["<indices>6, 2</indices>"])
    retriever = await make(chat=model, rerank="model", candidates=6)
    found = [d.metadata["qualname"] for d in await retriever.search(QUERY, k=3)]
    assert found == [plain[5], plain[1], plain[0]]
    assert f"6. {plain[5]}: " in model.prompts[0]
    assert "at most 3" in model.prompts[0]
    # what stands behind the candidates is not lost
    assert len(await retriever.search(QUERY, k=9)) == len(await (await make()).search(QUERY, k=9))


async def test_a_budget_of_tokens_holds_after_reranking(make: Make) -> None:
    model = ScriptedModel(script=["<indices>2</indices>"])
    retriever = await make(chat=model, rerank="model", tokens=400)
    found = await retriever.search(QUERY, k=6)
    assert sum(len(d.page_content) for d in found) <= 1600
    assert found[0].metadata["reranked"] is True


async def test_it_needs_a_model(make: Make) -> None:
    with pytest.raises(RetrievalConfigError, match="rerank=model needs a chat model"):
        await make(rerank="model")


async def test_the_model_without_an_llm_answers_the_prompt(make: Make) -> None:
    retriever = await make(chat=RulesChatModel(), rerank="model")
    assert isinstance(retriever, CorpusRetriever)
    await retriever.search(f"{QUERY}\n- `volume`: Volume of the wall. Format: float.", k=3)
    assert retriever.reranker is not None
    assert (retriever.reranker.counts.asked, retriever.reranker.counts.unreadable) == (1, 0)


async def test_in_an_episode_the_request_counts_and_is_recorded(make: Make) -> None:
    model, chat = client("<indices>2</indices>", code_reply("return {'a': 1}"))
    retriever = await make(chat=EpisodeChat(client=model), rerank="model")
    question = Question("q", f"{QUERY}\n- `a`: it. Format: `int`.", {"a": "int"})
    trajectory = await Rag(Parts(model, retriever)).solve(question)
    assert trajectory.stop_reason == "answered"
    assert trajectory.usage.calls == len(chat.prompts) == 2
    steps = [s.detail.get("purpose") for s in trajectory.steps if s.kind == "model"]
    assert steps == ["rerank", "generate"]
    limited = await Rag(Parts(model, retriever, None, Budget(calls=0))).solve(question)
    assert limited.stop_reason == "budget"
    # without an episode the client is asked all the same
    assert len(await retriever.search(QUERY, k=2)) == 2


async def test_in_an_episode_a_model_that_fails_is_a_model_error(make: Make) -> None:
    model, _ = client(ConnectionError("gone"))
    retriever = await make(chat=EpisodeChat(client=model), rerank="model")
    trajectory = await Rag(Parts(model, retriever)).solve(Question("q", QUERY))
    assert trajectory.stop_reason == "model_error"
