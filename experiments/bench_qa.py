"""How fast QA evaluation is, against a plain client on the same endpoint in the same run.

A local HTTP server in a process of its own answers chat completions. What it can do is measured
by a client, in a process of its own, that does nothing but send prepared requests and wait for
the end of each reply. The evaluation runs as a user runs it: reading the questions, asking,
reading letters, keeping every answer. Both send the same requests, and take turns, so that
whatever else the machine does falls on both.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveInt
from rich.console import Console

from agents.model_config import ModelConfig
from docgen.command import UsageError, run
from experiments.config import Limits
from experiments.meter import RunMeter
from experiments.progress import CountProgress
from experiments.qa.answers import Answers
from experiments.qa.endpoint import Endpoint
from experiments.qa.evaluate import Job, QuestionFile, answer, asker
from experiments.qa.questions import LETTERS, QAQuestion, read_questions, stored_line
from experiments.qa.wording import answering_prompt

#: What the processes that are no evaluation are told on their command line.
SERVE, SERVE_THREADED, LOAD = "--serve", "--serve-threaded", "--load"

#: Parts of the questions between which the two clients take turns.
TURNS = 5


class Options(BaseModel):
    """Arguments of ``python -m experiments.bench_qa``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: PositiveInt = Field(20_000, description="number of questions (made up)")
    concurrency: PositiveInt = Field(64, description="requests in flight")
    server: Literal["stub", "threaded"] = Field(
        "stub", description="stub: as little as possible; threaded: werkzeug, one thread per client"
    )
    delay: NonNegativeFloat = Field(0.02, description="seconds the endpoint takes to answer")


def made_up(numbers: Iterable[int]) -> Iterator[QAQuestion]:
    """Questions of a usual length; no two are equal."""
    code = "\n".join(f"    value_{line} = compute(value_{line - 1})" for line in range(1, 20))
    for number in numbers:
        choices = {letter: f"name_{number}_{letter.lower()}" for letter in LETTERS}
        text = f"Which name stands at [MASK]?\ndef function_{number}():\n{code}\n    [MASK]()"
        yield QAQuestion(text, choices, LETTERS[number % 4], "code", f"made_up.py/f{number}")


def write_questions(path: Path, count: int) -> Path:
    """Write made-up questions to a file."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(map(stored_line, made_up(range(count))))
    return path


# --- the endpoint ----------------------------------------------------------------------------


def completion(text: str) -> dict[str, Any]:
    """A chat completion as OpenAI-compatible endpoints send it."""
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": "bench",
        "choices": [{"index": 0, "finish_reason": "stop",
                     "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 200, "completion_tokens": 5, "total_tokens": 205},
    }  # fmt: skip


def _reply(body: bytes) -> bytes:
    letter = LETTERS[hashlib.md5(body, usedforsecurity=False).digest()[0] % 4]
    return json.dumps(completion(f"<answer>{letter}</answer>")).encode()


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
                reply = _reply(body)
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                    b"content-length: %d\r\n\r\n" % len(reply) + reply
                )
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    _say(server.sockets[0].getsockname()[1])
    async with server:
        await server.serve_forever()


def serve_threaded(delay: float) -> None:
    """The same with werkzeug, one thread per connection, as pytest-httpserver runs it."""
    from werkzeug import Request, Response  # noqa: PLC0415 -- only here, only for development
    from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: PLC0415

    class Quiet(WSGIRequestHandler):
        def log_request(self, *_: object) -> None:
            """One line per request would be most of the work."""

    @Request.application
    def application(request: Request) -> Response:
        body = request.get_data()
        time.sleep(delay)
        return Response(_reply(body), content_type="application/json")

    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Quiet)
    _say(server.port)
    server.serve_forever()


def _say(value: float) -> None:
    sys.stdout.write(f"{value}\n")
    sys.stdout.flush()


@contextlib.contextmanager
def endpoint(server: str, delay: float) -> Iterator[str]:
    """Start the endpoint; yields its address."""
    mode = SERVE if server == "stub" else SERVE_THREADED
    command = [sys.executable, "-m", "experiments.bench_qa", mode, str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            port = process.stdout.readline()
            if not port:
                raise UsageError(f"server={server}: did not start; it needs `make install`")
            yield f"http://127.0.0.1:{int(port)}/v1"
        finally:
            process.kill()


# --- the plain client ------------------------------------------------------------------------


class Sender(asyncio.Protocol):
    """Sends the next request as soon as a reply has come to its end."""

    def __init__(self, messages: Iterator[bytes], done: asyncio.Future[None]) -> None:
        self._messages, self._done = messages, done
        self._received = b""
        self._wanted = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        self._transport = cast("asyncio.Transport", transport)
        self._next()

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`."""
        self._received += data
        if not self._wanted:
            head, found, _ = self._received.lower().partition(b"\r\n\r\n")
            if not found:
                return
            length = head.partition(b"content-length:")[2].partition(b"\r")[0]
            self._wanted = len(head) + 4 + int(length)
        if len(self._received) >= self._wanted:
            self._received, self._wanted = b"", 0
            self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        """See :class:`asyncio.Protocol`."""
        if not self._done.done():
            self._done.set_exception(exc or ConnectionError("the server hung up"))

    def _next(self) -> None:
        message = next(self._messages, None)
        if message is not None:
            self._transport.write(message)
        elif not self._done.done():
            self._done.set_result(None)


