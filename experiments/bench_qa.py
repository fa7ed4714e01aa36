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
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveInt
from rich.console import Console

from agents.models import ModelConfig
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
SERVE, LOAD = "--serve", "--load"

#: Parts of the questions between which the two clients take turns.
TURNS = 5


class Options(BaseModel):
    """Arguments of ``python -m experiments.bench_qa``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: PositiveInt = Field(20_000, description="number of questions (made up)")
    concurrency: PositiveInt = Field(64, description="requests in flight")
    server: Literal["asgi", "threaded", "bare"] = Field(
        "asgi",
        description="asgi: uvicorn; threaded: werkzeug, one thread per connection; bare: as "
        "little as answers at all, faster than any real endpoint",
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


async def serve_asgi(delay: float) -> None:
    """Answer until killed; the first line on stdout is the port."""
    import uvicorn  # noqa: PLC0415 -- only in this process

    async def application(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if delay:
            await asyncio.sleep(delay)
        reply = _reply(body)
        headers = [(b"content-type", b"application/json"),
                   (b"content-length", str(len(reply)).encode())]  # fmt: skip
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": reply})

    listening = socket.create_server(("127.0.0.1", 0))
    _say(listening.getsockname()[1])
    options = uvicorn.Config(application, lifespan="off", access_log=False, log_level="error")
    await uvicorn.Server(options).serve([listening])


async def serve_bare(delay: float) -> None:
    """The same without a framework, and with next to no HTTP."""

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
def endpoint(server: str, delay: float) -> Iterator[tuple[str, int]]:
    """Start the endpoint; yields its address and process id."""
    command = [sys.executable, "-m", "experiments.bench_qa", SERVE, server, str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            port = process.stdout.readline()
            if not port:
                raise UsageError(f"server={server}: did not start; it needs `make install`")
            yield f"http://127.0.0.1:{int(port)}/v1", process.pid
        finally:
            process.kill()


# --- the plain client ------------------------------------------------------------------------


class Sender(asyncio.Protocol):
    """Sends the next request as soon as a reply has come to its end."""

    def __init__(
        self, messages: Iterator[bytes], done: asyncio.Future[None], place: tuple[str, int]
    ) -> None:
        self._messages, self._done, self._place = messages, done, place
        self._received = b""
        self._wanted = 0
        self._closing = False

    async def connect(self) -> None:
        """Connect, and send the first request."""
        await asyncio.get_running_loop().create_connection(lambda: self, *self._place)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        self._transport = cast("asyncio.Transport", transport)
        self._closing = False
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
            self._closing = b"connection: close" in head
        if len(self._received) >= self._wanted:
            self._received, self._wanted = b"", 0
            if self._closing:
                self._transport.close()
            else:
                self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        """See :class:`asyncio.Protocol`."""
        if self._closing and not self._wanted:
            self._again = asyncio.ensure_future(self.connect())  # one connection per request
        elif not self._done.done():
            self._done.set_exception(exc or ConnectionError("the server hung up"))

    def _next(self) -> None:
        message = next(self._messages, None)
        if message is not None:
            self._transport.write(message)
        elif not self._done.done():
            self._done.set_result(None)


async def load(
    url: str, file: Path, first: int, last: int, concurrency: int
) -> tuple[float, float]:
    """Wall and processor time of sending the requests of some questions, prepared before."""
    client = Endpoint(ModelConfig(provider="openai", name="bench", base_url=url))
    chosen = itertools.islice(read_questions(file), first, last)
    messages = [client.message(client.body(answering_prompt(question))) for question in chosen]
    place = str(urlsplit(url).hostname), int(urlsplit(url).port or 80)
    started, busy = time.perf_counter(), time.process_time()
    waiting = iter(messages)
    ends = [asyncio.get_running_loop().create_future() for _ in range(concurrency)]
    for end in ends:
        await Sender(waiting, end, place).connect()
    await asyncio.gather(*ends)
    return time.perf_counter() - started, time.process_time() - busy


async def plain_seconds(url: str, file: Path, turn: range, concurrency: int) -> tuple[float, float]:
    """Run `load` in a process of its own."""
    arguments = [LOAD, url, str(file), str(turn.start), str(turn.stop), str(concurrency)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "experiments.bench_qa", *arguments, stdout=subprocess.PIPE
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError("the plain client failed")
    wall, busy = map(float, output.split())
    return wall, busy


# --- measuring -------------------------------------------------------------------------------


@dataclass
class Times:
    """Sums over the turns of one client, in seconds: wall, its processor, the endpoint's."""

    wall: float = 0.0
    busy: float = 0.0
    endpoint: float = 0.0

    def add(self, wall: float, busy: float, endpoint: float) -> None:
        """Count a turn."""
        self.wall += wall
        self.busy += busy
        self.endpoint += endpoint


