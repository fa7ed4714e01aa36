"""`langchain_openai.ChatOpenAI` that keeps what compatible endpoints return as reasoning."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI

#: Fields beside ``content`` in which endpoints return reasoning.
FIELDS = ("reasoning_content", "reasoning")


class OpenAIChat(ChatOpenAI):
    """Chat completions of OpenAI and of endpoints that speak its language."""

    def _create_chat_result(
        self, response: Any, generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        result = super()._create_chat_result(response, generation_info)
        plain = response if isinstance(response, dict) else response.model_dump(warnings=False)
        for generation, choice in zip(result.generations, plain["choices"], strict=True):
            message = generation.message
            for field in FIELDS:
                found = (choice.get("message") or {}).get(field)
                if found and isinstance(message, AIMessage):
                    message.additional_kwargs.setdefault(field, found)
        return result
