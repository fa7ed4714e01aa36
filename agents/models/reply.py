"""What a model sent: its text, its reasoning apart from it, and why a reply holds no answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from agents.base import Usage
from agents.models.calls import ToolCall, message_of
from agents.models.logprobs import Token

if TYPE_CHECKING:  # slow to import
    from langchain_core.messages import AIMessage

Fault = Literal["length", "content_filter", "refusal", "tool_call", "empty", "context"]

#: What happened, for a user.
FAULTS: Mapping[str, str] = {
    "length": "the reply was cut off at its token limit (model.max_tokens, or the endpoint's own)",
    "content_filter": "the endpoint's content filter withheld the reply",
    "refusal": "the model refused to answer",
    "tool_call": "the model called a tool instead of answering; none was offered to it",
    "empty": "the model sent an empty reply",
    "context": "the prompt is longer than the model's context window",
}

#: Why providers say that a reply ended, in lower case; a reason not listed is not a fault.
_ENDINGS: Mapping[str, Fault] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "spii": "content_filter",
    "refusal": "refusal",
    "tool_calls": "tool_call",
    "tool_use": "tool_call",
    "function_call": "tool_call",
}

#: Blocks of content that hold reasoning, and how deep their text may lie.
_BLOCKS = frozenset({"reasoning", "thinking", "reasoning_content"})
_DEEPEST = 5


@dataclass(frozen=True)
class Reply:
    """A model's text and what it took.

    Attributes
    ----------
    reasoning
        What the endpoint returned as reasoning, apart from the text; recorded, never parsed.
    fault
        Why the reply is not the whole answer, as far as the endpoint says.
    adjusted
        What the endpoint made the client change about the request.
    tool_calls
        What the model called, where tools were offered.
    raw
        Content and further fields of a reply with calls that its provider wants back unchanged.
    logprobs
        Log-probabilities of the alternatives of the first tokens, where they were asked for;
        ``None``: not asked for, or not to be had.
    tokens
        The tokens of a text that was read, not answered; ``None``: the same.
    """

    text: str
    usage: Usage
    seconds: float
    cached: bool = False
    reasoning: str = ""
    fault: Fault | None = None
    adjusted: tuple[str, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    raw: Mapping[str, Any] | None = field(default=None, repr=False)
    logprobs: tuple[Mapping[str, float], ...] | None = None
    tokens: tuple[Token, ...] | None = field(default=None, repr=False)

    @property
    def message(self) -> AIMessage:
        """The reply as it stands in the conversation that follows."""
        return message_of(self.text, self.tool_calls, self.raw)

    def stored(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        return asdict(self)

    @classmethod
    def load(cls, stored: Mapping[str, Any]) -> Reply:
        """Read what `stored` made; what an older version did not store yet has its default."""
        usage = Usage(**stored["usage"])
        adjusted = tuple(stored.get("adjusted", ()))
        calls = tuple(ToolCall(**call) for call in stored.get("tool_calls", ()))
        fields = {"usage": usage, "adjusted": adjusted, "tool_calls": calls}
        if stored.get("logprobs") is not None:
            fields["logprobs"] = tuple(stored["logprobs"])
        if stored.get("tokens") is not None:
            fields["tokens"] = tuple(Token(**token) for token in stored["tokens"])
        return cls(**{"seconds": 0.0, **stored, **fields})


def fault_of(message: AIMessage, calls: Sequence[ToolCall] = ()) -> Fault | None:
    """Why a reply is not the whole answer; ``calls`` are those that were asked for."""
    metadata = message.response_metadata
    ended = [metadata.get(key) for key in ("finish_reason", "stop_reason", "stopReason",
                                           "done_reason")]  # fmt: skip
    fault = named_fault(
        next((str(reason) for reason in ended if reason), ""),
        text=str(message.text),
        refused=bool(message.additional_kwargs.get("refusal")),
        called=bool(message.tool_calls or message.invalid_tool_calls),
    )
    return None if calls and fault == "tool_call" else fault


def named_fault(ended: str, *, text: str, refused: bool, called: bool) -> Fault | None:
    """Why a reply is not the whole answer, from what an endpoint says about it.

    Some endpoints end an ordinary answer with a tool's reason: next to text that is not a fault.
    """
    fault = _ENDINGS.get(ended.lower())
    if refused and fault != "content_filter":
        return "refusal"
    if fault not in (None, "tool_call"):
        return fault
    if text.strip():
        return None
    return "tool_call" if called or fault else "empty"


def reasoning_of(message: AIMessage) -> str:
    """Reasoning that came as a field or as blocks of its own."""
    parts = [message.additional_kwargs.get(key) for key in ("reasoning_content", "reasoning")]
    if isinstance(message.content, list):
        blocks = [block for block in message.content if isinstance(block, dict)]
        parts += [block for block in blocks if block.get("type") in _BLOCKS]
    return "\n".join(dict.fromkeys(text for part in parts if (text := _text_of(part))))


def _text_of(block: object, depth: int = 0) -> str:
    """The text in a block of reasoning, whatever its provider calls it."""
    if isinstance(block, str):
        return block
    if depth == _DEEPEST:
        return ""
    if isinstance(block, list):
        return "\n".join(filter(None, (_text_of(part, depth + 1) for part in block)))
    if not isinstance(block, dict):
        return ""
    keys = ("thinking", "reasoning", "reasoning_content", "summary", "text", "content")
    return next((found for key in keys if (found := _text_of(block.get(key), depth + 1))), "")
