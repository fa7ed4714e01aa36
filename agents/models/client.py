"""A chat model with usage, cost, cache and bounded failure."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agents.base import Usage
from agents.models.cache import ReplyCache, request_key
from agents.models.config import ModelConfig, Price
from agents.models.traffic import Recorder, Replay

if TYPE_CHECKING:  # slow to import
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage

CHARACTERS_PER_TOKEN = 4.0  # only where an endpoint reports no usage; such counts say so

#: Keys of the configuration that do not change what a model answers to the same messages.
NOT_IDENTITY = {
    "timeout", "max_retries", "price", "cache", "documents", "document_characters", "record",
    "replay",
}  # fmt: skip


class ModelError(Exception):
    """The endpoint failed after its retries: infrastructure, never a wrong answer."""


@dataclass(frozen=True)
class Reply:
    """A model's text and what it took."""

    text: str
    usage: Usage
    seconds: float
    cached: bool = False


class ModelClient:
    """A chat model together with everything a fair experiment needs around it.

    Parameters
    ----------
    chat
        Any LangChain chat model.
    config
        Identity and limits.
    price
        ``None`` is unknown.
    cache
        ``None`` switches caching off.
    record, replay
        Where traffic is kept, and where it comes from instead of ``chat``.
    concurrency
        Requests in flight at once.
    """

    def __init__(
        self,
        chat: BaseChatModel,
        config: ModelConfig,
        *,
        price: Price | None = None,
        cache: ReplyCache | None = None,
        record: Recorder | None = None,
        replay: Replay | None = None,
        concurrency: int = 8,
    ) -> None:
        self.chat = chat
        self.config = config
        self.name = config.name
        self.llm = config.llm
        self._price = price
        self._cache = cache
        self._record = record
        self._replay = replay
        self._slots = asyncio.Semaphore(concurrency)
        # Backoff of the client is at most 8 s per retry; the rest of the margin is for queues.
        self._deadline = (config.timeout + 10.0) * (config.max_retries + 1)
        self._identity = config.model_dump(exclude=NOT_IDENTITY)

    async def ask(self, messages: Sequence[BaseMessage], *, sample: str) -> Reply:
        """Send ``messages`` and return the reply.

        Parameters
        ----------
        messages
            The conversation.
        sample
            Which sample of the same request this is (seed and position in the trajectory).

        Raises
        ------
        ModelError
            When the endpoint failed after all retries, or sent something that is no reply.
        """
        if self._replay is not None:
            return self._replayed(self._replay, messages, sample)
        try:
            reply = await self._answer(messages, sample)
        except ModelError as error:
            if self._record is not None:
                self._record.failure(self._identity, messages, sample, str(error))
            raise
        if self._record is not None:
            self._record.reply(self._identity, messages, sample, vars(reply))
        return reply

    def _replayed(self, replay: Replay, messages: Sequence[BaseMessage], sample: str) -> Reply:
        found = replay.find(self._identity, messages, sample)
        if found is None:
            raise ModelError(
                f"{self.name}: {replay.path} holds no reply to this prompt. It was recorded with "
                "another configuration, other documents or other library versions."
            )
        if "error" in found:
            raise ModelError(found["error"])
        return Reply(**{**found["reply"], "usage": Usage(**found["reply"]["usage"])})

    async def _answer(self, messages: Sequence[BaseMessage], sample: str) -> Reply:
        key = request_key(self._identity, messages, sample)
        if self._cache is not None and (stored := self._cache.get(key)) is not None:
            usage = replace(Usage(**stored["usage"]), calls=0, cached_calls=1, cost_usd=0.0)
            return Reply(stored["text"], usage, 0.0, cached=True)
        async with self._slots:
            started = time.monotonic()
            message = await self._send(list(messages))
            seconds = time.monotonic() - started
        text = message.text if isinstance(message.text, str) else str(message.content)
        usage = self._usage(messages, text, message)
        if self._cache is not None and text.strip():
            self._cache.put(key, {"text": text, "usage": vars(usage)})
        return Reply(text, usage, seconds)

    async def _send(self, messages: list[BaseMessage]) -> AIMessage:
        try:
            async with asyncio.timeout(self._deadline):
                return await self.chat.ainvoke(messages)
        except TimeoutError as error:
            raise ModelError(f"{self.name}: no reply within {self._deadline:.0f} s") from error
        # An endpoint can send anything; clients raise accordingly (openai errors, JSON and
        # pydantic errors, TypeErrors on missing fields). All of them mean: no reply.
        except Exception as error:
            reason = " ".join(str(error).split())[:500]
            url = getattr(getattr(error, "request", None), "url", "")
            where = f" ({url})" if url else ""
            raise ModelError(f"{self.name}: {type(error).__name__}: {reason}{where}") from error

    def _usage(self, messages: Sequence[BaseMessage], text: str, message: AIMessage) -> Usage:
        reported = message.usage_metadata
        if reported is not None:
            prompt, completion = reported["input_tokens"], reported["output_tokens"]
        else:
            characters = sum(len(m.text) for m in messages)
            prompt = round(characters / CHARACTERS_PER_TOKEN)
            completion = round(len(text) / CHARACTERS_PER_TOKEN)
        cost: float | None = None
        if not self.llm:
            cost = 0.0
        elif self._price is not None and reported is not None:
            cost = (prompt * self._price.prompt + completion * self._price.completion) / 1e6
        return Usage(
            calls=1,
            prompt_tokens=prompt,
            completion_tokens=completion,
            estimated=reported is None,
            cost_usd=cost,
        )
