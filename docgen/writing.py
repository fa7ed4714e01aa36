"""Who writes documentation, and what a user can set about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel, Field, PositiveInt

#: ``written``: as it was written; ``facts``: docstring and signature; ``examples``: with examples
#: that ran; ``prose``: what a model wrote, without its example; ``all``: with examples that ran.
Content = Literal["written", "facts", "examples", "prose", "all"]


class WriteOptions(BaseModel, extra="forbid", frozen=True):
    """How documentation is written.

    Requests that fail and unusable replies count alike as tries; a reply out of the cache is none,
    it was one when it was paid for. Reaching a limit stops cleanly.
    """

    concurrency: PositiveInt = Field(8, description="requests in flight")
    attempts: PositiveInt = Field(3, description="tries per symbol")
    max_calls: PositiveInt | None = Field(
        None, description="stop after this many requests"
    )
    shipped: bool = Field(True, description="use texts that were shipped or imported")


@dataclass(frozen=True)
class WriterReply:
    """A reply of a chat model, and what it took; ``None`` is unknown.

    ``fault`` says how it ended, where it is not all of what the model had to say; ``cached``
    whether it was paid for earlier.
    """

    text: str
    fault: str | None = None
    cached: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


class WriterModel(Protocol):
    """A chat model that writes."""

    @property
    def name(self) -> str:
        """Under which its texts are stored."""
        ...

    async def ask(self, prompt: str, instructions: str = "") -> WriterReply:
        """Ask; raises whatever its provider raises when it fails."""
        ...
