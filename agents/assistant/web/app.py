"""Conversations over HTTP: what the page shows, and what it asks for."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agents.assistant import store
from agents.assistant.answers import Answer
from agents.assistant.events import Event
from agents.assistant.session import Session
from agents.assistant.show import WEB, answer_html
from agents.assistant.web.guard import Guard
from matsmith.core.errors import ActionableError, UsageError

Body = TypeVar("Body", bound=BaseModel)
BODY = 40_000_000  # bytes of a request: a question and its files
STATIC = ("page.css", "answer.css", "page.js", "structure.js")
TITLES = 30  # conversations that are listed


class Change(BaseModel, extra="forbid"):
    """What to change: the name of an input or of a conversation."""

    name: str = ""


class Upload(BaseModel, extra="forbid"):
    """A file that the user chose: its name, and its content in base64."""

    name: Annotated[str, Field(pattern=r"^[^/\\\x00-\x1f.][^/\\\x00-\x1f]{0,99}$")]
    data: str


class Asked(BaseModel, extra="forbid"):
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


class Page:
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
            Route("/api/cancel", self._cancel, methods=["POST"]),
            Route("/api/{change:str}", self._change, methods=["POST"]),
            Route("/api/files/{turn}/{name:path}", self._file),
        ]
        handlers = {HTTPException: _refuse, UsageError: _refuse}
        middleware = [Middleware(Guard, port=port, token=token)]
        return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)

    async def close(self) -> None:
        """Give up what is being worked on."""
        self.session.cancel("the server ended")
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _history(self, _: Request) -> Response:
        session, working = self.session, self.working
        return JSONResponse({
            "model": session.assistant.model,
            "inputs": list(session.files),
            "turns": [_shown(answer, n) for n, answer in enumerate(session.turns)],
            "working": working.question if working is not None and not working.ended else None,
            "session": session.folder.name if session.folder is not None else None,
            "sessions": await asyncio.to_thread(lambda: store.titles()[:TITLES]),
        })  # fmt: skip

    async def _ask(self, request: Request) -> Response:
        asked = await _read(request, Asked)
        if self.session.busy:
            raise HTTPException(409, "another question is being worked on")
        try:
            paths = [self._keep(upload) for upload in asked.files]
        except binascii.Error as error:
            raise HTTPException(400, f"files: no base64 ({error})") from error
        self.working = Working(asked.question)
        self._task = asyncio.create_task(self._work(asked, paths, self.working))
        return StreamingResponse(self.working.follow(), media_type="text/event-stream")

    def _keep(self, upload: Upload) -> Path:
        """Write a file; one of the same name and other content gets a folder of its own."""
        data = base64.b64decode(upload.data, validate=True)
        for folder in (self.inputs, *(self.inputs / str(n) for n in range(2, 1000))):
            path = folder / upload.name
            if not path.exists() or path.read_bytes() == data:
                break
        store.private(path).write_bytes(data)
        return path

    async def _work(self, asked: Asked, paths: list[Path], working: Working) -> None:
        """Steps as they happen, then the answer; a page that is closed can be opened again."""

        def listen(event: Event) -> None:
            seconds = round(event.seconds, 1)
            working.tell("step", {"text": event.text, "done": event.done, "seconds": seconds})

        session = self.session
        try:
            answer = await session.ask(asked.question, files=paths, listen=listen)
        except (ActionableError, RuntimeError, OSError) as error:
            working.tell("error", {"error": str(error)}, ends=True)
        else:
            shown = _shown(answer, len(session.turns) - 1)
            working.tell("answer", {**shown, "inputs": list(session.files)}, ends=True)

    async def _events(self, _: Request) -> Response:
        if self.working is None:
            raise HTTPException(404, "nothing is being worked on")
        return StreamingResponse(self.working.follow(), media_type="text/event-stream")

    async def _cancel(self, _: Request) -> Response:
        self.session.cancel("stopped")
        return JSONResponse({})

    async def _change(self, request: Request) -> Response:
        """Undo, drop an input, or open another conversation."""
        change = request.path_params["change"]
        name = (await _read(request, Change)).name
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
                raise HTTPException(404, "there is no such thing to do")
        self.working = None
        return JSONResponse({})

    async def _file(self, request: Request) -> Response:
        turn, name = request.path_params["turn"], request.path_params["name"]
        asked = dict(zip(map(str, range(len(self.session.turns))), self.session.turns, strict=True))
        found = [f for f in asked[turn].files if f.name == name] if turn in asked else []
        if not found:
            raise HTTPException(404, "there is no such file")
        # never a type that a browser would show: its content is hostile
        headers = {"Content-Disposition": "attachment"}
        return Response(found[0].data, headers=headers, media_type="application/octet-stream")


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


def _shown(answer: Answer, turn: int) -> dict[str, object]:
    files = [{"name": file.name, "size": file.size} for file in answer.files]
    shown = {"question": answer.question, "html": str(answer_html(answer)), "kind": answer.kind}
    return {**shown, "turn": turn, "files": files}


async def _refuse(_: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, status_code=error.status_code)
    return JSONResponse({"error": str(error)}, status_code=404)
