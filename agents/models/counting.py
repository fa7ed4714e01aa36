"""How many tokens a request and its reply have: as the endpoint says, else about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agents.models.calls import told

if TYPE_CHECKING:  # slow to import
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.messages.ai import UsageMetadata

CHARACTERS_PER_TOKEN = 4.0  # only where an endpoint reports no usage; such counts say so


def counted(
    messages: Sequence[BaseMessage],
    tools: Sequence[Mapping[str, Any]],
    text: str,
    message: AIMessage,
) -> tuple[int, int, bool]:
    """Tokens of the request, tokens of the reply, and whether they are estimated."""
    written = text + _called(message)
    reported = message.usage_metadata
    if reported is not None and _plausible(reported, written):
        return reported["input_tokens"], reported["output_tokens"], False
    return tokens_of(messages, tools), round(len(written) / CHARACTERS_PER_TOKEN), True


def tokens_of(messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]]) -> int:
    """About how many tokens a prompt has, pictures apart."""
    characters = sum(len(m.text) + len(_called(m)) for m in messages)
    characters += len(told(tools)) if tools else 0
    return round(characters / CHARACTERS_PER_TOKEN)


def _called(message: BaseMessage) -> str:
    """The calls of a message as text: they are tokens as well."""
    calls = getattr(message, "tool_calls", None)
    return str([(call["name"], call["args"]) for call in calls]) if calls else ""


def _plausible(usage: UsageMetadata, text: str) -> bool:
    """Whether reported counts can be true: some endpoints report zeros, or less."""
    prompt, completion = usage["input_tokens"], usage["output_tokens"]
    return prompt > 0 and (completion > 0 or (completion == 0 and not text))
