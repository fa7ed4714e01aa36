"""A question to the model, counted and recorded by whoever asks, as a LangChain chat model.

A retriever that reranks knows nothing of episodes, and yet must not spend past the budget of the
question or beside its record: it is handed this.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class AskingChat(BaseChatModel):
    """Passes every request on to ``ask``, which returns the text of the reply."""

    ask: Callable[[Sequence[BaseMessage]], Awaitable[str]]

    @property
    def _llm_type(self) -> str:
        return "asking"

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 -- LangChain's signature
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> ChatResult:
        text = await self.ask(messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("asking is asynchronous: use ainvoke")
