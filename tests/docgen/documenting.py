"""``python -m docgen`` against the endpoint of the tests, which repeats docstrings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pytest_httpserver import HTTPServer
from werkzeug import Response

from tests.docgen.models import read_prompt, write
from tests.endpoint import Body, Endpoint, text


def rows(path: Path) -> dict[str, dict[str, object]]:
    return {row["qualname"]: row for row in map(json.loads, path.read_text().splitlines())}


class Documenting(Endpoint):
    """Documents the symbol it is asked for, unless ``misbehave`` says otherwise.

    Attributes
    ----------
    asked
        How often each symbol was asked for.
    requests_made
        How many requests that took.
    misbehave
        From the symbol and how often it has been asked for to what is sent instead.
    """

    def __init__(self, server: HTTPServer) -> None:
        super().__init__(server)
        self.asked: Counter[str] = Counter()
        self.requests_made = 0
        self.misbehave: Callable[[str, int], Response | None] = lambda name, count: None
        self.play(self._document)

    def _document(self, body: Body) -> Response:
        prompt = body["messages"][-1]["content"]
        self.requests_made += 1
        bad = None
        for symbol in read_prompt(prompt):
            name = symbol["symbol"]
            self.asked[name] += 1
            bad = self.misbehave(name, self.asked[name]) or bad
        return bad or text(write(prompt))


def arguments(package: Path, out: Path, url: str) -> list[str]:
    return [
        "package=brickwork",
        f"folder={package}",
        f"out={out}",
        "model=openai",
        "model.name=local",
        f"model.base_url={url}",
        "model.cache=false",
        "model.timeout=2",
        "model.price.prompt=1",
        "model.price.completion=2",
        "model.max_retries=0",
    ]
