"""An embedding, a reranker, a sandbox backend and prompts, as a package beside matsmith."""

from collections.abc import Sequence
from pathlib import Path

import matsmith  # noqa: F401 -- puts the packages of a wheel on the import path
from matsmith.extend import Backend, Hit, Reranker, SandboxConfig, bubblewrap


class Letters:
    """Counts of letters."""

    def __init__(self, alphabet: str = "abcdefghijklmnopqrstuvwxyz") -> None:
        self.alphabet = alphabet
        self.name = f"letters-{alphabet}"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [
            [1.0 + text.count(letter) for letter in self.alphabet] for text in texts
        ]


class ShortFirst(Reranker):
    """Moves short documents up."""

    def __init__(self, candidates: int = 20) -> None:
        self.candidates = candidates

    async def scores(self, query: str, hits: Sequence[Hit]) -> Sequence[float]:
        return [-float(len(hit.text)) for hit in hits]


class Counted(Backend):
    """Bubblewrap under another name."""

    def __init__(self, config: SandboxConfig) -> None:
        self.inner = bubblewrap(config)
        self.confinement = f"counted-{self.inner.confinement}"
        self.jail = self.inner.jail

    async def open(self):
        return await self.inner.open()


def prompts() -> Path:
    return Path(__file__).with_name("prompts")


class Parrot:
    """A model that always gives the same code."""

    async def __call__(self, body):
        text = (
            "<answer><code>```python\ndef f():\n    return {'a': 1}\n```</code>"
            "<name>f</name></answer>"
        )
        return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
