"""`langchain_openai.ChatOpenAI` that keeps what compatible endpoints return as reasoning."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI
from openai import APIStatusError

from agents.models.logprobs import ECHOED

#: Fields beside ``content`` in which endpoints return reasoning.
FIELDS = ("reasoning_content", "reasoning")

#: Statuses of an endpoint that has no completions, or does not return what it reads.
_NO_COMPLETIONS = frozenset({400, 403, 404, 405, 422, 501})


class OpenAIChat(ChatOpenAI):
    """Chat completions of OpenAI and of endpoints that speak its language."""

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Return the thoughts behind a tool call to the endpoint: some demand it."""
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        messages = self._convert_input(input_).to_messages()
        for message, sent in zip(messages, payload.get("messages", ()), strict=False):
            if isinstance(message, AIMessage) and message.tool_calls:
                kept = message.additional_kwargs
                sent.update({field: kept[field] for field in FIELDS if kept.get(field)})
        return payload

    async def read_prompt(self, prompt: str) -> dict[str, Any] | None:
        """A completion with the log-probabilities of ``prompt``; ``None`` where there are none.

        Raises
        ------
        openai.OpenAIError
            When the endpoint failed, rather than refused.
        """
        asked = {"model": self.model_name, "prompt": prompt, "max_tokens": 1, "temperature": 0,
                 "echo": True, "logprobs": ECHOED}  # fmt: skip
        for extra in ({"prompt_logprobs": 0}, {}):  # the rank of every token, where it is known
            try:
                made = await self.root_async_client.completions.create(**asked, extra_body=extra)
            except APIStatusError as error:
                if error.status_code not in _NO_COMPLETIONS:
                    raise
            else:
                plain: dict[str, Any] = made.model_dump(warnings=False)
                return plain
        return None

    def _create_chat_result(
        self, response: Any, generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        _unparsable(response)
        result = super()._create_chat_result(response, generation_info)
        plain = response if isinstance(response, dict) else response.model_dump(warnings=False)
        for generation, choice in zip(result.generations, plain["choices"], strict=True):
            message = generation.message
            for field in FIELDS:
                found = (choice.get("message") or {}).get(field)
                if found and isinstance(message, AIMessage):
                    message.additional_kwargs.setdefault(field, found)
        return result


def _unparsable(response: Any) -> None:
    """Make arguments that are JSON but no object unreadable: LangChain reports such as a value."""
    for choice in getattr(response, "choices", None) or ():
        for call in getattr(choice.message, "tool_calls", None) or ():
            function = getattr(call, "function", None)
            try:
                if function is None or isinstance(json.loads(function.arguments), dict):
                    continue
            except (ValueError, TypeError, RecursionError):
                continue
            function.arguments = f"not an object: {function.arguments}"
