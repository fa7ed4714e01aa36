"""A :class:`ModelClient` as LangChain chat model, for parts that know nothing of clients.

Documentation, graph extraction and the makers of questions ask through it, so that the cache, the
recording, the limit on requests in flight and the sum of what was spent are the same for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import ConfigDict, PrivateAttr

from agents.base import Usage
from agents.models.cache import request_key
from agents.models.client import ModelClient, ModelError
from agents.models.config import read_config
from agents.models.prices import find_price
from agents.models.providers import build_model
from agents.models.reply import Reply

#: What requests without a tag are counted as.
UNTAGGED = "other"


class MeteredChat(BaseChatModel):
    """Asks through a client, and adds up what that took.

    A caller names the purpose of a request with a tag (``config={"tags": ["graph"]}``), as for
    any LangChain model. Equal requests are numbered, so that asking again gets another sample
    instead of the cached one; a second process gets the same samples, from the cache.

    In the message that comes back, ``usage_metadata`` is what the endpoint reported (``None``:
    nothing), and ``response_metadata`` holds ``cached``, ``cost_usd`` (``None``: unknown) and,
    for a reply that is not all of it, ``fault``.

    Parameters
    ----------
    client
        Where to ask.
    refuse
        Asked before every request: a reason ends it unsent (a limit of the run is used up).
    on_usage
        Told what every reply took.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: ModelClient
    refuse: Callable[[], str | None] | None = None
    on_usage: Callable[[Usage], None] | None = None
    name: str | None = None
    _spent: dict[str, Usage] = PrivateAttr(default_factory=dict)
    _asked: Counter[str] = PrivateAttr(default_factory=Counter)

    def model_post_init(self, context: Any, /) -> None:
        """Take the client's name: texts are stored under it."""
        super().model_post_init(context)
        self.name = self.client.name

    @property
    def usage(self) -> Usage:
        """The sum of everything that was asked."""
        return sum(self._spent.values(), Usage())

    @property
    def spent(self) -> Mapping[str, Usage]:
        """The sums by tag."""
        return dict(self._spent)

    @property
    def _llm_type(self) -> str:
        return self.client.name

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 -- LangChain's signature
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> ChatResult:
        """Ask; raises `ModelError` when the endpoint failed after its retries."""
        if self.refuse is not None and (reason := self.refuse()):
            raise ModelError(f"not asked: {reason}")
        tags = run_manager.tags if run_manager is not None else []
        request = request_key({}, messages, "")
        sample = str(self._asked[request])
        self._asked[request] += 1
        reply = await self.client.ask(messages, sample=sample)
        purpose = tags[0] if tags else UNTAGGED
        self._spent[purpose] = self._spent.get(purpose, Usage()) + reply.usage
        if self.on_usage is not None:
            self.on_usage(reply.usage)
        return ChatResult(generations=[ChatGeneration(message=_message(reply))])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("the client is asynchronous: use ainvoke")


def _message(reply: Reply) -> AIMessage:
    usage = reply.usage
    reported = UsageMetadata(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        total_tokens=usage.tokens,
    )
    metadata: dict[str, Any] = {"cached": reply.cached, "cost_usd": usage.cost_usd}
    if reply.fault is not None:
        metadata["fault"] = reply.fault
    return AIMessage(
        reply.text.encode("utf-8", "replace").decode(),  # half a character is not valid text
        usage_metadata=None if usage.estimated else reported,
        response_metadata=metadata,
    )


@asynccontextmanager
async def open_chat(
    config: Mapping[str, Any],
    *,
    concurrency: int = 8,
    cache: Path | None = None,
    priced: bool = False,
) -> AsyncIterator[MeteredChat]:
    """Build the chat model of a command, and close its connections at the end.

    Raises
    ------
    ValueError
        When the configuration is wrong, a key is missing, or the price is wanted and unknown; in
        one line.
    """
    checked = read_config(config)
    if priced and checked.llm and find_price(checked) is None:
        raise ValueError(
            f"the price of {checked.name} is unknown, so its cost cannot be limited; set "
            "price.prompt and price.completion (US dollars per million tokens)"
        )
    client = build_model(checked, concurrency=concurrency, cache=cache)
    try:
        yield MeteredChat(client=client)
    finally:
        await client.close()
