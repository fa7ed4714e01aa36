"""A language model as configured, with usage, cost, cache, recordings and bounded failure."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import (
    Awaitable,
    Callable,
    Sequence,
)
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.models.cache import ReplyCache, request_key
from agents.models.calls import Message
from agents.models.config import ModelConfig, address, find_price
from agents.models.dialect import NEW, OLD, STREAMED, Dialect
from agents.models.recordings import (
    Recorder,
    RecordingKey,
    Recordings,
    RecordingScope,
)
from agents.models.reply import (
    ContextError,
    ModelError,
    Reply,
    Sent,
    after,
    drops_tools,
    read,
    sent_of,
    tokens_of,
)
from agents.models.serving import window_of
from agents.models.windows import Excess, excess_of
from agents.models.written import ToolSchemas
from foundation.endpoint import OPENAI, Endpoint, tried
from foundation.errors import EndpointError, UsageError
from foundation.secrets import redact, redacted
from foundation.targets import load

#: Takes the body of a request for a chat completion, and returns the completion as JSON-able data.
Send = Callable[[dict[str, Any]], Awaitable[Any]]

#: Keys of the configuration that do not change what a model answers to the same messages.
NOT_IDENTITY = {
    "timeout",
    "max_retries",
    "price",
    "cache",
    "documents",
    "document_characters",
    "record",
    "recordings",
    "strict",
    "tools",
    "context_tokens",
    "max_reply_bytes",
    "images",
}

#: Of `ModelConfig.timeout`: when a reply that is streamed is cut and counts as far as it came.
CUT_AT = 0.95
#: How the error of a reply that took too long begins.
LATE = "no reply in"
#: Tokens that are left for a reply, below which the prompt is what is too long.
LEAST_ROOM = 256
MARGIN = 16  # tokens that a prompt may have in the endpoint's count beyond what it said

_LOG = logging.getLogger(__name__)


def build_model(
    config: ModelConfig,
    *,
    concurrency: int = 8,
    cache: Path | None = None,
    scope: RecordingScope = RecordingScope(),  # noqa: B008 -- frozen
) -> ModelClient:
    """The client of the model that ``config`` describes, with recordings by ``scope``.

    A `ValueError` says which key is missing, or what cannot be made of ``path`` or recordings.
    """
    if not config.is_live:
        played = Recordings(config, scope) if config.plays else None
        return ModelClient(None, config, recordings=played)
    return ModelClient(
        _send(config),
        config,
        cache=ReplyCache(cache / "replies.sqlite")
        if cache is not None and config.cache
        else None,
        record=Recorder(config.record, scope, config.name) if config.record else None,
        concurrency=concurrency,
    )


def _send(config: ModelConfig) -> Send:
    if not config.asks_endpoint:
        try:
            made: Send = load(config.path or "", key="model.path")(**config.options)
        except (UsageError, ValueError, TypeError) as error:
            raise ValueError(
                f"model.path: cannot make {config.path!r}: {error}"
            ) from error
        return made
    url, key = address(config).rstrip("/"), os.environ.get(config.key)
    if not key and url == OPENAI:
        raise ValueError(
            f"model: no {config.key} in the environment. Set it, or point model.base_url at an "
            "OpenAI-compatible endpoint that needs none, or use model=recorded."
        )
    return Endpoint(url, "/chat/completions", key, CUT_AT * config.timeout)


@dataclass(eq=False)
class ModelClient:
    """What answers requests (``None``: nobody), and what a fair experiment needs around it.

    ``adjustments`` are what endpoint and client have agreed to change about the requests, in order.
    """

    send: Send | None
    config: ModelConfig
    cache: ReplyCache | None = None
    record: Recorder | None = None
    recordings: Recordings | None = None
    concurrency: int = 8

    def __post_init__(self) -> None:
        self.name = self.config.name
        self.price = find_price(self.config)
        self.dialect = Dialect(self.config.settings, self.config.tools == "text")
        self.adjustments: list[str] = []
        self._slots = asyncio.Semaphore(self.concurrency)
        self._stream: dict[str, Any] = {}  # fields, once a reply took too long
        self._window: tuple[int | None] | None = None  # once it was asked for
        self._cuts = False  # whether a prompt was cut without a word

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        sample: str,
        recording_key: RecordingKey | None = None,
        tools: ToolSchemas = (),
        logprobs: int = 0,
    ) -> Reply:
        """Send ``messages`` and return the reply.

        ``sample`` is which of several to the same request; only a request with a
        ``recording_key`` is recorded, and played; ``logprobs`` is how many alternatives of the
        first tokens to ask for.

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
        if self.recordings is not None:
            played, changed = self.recordings.play(recording_key, messages, tools)
            if isinstance(played, str):
                raise ContextError(played)
            return self._priced(replace(read(played, messages, tools), changed=changed))
        # How tools are offered changes what the model reads.
        identity = self.config.model_dump(
            exclude=NOT_IDENTITY - ({"tools"} if tools else set())
        )
        identity |= {"logprobs": logprobs} if logprobs else {}
        key = request_key(identity, messages, sample, tools)
        sent = self.cache.get(key) if self.cache is not None else None
        cached, arrived = sent is not None, time.monotonic()
        started = arrived
        try:
            if sent is None:
                async with self._slots:
                    started = time.monotonic()
                    sent = await self._sent(messages, tools, logprobs)
        except ContextError as error:
            if self.record is not None and recording_key is not None:
                self.record.add(recording_key, messages, tools, str(error))
            raise
        if self.record is not None and recording_key is not None:
            self.record.add(recording_key, messages, tools, sent)
        reply = read(sent, messages, tools)
        if reply.fault == "context":
            self._note_cut(reply.usage.prompt_tokens, tokens_of(messages, tools))
        if cached:
            usage = replace(reply.usage, calls=0, cached_calls=1, cost_usd=0.0)
            return replace(reply, usage=usage, cached=True)
        if self.cache is not None and (reply.text.strip() or reply.tool_calls):
            self.cache.put(key, sent)
        return self._priced(
            replace(
                reply,
                seconds=time.monotonic() - started,
                queued=started - arrived,
                adjusted=tuple(self.adjustments),
            )
        )

    async def window(self) -> int | None:
        """Tokens that the model reads at most: as configured, else as its server says.

        The server is asked once; ``None`` where neither says anything.
        """
        if self._window is None:
            configured = self.config.context_tokens
            self._window = (configured or await window_of(self.config),)
        return self._window[0]

    async def close(self) -> None:
        """Close the connections, in the event loop that opened them."""
        if isinstance(self.send, Endpoint):
            await self.send.close()
        if self.cache is not None:
            self.cache.close()

    def _priced(self, reply: Reply) -> Reply:
        usage, price = reply.usage, self.price
        if usage.calls == 0 or price is None or usage.estimated:
            return reply
        cost = (
            usage.prompt_tokens * price.prompt
            + usage.completion_tokens * price.completion
        )
        return replace(reply, usage=replace(usage, cost_usd=cost / 1e6))

    async def _sent(
        self, messages: Sequence[Message], tools: ToolSchemas, logprobs: int
    ) -> Sent:
        """What is sent, in the end without what the endpoint refuses."""
        if self.send is None:
            raise ModelError(f"{self.name}: no model selected; pass model=NAME")
        room: int | None = None  # for a reply beside this prompt
        lost: Sent | None = None
        while True:
            dialect = self.dialect
            body = dialect.body(messages, tools, logprobs)
            if room is not None:
                body |= {name: room for name in (NEW, OLD) if name in body} or {
                    NEW: room
                }
            try:
                sent = await self._completed(body, bool(tools), bool(logprobs))
            except Exception as error:  # whatever a user's own model raises
                change = dialect.adapted(
                    error, messages, may_text_tools=self.may_text_tools and bool(tools)
                )
                if change is not None:
                    self._change(dialect, *change)
                    continue
                excess = excess_of(error)
                left = excess.room if excess and not excess.always else None
                if left is not None and left >= LEAST_ROOM and room is None:
                    room = left - MARGIN
                    continue
                raise self._failure(error, excess) from error
            native = bool(tools) and not dialect.text_tools and self.may_text_tools
            if not native or not drops_tools(sent, messages, tools):
                return sent if lost is None else after(lost, sent)
            lost = sent if lost is None else after(lost, sent)
            note = "tools sent as text: the endpoint's template drops them"
            self._change(dialect, replace(dialect, text_tools=True), note)

    @property
    def may_text_tools(self) -> bool:
        """Whether tools may be told of in the text, where they cannot be sent."""
        return self.config.tools == "auto"

    async def _completed(
        self, body: dict[str, Any], offered: bool, logprobs: bool
    ) -> Sent:
        """The reply to one body, after as many tries as are allowed.

        Who did not end in time is asked once more for a stream, where that can be read: then it
        shows whether the endpoint is dead or the model is slow, and what came in time counts.
        """
        send, seconds = self.send, self.config.timeout
        assert send is not None
        late = EndpointError(
            f"{LATE} {seconds:g} s; set model.timeout to allow more", passing=True
        )

        async def once() -> Sent:
            streamed = bool(self._stream) and "stream" in body
            try:
                async with asyncio.timeout(seconds):
                    completion = await send(body | self._stream if streamed else body)
                sent = sent_of(
                    completion if isinstance(send, Endpoint) else redacted(completion),
                    offered=offered,
                    logprobs=logprobs,
                    most=self.config.max_reply_bytes,
                )
            except TimeoutError:
                if isinstance(send, Endpoint) and not self._stream:
                    self._stream = STREAMED
                    self._adjust(
                        f"replies are streamed: one took longer than {seconds:g} s"
                    )
                raise late from None
            except EndpointError as error:
                error.passing &= excess_of(error) is None
                if streamed and "stream_options" in str(error):
                    self._stream, error.passing = {"stream": True}, True
                raise
            if streamed and sent.stop == "length" and sent.is_empty:
                raise late
            return sent

        return await tried(once, self.config.max_retries, 2 * seconds, self.name)

    def _failure(self, error: Exception, excess: Excess | None) -> ModelError:
        kind = "" if isinstance(error, EndpointError) else f"{type(error).__name__}: "
        text = " ".join(redact(str(error)).split())
        message = f"{self.name}: {kind}{text[:500]}"
        if excess is None:
            return ModelError(message)
        little = excess.room is not None and excess.room < LEAST_ROOM
        if excess.what == "prompt" or little:
            return ContextError(message)
        limit = self.config.max_tokens
        return ModelError(
            f"{message} (model.max_tokens={limit} is more than fits; set a lower one)"
        )

    def _change(self, dialect: Dialect, changed: Dialect, note: str) -> None:
        """Take over what a refusal taught, unless another request in flight has learnt more."""
        if self.dialect is not dialect:
            return
        self.dialect = changed
        if note:
            self._adjust(note)

    def _note_cut(self, tokens: int, sent: int) -> None:
        """Say once what to set where a prompt was cut without a word."""
        if not self._cuts:
            self._cuts = True
            self._adjust(
                f"the endpoint read {tokens} tokens of a prompt of about {sent}: it cuts prompts "
                "at its window; give it a larger one (Ollama: OLLAMA_CONTEXT_LENGTH, llama.cpp: "
                f"--ctx-size, LM Studio: context length), or set model.context_tokens={tokens}"
            )

    def _adjust(self, what: str) -> None:
        self.adjustments.append(what)
        _LOG.warning("%s: %s", self.name, what)
