"""A thin client for OpenAI-compatible endpoints, for tens of thousands of short questions.

`agents.models` goes through LangChain, which costs milliseconds of processor time per request;
general HTTP clients cost a third of one: too much where an endpoint answers thousands per
second. This one speaks plain HTTP/1.1 over kept-alive connections, and only what a chat
completion needs. Same configuration, retries, prices and errors; no cache, every answer is kept
in the results.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import ssl
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from agents.base import Usage
from agents.models import CHARACTERS_PER_TOKEN, Fault, ModelConfig, ModelError, Reply, find_price
from agents.models.parameters import RENAMED, refused_parameter
from agents.models.prices import OPENAI
from agents.models.prices import address as configured
from agents.models.reply import named_fault

#: Statuses after which it is worth to try again, besides 5xx.
TRANSIENT = frozenset({408, 409, 429})

#: Longest wait between two tries, seconds.
MAX_WAIT = 30.0

#: Longest reply and longest head of one that are read, bytes.
MAX_BODY = 32 << 20
MAX_HEAD = 1 << 16


class ProtocolError(Exception):
    """What came back is no HTTP response."""


@dataclass(frozen=True)
class Response:
    """Status, headers (all lower case), body, and whether the server hangs up after it."""

    status: int
    headers: dict[str, str]
    body: bytes
    closing: bool


class Connection(asyncio.Protocol):
    """One kept-alive connection; one request at a time.

    A protocol of its own, not asyncio's streams: they cost as much per request as all the rest.
    """

    def __init__(self) -> None:
        self.reusable = True
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._waiting: asyncio.Future[Response] | None = None

    @property
    def alive(self) -> bool:
        """Whether the other end has not closed it, as far as is known."""
        return self.reusable and self._transport is not None and not self._transport.is_closing()

    async def request(self, message: bytes, timeout: float) -> Response:
        """Send a request and read its response.

        Raises
        ------
        ProtocolError, OSError
            When that failed (`TimeoutError` after ``timeout`` seconds); the connection is not to
            be used again.
        """
        if self._transport is None:
            raise ConnectionError("not connected")
        self.reusable = False
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        expiry = loop.call_later(timeout, self._fail, TimeoutError())
        self._transport.write(message)
        try:
            response = await self._waiting
        finally:
            expiry.cancel()
        self.reusable = not response.closing
        return response

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`."""
        self._received += data
        self._read(ended=False)

    def connection_lost(self, exc: Exception | None) -> None:
        """See :class:`asyncio.Protocol`."""
        self.reusable = False
        self._read(ended=True)
        self._fail(exc or ConnectionError("the server hung up"))

    def _fail(self, reason: Exception) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(reason)

    def _read(self, *, ended: bool) -> None:
        if self._waiting is None or self._waiting.done():
            self.reusable = False  # nothing was asked
            return
        try:
            response = read_response(bytes(self._received), ended=ended)
        except ValueError as error:
            self._fail(ProtocolError(f"no HTTP response ({error})"))
            return
        if response is not None:
            self._received.clear()
            self._waiting.set_result(response)

    def close(self) -> None:
        """Close it."""
        if self._transport is not None:
            self._transport.close()


def read_response(raw: bytes, *, ended: bool) -> Response | None:
    """The response in what came so far, ``None`` when more has to come.

    Raises
    ------
    ValueError
        When it is none, or longer than `MAX_BODY`.
    """
    head, found, rest = raw.partition(b"\r\n\r\n")
    if len(rest) > MAX_BODY or (not found and len(head) > MAX_HEAD):
        raise ValueError("it is too long")
    if not found:
        return None
    status_line, *lines = head.decode("latin-1").lower().split("\r\n")
    version, code, *_ = status_line.split(" ", 2)
    status = int(code)
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name] = value.strip()
    closing = version == "http/1.0" or "close" in headers.get("connection", "")
    body: bytes | None
    if "chunked" in headers.get("transfer-encoding", ""):
        body = _unchunked(rest)
    elif "content-length" in headers:
        length = int(headers["content-length"])
        if not 0 <= length <= MAX_BODY:
            raise ValueError(f"a body of {length} bytes")
        body = rest[:length] if len(rest) >= length else None
        closing = closing or len(rest) > length
    else:
        body, closing = rest if ended else None, True
    return None if body is None else Response(status, headers, body, closing)


