"""Texts that are asked for outside of answers: documentation, graphs, texts about a library."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agents.base import Usage
from agents.budget import Meter
from agents.models.calls import Message
from agents.models.client import ModelClient, build_model
from agents.models.config import find_price, read_config
from agents.models.reply import ModelError
from docgen.writing import WriterReply


@dataclass
class Chat:
    """Asks a client for texts, and adds up what that took; see `docgen.replies.Chat`.

    Equal requests are numbered, so that asking again gets another sample instead of the cached
    one; a second process gets the same samples, from the cache. What is asked counts against
    ``meter``, and nothing is asked once that is used up.
    """

    client: ModelClient
    meter: Meter = field(default_factory=Meter)
    usage: Usage = field(default_factory=Usage)
    _asked: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """Under which texts are stored."""
        return self.client.name

    async def ask(self, prompt: str, instructions: str = "") -> WriterReply:
        """Ask; raises `ModelError` when the endpoint failed after its retries."""
        if (exceeded := self.meter.exceeded()) is not None:
            raise ModelError(f"not asked: {exceeded}")
        system = [Message("system", instructions)] if instructions else []
        messages = [*system, Message("user", prompt)]
        sample = str(self._asked[instructions, prompt])
        self._asked[instructions, prompt] += 1
        reply = await self.client.ask(messages, sample=sample)
        usage = reply.usage
        self.usage += usage
        self.meter.usage += replace(usage, cached_calls=0)
        counts = (usage.prompt_tokens, usage.completion_tokens)
        asked, replied = (None, None) if usage.estimated else counts
        return WriterReply(
            reply.text, reply.fault, reply.cached, asked, replied, usage.cost_usd
        )


@asynccontextmanager
async def open_chat(
    config: Mapping[str, Any],
    *,
    concurrency: int = 8,
    cache: Path | None = None,
    priced: bool = False,
) -> AsyncIterator[Chat]:
    """Build who is asked, and close its connections at the end.

    A `ValueError` says in one line what is wrong, or that a price is wanted and unknown.
    """
    checked = read_config(config)
    if priced and find_price(checked) is None:
        raise ValueError(
            f"the price of {checked.name} is unknown, so its cost cannot be limited; set "
            "price.prompt and price.completion (US dollars per million tokens)"
        )
    client = build_model(checked, concurrency=concurrency, cache=cache)
    try:
        yield Chat(client)
    finally:
        await client.close()
