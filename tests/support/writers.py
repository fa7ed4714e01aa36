"""What writes documentation in tests: models without any network, and an endpoint."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pytest_httpserver import HTTPServer
from werkzeug import Response

from docgen.writing import WriterReply
from tests.support.endpoint import Body, Endpoint, text

_SECTION = re.compile(r"^<(\w+)>\n(.*?)\n</\1>$", re.MULTILINE | re.DOTALL)


def read_prompt(text: str) -> list[dict[str, str]]:
    """The marked sections of a documentation prompt, symbol by symbol."""
    found: list[dict[str, str]] = []
    for name, content in _SECTION.findall(text):
        if name == "symbol":
            found.append({})
        found[-1][name] = content
    return found


def write(prompt: str) -> str:
    """A reply to a documentation prompt: what the docstrings begin with."""
    return "\n\n".join(
        f"# {s['symbol']}\n## What it does\n"
        + (s.get("docstring", "").strip().partition("\n\n")[0] or "Something.")
        + "\n\n## Relations\n- Used by others.\n\n## Example\n```python\npass\n```"
        for s in read_prompt(prompt)
    )


@dataclass
class DocModel:
    """Writes documentation; keeps every prompt it was given."""

    name: str = "somebody"
    prompts: list[str] = field(default_factory=list)

    async def ask(self, prompt: str, instructions: str = "") -> WriterReply:
        self.prompts.append(prompt)
        await asyncio.sleep(0)
        return WriterReply(self.reply(prompt))

    def reply(self, prompt: str) -> str:
        return write(prompt)


@dataclass
class StubbornModel(DocModel):
    """Refuses the symbols it is told to refuse, with the given text or an exception."""

    refuse: dict[str, str] = field(default_factory=dict)

    def reply(self, prompt: str) -> str:
        for name, answer in self.refuse.items():
            if f"<symbol>\n{name}\n</symbol>" in prompt:
                if answer == "raise":
                    raise ConnectionError("refused")
                return answer
        return write(prompt)


def rows(path: Path) -> dict[str, dict[str, object]]:
    return {
        row["qualname"]: row for row in map(json.loads, path.read_text().splitlines())
    }


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


def local(url: str) -> list[str]:
    words = [
        "model=openai",
        "model.name=local",
        "model.cache=false",
        "model.max_retries=0",
    ]
    return [*words, f"model.base_url={url}"]


def arguments(package: Path, out: Path, url: str) -> list[str]:
    return [
        "package=brickwork",
        f"folder={package}",
        f"out={out}",
        "model.timeout=2",
        "model.price.prompt=1",
        "model.price.completion=2",
        *local(url),
    ]
