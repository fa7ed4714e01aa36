"""The metered chat model: what LangChain callers ask is cached, counted and limited."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from agents.base import Usage
from agents.models import ModelClient, ModelConfig, ModelError
from agents.models.cache import ReplyCache
from agents.models.chat import MeteredChat, open_chat
from tests.agents.scripted import ScriptedModel, client


def _cached(path: Path, *script: str) -> tuple[MeteredChat, ScriptedModel]:
    chat = ScriptedModel(script=list(script))
    config = ModelConfig(provider="class", name="scripted", path="tests")
    return MeteredChat(client=ModelClient(chat, config, cache=ReplyCache(path))), chat


async def test_the_sum_is_kept_by_tag_and_told_to_whoever_limits_it() -> None:
    model, _ = client("one", "two", "three")
    told: list[Usage] = []
    chat = MeteredChat(client=model, on_usage=told.append)
    await chat.ainvoke([HumanMessage("a")], {"tags": ["documentation"]})
    await chat.ainvoke([HumanMessage("b")], {"tags": ["graph"]})
    await chat.ainvoke([HumanMessage("c")], {"tags": ["graph"]})
    assert {tag: usage.calls for tag, usage in chat.spent.items()} == {
        "documentation": 1, "graph": 2,
    }  # fmt: skip
    assert chat.usage.calls == len(told) == 3
    assert chat.usage.cost_usd is None  # nobody said what this model costs
    assert chat.name == "scripted"


async def test_equal_requests_are_different_samples_and_the_same_ones_again(
    tmp_path: Path,
) -> None:
    first, asked = _cached(tmp_path / "r.sqlite", "one", "two")
    texts = [(await first.ainvoke([HumanMessage("a")])).text for _ in range(2)]
    assert texts == ["one", "two"]
    again, unasked = _cached(tmp_path / "r.sqlite", "never")
    replies = [await again.ainvoke([HumanMessage("a")]) for _ in range(2)]
    assert [reply.text for reply in replies] == texts
    assert all(reply.response_metadata["cached"] for reply in replies)
    assert (len(asked.prompts), len(unasked.prompts)) == (2, 0)
    assert (again.usage.calls, again.usage.cached_calls, again.usage.cost_usd) == (0, 2, 0.0)


async def test_a_limit_refuses_before_anything_is_sent() -> None:
    model, asked = client("one")
    chat = MeteredChat(client=model, refuse=lambda: "run_budget.calls of 1 is used up")
    with pytest.raises(ModelError, match=r"not asked: run_budget\.calls of 1"):
        await chat.ainvoke([HumanMessage("a")])
    assert asked.prompts == []


@pytest.mark.parametrize(
    ("config", "priced", "message"),
    [
        ({"provider": "openai", "name": "m", "base_url": "http://127.0.0.1:9"}, True, "price of m"),
        ({"provider": "rules"}, False, "model.name: Field required"),
    ],
)
async def test_a_wrong_configuration_is_one_line(
    config: dict[str, object], priced: bool, message: str
) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        async with open_chat(config, priced=priced):
            raise AssertionError("not reached")
    assert "\n" not in str(raised.value)
