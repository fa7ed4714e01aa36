"""A conversation over HTTP: what the page shows, and what it asks for."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agents.assistant import Answer, Session
from agents.assistant.html import STYLE, answer_html
from agents.web.guard import Guard
from retrieval.base import RetrievalError
from sandbox.base import SandboxError
from sandbox.command import UsageError

HERE = Path(__file__).parent
BODY = 40_000_000  # bytes of a request: a question and its files
STATIC = {"/": "page.html", "/page.js": "page.js"}


class Upload(BaseModel):
    """A file that the user chose: its name, and its content in base64."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(pattern=r"^[\w+-][\w .+()-]{0,99}$")]
    data: str


class Asked(BaseModel):
    """A question as the page sends it."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, Field(min_length=1, max_length=100_000)]
    files: list[Upload] = []
    timeout: Annotated[float, Field(gt=0)] | None = None


class Page:
    """The routes over one conversation.

    Parameters
    ----------
    session
        The conversation that the page shows.
    inputs
        A folder for the files that a user uploads.
    """

    def __init__(self, session: Session, inputs: Path) -> None:
        self.session = session
        self.inputs = inputs

    def app(self, *, port: int, token: str) -> Starlette:
        """The application, guarded."""
        routes = [
            *(Route(path, self._static) for path in STATIC),
            Route("/page.css", self._css),
            Route("/api/history", self._history),
            Route("/api/ask", self._ask, methods=["POST"]),
            Route("/api/cancel", self._cancel, methods=["POST"]),
            Route("/api/undo", self._undo, methods=["POST"]),
            Route("/api/files/{turn:int}/{name:path}", self._file),
        ]
        handlers = {HTTPException: _refuse}
        middleware = [Middleware(Guard, port=port, token=token)]
        return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)

    async def _static(self, request: Request) -> Response:
        return FileResponse(HERE / STATIC[request.url.path])

    async def _css(self, _: Request) -> Response:
        return Response((HERE / "page.css").read_text("utf-8") + STYLE, media_type="text/css")

    async def _history(self, _: Request) -> Response:
        runtime = self.session.assistant.runtime
        name = runtime.model.name + ("" if runtime.model.llm else " (no LLM)")
        turns = [_shown(answer, n) for n, answer in enumerate(self.session.turns)]
        return JSONResponse({"model": name, "inputs": sorted(self.session.files), "turns": turns})

    async def _ask(self, request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > BODY:
                raise HTTPException(413, f"question and files are more than {BODY:,} bytes")
        try:
            asked = Asked.model_validate_json(body)
            paths = [self._keep(upload) for upload in asked.files]
        except (ValidationError, binascii.Error) as error:
            raise HTTPException(400, str(error).replace("\n", " ")[:300]) from error
        if self.session.busy:
            raise HTTPException(409, "another question is being worked on")
        return StreamingResponse(self._events(asked, paths), media_type="text/event-stream")

    def _keep(self, upload: Upload) -> Path:
        path = self.inputs / upload.name
        path.write_bytes(base64.b64decode(upload.data, validate=True))
        return path

    async def _events(self, asked: Asked, paths: list[Path]) -> AsyncIterator[str]:
        """Steps as they happen, then the answer; a page that is closed gives the question up."""
        session = self.session
        try:
            async for item in session.stream(asked.question, files=paths, timeout=asked.timeout):
                if isinstance(item, Answer):
                    yield _event("answer", _shown(item, len(session.turns) - 1))
                else:
                    yield _event("step", {"text": item.text, "done": item.done,
                                          "seconds": round(item.seconds, 1)})  # fmt: skip
        except (UsageError, SandboxError, RetrievalError, RuntimeError) as error:
            yield _event("error", {"error": str(error)})

    async def _cancel(self, _: Request) -> Response:
        self.session.cancel("stopped")
        return JSONResponse({})

    async def _undo(self, _: Request) -> Response:
        if self.session.busy:
            raise HTTPException(409, "a question is being worked on")
        self.session.undo()
        return JSONResponse({})

    async def _file(self, request: Request) -> Response:
        turn, name = request.path_params["turn"], request.path_params["name"]
        turns = self.session.turns
        found = [f for f in turns[turn].files if f.name == name] if 0 <= turn < len(turns) else []
        if not found:
            raise HTTPException(404, "there is no such file")
        # never a type that a browser would show: its content is hostile
        headers = {"Content-Disposition": "attachment"}
        return Response(found[0].data, headers=headers, media_type="application/octet-stream")


def _shown(answer: Answer, turn: int) -> dict[str, object]:
    files = [{"name": file.name, "size": file.size} for file in answer.files]
    shown = {"question": answer.question, "html": str(answer_html(answer)), "kind": answer.kind}
    return {**shown, "turn": turn, "files": files}


def _event(kind: str, data: object) -> str:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"


async def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, status_code=error.status_code)
