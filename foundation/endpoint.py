"""JSON to an endpoint and back, under bounds: seconds, hosts, further tries."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from foundation.errors import EndpointError
from foundation.refusals import LONGEST_WAIT, refusal
from foundation.secrets import redact, register

OPENAI = "https://api.openai.com/v1"
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0  # seconds between tries

_LOG = logging.getLogger(__name__)

Read = TypeVar("Read")


async def tried(
    send: Callable[[], Awaitable[Read]], retries: int, seconds: float, name: str = ""
) -> Read:
    """What ``send`` returns, at most ``seconds`` each time, after ``retries`` passing failures.

    A model that is being loaded, and a limit of which the endpoint says when it is over, are
    waited for, up to `LONGEST_WAIT` in all, and are not among the failures; ``name`` begins the
    line that says so.
    """
    failures, waits, patience = 0, 0, LONGEST_WAIT
    while True:
        try:
            async with asyncio.timeout(seconds):
                return await send()
        except EndpointError as error:
            announced = error.loading or error.wait > 0
            if not error.passing or (failures == retries and not announced):
                raise
            number = waits if announced else failures
            pause = error.wait or min(FIRST_PAUSE * 2**number, LONGEST_PAUSE)
            if announced:
                waits += 1
                patience -= pause
                if patience < 0:
                    raise
                _announce(name, error, pause)
            else:
                failures += 1
        except OSError as error:
            if failures == retries:
                late = isinstance(error, TimeoutError)
                raise EndpointError(
                    f"no reply in {seconds:g} s" if late else str(error)
                ) from error
            pause = min(FIRST_PAUSE * 2**failures, LONGEST_PAUSE)
            failures += 1
        await asyncio.sleep(pause)


def _announce(name: str, error: EndpointError, pause: float) -> None:
    reason = "the model is being loaded" if error.loading else "the endpoint asks to"
    _LOG.warning("%s: %s, wait %.0f s", name or "endpoint", reason, pause)


class Endpoint:
    """An address (``url``, up to ``/v1``, and ``path`` below it) at which JSON is taken.

    Proxies and certificates are those of the environment. A reply that is streamed is cut after
    ``seconds``, and then counts as far as it came.
    """

    def __init__(
        self, url: str, path: str, key: str | None, seconds: float | None = None
    ) -> None:
        self.url, self._path, self._key = url.rstrip("/"), path, key or "none"
        self._seconds = seconds
        register(key)
        self._client: Any = None
        # It takes a second: only who asks waits for it, and before other work begins.
        import openai  # noqa: F401, PLC0415

    async def __call__(self, body: Mapping[str, Any]) -> Any:
        """The JSON that the endpoint answers with; raises `EndpointError`.

        Frames of a stream come as a list.
        """
        import openai  # noqa: PLC0415 - see above
        from httpx2 import Response  # noqa: PLC0415

        from foundation.http import CUT, BoundedClient  # noqa: PLC0415

        if (
            self._client is None
        ):  # in the event loop that asks; `tried` limits time and tries
            self._client = openai.AsyncOpenAI(
                base_url=self.url,
                api_key=self._key,
                max_retries=0,
                timeout=None,
                http_client=BoundedClient(self._seconds),
            )
        try:
            answer = await self._client.post(
                self._path, cast_to=Response, body=dict(body)
            )
        except openai.APIStatusError as error:
            response = error.response
            raise refusal(
                response.status_code, _text(response), response.headers
            ) from error
        except openai.APIConnectionError as error:
            why = error.__cause__ or error
            raise EndpointError(
                redact(f"{type(why).__name__}: {why} ({self.url})"), passing=True
            ) from error
        text = _text(answer)
        if CUT in answer.headers:
            return [*frames_of(text), CUT_FRAME]
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            if frames := frames_of(text):
                return frames[0] if len(frames) == 1 else frames
            raise EndpointError(
                f"{text[:200]!r} is not JSON ({redact(self.url)})"
            ) from error

    async def close(self) -> None:
        """Close the connections, in the event loop that opened them."""
        if self._client is not None:
            await self._client.close()


def frames_of(text: str) -> list[dict[str, Any]]:
    """The objects in the lines of an event stream, or before its end mark; empty for none.

    A line that is cut off at the end of a stream is left out; any other that cannot be read makes
    the text no stream.
    """
    frames: list[dict[str, Any]] = []
    lines = [line.strip() for line in text.splitlines()]
    events = [line for line in lines if line and not line.startswith(_NO_DATA)]
    for number, line in enumerate(events, 1):
        data = line.removeprefix("data:").strip()
        if data == "[DONE]":
            continue
        try:
            frame = json.loads(data)
        except (ValueError, RecursionError):
            if number == len(events) and frames:
                break
            return []
        if not isinstance(frame, dict):
            return []
        frames.append(frame)
    return frames


#: What ends a stream that was not read to its end.
CUT_FRAME = {"choices": [{"delta": {}, "finish_reason": "length"}]}
#: Beginnings of lines of an event stream that hold no data.
_NO_DATA = (":", "event:", "id:", "retry:")


def _text(response: Any) -> str:
    """The body, without keys that it repeats."""
    return redact(str(response.content, "utf-8", "replace"))
