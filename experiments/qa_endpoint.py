"""A thin client for OpenAI-compatible endpoints, for tens of thousands of short questions.

`agents.models` goes through LangChain, which costs milliseconds of processor time per request;
general HTTP clients cost a third of one: too much where an endpoint answers thousands per
second. This one speaks plain HTTP/1.1 over kept-alive connections, and only what a chat
completion needs. Same configuration and retries; no cache, every answer is kept in the results.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import ssl
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from agents.models import ModelConfig

OPENAI = "https://api.openai.com/v1"

#: Statuses after which it is worth to try again, besides 5xx.
TRANSIENT = frozenset({408, 409, 429})

#: Longest wait between two tries, seconds.
MAX_WAIT = 30.0

#: Longest reply that is read, bytes.
MAX_BODY = 32 << 20


class EndpointError(Exception):
    """The endpoint failed after all tries: infrastructure, never a wrong answer."""


class ProtocolError(Exception):
    """What came back is no HTTP response."""


@dataclass(frozen=True)
class Answer:
    """A reply and its tokens; ``None`` where the endpoint does not say."""

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None


@dataclass(frozen=True)
class Response:
    """Status, headers (lower-case names) and body."""

    status: int
    headers: dict[str, str]
    body: bytes


class Connection:
    """One kept-alive connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.reusable = True

    @property
    def alive(self) -> bool:
        """Whether the other end has not closed it, as far as is known."""
        return self.reusable and not self._reader.at_eof() and not self._writer.is_closing()

    async def request(self, message: bytes) -> Response:
        """Send a request and read its response.

        Raises
        ------
        ProtocolError, OSError, EOFError
            When that failed; the connection is not to be used again.
        """
        self.reusable = False
        self._writer.write(message)
        await self._writer.drain()
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
            status_line, *lines = head.decode("latin-1").split("\r\n")
            version, status, *_ = status_line.split(" ", 2)
            pairs = (line.partition(":") for line in lines if line)
            headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
            body, framed = await self._body(headers)
            response = Response(int(status), headers, body)
        except (ValueError, asyncio.LimitOverrunError) as error:
            raise ProtocolError(f"no HTTP response ({error})") from error
        closing = "close" in headers.get("connection", "").lower() or version == "HTTP/1.0"
        self.reusable = framed and not closing
        return response

    async def _body(self, headers: dict[str, str]) -> tuple[bytes, bool]:
        """The body, and whether its end is known without closing."""
        if "chunked" in headers.get("transfer-encoding", "").lower():
            parts: list[bytes] = []
            while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
                if size + sum(map(len, parts)) > MAX_BODY:
                    raise ValueError("the reply is too long")
                parts.append((await self._reader.readexactly(size + 2))[:-2])
            while await self._reader.readuntil(b"\r\n") != b"\r\n":
                pass
            return b"".join(parts), True
        if "content-length" in headers:
            length = int(headers["content-length"])
            if not 0 <= length <= MAX_BODY:
                raise ValueError(f"a reply of {length} bytes")
            return await self._reader.readexactly(length), True
        body = await self._reader.read(MAX_BODY)
        return body, False

    def close(self) -> None:
        """Close it."""
        self._writer.close()


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
                "model: no OPENAI_API_KEY in the environment. Set it, or point set.base_url at an "
                "OpenAI-compatible endpoint that needs none"
            )
        self.url = f"{address(config).rstrip('/')}/chat/completions"
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"set.base_url={config.base_url}: is no http(s) address")
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
        self._fixed: dict[str, Any] = {"model": config.name, "temperature": config.temperature}
        if config.max_tokens is not None:
            self._fixed["max_completion_tokens"] = config.max_tokens
        self._fixed.update(config.options)
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

    async def ask(self, prompt: str) -> Answer:
        """Send one message and return the reply.

        Raises
        ------
        EndpointError
            When every try failed, or the endpoint refuses the request.
        """
        body = json.dumps({"messages": [{"role": "user", "content": prompt}], **self._fixed})
        for attempt in range(1, self._tries + 1):
            wait = min(0.5 * 2 ** (attempt - 1), MAX_WAIT) * random.uniform(0.75, 1.25)  # noqa: S311
            try:
                response = await self.post(body.encode())
                if response.status == 200:
                    return read_completion(response.body)
                shown = response.body[:300].decode(errors="replace")
                reason = f"status {response.status}: {shown}"
                if response.status < 500 and response.status not in TRANSIENT:
                    raise EndpointError(f"{self.url}: {reason}")
                wait = _asked_wait(response.headers.get("retry-after"), wait)
            except TimeoutError:
                reason = f"no reply within {self._timeout:.0f} s"
            except (OSError, EOFError, ProtocolError, ValueError) as error:
                reason = f"{type(error).__name__}: {error}"
            if attempt < self._tries:
                await asyncio.sleep(wait)
        raise EndpointError(f"{self.url}: {self._tries} tries failed, the last one with {reason}")

    async def post(self, body: bytes) -> Response:
        """Send one request.

        Raises
        ------
        TimeoutError, OSError, EOFError, ProtocolError
            When there is no response.
        """
        message = b"%s%d\r\n\r\n%s" % (self._head, len(body), body)
        async with asyncio.timeout(self._timeout):
            while self._idle:
                connection = self._idle.pop()
                if not connection.alive:
                    connection.close()
                    continue
                # A server may close a connection that rests at the very moment it is used.
                with contextlib.suppress(OSError, EOFError):
                    return await self._use(connection, message)
            host, port = self._place
            streams = await asyncio.open_connection(host, port, ssl=self._tls)
            return await self._use(Connection(*streams), message)

    async def _use(self, connection: Connection, message: bytes) -> Response:
        try:
            return await connection.request(message)
        finally:
            if connection.reusable:
                self._idle.append(connection)
            else:
                connection.close()


def address(config: ModelConfig) -> str:
    """Where the endpoint is."""
    return config.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI


def behind_proxy(config: ModelConfig) -> bool:
    """Whether the environment names a proxy for the endpoint (this client knows none)."""
    parts = urlsplit(address(config))
    return parts.scheme in getproxies() and not proxy_bypass(parts.hostname or "")


def _asked_wait(header: str | None, otherwise: float) -> float:
    try:
        return min(max(float(header or ""), 0.0), MAX_WAIT)
    except ValueError:
        return otherwise


def read_completion(raw: bytes) -> Answer:
    """The text and tokens of a chat completion; raises ValueError when it is none."""
    try:
        plain = json.loads(raw)
        text = plain["choices"][0]["message"]["content"]
        usage = plain.get("usage") or {}
        counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError("the reply is no chat completion") from error
    prompt, completion = (count if isinstance(count, int) else None for count in counts)
    return Answer(text if isinstance(text, str) else "", prompt, completion)
