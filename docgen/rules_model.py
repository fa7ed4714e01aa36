"""``model=rules`` for documentation: a chat model without any LLM."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from docgen.rules_writer import write


class RulesDocModel(BaseChatModel):
    """Answers documentation prompts by :func:`docgen.rules_writer.write`; no LLM, no cost."""

    @property
    def _llm_type(self) -> str:
        return "rules"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> ChatResult:
        text = write(str(messages[-1].text))
        usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
        message = AIMessage(text, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> ChatResult:
        return self._generate(messages)  # no thread: it takes a tenth of a millisecond