def _unchunked(raw: bytes) -> bytes | None:
    parts: list[bytes] = []
    while True:
        line, found, raw = raw.partition(b"\r\n")
        if not found:
            return None
        size = int(line.split(b";")[0], 16)
        if size == 0:
            whole = raw == b"\r\n" or raw.endswith(b"\r\n\r\n")  # there may be trailers
            return b"".join(parts) if whole else None
        if len(raw) < size + 2:
            return None
        parts.append(raw[:size])
        raw = raw[size + 2 :]


class Endpoint:
    """Asks single questions. Use as ``async with``, within one event loop.

    Parameters
    ----------
    config
        The ``model`` group with ``provider=openai``.

    Raises
    ------
    ValueError
        When neither a key nor an address is there, or the address is none.
    """

    def __init__(self, config: ModelConfig) -> None:
        key = os.environ.get("OPENAI_API_KEY")
        if not key and address(config) == OPENAI:
            raise ValueError(
                "model: no OPENAI_API_KEY in the environment. Set it, or point model.base_url at "
                "an OpenAI-compatible endpoint that needs none, or use model=rules (no LLM)."
            )
        self.url = f"{address(config).rstrip('/')}/chat/completions"
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"model.base_url={config.base_url}: is no http(s) address")
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._place = parts.hostname, parts.port or (443 if self._tls else 80)
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        self._head = (
            f"POST {target} HTTP/1.1\r\nHost: {parts.netloc.rpartition('@')[2]}\r\n"
            f"Authorization: Bearer {key or 'none'}\r\nContent-Type: application/json\r\n"
            "Accept: application/json\r\nUser-Agent: matsmith\r\nContent-Length: "
        ).encode("latin-1")
        self._tries = config.max_retries + 1
        self._timeout = config.timeout
        sent = {
            "model": config.name,
            "temperature": config.temperature,
            "max_completion_tokens": config.max_tokens,
            **config.options,
        }
        self._sent = {name: value for name, value in sent.items() if value is not None}
        self._fixed = json.dumps(self._sent)[:-1]
        #: What the endpoint made the client change about the requests.
        self.adjustments: list[str] = []
        self._price = find_price(config)
        self._idle: list[Connection] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    def body(self, prompt: str) -> bytes:
        """The request of one message."""
        message = json.dumps(prompt)
        return (f'{self._fixed}, "messages": [{{"role": "user", "content": {message}}}]}}').encode(
            "ascii"
        )

    def message(self, body: bytes) -> bytes:
        """A request as it goes over the wire."""
        return b"%s%d\r\n\r\n%s" % (self._head, len(body), body)

    async def ask(self, prompt: str) -> Reply:
        """Send one message and return the reply.

        Raises
        ------
        ModelError
            When every try failed, or the endpoint refuses the request.
        """
        started = time.monotonic()
        reason, wait = "", 0.0
        for attempt in range(self._tries):
            if attempt > 0:
                await asyncio.sleep(wait)
            wait = min(0.5 * 2**attempt, MAX_WAIT) * random.uniform(0.75, 1.25)  # noqa: S311
            try:
                response = await self._accepted(prompt)
                if response.status == 200:
                    found = read_completion(response.body)
                    return Reply(
                        found.text,
                        self._usage(prompt, found.text, found.counts),
                        time.monotonic() - started,
                        reasoning=found.reasoning,
                        fault=found.fault,
                        adjusted=tuple(self.adjustments),
                    )
                shown = response.body[:300].decode(errors="replace")
                reason = f"status {response.status}: {shown}"
                if response.status < 500 and response.status not in TRANSIENT:
                    break
                wait = _asked_wait(response.headers.get("retry-after"), wait)
            except TimeoutError:
                reason = f"no reply within {self._timeout:.0f} s"
            except (OSError, ProtocolError, ValueError) as error:
                reason = f"{type(error).__name__}: {error}"
        raise ModelError(f"{self.url}: {attempt + 1} tries, the last one failed with {reason}")

    async def _accepted(self, prompt: str) -> Response:
        """The response to a question, sent again without the parameters that are refused."""
        while True:
            sent = self._sent
            response = await self.post(self.body(prompt))
            said = response.body[:4000].decode(errors="replace")
            name = refused_parameter(response.status, said, sent.keys() - {"model"})
            if name is None:
                return response
            if self._sent is not sent:
                continue  # another request in flight has changed it already
            rest = {key: value for key, value in sent.items() if key != name}
            other = RENAMED.get(name)
            what = f"{name} not sent: the endpoint refuses it"
            if other is not None and not any(" sent as " in note for note in self.adjustments):
                rest[other] = sent[name]
                what = f"{name} sent as {other}"
            self._sent, self._fixed = rest, json.dumps(rest)[:-1]
            self.adjustments.append(what)

    def _usage(self, prompt: str, text: str, counts: tuple[int, int] | None) -> Usage:
        """What it took; cost is unknown without reported tokens, or without a price."""
        if counts is None:
            estimate = [round(len(part) / CHARACTERS_PER_TOKEN) for part in (prompt, text)]
            return Usage(1, 0, estimate[0], estimate[1], estimated=True, cost_usd=None)
        cost = None
        if self._price is not None:
            cost = (counts[0] * self._price.prompt + counts[1] * self._price.completion) / 1e6
        return Usage(1, 0, counts[0], counts[1], estimated=False, cost_usd=cost)

    async def post(self, body: bytes) -> Response:
        """Send one request.

        Raises
        ------
        OSError, ProtocolError
            When there is no response (`TimeoutError` when it takes too long).
        """
        message = self.message(body)
        while self._idle:
            connection = self._idle.pop()
            if not connection.alive:
                connection.close()
                continue
            # A server may close a connection that rests at the very moment it is used.
            with contextlib.suppress(ConnectionError):
                return await self._use(connection, message)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._timeout):
            _, connection = await loop.create_connection(Connection, *self._place, ssl=self._tls)
        return await self._use(connection, message)

    async def _use(self, connection: Connection, message: bytes) -> Response:
        try:
            return await connection.request(message, self._timeout)
        finally:
            if connection.reusable:
                self._idle.append(connection)
            else:
                connection.close()


