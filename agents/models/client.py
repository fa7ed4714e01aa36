"""A chat model with usage, cost, cache and bounded failure."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from agents.base import Usage
from agents.models.cache import ReplyCache, request_key
from agents.models.calls import as_text, calls_of, raw_of, read_calls
from agents.models.config import ModelConfig, Price
from agents.models.content import sendable, sendable_text
from agents.models.counting import CHARACTERS_PER_TOKEN, counted, tokens_of
from agents.models.logprobs import asking, first_tokens, read_prompt
from agents.models.pace import Reserve, endpoint_of, limits_of, reserve_here
from agents.models.parameters import (
    adjusted,
    overflows,
    refuses_logprobs,
    refuses_tools,
    reply_limit,
    with_limit,
)
from agents.models.reply import Reply, fault_of, reasoning_of
from agents.models.traffic import Recorder, Replay

if TYPE_CHECKING:  # slow to import
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage

#: Keys of the configuration that do not change what a model answers to the same messages.
NOT_IDENTITY = {
    "timeout", "max_retries", "price", "cache", "documents", "document_characters", "record",
    "replay", "tools", "context_tokens", "images", "requests_per_minute", "tokens_per_minute",
}  # fmt: skip


#: Statuses worth retrying, besides 5xx.
_TRANSIENT = frozenset({408, 409, 429})

_LOG = logging.getLogger(__name__)


Tools = Sequence[Mapping[str, Any]]


class ModelError(Exception):
    """The endpoint failed after its retries: infrastructure, never a wrong answer."""


class ContextError(ModelError):
    """The prompt is longer than the model can read: a wrong answer, no failed endpoint."""


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
    retries
        Whether ``chat`` itself tries again after a passing failure; else it is done here.
    reserve
        Where requests are counted against the limits per minute.

    Attributes
    ----------
    adjustments
        What endpoint and client have agreed to change about the requests, in order.
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
        retries: bool = True,
        reserve: Reserve = reserve_here,
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
        self._reserve = reserve
        self.adjustments: list[str] = []
        self._tools_as_text = config.tools == "text"
        self._logprobs = True  # until the endpoint refuses them
        self._tries = 1 if retries else config.max_retries + 1
        # Backoff of the client is at most 8 s per retry; the rest of the margin is for queues.
        self._deadline = (config.timeout + 10.0) * (config.max_retries + 1 if retries else 1)
        self._plain_identity = config.model_dump(exclude=NOT_IDENTITY)

    async def ask(
        self,
        messages: Sequence[BaseMessage],
        *,
        sample: str,
        extend: bool = True,
        tools: Tools = (),
        logprobs: int = 0,
    ) -> Reply:
        """Send ``messages`` and return the reply.

        Parameters
        ----------
        messages
            The conversation.
        sample
            Which sample of the same request this is (seed and position in the trajectory).
        extend
            Whether a reply that was cut off at the limit may be asked for once more, with twice
            the limit; that is a second call.
        tools
            Tools that the model may call, as OpenAI's API describes functions. To a model without
            tool calling they are offered as text (``model.tools``); the reply is the same.
        logprobs
            How many alternatives of the first tokens to ask for, with their log-probabilities;
            an endpoint that has none replies without them.

        Raises
        ------
        ContextError
            When the prompt is longer than the model's window.
        ModelError
            When the endpoint failed after all retries, or sent something that is not a reply.
        """
        window = self.config.context_tokens
        if window is not None and (length := tokens_of(messages, tools)) > window:
            raise ContextError(
                f"{self.name}: the prompt has about {length} tokens, model.context_tokens={window}"
            )
        make = partial(self._answer, messages, tools, extend=extend, logprobs=logprobs)
        identity = self._identity(tools, **({"logprobs": logprobs} if logprobs else {}))
        return await self._once(identity, messages, sample, tools, make)

    async def read(self, text: str) -> Reply:
        """Have a text read, not answered: ``tokens`` has each token's log-probability and rank.

        They are ``None`` where the endpoint does not tell them.

        Raises
        ------
        ModelError
            When the endpoint failed after all retries.
        """
        from langchain_core.messages import HumanMessage  # noqa: PLC0415 - slow to import

        asked = [HumanMessage(text)]
        identity = self._identity((), reads="prompt")
        return await self._once(identity, asked, "0", (), partial(self._read, text))

    async def _once(
        self,
        identity: Mapping[str, Any],
        messages: Sequence[BaseMessage],
        sample: str,
        tools: Tools,
        make: Callable[[], Awaitable[Reply]],
    ) -> Reply:
        """What ``make`` returns, or what was recorded or cached of the same request."""
        if self._replay is not None:
            return self._replayed(self._replay, identity, messages, sample, tools)
        key = request_key(identity, messages, sample, tools)
        try:
            reply = self._cached(key)
            if reply is None:
                reply = await make()
                known = reply.text.strip() or reply.tool_calls or reply.tokens is not None
                if self._cache is not None and known:
                    self._cache.put(key, reply.stored())
        except ModelError as error:
            if self._record is not None:
                context = isinstance(error, ContextError)
                self._record.failure(identity, messages, sample, str(error), tools, context=context)
            raise
        if self._record is not None:
            self._record.reply(identity, messages, sample, reply.stored(), tools)
        return reply

    def _identity(self, tools: Tools, **asked: Any) -> dict[str, Any]:
        """What a request is told apart by; how tools are offered changes what the model reads."""
        return {**self._plain_identity, **({"tools": self.config.tools} if tools else {}), **asked}

    async def close(self) -> None:
        """Close the connections, in the event loop that opened them."""
        connections = getattr(self.chat, "http_async_client", None)
        if connections is not None:
            await connections.aclose()
        if self._cache is not None:
            self._cache.close()

    def _replayed(
        self,
        replay: Replay,
        identity: Mapping[str, Any],
        messages: Sequence[BaseMessage],
        sample: str,
        tools: Tools,
    ) -> Reply:
        found = replay.find(identity, messages, sample, tools)
        if found is None:
            raise ModelError(
                f"{self.name}: {replay.path} contains no reply to this prompt. It was recorded "
                "with another configuration, other documents or other library versions."
            )
        if "error" in found:
            raise (ContextError if found.get("context") else ModelError)(found["error"])
        return Reply.load(found["reply"])

    def _cached(self, key: str) -> Reply | None:
        stored = self._cache.get(key) if self._cache is not None else None
        if stored is None:
            return None
        reply = Reply.load(stored)
        usage = replace(reply.usage, calls=0, cached_calls=1, cost_usd=0.0)
        return replace(reply, usage=usage, seconds=0.0, cached=True)

    async def _answer(
        self, messages: Sequence[BaseMessage], tools: Tools, *, extend: bool, logprobs: int
    ) -> Reply:
        async with self._slots:
            reply = await self._exchange(messages, tools, logprobs=logprobs)
            limit = reply_limit(self.chat)
            if reply.fault == "length" and limit is not None and extend and not logprobs:
                reply = await self._longer(messages, tools, reply, 2 * limit)
        return reply

    async def _read(self, text: str) -> Reply:
        started = time.monotonic()
        try:
            async with self._slots, asyncio.timeout(self._deadline):
                made = await read_prompt(self.chat, sendable_text(text))
        except Exception as error:  # as in `_send`: whatever the endpoint makes of it
            raise self._failure(error) from error
        seconds = time.monotonic() - started
        if made is None:
            return Reply("", Usage(), seconds)
        count = made.count or round(len(text) / CHARACTERS_PER_TOKEN)
        usage = self._spent(count, 1, made.count is None)
        return Reply("", usage, seconds, tokens=made.tokens)

    async def _longer(
        self, messages: Sequence[BaseMessage], tools: Tools, cut: Reply, limit: int
    ) -> Reply:
        """The reply once more with another limit; ``cut`` when the endpoint does not accept it."""
        note = f"max_tokens {limit // 2} -> {limit} after a reply that was cut off"
        try:
            reply = await self._exchange(messages, tools, limit)
        except ModelError as error:
            return replace(cut, adjusted=(*cut.adjusted, f"{note}: {error}"))
        return replace(
            reply,
            usage=cut.usage + reply.usage,
            seconds=cut.seconds + reply.seconds,
            adjusted=(*reply.adjusted, note),
        )

    async def _exchange(
        self,
        messages: Sequence[BaseMessage],
        tools: Tools,
        limit: int | None = None,
        logprobs: int = 0,
    ) -> Reply:
        expected = round(sum(len(m.text) for m in messages) / CHARACTERS_PER_TOKEN)
        await asyncio.sleep(await self._room({"requests": 1, "tokens": expected}))
        started = time.monotonic()
        message = await self._send([sendable(m) for m in messages], tools, limit, logprobs)
        text = str(message.text if isinstance(message.text, str) else message.content)
        usage = self._spent(*counted(messages, tools, text, message))
        await self._room({"tokens": usage.tokens - expected})
        calls, raw = (calls_of(message), raw_of(message)) if tools else ((), None)
        if tools and not calls:  # also from an endpoint that leaves calls in the text
            text, calls = read_calls(text, tools)
        return Reply(
            text,
            usage,
            time.monotonic() - started,
            reasoning=reasoning_of(message),
            fault=fault_of(message, calls),
            adjusted=tuple(self.adjustments),
            tool_calls=calls,
            raw=raw,
            logprobs=first_tokens(message) if logprobs else None,
        )

    async def _room(self, amounts: Mapping[str, int]) -> float:
        """Count requests and tokens against the limits per minute; seconds to wait."""
        limits = limits_of(self.config)
        if not limits:
            return 0.0
        try:
            return await self._reserve(endpoint_of(self.config), limits, amounts)
        except OSError as error:
            raise ModelError(f"{self.name}: nobody counts the requests: {error}") from error

    async def _send(
        self, messages: list[BaseMessage], tools: Tools, limit: int | None, logprobs: int
    ) -> AIMessage:
        """Send, and again without what the endpoint refuses."""
        while True:
            chat, as_plain = self.chat, self._tools_as_text
            sent = as_text(messages, tools) if tools and as_plain else messages
            kind = chat if limit is None else with_limit(chat, limit)
            telling = asking(kind, logprobs) if logprobs and self._logprobs else None
            try:
                return await self._try(sent, telling or kind, () if as_plain else tools)
            # An endpoint can send anything; clients raise accordingly (openai errors, JSON and
            # pydantic errors, TypeErrors on missing fields). All of them mean: no reply.
            except Exception as error:
                if tools and not as_plain and self.config.tools == "auto" and refuses_tools(error):
                    self._use_text()
                    continue
                if overflows(error):
                    raise ContextError(str(self._failure(error))) from error
                if telling is not None and refuses_logprobs(error):
                    self._logprobs = False
                    continue
                change = adjusted(chat, error)
                if change is None:
                    raise self._failure(error) from error
                if self.chat is chat:  # else another request in flight has changed it already
                    self.chat, what = change
                    self.adjustments.append(what)
                    _LOG.warning("%s: %s", self.name, what)

    def _use_text(self) -> None:
        """From now on offer tools as text; another request in flight may have found out, too."""
        if not self._tools_as_text:
            self._tools_as_text = True
            self.adjustments.append("tools sent as text: the endpoint refuses them")
            _LOG.warning("%s: %s", self.name, self.adjustments[-1])

    async def _try(
        self, messages: list[BaseMessage], chat: BaseChatModel, tools: Tools
    ) -> AIMessage:
        """Send, and again after passing failures where the chat model does not do that itself."""
        bound = chat.bind_tools([dict(tool) for tool in tools]) if tools else chat
        for attempt in range(self._tries):
            try:
                async with asyncio.timeout(self._deadline):
                    return await bound.ainvoke(messages)
            except Exception as error:
                if attempt + 1 == self._tries or not _passing(error):
                    raise
            await asyncio.sleep(min(0.5 * 2**attempt, 8.0))
        raise AssertionError("unreachable: the last try returns or raises")

    def _failure(self, error: Exception) -> ModelError:
        if isinstance(error, TimeoutError):
            return ModelError(f"{self.name}: no reply within {self._deadline:.0f} s")
        reason = " ".join(str(error).split())[:500]
        url = getattr(getattr(error, "request", None), "url", "")
        where = f" ({url})" if url else ""
        return ModelError(f"{self.name}: {type(error).__name__}: {reason}{where}")

    def _spent(self, prompt: int, completion: int, estimated: bool) -> Usage:
        cost: float | None = None
        if not self.llm:
            cost = 0.0
        elif self._price is not None and not estimated:
            cost = (prompt * self._price.prompt + completion * self._price.completion) / 1e6
        return Usage(1, 0, prompt, completion, estimated, cost)


def _passing(error: Exception) -> bool:
    """Whether the same request may succeed later."""
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if isinstance(status, int):
        return status >= 500 or status in _TRANSIENT
    return isinstance(error, OSError) or type(error).__module__.startswith("httpx")