async def load(url: str, file: Path, first: int, last: int, concurrency: int) -> float:
    """Wall time of sending the requests of some questions, prepared before."""
    client = Endpoint(ModelConfig(provider="openai", name="bench", base_url=url))
    chosen = itertools.islice(read_questions(file), first, last)
    messages = [client.message(client.body(answering_prompt(question))) for question in chosen]
    place = str(urlsplit(url).hostname), int(urlsplit(url).port or 80)
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    waiting = iter(messages)
    ends = [loop.create_future() for _ in range(concurrency)]
    for end in ends:
        await loop.create_connection(partial(Sender, waiting, end), *place)
    await asyncio.gather(*ends)
    return time.perf_counter() - started


async def plain_seconds(url: str, file: Path, turn: range, concurrency: int) -> float:
    """Run `load` in a process of its own."""
    arguments = [LOAD, url, str(file), str(turn.start), str(turn.stop), str(concurrency)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "experiments.bench_qa", *arguments, stdout=subprocess.PIPE
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError("the plain client failed")
    return float(output)


# --- measuring -------------------------------------------------------------------------------


async def evaluation_seconds(
    url: str, jobs: Iterator[Job], answers: Answers, concurrency: int, progress: CountProgress
) -> float:
    """Wall time of the evaluation, answers kept."""
    config = ModelConfig(provider="openai", name="bench", base_url=url)
    started = time.perf_counter()
    async with asker(config, concurrency) as ask:
        failure = await answer(
            jobs, ask, answers, write=None, meter=RunMeter(Limits()), concurrency=concurrency,
            progress=progress,
        )  # fmt: skip
    answers.flush()
    if failure:
        raise RuntimeError(failure)
    return time.perf_counter() - started


async def measure(url: str, options: Options, folder: Path) -> tuple[float, float, int, float]:
    """Take turns.

    Returns
    -------
    evaluation, plain, count, growth
        Seconds of each, answers kept, and growth of resident memory during the evaluation, MB.
    """
    total = options.questions
    questions = QuestionFile.check(write_questions(folder / "questions.jsonl", total))
    jobs = questions.jobs(range(total), (0,))
    turns = [range(total * turn // TURNS, total * (turn + 1) // TURNS) for turn in range(TURNS)]
    evaluation = plain = growth = 0.0
    with (
        Answers(folder / "run", "bench", {}, RunMeter(Limits())) as answers,
        CountProgress(Console(stderr=True), "bench", total=total) as progress,
    ):
        for turn in turns:
            before = resident_mb()
            evaluation += await evaluation_seconds(
                url, itertools.islice(jobs, len(turn)), answers, options.concurrency, progress
            )
            growth += resident_mb() - before
            plain += await plain_seconds(url, questions.path, turn, options.concurrency)
        kept, _ = answers.counted((0,), range(total))
    return evaluation, plain, kept, growth


def resident_mb() -> float:
    """Resident memory of this process, MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def _action(options: Options) -> int:
    console = Console(width=100)
    with (
        tempfile.TemporaryDirectory() as folder,
        endpoint(options.server, options.delay) as url,
    ):
        evaluation, plain, count, growth = asyncio.run(measure(url, options, Path(folder)))
    console.print(f"plain client: {options.questions / plain:.0f} requests/s")
    console.print(f"evaluation: {count / evaluation:.0f} questions/s, {count} answers kept")
    console.print(f"memory grew by {growth:.0f} MB")
    console.print(f"ratio {plain / evaluation:.2f}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Entry point of ``python -m experiments.bench_qa``."""
    given = sys.argv[1:] if arguments is None else arguments
    with contextlib.suppress(KeyboardInterrupt):
        match given:
            case ["--serve", delay]:
                asyncio.run(serve(float(delay)))
            case ["--serve-threaded", delay]:
                serve_threaded(float(delay))
            case ["--load", url, file, first, last, count]:
                _say(asyncio.run(load(url, Path(file), int(first), int(last), int(count))))
            case _:
                return run("experiments.bench_qa", str(__doc__), Options, _action, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
