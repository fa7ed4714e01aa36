"""Who may talk to the server: the page that was opened with the token, and nobody else.

A server on loopback can be reached by every program of the machine, and by every web page that
its user opens. So a request must name this host (no other name that was made to point here), must
not come from another origin, and, where it is about the conversation, must carry the token. The
token stands in the fragment of the address, which browsers send to no server.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Refuses what does not come from our page; adds `HEADERS` to every response.

    Requests below ``/api/`` must carry the token.
    """

    def __init__(self, app: ASGIApp, *, port: int, token: str) -> None:
        self.app = app
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        why = self._refused(scope)
        app = self.app if why is None else JSONResponse({"error": why[1]}, status_code=why[0])
        await app(scope, receive, answer)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        if scope["type"] != "http":
            return 403, "there is nothing but HTTP here"
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self.hosts:
            return 403, "this is not the host that was asked for"
        if origin is not None and origin != f"http://{host}":
            return 403, "requests of other pages are refused"
        # The page itself holds nothing: a file or a link may lead to it (`serve --open`).
        leads = scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
        if not leads and headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
            return 403, "requests of other pages are refused"
        if scope["path"].startswith("/api/"):
            given = headers.get("authorization", "").removeprefix("Bearer ")
            if not secrets.compare_digest(given.encode(), self.token.encode()):
                return 401, "open the address that `matsmith serve` printed: it has the token"
        return None
