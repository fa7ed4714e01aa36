"""A language model as configured, with usage, cost, cache, recordings and bounded failure.

Endpoints disagree about ``temperature``, ``top_p`` and the name of the limit on a reply, and say so
with a status 400 that names the field; what one refuses is not sent to it again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agents.base import Usage
from agents.budget import Meter
from agents.models.calls import SAID, Message, Tools, as_text, wire
from agents.models.config import ModelConfig, address, find_price, read_config
from agents.models.recordings import (
    Place,
    Recorder,
    Recordings,
    ReplyCache,
    Scene,
    request_key,
)
from agents.models.reply import (
    ContextError,
    ModelError,
    Reply,
    Sent,
    read,
    sent_of,
    tokens_of,
)
from docgen.replies import Reply as ChatReply
from matsmith.core.endpoint import OPENAI, Endpoint, tried
from matsmith.core.errors import EndpointError, UsageError
from matsmith.core.targets import load

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
    "images",
}

#: The names of the limit on a reply among endpoints, of which the first is tried first.
NEW, OLD = "max_completion_tokens", "max_tokens"

_NO_TOOLS = frozenset({400, 404, 405, 422, 500, 501})  # llama.cpp: 500, OpenRouter: 404
_PATTERNS = {
    name: re.compile("|".join(patterns), re.IGNORECASE)
    for name, patterns in SAID["patterns"].items()
}
_LONGEST = 4000  # characters of an error that are read
_LOG = logging.getLogger(__name__)


def build_model(
    config: ModelConfig,
    *,
    concurrency: int = 8,
    cache: Path | None = None,
    scene: Scene = Scene(),  # noqa: B008 -- frozen
) -> ModelClient:
    """The client of the model that ``config`` describes, with recordings by ``scene``.

    A `ValueError` says which key is missing, or what cannot be made of ``path`` or recordings.
    """
    if config.provider in {"recorded", "none"}:
        played = Recordings(config, scene) if config.provider == "recorded" else None
        return ModelClient(None, config, recordings=played)
    return ModelClient(
        _send(config),
        config,
        cache=ReplyCache(cache / "replies.sqlite")
        if cache is not None and config.cache
        else None,
        record=Recorder(config.record, scene, config.name) if config.record else None,
        concurrency=concurrency,
    )


def _send(config: ModelConfig) -> Send:
    if config.provider == "class":
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
    return Endpoint(url, "/chat/completions", key)


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
        self.settings: Mapping[str, Any] = self.config.settings
        self.adjustments: list[str] = []
        self._slots = asyncio.Semaphore(self.concurrency)
        self._tools_as_text = self.config.tools == "text"
        self._logprobs = True  # until the endpoint refuses them

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        sample: str,
        place: Place | None = None,
        tools: Tools = (),
        logprobs: int = 0,
    ) -> Reply:
        """Send ``messages`` and return the reply.

        ``sample`` is which of several to the same request; only a request with a ``place`` is
        recorded, and played; ``logprobs`` is how many alternatives of the first tokens to ask for.

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
            played, changed = self.recordings.play(place, messages, tools)
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
        cached, started = sent is not None, time.monotonic()
        try:
            if sent is None:
                async with self._slots:
                    sent = await self._sent(messages, tools, logprobs)
        except ContextError as error:
            if self.record is not None and place is not None:
                self.record.add(place, messages, tools, str(error))
            raise
        if self.record is not None and place is not None:
            self.record.add(place, messages, tools, sent)
        reply = read(sent, messages, tools)
        if cached:
            usage = replace(reply.usage, calls=0, cached_calls=1, cost_usd=0.0)
            return replace(reply, usage=usage, cached=True)
        if self.cache is not None and (reply.text.strip() or reply.tool_calls):
            self.cache.put(key, sent)
        seconds = time.monotonic() - started
        return self._priced(
            replace(reply, seconds=seconds, adjusted=tuple(self.adjustments))
        )

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
        self, messages: Sequence[Message], tools: Tools, logprobs: int
    ) -> Sent:
        """What is sent, in the end without what the endpoint refuses."""
        if (send := self.send) is None:
            raise ModelError(f"{self.name}: there is no model to ask")
        while True:
            settings, native = self.settings, bool(tools) and not self._tools_as_text
            telling = bool(logprobs) and self._logprobs
            shown = as_text(messages, tools) if tools and not native else messages
            body = {
                **settings,
                "messages": [wire(message) for message in shown],
                **({"tools": list(tools)} if native else {}),
                **({"logprobs": True, "top_logprobs": logprobs} if telling else {}),
            }

            async def once(body: dict[str, Any] = body) -> Sent:
                return sent_of(
                    await send(body), offered=bool(tools), logprobs=bool(logprobs)
                )

            try:
                return await tried(once, self.config.max_retries, self.config.timeout)
            except Exception as error:  # whatever a user's own model raises
                if native and self.config.tools == "auto" and refuses_tools(error):
                    if (
                        not self._tools_as_text
                    ):  # else another request in flight has found out
                        self._tools_as_text = True
                        self._adjust("tools sent as text: the endpoint refuses them")
                    continue
                if telling and refuses_logprobs(error):
                    self._logprobs = False
                    continue
                change = None if overflows(error) else adjusted(settings, error)
                if change is None:
                    kind = (
                        ""
                        if isinstance(error, EndpointError)
                        else f"{type(error).__name__}: "
                    )
                    said = f"{self.name}: {kind}{' '.join(str(error).split())[:500]}"
                    raise (ContextError if overflows(error) else ModelError)(
                        said
                    ) from error
                if (
                    self.settings is settings
                ):  # else another request in flight has changed it
                    self.settings, what = change
                    self._adjust(what)

    def _adjust(self, what: str) -> None:
        self.adjustments.append(what)
        _LOG.warning("%s: %s", self.name, what)


