"""HTTP whose responses are bounded before anything else reads them; slow to import."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any

from httpx2 import AsyncClient, Limits, Request, Response

from foundation.errors import EndpointError

MOST = 64 * 2**20  # decoded bytes of a response
#: What responses may be packed with, and what that is to zlib.
PACKED = {"gzip": 31, "x-gzip": 31, "deflate": 15}
#: Headers that are read. Whoever has the others would unpack once more: by a length, a packing, or
#: a charset, which names any codec of Python, ``zlib`` too.
_READ = ("retry-after", "retry-after-ms", "x-should-retry", "location")
STREAM = "text/event-stream"
#: Header of ours on a stream that was not read to its end.
CUT = "x-matsmith-cut"


class BoundedClient(AsyncClient):
    """Reads every response, errors too, up to a size.

    A response that is a stream is read for at most ``seconds`` (``None``: to its end), and then
    holds what came until then.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = seconds
        limits = Limits(max_connections=1000, max_keepalive_connections=100)
        packing = {"accept-encoding": "gzip, deflate"}
        super().__init__(timeout=None, limits=limits, headers=packing)

    async def send(self, request: Request, **options: Any) -> Response:
        """As the library does, but the whole content is there, unpacked; or `EndpointError`."""
        started = asyncio.get_running_loop().time()
        response = await super().send(request, **options | {"stream": True})
        streamed = response.headers.get("content-type", "").startswith(STREAM)
        until = started + self._seconds if streamed and self._seconds else None
        content = bytearray()
        headers = {
            name: response.headers[name] for name in _READ if name in response.headers
        }
        try:
            async with asyncio.timeout_at(until):
                await _read_into(content, response)
        except TimeoutError:
            headers[CUT] = "true"
        finally:
            await response.aclose()
        return Response(
            response.status_code,
            headers=headers,
            content=bytes(content),
            request=request,
        )


async def _read_into(content: bytearray, response: Response) -> None:
    """Add the body to ``content``, inflated piece by piece."""
    packing = response.headers.get("content-encoding", "").strip().lower()
    if packing not in {"", "identity", *PACKED}:
        raise EndpointError(f"the response is packed with {packing[:40]}")
    inflate = zlib.decompressobj(PACKED[packing]) if packing in PACKED else None
    try:
        async for part in response.aiter_raw():
            left = MOST + 1 - len(content)
            content += (
                part[:left] if inflate is None else inflate.decompress(part, left)
            )
            if len(content) > MOST:
                raise EndpointError(f"the response has more than {MOST >> 20} MB")
    except zlib.error as error:
        raise EndpointError(f"the response cannot be unpacked: {error}") from error
