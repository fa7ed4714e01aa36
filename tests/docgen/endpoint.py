"""An OpenAI-compatible endpoint on this machine, and ``python -m docgen`` against it."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from docgen.rules_writer import write


def rows(path: Path) -> dict[str, dict[str, object]]:
    return {row["qualname"]: row for row in map(json.loads, path.read_text().splitlines())}


def lines(path: Path) -> list[str]:
    """Complete lines of a file that may be growing."""
    if not path.exists():
        return []
    return [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


class Endpoint:
    """An OpenAI-compatible endpoint that can be told to misbehave."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = server.url_for("/v1")
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.misbehave: Callable[[str, int], Response | None] = lambda name, count: None
        self.delay = 0.0
        self.times: list[tuple[str, float]] = []
        server.expect_request("/v1/chat/completions").respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        prompt = request.get_json()["messages"][-1]["content"]
        name = prompt.split("<symbol>\n")[1].splitlines()[0]
        self.asked[name] += 1
        self.times.append((name, time.monotonic()))
        time.sleep(self.delay)
        bad = self.misbehave(name, self.asked[name])
        if bad is not None:
            return bad
        self.answered[name] += 1
        return completion(write(prompt))


def completion(text: str | None, ended: str = "stop") -> Response:
    payload = {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "local",
        "choices": [
            {
                "index": 0,
                "finish_reason": ended,
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
    }
    return Response(json.dumps(payload), content_type="application/json")


def arguments(package: Path, out: Path, url: str) -> list[str]:
    return [
        "package=brickwork",
        f"folder={package}",
        f"out={out}",
        "model=openai",
        "set.name=local",
        f"set.base_url={url}",
        "set.cache=false",
        "set.timeout=2",
        "set.price.prompt=1",
        "set.price.completion=2",
        "backoff=0",
    ]
