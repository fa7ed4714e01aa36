"""JSON to an endpoint and back, under bounds: seconds, hosts, further tries."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from matsmith.core.errors import EndpointError

OPENAI = "https://api.openai.com/v1"
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0  # seconds between tries
LONGEST_WAIT = 60.0  # seconds that an endpoint may ask for
#: Statuses worth another try, besides 5xx.
PASSING = frozenset({408, 409, 429})

Read = TypeVar("Read")


async def tried(
    send: Callable[[], Awaitable[Read]], retries: int, seconds: float
) -> Read:
    """What ``send`` returns, at most ``seconds`` each time, after ``retries`` passing failures."""
    for number in range(retries + 1):
        wait = 0.0
        try:
            async with asyncio.timeout(seconds):
                return await send()
        except EndpointError as error:
            if number == retries or not error.passing:
                raise
            wait = error.wait
        except OSError as error:
            if number == retries:
                late = isinstance(error, TimeoutError)
                raise EndpointError(
                    f"no reply in {seconds:g} s" if late else str(error)
                ) from error
        await asyncio.sleep(wait or min(FIRST_PAUSE * 2**number, LONGEST_PAUSE))
    raise AssertionError("unreachable: the last try returns or raises")


class Endpoint:
    """An address (``url``, up to ``/v1``, and ``path`` below it) at which JSON is taken.

    Proxies and certificates are those of the environment.
    """

    def __init__(self, url: str, path: str, key: str | None) -> None:
        self.url, self._path, self._key = url.rstrip("/"), path, key or "none"
        self._client: Any = None
        # It takes a second: only who asks waits for it, and before other work begins.
        import openai  # noqa: F401, PLC0415

    async def __call__(self, body: Mapping[str, Any]) -> Any:
        """The JSON that the endpoint answers with; raises `EndpointError`."""
        import openai  # noqa: PLC0415 - see above
        from httpx2 import Response  # noqa: PLC0415

        from matsmith.core.http import BoundedClient  # noqa: PLC0415

        if (
            self._client is None
        ):  # in the event loop that asks; `tried` limits time and tries
            self._client = openai.AsyncOpenAI(
                base_url=self.url,
                api_key=self._key,
                max_retries=0,
                timeout=None,
                http_client=BoundedClient(),
            )
        try:
            answer = await self._client.post(
                self._path, cast_to=Response, body=dict(body)
            )
        except openai.APIStatusError as error:
            raise _refusal(error.response) from error
        except openai.APIConnectionError as error:
            why = error.__cause__ or error
            raise EndpointError(
                f"{type(why).__name__}: {why} ({self.url})", passing=True
            ) from error
        try:
            return json.loads(text := _text(answer))
        except (ValueError, RecursionError) as error:
            raise EndpointError(f"{text[:200]!r} is not JSON ({self.url})") from error

    async def close(self) -> None:
        """Close the connections, in the event loop that opened them."""
        if self._client is not None:
            await self._client.close()


def _text(response: Any) -> str:
    return str(response.content, "utf-8", "replace")


def _refusal(response: Any) -> EndpointError:
    """What a status says that is none of success."""
    status, headers = response.status_code, response.headers
    said = " ".join(f"status {status}: {_text(response)[:4000]}".split())
    if response.has_redirect_location:
        said += (
            f" (it redirects to {headers['location'][:200]}; set that address instead)"
        )
    try:
        wait = max(0.0, float(headers.get("retry-after", 0)))
    except ValueError:  # a date
        wait = 0.0
    passing = (
        status >= 500 or status in PASSING or headers.get("x-should-retry") == "true"
    )
    return EndpointError(
        said, status, passing=passing and wait <= LONGEST_WAIT, wait=wait
    )
