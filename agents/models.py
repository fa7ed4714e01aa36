"""Chat models by configuration, with usage, cost, cache and bounded failure."""

from __future__ import annotations

import asyncio
import importlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from pydantic import SecretStr

from agents.base import Usage
from agents.model_config import ModelConfig, Price
from agents.replies import ReplyCache, request_key
from agents.traffic import Recorder, Replay

if TYPE_CHECKING:  # LangChain takes a second to import, langchain_openai two
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


def build_model(
    config: ModelConfig, *, concurrency: int = 8, cache: Path | None = None
) -> ModelClient:
    """Build the chat model that ``config`` describes.

    Parameters
    ----------
    config
        The validated ``model`` group.
    concurrency
        Requests in flight at once.
    cache
        Folder of the response cache; ``None`` for none.

    Raises
    ------
    ValueError
        When a key is missing, ``path`` names no chat model, or ``replay`` cannot be read.
    """
    replies = None
    # The model without an LLM is faster than its cache.
    if cache is not None and config.cache and config.llm:
        replies = ReplyCache(cache / "replies.sqlite")
    return ModelClient(
        _chat(config),
        config,
        price=find_price(config),
        cache=replies,
        record=Recorder(config.record) if config.record else None,
        replay=Replay.load(config.replay) if config.replay else None,
        concurrency=concurrency,
    )


def _chat(config: ModelConfig) -> BaseChatModel:
    if config.replay:
        from agents.unreachable import Unreachable  # noqa: PLC0415 - see above

        return Unreachable()
    if config.provider == "rules":
        # Imported here because the rules read prompts of every other part.
        from agents.rules import RulesChatModel  # noqa: PLC0415

        return RulesChatModel(**config.options)
    if config.provider == "class":
        return _chat_class(config)
    base_url = config.base_url or os.environ.get("OPENAI_BASE_URL")
    key = os.environ.get("OPENAI_API_KEY")
    if not key and not base_url:
        raise ValueError(
            "model: no OPENAI_API_KEY in the environment. Set it, or point model.base_url at an "
            "OpenAI-compatible endpoint that needs none, or use model=rules (no LLM)."
        )
    from langchain_openai import ChatOpenAI  # noqa: PLC0415 - see above

    return ChatOpenAI(
        model=config.name,
        base_url=base_url,
        api_key=SecretStr(key or "none"),
        temperature=config.temperature,
        max_completion_tokens=config.max_tokens,
        timeout=config.timeout,
        max_retries=config.max_retries,
        **config.options,
    )


def _chat_class(config: ModelConfig) -> BaseChatModel:
    from langchain_core.language_models import BaseChatModel  # noqa: PLC0415 - see above

    module, _, name = (config.path or "").rpartition(".")
    try:
        target = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"model.path: cannot import {config.path!r}: {error}") from error
    chat = target(**config.options)
    if not isinstance(chat, BaseChatModel):
        raise ValueError(f"model.path: {config.path!r} is no LangChain chat model")  # noqa: TRY004
    return chat


def find_price(config: ModelConfig) -> Price | None:
    """What the model costs: as configured, else from the table; ``None`` is unknown."""
    if config.price is not None:
        return config.price
    table = yaml.safe_load((Path(__file__).parent / "prices.yaml").read_text())
    base_url = config.base_url or os.environ.get("OPENAI_BASE_URL") or table["endpoint"]
    entry = table["models"].get(config.name)
    # A local server may give its model any name: the vendor's prices hold for the vendor only.
    if config.provider != "openai" or entry is None:
        return None
    return Price(**entry) if base_url.rstrip("/") == table["endpoint"] else None
