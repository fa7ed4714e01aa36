"""How fast QA evaluation is, against a plain client on the same endpoint in the same run.

A local HTTP server in a process of its own answers chat completions. First a client that does
nothing but post the prepared requests measures the endpoint; then the evaluation runs as a user
runs it: reading the questions, asking, reading letters, keeping every answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveInt
from rich.console import Console

from agents.models import ModelConfig
from docgen.command import run
from experiments.benchmarks.mattools_qa import LETTERS, QAQuestion, answering_prompt
from experiments.evaluate_qa import Answers, asker, evaluate
from experiments.progress import CountProgress
from experiments.qa_endpoint import Endpoint

#: What the endpoint is told on its command line.
SERVE = "--serve"

#: Parts of the questions between which the two clients take turns.
TURNS = 5


class Options(BaseModel):
    """Arguments of ``python -m experiments.bench_qa``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: PositiveInt = Field(20_000, description="number of questions (made up)")
    concurrency: PositiveInt = Field(64, description="requests in flight")
    delay: NonNegativeFloat = Field(0.02, description="seconds the endpoint takes to answer")


def made_up(numbers: Iterable[int]) -> Iterator[tuple[int, QAQuestion]]:
    """Questions of a usual length; no two are equal."""
    code = "\n".join(f"    value_{line} = compute(value_{line - 1})" for line in range(1, 20))
    for number in numbers:
        choices = {letter: f"name_{number}_{letter.lower()}" for letter in LETTERS}
        text = f"Which name stands at [MASK]?\ndef function_{number}():\n{code}\n    [MASK]()"
        yield number, QAQuestion(text, choices, LETTERS[number % 4], "code", "made up")


# --- the endpoint ----------------------------------------------------------------------------


async def serve(delay: float) -> None:
    """Answer until killed; the first line on stdout is the port."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                )
                body = await reader.readexactly(length)
                if delay:
                    await asyncio.sleep(delay)
                letter = LETTERS[hashlib.md5(body, usedforsecurity=False).digest()[0] % 4]
                reply = json.dumps(completion(f"<answer>{letter}</answer>")).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                    b"content-length: %d\r\n\r\n" % len(reply) + reply
                )
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    async with server:
        await server.serve_forever()


def completion(text: str) -> dict[str, Any]:
    """A chat completion as OpenAI-compatible endpoints send it."""
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": "bench",
        "choices": [{"index": 0, "finish_reason": "stop",
                     "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 200, "completion_tokens": 5, "total_tokens": 205},
    }  # fmt: skip


@contextlib.contextmanager
def endpoint(delay: float) -> Iterator[str]:
    """Start the endpoint; yields its address."""
    command = [sys.executable, "-m", "experiments.bench_qa", SERVE, str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


# --- measuring -------------------------------------------------------------------------------


async def plain_seconds(
    url: str, questions: Iterable[tuple[int, QAQuestion]], concurrency: int
) -> float:
    """Wall time of a client that only posts prepared bodies and reads the replies."""
    bodies = [
        json.dumps({
            "model": "bench", "temperature": 0.7,
            "messages": [{"role": "user", "content": answering_prompt(question)}],
        }).encode()
        for _, question in questions
    ]  # fmt: skip
    waiting = iter(bodies)
    config = ModelConfig(provider="openai", name="bench", base_url=url)
    async with Endpoint(config) as client:

        async def work() -> None:
            for body in waiting:
                await client.post(body)

        started = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(concurrency)))
        return time.perf_counter() - started


async def evaluation_seconds(
    url: str, questions: Iterator[tuple[int, QAQuestion]], answers: Answers, concurrency: int,
    progress: CountProgress,
) -> float:  # fmt: skip
    """Wall time of the evaluation, answers kept."""
    config = ModelConfig(provider="openai", name="bench", base_url=url)
    started = time.perf_counter()
    async with asker(config, concurrency) as ask:
        failures = await evaluate(
            questions, ask, answers, concurrency=concurrency, progress=progress
        )
    if failures:
        raise RuntimeError(f"{len(failures)} questions failed, the first one: {failures[0]}")
    return time.perf_counter() - started


async def measure(url: str, options: Options, folder: Path) -> tuple[float, float, int, float]:
    """Take turns, so that whatever else the machine does falls on both.

    Returns
    -------
    evaluation, plain, count, growth
        Seconds of each, answers kept, and growth of resident memory during the evaluation, MB.
    """
    answers = Answers(folder / "results.jsonl")
    total = options.questions
    turns = [range(total * turn // TURNS, total * (turn + 1) // TURNS) for turn in range(TURNS)]
    evaluation = plain = growth = 0.0
    with CountProgress(Console(stderr=True), "bench", total=total) as progress:
        for turn in turns:
            before = resident_mb()
            evaluation += await evaluation_seconds(
                url, made_up(turn), answers, options.concurrency, progress
            )
            growth += resident_mb() - before
            plain += await plain_seconds(url, made_up(turn), options.concurrency)
    answers.close()
    return evaluation, plain, answers.count, growth


def resident_mb() -> float:
    """Resident memory of this process, MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def _action(options: Options) -> int:
    console = Console(width=100)
    with tempfile.TemporaryDirectory() as folder, endpoint(options.delay) as url:
        evaluation, plain, count, growth = asyncio.run(measure(url, options, Path(folder)))
    console.print(f"plain client: {options.questions / plain:.0f} requests/s")
    console.print(f"evaluation: {count / evaluation:.0f} questions/s, {count} answers kept")
    console.print(f"memory grew by {growth:.0f} MB")
    console.print(f"ratio {plain / evaluation:.2f}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Entry point of ``python -m experiments.bench_qa``."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == [SERVE]:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serve(float(given[1])))
        return 0
    return run("experiments.bench_qa", str(__doc__), Options, _action, given)


if __name__ == "__main__":
    sys.exit(main())
