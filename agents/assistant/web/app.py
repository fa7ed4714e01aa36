"""``matsmith serve``: conversations over HTTP, for the page and on this machine only.

A server on loopback can be reached by every program of the machine, and by every web page that
its user opens. So a request must name this host (no other name that was made to point here), must
not come from another origin, and, where it is about the conversation, must carry the token. The
token stands in the fragment of the address, which browsers send to no server.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import socket
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import uvicorn
from pydantic import BaseModel, Field, ValidationError
from rich.console import Console
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agents.assistant import AssistantConfig, store
from agents.assistant.answers import Answer, Event
from agents.assistant.session import Session, open_assistant
from agents.assistant.show import WEB, answer_html
from foundation.errors import ActionableError, UsageError

Body = TypeVar("Body", bound=BaseModel)
BODY = 40_000_000  # bytes of a request: a question and its files
STATIC = ("page.css", "answer.css", "page.js", "structure.js", "3Dmol-min.js")
TITLES = 30  # conversations that are listed
GRACE = 3  # seconds that open connections have at the end
#: Sends a browser on, so that the address with its token is no argument of a process.
_REDIRECT = '<!DOCTYPE html><meta http-equiv="refresh" content="0; url={address}">\n'
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


async def guard(
    port: int, token: str, request: Request, call_next: RequestResponseEndpoint
) -> Response:
    """Refuse what does not come from our page; add `HEADERS` to every response."""
    try:
        _check(request, port, token)
        response = await call_next(request)
    except HTTPException as error:
        response = await _refuse(request, error)
    response.headers.update(HEADERS)
    return response


def _check(request: Request, port: int, token: str) -> None:
    headers, path = request.headers, request.scope["path"]
    host, origin = headers.get("host", ""), headers.get("origin")
    if host not in {f"127.0.0.1:{port}", f"localhost:{port}"}:
        raise HTTPException(403, "this is not the host that was asked for")
    # The page itself holds nothing: a file or a link may lead to it (`serve --open`).
    leads = path == "/" and headers.get("sec-fetch-mode") == "navigate"
    ours = leads or headers.get("sec-fetch-site", "none") in {"none", "same-origin"}
    if not ours or origin not in {None, f"http://{host}"}:
        raise HTTPException(403, "requests of other pages are refused")
    if path.startswith("/api/"):
        given = headers.get("authorization", "").removeprefix("Bearer ")
        if not secrets.compare_digest(given.encode(), token.encode()):
            why = "open the address that `matsmith serve` printed: it has the token"
            raise HTTPException(401, why)


class Change(BaseModel, extra="forbid"):
    """What to change: the name of an input or of a conversation."""

    name: str = ""


class Upload(BaseModel, extra="forbid", val_json_bytes="base64"):
    """A file that the user chose: its name, and its content, in base64 where it is sent."""

    name: Annotated[str, Field(pattern=r"^[^/\\\x00-\x1f.][^/\\\x00-\x1f]{0,99}$")]
    data: bytes


class AskRequest(BaseModel, extra="forbid"):
    """A question as the page sends it."""

    question: Annotated[str, Field(min_length=1, max_length=100_000)]
    files: list[Upload] = []


class Working:
    """The question that is being worked on; any number of pages can follow it, from its start."""

    def __init__(self, question: str) -> None:
        self.question = question
        self.told: list[str] = []
        self.ended = False
        self._more = asyncio.Event()

    def tell(self, kind: str, data: object, *, ends: bool = False) -> None:
        """Add an event."""
        self.told.append(f"event: {kind}\ndata: {json.dumps(data)}\n\n")
        self.ended = ends
        self._more.set()
        self._more = asyncio.Event()

    async def follow(self) -> AsyncIterator[str]:
        """All events, as they come."""
        sent = 0
        while not self.ended or sent < len(self.told):
            if sent == len(self.told):
                await self._more.wait()
            yield self.told[sent]
            sent += 1


class ConversationPage:
    """The routes over conversations, one at a time; uploads are kept in the folder ``inputs``."""

    def __init__(self, session: Session, inputs: Path) -> None:
        self.session = session
        self.inputs = inputs
        self.working: Working | None = None
        self._task: asyncio.Task[None] | None = None

    def app(self, *, port: int, token: str) -> Starlette:
        """The application, guarded."""
        routes = [
            Route("/", _page),
            *(Route(f"/{name}", _page) for name in STATIC),
            Route("/api/history", self._history),
            Route("/api/events", self._events),
            Route("/api/ask", self._ask, methods=["POST"]),
            Route("/api/{change:str}", self._change, methods=["POST"]),
            Route("/api/files/{turn}/{name:path}", self._file),
        ]
        handlers = {HTTPException: _refuse, UsageError: _refuse}
        middleware = [
            Middleware(BaseHTTPMiddleware, dispatch=partial(guard, port, token))
        ]
        return Starlette(
            routes=routes, middleware=middleware, exception_handlers=handlers
        )

    async def close(self) -> None:
        """Give up what is being worked on."""
        self.session.cancel("the server ended")
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _history(self, _: Request) -> Response:
        session, working = self.session, self.working
        return JSONResponse(
            {
                "model": session.assistant.runtime.model.name,
                "inputs": list(session.files),
                "turns": [
                    _rendered(answer, n) for n, answer in enumerate(session.turns)
                ],
                "working": working.question
                if working is not None and not working.ended
                else None,
                "session": session.folder.name if session.folder is not None else None,
                "sessions": await asyncio.to_thread(lambda: store.titles()[:TITLES]),
            }
        )

    async def _ask(self, request: Request) -> Response:
        asked = await _read(request, AskRequest)
        if self.session.busy:
            raise HTTPException(409, "another question is being worked on")
        paths = [self._keep(upload) for upload in asked.files]
        self.working = Working(asked.question)
        self._task = asyncio.create_task(self._work(asked, paths, self.working))
        return StreamingResponse(self.working.follow(), media_type="text/event-stream")

    def _keep(self, upload: Upload) -> Path:
        """Write a file; one of the same name and other content gets a folder of its own."""
        for folder in (self.inputs, *(self.inputs / str(n) for n in range(2, 1000))):
            path = folder / upload.name
            if not path.exists() or path.read_bytes() == upload.data:
                break
        store.private(path).write_bytes(upload.data)
        return path

    async def _work(
        self, asked: AskRequest, paths: list[Path], working: Working
    ) -> None:
        """Steps as they happen, then the answer; a page that is closed can be opened again."""

        def listen(event: Event) -> None:
            seconds = round(event.seconds, 1)
            working.tell(
                "step", {"text": event.text, "done": event.done, "seconds": seconds}
            )

        session = self.session
        try:
            answer = await session.ask(asked.question, files=paths, listen=listen)
        except Exception as error:
            working.tell("error", {"error": str(error) or repr(error)}, ends=True)
            if not isinstance(error, ActionableError | RuntimeError | OSError):
                raise  # a fault of ours: it is shown where the server runs, too
        else:
            shown = _rendered(answer, len(session.turns) - 1)
            working.tell("answer", {**shown, "inputs": list(session.files)}, ends=True)

    async def _events(self, _: Request) -> Response:
        if self.working is None:
            raise HTTPException(404, "nothing is being worked on")
        return StreamingResponse(self.working.follow(), media_type="text/event-stream")

    async def _change(self, request: Request) -> Response:
        """Cancel, undo, drop an input, or open another conversation."""
        change = request.path_params["change"]
        name = (await _read(request, Change)).name
        if change == "cancel":
            self.session.cancel("stopped")
            return JSONResponse({})
        if self.session.busy:
            raise HTTPException(409, "a question is being worked on")
        match change:
            case "undo":
                self.session.undo()
            case "drop":
                self.session.files.pop(name, None)
            case "open":
                folder = store.find_session(name or None)
                self.session = self.session.assistant.session(folder)
            case _:
                raise HTTPException(404, "unknown action")
        self.working = None
        return JSONResponse({})

    async def _file(self, request: Request) -> Response:
        turns = enumerate(self.session.turns)
        files = {
            (str(turn), file.name): file
            for turn, answer in turns
            for file in answer.files
        }
        found = files.get((request.path_params["turn"], request.path_params["name"]))
        if found is None:
            raise HTTPException(404, "no such file")
        # never a type that a browser would show: its content is hostile
        headers = {"Content-Disposition": "attachment"}
        return Response(
            found.data, headers=headers, media_type="application/octet-stream"
        )


async def _page(request: Request) -> Response:
    return FileResponse(WEB / (request.url.path.strip("/") or "page.html"))


async def _read(request: Request, kind: type[Body]) -> Body:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BODY:
            raise HTTPException(413, f"question and files are more than {BODY:,} bytes")
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        raise HTTPException(400, str(error).replace("\n", " ")[:300]) from error


def _rendered(answer: Answer, turn: int) -> dict[str, object]:
    files = [{"name": file.name, "size": file.size} for file in answer.files]
    shown = {
        "question": answer.question,
        "html": str(answer_html(answer)),
        "kind": answer.kind,
    }
    return {**shown, "turn": turn, "files": files}


async def _refuse(_: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, status_code=error.status_code)
    return JSONResponse({"error": str(error)}, status_code=404)


async def serve(
    config: AssistantConfig, resume: str | None, *, port: int, opens: bool
) -> int:
    """Serve conversations until Ctrl-C; for ``resume`` see `store.find_session`."""
    folder = store.find_session(resume)
    with (
        _listening(port) as listener,
        tempfile.TemporaryDirectory(prefix="matsmith-") as private,
    ):
        port = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        say = Console(stderr=True, soft_wrap=True, highlight=False)
        async with open_assistant(config, say=say.print) as assistant:
            page = ConversationPage(assistant.session(folder), Path(private) / "inputs")
            settings = uvicorn.Config(
                page.app(port=port, token=token),
                log_level="warning",
                access_log=False,
                lifespan="off",
                ws="none",
                server_header=False,
                timeout_graceful_shutdown=GRACE,
            )
            server = uvicorn.Server(settings)
            # `end` hears signals, and nobody raises them again.
            server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]

            def end() -> None:
                server.should_exit = True
                page.session.cancel("the server ended")

            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, end)
            address = f"http://127.0.0.1:{port}/#{token}"
            print(
                f"Open {address}\nOnly this machine can, and only with the part after '#'. "
                "Ctrl-C ends it.",
                flush=True,
            )
            if opens:
                redirect = store.private(Path(private) / "matsmith.html")
                redirect.write_text(_REDIRECT.format(address=address), encoding="utf-8")
                await asyncio.to_thread(webbrowser.open, redirect.as_uri())
            await server.serve(sockets=[listener])
            await page.close()
    return 0


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        why = (error.strerror or "").partition(" (while")[0]
        raise UsageError(f"--port {port}: {why}; choose another") from error
