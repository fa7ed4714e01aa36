"""Questions overlap: shown by counting requests in flight, not by a clock."""

from __future__ import annotations

import asyncio
import json

import pytest

from agents.base import Question
from agents.episode import Parts
from agents.models import ModelConfig, build_model
from agents.reflect import Reflect
from sandbox.base import Sandbox

CONCURRENCY, QUESTIONS = 8, 12
PROMPT = "Question {number}.\n- `volume`: volume of a cubic cell of edge 2. Format: `float`."
FAULTY = "from pymatgen.core import Lattice\ndef f():\n    return {'volume': Lattice.cubic(2).size}"
CRITIQUE = "<feedback>a lattice has a volume</feedback><query></query>"


def reply(prompt: str) -> str:
    """A faulty draft first, then a critique, then the correct draft."""
    if "<query>" in prompt:
        return CRITIQUE
    code = FAULTY.replace("size", "volume") if "<attempt " in prompt else FAULTY
    return f"<answer><code>```python\n{code}\n```</code><name>f</name></answer>"


class Barrier:
    """An endpoint that replies only once as many requests wait as may be in flight at all.

    A client that sends fewer at once would wait here for ever.
    """

    def __init__(self) -> None:
        self.full = asyncio.Event()
        self.requests = self.in_flight = self.peak = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = int(head.partition("content-length:")[2].split("\r\n")[0])
                prompt = (await reader.readexactly(length)).decode()
                payload = json.dumps(await self.answer(prompt)).encode()
                header = f"content-type: application/json\r\ncontent-length: {len(payload)}\r\n\r\n"
                writer.write(b"HTTP/1.1 200 OK\r\n" + header.encode() + payload)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # the client hung up
        finally:
            writer.close()

    async def answer(self, prompt: str) -> dict[str, object]:
        self.requests += 1
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        if self.in_flight >= CONCURRENCY:
            self.full.set()
        await self.full.wait()
        self.in_flight -= 1
        message = {"role": "assistant", "content": reply(prompt)}
        return {
            "id": "x", "object": "chat.completion", "created": 0, "model": "simulated",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
        }  # fmt: skip


@pytest.mark.long
async def test_as_many_requests_as_allowed_are_in_flight_and_never_more(live_sandbox: Sandbox):
    endpoint, slots = Barrier(), asyncio.Semaphore(CONCURRENCY)
    server = await asyncio.start_server(endpoint.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    config = ModelConfig(provider="openai", name="simulated", base_url=url, cache=False)
    model = build_model(config, concurrency=CONCURRENCY)
    agent = Reflect(Parts(model, None, live_sandbox), economical=False)

    async def one(number: int) -> str:
        asked = Question(f"q{number}", PROMPT.format(number=number), {"volume": "float"})
        async with slots:
            return (await agent.solve(asked)).stop_reason

    reasons = await asyncio.gather(*map(one, range(QUESTIONS)))
    await model.close()
    server.close()
    assert reasons == ["answered"] * QUESTIONS
    assert endpoint.requests == 3 * QUESTIONS  # faulty draft, critique, correct draft
    assert endpoint.peak == CONCURRENCY