async def evaluation_seconds(
    url: str, jobs: Iterator[Job], answers: Answers, concurrency: int, progress: CountProgress
) -> tuple[float, float]:
    """Wall and processor time of the evaluation, answers kept."""
    config = ModelConfig(provider="openai", name="bench", base_url=url)
    started, busy = time.perf_counter(), time.process_time()
    async with asker(config, concurrency) as ask:
        failure = await answer(
            jobs, ask, answers, write=None, meter=RunMeter(Limits()), concurrency=concurrency,
            progress=progress,
        )  # fmt: skip
    answers.flush()
    if failure:
        raise RuntimeError(failure)
    return time.perf_counter() - started, time.process_time() - busy


async def measure(
    url: str, endpoint_id: int, options: Options, folder: Path
) -> tuple[Times, Times, int, float]:
    """Take turns.

    Returns
    -------
    evaluation, plain, kept, growth
        Times of both clients, answers kept, and growth of resident memory during the
        evaluation, MB.
    """
    total = options.questions
    questions = QuestionFile.check(write_questions(folder / "questions.jsonl", total))
    jobs = questions.jobs(range(total), (0,))
    turns = [range(total * turn // TURNS, total * (turn + 1) // TURNS) for turn in range(TURNS)]
    evaluation, plain, growth = Times(), Times(), 0.0
    with (
        Answers(folder / "run", "bench", {}, RunMeter(Limits())) as answers,
        CountProgress(Console(stderr=True), "bench", total=total) as progress,
    ):
        for turn in turns:
            memory, before = resident_mb(), busy_seconds(endpoint_id)
            times = await evaluation_seconds(
                url, itertools.islice(jobs, len(turn)), answers, options.concurrency, progress
            )
            evaluation.add(*times, busy_seconds(endpoint_id) - before)
            growth += resident_mb() - memory
            before = busy_seconds(endpoint_id)
            times = await plain_seconds(url, questions.path, turn, options.concurrency)
            plain.add(*times, busy_seconds(endpoint_id) - before)
        kept, _ = answers.counted((0,), range(total))
    return evaluation, plain, kept, growth


def busy_seconds(process: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb() -> float:
    """Resident memory of this process, MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def _action(options: Options) -> int:
    console = Console(width=100, highlight=False)
    with (
        tempfile.TemporaryDirectory() as folder,
        endpoint(options.server, options.delay) as (url, process),
    ):
        evaluation, plain, kept, growth = asyncio.run(measure(url, process, options, Path(folder)))
    for name, times in (("plain client", plain), ("evaluation", evaluation)):
        rate = options.questions / times.wall
        own, other = (1e6 * t / options.questions for t in (times.busy, times.endpoint))
        console.print(
            f"{name}: {rate:.0f} questions/s; processor time per question: {own:.0f} us, "
            f"of the endpoint {other:.0f} us"
        )
    console.print(f"{kept} answers kept; memory grew by {growth:.0f} MB")
    console.print(f"ratio {plain.wall / evaluation.wall:.2f}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Entry point of ``python -m experiments.bench_qa``."""
    given = sys.argv[1:] if arguments is None else arguments
    with contextlib.suppress(KeyboardInterrupt):
        match given:
            case ["--serve", "asgi", delay]:
                asyncio.run(serve_asgi(float(delay)))
            case ["--serve", "bare", delay]:
                asyncio.run(serve_bare(float(delay)))
            case ["--serve", "threaded", delay]:
                serve_threaded(float(delay))
            case ["--load", url, file, first, last, count]:
                for seconds in asyncio.run(
                    load(url, Path(file), int(first), int(last), int(count))
                ):
                    _say(seconds)
            case _:
                return run("experiments.bench_qa", str(__doc__), Options, _action, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
