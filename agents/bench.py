"""How well questions overlap: ``python -m agents.bench`` against a simulated endpoint.

An OpenAI-compatible endpoint on loopback answers every request after a fixed latency, so that all
the waiting is known. The same questions of ``reflect`` run once one after the other (a few of
them) and once concurrently (all); drafts run in the real sandbox.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveInt

from agents.base import Question
from agents.episode import Parts
from agents.models import ModelConfig, build_model
from agents.reflect import Reflect
from sandbox.base import Sandbox, SandboxConfig
from sandbox.command import run
from sandbox.factory import get_sandbox

PROMPT = "Question {number}.\n- `volume`: volume of a cubic cell of edge 2. Format: `float`."
FAULTY = "from pymatgen.core import Lattice\ndef f():\n    return {'volume': Lattice.cubic(2).size}"
CORRECT = FAULTY.replace("size", "volume")
CRITIQUE = "<feedback>a lattice has a volume</feedback><query></query>"
BASELINE = 2  # questions that run one after the other


class Endpoint:
    """An OpenAI-compatible chat endpoint that knows three replies.

    Parameters
    ----------
    latency
        Seconds before each reply.

    Attributes
    ----------
    requests, peak
        Requests so far, and how many were in flight at most.
    waited
        Seconds that requests have spent here, added up.
    """

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.requests = self.peak = self._in_flight = 0
        self.waited = 0.0
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task, writer in self._connections.items():
            writer.close()
            await asyncio.wait([task])

    @property
    def url(self) -> str:
        """Base address for a client."""
        if self._server is None:
            raise RuntimeError("the endpoint is not running")
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def wait(self) -> None:
        """What a request waits for before its reply; tests wait for something else."""
        await asyncio.sleep(self.latency)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if task := asyncio.current_task():
            self._connections[task] = writer
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = int(head.partition("content-length:")[2].split("\r\n")[0])
                body = json.loads(await reader.readexactly(length))
                payload = json.dumps(await self._reply(body)).encode()
                header = (
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                    f"content-length: {len(payload)}\r\n\r\n"
                )
                writer.write(header.encode() + payload)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # the client hung up
        finally:
            writer.close()

    async def _reply(self, body: dict[str, object]) -> dict[str, object]:
        started = time.monotonic()
        self.requests += 1
        self._in_flight += 1
        self.peak = max(self.peak, self._in_flight)
        await self.wait()
        self._in_flight -= 1
        self.waited += time.monotonic() - started
        return {
            "id": "simulated",
            "object": "chat.completion",
            "created": 0,
            "model": "simulated",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": _text(json.dumps(body))},
                }
            ],
            "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
        }


def _text(prompt: str) -> str:
    """A faulty draft first, then a critique, then the correct draft."""
    if "<query>" in prompt:
        return CRITIQUE
    code = CORRECT if "<attempt " in prompt else FAULTY
    return f"<answer><code>```python\n{code}\n```</code><name>f</name></answer>"


@dataclass(frozen=True)
class Measurement:
    """What a bench has shown; times in seconds.

    Attributes
    ----------
    sequential
        Time for all questions one after the other, from those that ran so.
    waited
        Latencies of all requests of the concurrent run, added up.
    """

    questions: int
    answered: int
    requests: int
    peak: int
    waited: float
    sequential: float
    wall: float

    @property
    def speed_up(self) -> float:
        """Sequential time over concurrent time."""
        return self.sequential / self.wall


async def measure(
    endpoint: Endpoint, sandbox: Sandbox, *, questions: int, concurrency: int, baseline: int
) -> Measurement:
    """Run ``baseline`` questions one by one, then all of them, ``concurrency`` at a time."""
    config = ModelConfig(provider="openai", name="simulated", base_url=endpoint.url, cache=False)
    parts = Parts(build_model(config, concurrency=concurrency), None, sandbox)
    agent = Reflect(parts, economical=False)  # three requests a question, of every kind
    asked = [
        Question(f"q{number}", PROMPT.format(number=number), {"volume": "float"})
        for number in range(questions)
    ]
    started = time.monotonic()
    for question in asked[:baseline]:
        await agent.solve(question)
    sequential = (time.monotonic() - started) / max(1, baseline) * questions
    before, waited = endpoint.requests, endpoint.waited
    slots = asyncio.Semaphore(concurrency)

    async def one(question: Question) -> bool:
        async with slots:
            return (await agent.solve(question)).stop_reason == "answered"

    started = time.monotonic()
    answered = await asyncio.gather(*map(one, asked))
    return Measurement(
        questions=questions,
        answered=sum(answered),
        requests=endpoint.requests - before,
        peak=endpoint.peak,
        waited=endpoint.waited - waited,
        sequential=sequential,
        wall=time.monotonic() - started,
    )


class Options(BaseModel):
    """Arguments of ``python -m agents.bench``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: PositiveInt = Field(49, description="how many")
    latency: NonNegativeFloat = Field(2.0, description="seconds per request")
    concurrency: PositiveInt = Field(32, description="questions at once")
    workers: PositiveInt = Field(2, description="sandbox workers")
    backend: str = Field("auto", description="sandbox")


async def _action(options: Options) -> int:
    """Start endpoint and sandbox, and measure."""
    limits = SandboxConfig(backend=options.backend, workers=options.workers)
    async with Endpoint(options.latency) as endpoint, get_sandbox(limits) as sandbox:
        warm = [sandbox.run("", "", timeout=30) for _ in range(options.workers)]
        await asyncio.gather(*warm)  # workers start when they are first needed
        found = await measure(
            endpoint,
            sandbox,
            questions=options.questions,
            concurrency=options.concurrency,
            baseline=min(BASELINE, options.questions),
        )
    print(
        f"{found.answered} of {found.questions} questions answered, {found.requests} requests of "
        f"{options.latency:g} s, at most {found.peak} in flight\n"
        f"one after the other: {found.sequential:.0f} s (from {BASELINE} questions), of which "
        f"{found.waited:.0f} s are latency\n"
        f"concurrently: {found.wall:.1f} s, 1/{found.speed_up:.1f} of that"
    )
    return 0 if found.answered == found.questions else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``."""
    return run("python -m agents.bench", str(__doc__), Options, _action, arguments)


if __name__ == "__main__":
    sys.exit(main())
