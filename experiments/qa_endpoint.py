"""A thin client for OpenAI-compatible endpoints, for tens of thousands of short questions.

`agents.models` goes through LangChain, which costs several milliseconds of processor time per
request: too much where an endpoint answers a thousand per second. Same configuration, same
retries; no cache, because every answer is kept in the results anyway.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from agents.models import ModelConfig

OPENAI = "https://api.openai.com/v1"

#: Statuses after which it is worth to try again.
TRANSIENT = frozenset({408, 409, 429})

#: Longest wait between two tries, seconds.
MAX_WAIT = 30.0


class EndpointError(Exception):
    """The endpoint failed after all tries: infrastructure, never a wrong answer."""


@dataclass(frozen=True)
class Answer:
    """A reply and its tokens; ``None`` where the endpoint does not say."""

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None


class Endpoint:
    """Asks single questions. Use as ``async with``.

    Parameters
    ----------
    config
        The ``model`` group with ``provider=openai``.
    concurrency
        Connections that are kept open.

    Raises
    ------
    ValueError
        When neither a key nor an address is there.
    """

    def __init__(self, config: ModelConfig, concurrency: int) -> None:
        key = os.environ.get("OPENAI_API_KEY")
        address = config.base_url or os.environ.get("OPENAI_BASE_URL")
        if not key and not address:
            raise ValueError(
                "model: no OPENAI_API_KEY in the environment. Set it, or point set.base_url at an "
                "OpenAI-compatible endpoint that needs none"
            )
        self._url = URL(f"{(address or OPENAI).rstrip('/')}/chat/completions")
        # Looked up once: aiohttp's own `trust_env` asks in a thread, twice per request.
        self._proxy = _proxy(str(self._url))
        self._headers = {
            "Authorization": f"Bearer {key or 'none'}",
            "Content-Type": "application/json",
        }
        self._tries = config.max_retries + 1
        self._timeout = config.timeout
        self._concurrency = concurrency
        self._fixed: dict[str, Any] = {"model": config.name, "temperature": config.temperature}
        if config.max_tokens is not None:
            self._fixed["max_completion_tokens"] = config.max_tokens
        self._fixed.update(config.options)

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._concurrency),
            timeout=aiohttp.ClientTimeout(total=self._timeout),
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

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
                async with self._session.post(
                    self._url, data=body.encode(), proxy=self._proxy
                ) as response:
                    raw = await response.read()
                    if response.status == 200:
                        return _read(raw)
                    reason = f"status {response.status}: {raw[:300].decode(errors='replace')}"
                    if response.status < 500 and response.status not in TRANSIENT:
                        raise EndpointError(f"{self._url}: {reason}")
                    wait = _asked_wait(response.headers.get("retry-after")) or wait
            except TimeoutError:
                reason = f"no reply within {self._timeout:.0f} s"
            except (aiohttp.ClientError, ValueError) as error:
                reason = f"{type(error).__name__}: {error}"
            if attempt < self._tries:
                await asyncio.sleep(wait)
        raise EndpointError(f"{self._url}: {self._tries} tries failed, the last one with {reason}")


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for an address."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


def _asked_wait(header: str | None) -> float | None:
    try:
        return min(max(float(header or ""), 0.0), MAX_WAIT)
    except ValueError:
        return None


def _read(raw: bytes) -> Answer:
    """Raises ValueError when it is no completion."""
    try:
        plain = json.loads(raw)
        text = plain["choices"][0]["message"]["content"]
        usage = plain.get("usage") or {}
        counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError("the reply is no chat completion") from error
    prompt, completion = (count if isinstance(count, int) else None for count in counts)
    return Answer(text if isinstance(text, str) else "", prompt, completion)
