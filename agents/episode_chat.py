"""The model of an episode as a LangChain chat model, for parts that know nothing of episodes.

A retriever that reranks with the model must not spend past the budget or the record: what it
asks counts like any other call of the question that is being worked on.
"""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import ConfigDict

from agents.episode import CURRENT
from agents.models import ModelClient


class EpisodeChat(BaseChatModel):
    """Asks through the episode that is under way; without one, through the client alone."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: ModelClient

    @property
    def _llm_type(self) -> str:
        return self.client.name

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 -- LangChain's signature
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> ChatResult:
        episode = CURRENT.get()
        if episode is not None:
            text = await episode.ask("rerank", messages)
        else:
            text = (await self.client.ask(messages, sample="0")).text
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("the client is asynchronous: use ainvoke")