def address(config: ModelConfig) -> str:
    """Where the endpoint is."""
    return configured(config) or OPENAI


def behind_proxy(config: ModelConfig) -> bool:
    """Whether the environment names a proxy for the endpoint (this client knows none)."""
    parts = urlsplit(address(config))
    return parts.scheme in getproxies() and not proxy_bypass(parts.hostname or "")


def _asked_wait(header: str | None, otherwise: float) -> float:
    try:
        return min(max(float(header or ""), 0.0), MAX_WAIT)
    except ValueError:
        return otherwise


@dataclass(frozen=True)
class Completion:
    """What is read of a chat completion; ``counts`` are prompt and reply tokens, if reported."""

    text: str
    counts: tuple[int, int] | None
    reasoning: str
    fault: Fault | None


def read_completion(raw: bytes) -> Completion:
    """Read a chat completion.

    Raises
    ------
    ValueError
        When it is none.
    """
    try:
        plain = json.loads(raw)
        choice = plain["choices"][0]
        message = choice["message"]
        content = message["content"]
        usage = plain.get("usage") or {}
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        thoughts = message.get("reasoning_content") or message.get("reasoning")
        refused, called = bool(message.get("refusal")), bool(message.get("tool_calls"))
        ended = str(choice.get("finish_reason") or "")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError("the reply is no chat completion") from error
    text = content if isinstance(content, str) else ""
    counts = None
    if isinstance(prompt, int) and isinstance(completion, int) and prompt > 0 <= completion:
        counts = (prompt, completion)
    return Completion(
        text,
        counts,
        thoughts if isinstance(thoughts, str) else "",
        named_fault(ended, text=text, refused=refused, called=called),
    )
