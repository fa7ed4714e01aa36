"""``model=langchain``: any chat model that LangChain's ``init_chat_model`` can make.

The rest of the project speaks OpenAI's chat completions; this is the only place where one of
them becomes LangChain's messages and an `AIMessage` becomes a completion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    convert_to_messages,
    convert_to_openai_messages,
)

from foundation.errors import EndpointError, UsageError
from foundation.refusals import refusal

#: What providers call the end of a reply -> what OpenAI calls it.
FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
}
#: Fields of a request that LangChain's models take under the same name when they are called.
CALL_OPTIONS = ("temperature", "top_p", "seed", "stop")
LENGTH_LIMITS = ("max_completion_tokens", "max_tokens")


class LangChainChat:
    """Answers chat completions with a LangChain chat model.

    Parameters
    ----------
    options
        Arguments of ``init_chat_model`` (``base_url``, ``timeout``, ...). The model itself is
        named by the request, as ``model.name=PROVIDER:NAME``.
    """

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._models: dict[str, BaseChatModel] = {}

    async def __call__(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer the body of a request for a chat completion.

        Raises
        ------
        UsageError
            When the provider is unknown, or its package is not installed.
        EndpointError
            When the provider refused the request, with its status where it tells one.
        """
        name = str(body["model"])
        model: Any = self._model(name)
        if body.get("tools"):
            model = model.bind_tools(list(body["tools"]))
        call_options = {key: body[key] for key in CALL_OPTIONS if key in body}
        limits = [body[key] for key in LENGTH_LIMITS if key in body]
        if limits:
            call_options["max_tokens"] = limits[0]
        messages = convert_to_messages(body["messages"])
        try:
            reply = await model.ainvoke(messages, **call_options)
        except Exception as error:
            raise _endpoint_error(error) from error
        return completion_of(reply, name)

    def _model(self, name: str) -> BaseChatModel:
        if name not in self._models:
            try:
                self._models[name] = init_chat_model(name, **self._options)
            except (ImportError, ValueError) as error:
                reason = " ".join(str(error).split())
                raise UsageError(
                    f"model.name={name}: {reason}; write PROVIDER:NAME, and install the "
                    "provider's LangChain package"
                ) from error
        return self._models[name]


def completion_of(reply: AIMessage, name: str) -> dict[str, Any]:
    """A reply as the completion that OpenAI's API would have sent."""
    message = convert_to_openai_messages(reply)
    metadata = reply.response_metadata
    reason = str(metadata.get("finish_reason") or metadata.get("stop_reason") or "")
    default = "tool_calls" if reply.tool_calls else "stop"
    completion: dict[str, Any] = {
        "model": metadata.get("model_name") or name,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": FINISH_REASONS.get(reason, reason or default),
            }
        ],
    }
    if reply.usage_metadata is not None:
        completion["usage"] = {
            "prompt_tokens": reply.usage_metadata["input_tokens"],
            "completion_tokens": reply.usage_metadata["output_tokens"],
            "total_tokens": reply.usage_metadata["total_tokens"],
        }
    return completion


def _endpoint_error(error: Exception) -> Exception:
    """An exception of a provider's client; what is not about its endpoint stays as it is."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return refusal(status, str(error), {})
    if isinstance(error, OSError | TimeoutError):
        return error
    return EndpointError(f"{type(error).__name__}: {error}")
