"""The one OpenAI-compatible endpoint of the tests, on loopback: it plays well, or badly.

``Endpoint(httpserver).play(text("hi"), status(429), ...)`` serves the plays in order, the last one
for ever. A play is a text, a response, or a function of the request's body. ``KeepAlive()`` is a
server that keeps connections open.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response
from werkzeug.serving import WSGIRequestHandler

from agents.models import ModelConfig

Body = dict[str, Any]
Play = str | Response | Callable[[Body], Response]
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


class Endpoint:
    """Chat completions as told.

    Parameters
    ----------
    server
        Where.
    deployment
        What stands between ``/v1`` and ``/chat/completions``.

    Attributes
    ----------
    bodies, requests
        What was asked, in order.
    """

    def __init__(self, server: HTTPServer, deployment: str = "") -> None:
        self.url = server.url_for("/v1")
        self.bodies: list[Body] = []
        self.requests: list[Request] = []
        self._plays: tuple[Play, ...] = ("hi",)
        path = f"/v1{deployment}/chat/completions"
        server.expect_request(path, method="POST").respond_with_handler(self._answer)

    def play(self, *plays: Play) -> Endpoint:
        """From now on serve these."""
        self._plays = plays
        self.bodies.clear()
        self.requests.clear()
        return self

    @property
    def prompts(self) -> list[str]:
        """The text of each request."""
        return [
            "\n".join(str(m["content"]) for m in body["messages"])
            for body in self.bodies
        ]

    def _answer(self, request: Request) -> Response:
        body = json.loads(request.get_data())
        self.bodies.append(body)
        self.requests.append(request)
        return respond(self._plays[min(len(self.bodies), len(self._plays)) - 1], body)


def config(at: Endpoint | HTTPServer, **changes: object) -> ModelConfig:
    """A model there, which is asked once."""
    url = at.url if isinstance(at, Endpoint) else at.url_for("/v1")
    plain = {"provider": "openai", "name": "local", "base_url": url, "max_retries": 0}
    return ModelConfig.model_validate(plain | changes)


class _KeepAliveHandler(WSGIRequestHandler):
    """Without werkzeug's ``Connection: close``, and without its reading on after a request."""

    protocol_version = "HTTP/1.1"

    def run_wsgi(self) -> None:
        response = Response.from_app(self.server.app, self.make_environ())
        self.send_response(response.status_code)
        for name, value in response.headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.get_data())


class KeepAlive(HTTPServer):
    """Keeps connections open, as real endpoints do: a context manager."""

    def __init__(self) -> None:
        super().__init__(threaded=True)

    def start(self) -> None:
        """Start listening."""
        super().start()
        assert self.server is not None
        self.server.RequestHandlerClass = _KeepAliveHandler


def respond(play: Play, body: Body) -> Response:
    """What a play answers to a request."""
    if isinstance(play, str):
        return text(play)
    return play if isinstance(play, Response) else play(body)


def message(
    content: str | None,
    *,
    ended: str | None = "stop",
    usage: Any = USAGE,
    **fields: Any,
) -> Response:
    """A chat completion; ``fields`` stand beside ``content``; ``usage=None`` reports none."""
    body: Body = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "played",
        "choices": [
            {
                "index": 0,
                "finish_reason": ended,
                "message": {"role": "assistant", "content": content, **fields},
            }
        ],
    }
    if usage is not None:
        body["usage"] = usage
    return Response(json.dumps(body), content_type="application/json")


def text(content: str, **fields: Any) -> Response:
    """A plain answer."""
    return message(content, **fields)


def reasoned(thought: str, content: str, field: str = "reasoning_content") -> Response:
    """Thoughts in a field of their own."""
    return message(content, **{field: thought})


def cut_off(content: str) -> Response:
    """A reply that reached its token limit."""
    return message(content, ended="length")


def filtered(content: str = "") -> Response:
    """A reply that the content filter withheld."""
    return message(content, ended="content_filter")


def refusal(why: str = "I cannot help with that.") -> Response:
    """A refusal in its field."""
    return message(None, refusal=why)


def tool_call(name: str = "search", arguments: str = "{}") -> Response:
    """A call instead of an answer."""
    return tool_calls((name, arguments))


def tool_calls(
    *calls: tuple[str, str], content: str | None = None, **fields: Any
) -> Response:
    """Calls by name and arguments, as ``call_1``, ``call_2``, ..."""
    listed = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for number, (name, arguments) in enumerate(calls, 1)
    ]
    return message(content, ended="tool_calls", tool_calls=listed, **fields)


def status(code: int, text: str = "", **headers: str) -> Response:
    """A status; ``retry_after="0"`` becomes a header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(text, status=code, headers=named)


def refusing(*names: str, then: Play = "hi", instead: str | None = None) -> Play:
    """A 400 as OpenAI words it as long as one of the parameters is sent, else ``then``."""

    def play(body: Body) -> Response:
        for name in names:
            if name in body:
                hint = f" Use '{instead}' instead." if instead else ""
                error: Mapping[str, Any] = {
                    "message": f"Unsupported parameter: '{name}' is not supported with this model."
                    + hint,
                    "type": "invalid_request_error",
                    "param": name,
                    "code": "unsupported_parameter",
                }
                return Response(
                    json.dumps({"error": error}),
                    status=400,
                    content_type="application/json",
                )
        return respond(then, body)

    return play


def closed(content: str = "half of an ans") -> Response:
    """The connection ends in the middle of the body."""
    response = text(content)
    whole = response.get_data()
    response = Response(whole[: len(whole) // 2], content_type="application/json")
    response.automatically_set_content_length = False
    response.headers["Content-Length"] = str(len(whole))
    return response


def late(seconds: float, then: Play) -> Play:
    """``then`` after a while."""

    def play(body: Body) -> Response:
        time.sleep(seconds)
        return respond(then, body)

    return play