def refused_parameter(
    status: int | None, message: str, sent: Iterable[str]
) -> str | None:
    """The parameter of ``sent`` that an error refuses: the one that its message names first."""
    text = message[:_LONGEST]
    if status not in (400, 422) or not _PATTERNS["refused"].search(text):
        return None
    named = {name: re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in sent}
    places = {name: match.start() for name, match in named.items() if match}
    return min(places, key=lambda name: places[name]) if places else None


def refuses_tools(error: Exception) -> bool:
    """Whether an endpoint says that it does not take tools."""
    status, text = _status(error), str(error)[:_LONGEST]
    if (
        refused_parameter(status, text, ("tools", "tool_choice", "functions"))
        is not None
    ):
        return True
    return status in _NO_TOOLS and _PATTERNS["no_tools"].search(text) is not None


def overflows(error: Exception) -> bool:
    """Whether an endpoint says that the prompt is longer than what the model can read."""
    text = str(error)[:_LONGEST]
    if _status(error) not in (None, 400, 413, 422, 500):
        return False
    reply = _PATTERNS["reply_too_large"].search(text)
    return _PATTERNS["overflow"].search(text) is not None and reply is None


def refuses_logprobs(error: Exception) -> bool:
    """Whether an endpoint says that it tells no log-probabilities, or not so many."""
    return _status(error) in (400, 403, 422) and "logprobs" in str(error)[:_LONGEST]


def adjusted(
    settings: Mapping[str, Any], error: Exception
) -> tuple[Mapping[str, Any], str] | None:
    """``settings`` without, or with the other name of, the one that ``error`` refuses; and how.

    ``None`` when the error is about something else. As each change takes something away, asking
    again ends.
    """
    name = refused_parameter(_status(error), str(error), settings.keys() - {"model"})
    if name is None:
        return None
    rest = {key: value for key, value in settings.items() if key != name}
    if name != NEW:
        return rest, f"{name} not sent: the endpoint refuses it"
    return rest | {OLD: settings[name]}, f"{name} sent as {OLD}"


def _status(error: Exception) -> int | None:
    return error.status if isinstance(error, EndpointError) else None


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

    async def ask(self, prompt: str, instructions: str = "") -> ChatReply:
        """Ask; raises `ModelError` when the endpoint failed after its retries."""
        if (exceeded := self.meter.exceeded()) is not None:
            raise ModelError(f"not asked: {exceeded}")
        told = [Message("system", instructions)] if instructions else []
        messages = [*told, Message("user", prompt)]
        sample = str(self._asked[instructions, prompt])
        self._asked[instructions, prompt] += 1
        reply = await self.client.ask(messages, sample=sample)
        usage = reply.usage
        self.usage += usage
        self.meter.usage += replace(usage, cached_calls=0)
        known = (usage.prompt_tokens, usage.completion_tokens)
        asked, replied = (None, None) if usage.estimated else known
        return ChatReply(
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
