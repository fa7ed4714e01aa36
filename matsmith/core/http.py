"""HTTP whose responses are bounded before anything else reads them; slow to import."""

from __future__ import annotations

import zlib
from typing import Any

from httpx2 import AsyncClient, Limits, Request, Response

from matsmith.core.errors import EndpointError

MOST = 64 * 2**20  # decoded bytes of a response
#: What responses may be packed with, and what that is to zlib.
PACKED = {"gzip": 31, "x-gzip": 31, "deflate": 15}
#: Headers that are read. Whoever has the others would unpack once more: by a length, a packing, or
#: a charset, which names any codec of Python, ``zlib`` too.
_READ = ("retry-after", "x-should-retry", "location")


class BoundedClient(AsyncClient):
    """Reads every response, errors too, up to a size."""

    def __init__(self) -> None:
        limits = Limits(max_connections=1000, max_keepalive_connections=100)
        packing = {"accept-encoding": "gzip, deflate"}
        super().__init__(timeout=None, limits=limits, headers=packing)

    async def send(self, request: Request, **options: Any) -> Response:
        """As the library does, but the whole content is there, unpacked; or `EndpointError`."""
        response = await super().send(request, **options | {"stream": True})
        try:
            content = await _content(response)
        finally:
            await response.aclose()
        headers = {
            name: response.headers[name] for name in _READ if name in response.headers
        }
        return Response(
            response.status_code, headers=headers, content=content, request=request
        )


async def _content(response: Response) -> bytes:
    """The body, inflated piece by piece."""
    packing = response.headers.get("content-encoding", "").strip().lower()
    if packing not in {"", "identity", *PACKED}:
        raise EndpointError(f"the response is packed with {packing[:40]}")
    inflate = zlib.decompressobj(PACKED[packing]) if packing in PACKED else None
    content = bytearray()
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
    return bytes(content)
