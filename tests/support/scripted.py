"""Deterministic parts for the tests: a model that replies from a list, and a list of documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.models import ModelClient, ModelConfig
from docgen.symbols import Chunk
from retrieval.base import Hit, RetrievalError, Retriever


class ScriptedModel:
    """Replies with the next text, or raises it when it is an exception; keeps what it was sent."""

    def __init__(self, script: Sequence[Any]) -> None:
        self.script = script
        self.bodies: list[dict[str, Any]] = []

    @property
    def prompts(self) -> list[str]:
        return [
            "\n".join(str(m["content"]) for m in body["messages"])
            for body in self.bodies
        ]

    async def __call__(self, body: dict[str, Any]) -> Any:
        self.bodies.append(body)
        reply = self.script[min(len(self.bodies), len(self.script)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return {"choices": [{"message": {"content": reply}}]}


def client(*script: Any) -> tuple[ModelClient, ScriptedModel]:
    """A model client over a script, and the script's model to look into."""
    model = ScriptedModel(script)
    config = ModelConfig(provider="class", name="scripted", path="tests", cache=False)
    return ModelClient(model, config), model


def code_reply(body: str) -> str:
    """A reply that keeps the answer contract."""
    code = "def f():\n" + "\n".join(f"    {line}" for line in body.splitlines())
    return f"<answer><code>```python\n{code}\n```</code><name>f</name></answer>"


class ListRetriever(Retriever):
    """Documents by name; every search returns the first ``k``."""

    name = "list"

    def __init__(self, *names: str, fail: bool = False) -> None:
        self.documents = [
            Hit(Chunk(n, n, f"about {n}", path="p.py"), 1.0) for n in names
        ]
        self.fail = fail
        self.queries: list[str] = []

    async def search(self, query: str, *, k: int) -> Sequence[Hit]:
        if self.fail:
            raise RetrievalError("the index is gone; build it again")
        self.queries.append(query)
        return self.documents[:k]

    async def lookup(self, name: str) -> Hit | None:
        return next((d for d in self.documents if d.entry.qualname == name), None)
