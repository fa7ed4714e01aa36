"""Limits per minute, with a clock that only moves when told."""

import pytest

from agents.models import Message, ModelConfig, build_model
from agents.models.config import Paces
from tests.endpoint import Endpoint, text


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_requests_are_spread_evenly_and_the_past_gives_no_credit():
    clock = Clock()
    paces = Paces(clock)
    limits = {"requests": 60}
    assert [paces.reserve("a", limits, {"requests": 1}) for _ in range(3)] == [0, 1, 2]
    assert paces.reserve("b", limits, {"requests": 1}) == 0  # another endpoint
    clock.now += 50
    assert [paces.reserve("a", limits, {"requests": 1}) for _ in range(2)] == [0, 1]


def test_tokens_are_corrected_when_the_reply_is_there():
    clock = Clock()
    paces = Paces(clock)
    limits = {"tokens": 600}
    assert paces.reserve("a", limits, {"requests": 1, "tokens": 100}) == 0
    assert paces.reserve("a", limits, {"tokens": 50}) == pytest.approx(10)
    paces.reserve("a", limits, {"tokens": -50})
    assert paces.reserve("a", limits, {"tokens": 1}) == pytest.approx(10)
    assert paces.reserve("a", {}, {"requests": 1, "tokens": 1}) == 0


async def test_a_client_counts_requests_and_what_they_really_took(httpserver):
    counted = []

    async def reserve(endpoint, limits, amounts):
        counted.append((limits, dict(amounts)))
        return 0.0

    plain = {
        "provider": "openai",
        "name": "stub",
        "base_url": Endpoint(httpserver).play(text("hi")).url,
    }
    model = build_model(ModelConfig(**plain, tokens_per_minute=1000), reserve=reserve)
    reply = await model.ask([Message("user", "x" * 400)], sample="0")
    assert counted == [
        ({"tokens": 1000}, {"requests": 1, "tokens": 100}),
        ({"tokens": 1000}, {"tokens": reply.usage.tokens - 100}),
    ]
    counted.clear()
    await build_model(ModelConfig(**plain), reserve=reserve).ask([Message("user", "x")], sample="0")
    assert counted == []
