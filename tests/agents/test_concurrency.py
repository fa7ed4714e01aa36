"""Questions overlap: shown by counting requests in flight, not by a clock."""

import asyncio
import threading

import pytest
from pytest_httpserver import HTTPServer

from agents.base import Question
from agents.episode import Context
from agents.models import ModelConfig, build_model
from agents.systems.reflect import Reflect
from tests.endpoint import Endpoint, text

CONCURRENCY, QUESTIONS = 8, 12
PROMPT = "Question {number}.\n- `volume`: volume of a cubic cell of edge 2. Format: `float`."
FAULTY = "from pymatgen.core import Lattice\ndef f():\n    return {'volume': Lattice.cubic(2).size}"
CRITIQUE = "<feedback>a lattice has a volume</feedback><query></query>"


def reply(prompt):
    """A faulty draft first, then a critique, then the correct draft."""
    if "<query>" in prompt:
        return CRITIQUE
    code = FAULTY.replace("size", "volume") if "<attempt " in prompt else FAULTY
    return f"<answer><code>```python\n{code}\n```</code><name>f</name></answer>"


class Barrier:
    """Replies only once as many requests wait as may be in flight at all.

    A client that sends fewer at once would wait here until its time is over.
    """

    def __init__(self):
        self.full, self.lock = threading.Event(), threading.Lock()
        self.in_flight = self.peak = 0

    def __call__(self, body):
        with self.lock:
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
        if self.peak >= CONCURRENCY:
            self.full.set()
        self.full.wait(100)
        with self.lock:
            self.in_flight -= 1
        return text(reply("\n".join(message["content"] for message in body["messages"])))


@pytest.mark.long
async def test_as_many_requests_as_allowed_are_in_flight_and_never_more(live_sandbox):
    barrier, slots = Barrier(), asyncio.Semaphore(CONCURRENCY)
    with HTTPServer(threaded=True) as server:
        endpoint = Endpoint(server).play(barrier)
        config = ModelConfig(
            provider="openai", name="simulated", base_url=endpoint.url, cache=False, timeout=60
        )
        model = build_model(config, concurrency=CONCURRENCY)
        agent = Reflect(Context(model, None, live_sandbox), economical=False)

        async def one(number):
            asked = Question(f"q{number}", PROMPT.format(number=number), {"volume": "float"})
            async with slots:
                return (await agent.solve(asked)).stop_reason

        reasons = await asyncio.gather(*map(one, range(QUESTIONS)))
        await model.close()
    assert reasons == ["answered"] * QUESTIONS
    assert len(endpoint.bodies) == 3 * QUESTIONS  # faulty draft, critique, correct draft
    assert barrier.peak == CONCURRENCY
