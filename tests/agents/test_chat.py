"""What is asked outside of answers is cached, counted and limited."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.budget import Budget, Meter
from agents.models import ModelClient, ModelConfig, ModelError
from agents.models.cache import ReplyCache
from agents.models.chat import Chat, open_chat
from tests.agents.scripted import ScriptedModel, client


def _cached(path: Path, *script: str) -> tuple[Chat, ScriptedModel]:
    chat = ScriptedModel(script)
    config = ModelConfig(provider="class", name="scripted", path="tests")
    return Chat(ModelClient(chat, config, cache=ReplyCache(path))), chat


async def test_equal_requests_are_different_samples_and_the_same_ones_again(
    tmp_path: Path,
) -> None:
    first, asked = _cached(tmp_path / "r.sqlite", "one", "two", "three")
    assert [(await first.ask("a")).text for _ in range(2)] == ["one", "two"]
    assert (await first.ask("a", "instructed")).text == "three"
    again, unasked = _cached(tmp_path / "r.sqlite", "never")
    replies = [await again.ask("a") for _ in range(2)]
    assert [reply.text for reply in replies] == ["one", "two"]
    assert all(reply.cached for reply in replies)
    assert (len(asked.prompts), len(unasked.prompts)) == (3, 0)
    assert (again.usage.calls, again.usage.cached_calls, again.usage.cost_usd) == (0, 2, 0.0)


async def test_a_limit_refuses_before_anything_is_sent() -> None:
    model, asked = client("one")
    meter = Meter(Budget(calls=1), group="run_budget")
    chat = Chat(model, meter)
    said = await chat.ask("a")
    assert (said.prompt_tokens, said.cost_usd) == (None, None)  # nobody told
    assert (chat.name, chat.usage.calls, meter.usage.cost_usd) == ("scripted", 1, None)
    with pytest.raises(ModelError, match=r"not asked: run_budget\.calls of 1"):
        await chat.ask("b")
    assert asked.prompts == ["a"]


@pytest.mark.parametrize(
    ("config", "priced", "message"),
    [
        ({"provider": "openai", "name": "m", "base_url": "http://127.0.0.1:9"}, True, "price of m"),
        ({"provider": "none"}, False, "model.name: Field required"),
    ],
)
async def test_a_wrong_configuration_is_one_line(
    config: dict[str, object], priced: bool, message: str
) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        async with open_chat(config, priced=priced):
            raise AssertionError("not reached")
    assert "\n" not in str(raised.value)
