"""Who may talk to the server: the page that was opened with the token, and nobody else.

A server on loopback can be reached by every program of the machine, and by every web page that
its user opens. So a request must name this host (no other name that was made to point here), must
not come from another origin, and, where it is about the conversation, must carry the token. The
token stands in the fragment of the address, which browsers send to no server.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

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


class Guard(BaseHTTPMiddleware):
    """Refuses what does not come from our page; adds `HEADERS` to every response.

    Requests below ``/api/`` must carry the token.
    """

    def __init__(self, app: ASGIApp, *, port: int, token: str) -> None:
        super().__init__(app)
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.token = token

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Pass a request on, or refuse it."""
        why = self._refused(request)
        if why is None:
            response = await call_next(request)
        else:
            response = JSONResponse({"error": why[1]}, status_code=why[0])
        response.headers.update(HEADERS)
        return response

    def _refused(self, request: Request) -> tuple[int, str] | None:
        headers, path = request.headers, request.scope["path"]
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self.hosts:
            return 403, "this is not the host that was asked for"
        if origin is not None and origin != f"http://{host}":
            return 403, "requests of other pages are refused"
        # The page itself holds nothing: a file or a link may lead to it (`serve --open`).
        leads = path == "/" and headers.get("sec-fetch-mode") == "navigate"
        if not leads and headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
            return 403, "requests of other pages are refused"
        if path.startswith("/api/"):
            given = headers.get("authorization", "").removeprefix("Bearer ")
            if not secrets.compare_digest(given.encode(), self.token.encode()):
                return 401, "open the address that `matsmith serve` printed: it has the token"
        return None
