"""Reranking by a scripted chat model; the model without an LLM answers the same prompt."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document

from agents.base import Question
from agents.budget import Budget
from agents.episode import Parts
from agents.models.rules import RulesChatModel
from agents.rag import Rag
from retrieval.base import RetrievalError
from retrieval.rerank import ModelReranker, read_order, request
from retrieval.retriever import CorpusRetriever
from tests.agents.scripted import ScriptedModel, client, code_reply
from tests.retrieval.conftest import Make

QUERY = "volume of a wall of bricks"


def documents(*names: str) -> list[Document]:
    return [Document(f"{n}\nabout {n}", metadata={"qualname": n, "id": n}) for n in names]


async def order(reply: object, *, k: int = 5) -> tuple[str, ModelReranker]:
    reranker = ModelReranker(candidates=20)
    model = ScriptedModel(script=[reply])
    found = await reranker.order(QUERY, documents("a", "b", "c", "d"), k, model)
    marks = {d.metadata["reranked"] for d in found}
    assert marks == {reranker.counts.unreadable == 0}
    return "".join(str(d.metadata["qualname"]) for d in found), reranker


@pytest.mark.parametrize(
    ("reply", "k", "expected"),
    [
        ("<indices>3, 1</indices>", 5, "ca"),  # what it does not name does not stay
        ("I think\n<indices>4,4, 9, 2</indices>", 5, "db"),
        ("<indices>4, 3, 2, 1</indices>", 2, "dc"),  # no more than it was asked for
    ],
)
async def test_what_the_model_names_stays_in_its_order(reply: str, k: int, expected: str) -> None:
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
    reranker = ModelReranker(candidates=5)
    model = ScriptedModel(script=[ValueError()])
    assert len(await reranker.order(QUERY, documents("a"), 5, model)) == 1
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
    retriever = await make(rerank="model", candidates=6)
    found = [d.metadata["qualname"] for d in await retriever.search(QUERY, k=3, chat=model)]
    assert found == [plain[5], plain[1]]
    assert f"6. {plain[5]}: " in model.prompts[0]
    assert "at most 3" in model.prompts[0]
    # nobody to ask: the order of the search stands
    assert [d.metadata["qualname"] for d in await retriever.search(QUERY, k=6)] == plain


async def test_a_budget_of_tokens_holds_after_reranking(make: Make) -> None:
    model = ScriptedModel(script=["<indices>2</indices>"])
    retriever = await make(rerank="model", tokens=400)
    found = await retriever.search(QUERY, k=6, chat=model)
    assert sum(len(d.page_content) for d in found) <= 1600
    assert found[0].metadata["reranked"] is True


async def test_the_model_without_an_llm_answers_the_prompt(make: Make) -> None:
    retriever = await make(rerank="model")
    assert isinstance(retriever, CorpusRetriever)
    query = f"{QUERY}\n- `volume`: Volume of the wall. Format: float."
    await retriever.search(query, k=3, chat=RulesChatModel())
    assert retriever.reranker is not None
    assert (retriever.reranker.counts.asked, retriever.reranker.counts.unreadable) == (1, 0)


async def test_in_an_episode_the_request_counts_and_is_recorded(make: Make) -> None:
    model, chat = client("<indices>2</indices>", code_reply("return {'a': 1}"))
    retriever = await make(rerank="model")
    question = Question("q", f"{QUERY}\n- `a`: it. Format: `int`.", {"a": "int"})
    trajectory = await Rag(Parts(model, retriever)).solve(question)
    assert trajectory.stop_reason == "answered"
    assert trajectory.usage.calls == len(chat.prompts) == 2
    steps = [s.detail.get("purpose") for s in trajectory.steps if s.kind == "model"]
    assert steps == ["rerank", "generate"]
    limited = await Rag(Parts(model, retriever, None, Budget(calls=0))).solve(question)
    assert limited.stop_reason == "budget"
    (found,) = [s.detail["hits"] for s in trajectory.steps if s.kind == "retrieve"]
    assert len(found) == 1


async def test_in_an_episode_a_model_that_fails_is_a_model_error(make: Make) -> None:
    model, _ = client(ConnectionError("gone"))
    retriever = await make(rerank="model")
    trajectory = await Rag(Parts(model, retriever)).solve(Question("q", QUERY))
    assert trajectory.stop_reason == "model_error"
