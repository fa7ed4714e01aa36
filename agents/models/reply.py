"""What a model sent, and what is read from it: text, reasoning, calls, usage, and what is wrong.

`Sent` is what of an endpoint's message is kept, as plain data: a live reply, a cached one and a
recorded one all pass through it into the one reader, `read`. Nothing in it is trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, Field, FiniteFloat, TypeAdapter, ValidationError

from agents.base import Usage
from agents.models.calls import (
    SAID,
    Message,
    ToolCall,
    Tools,
    calls_of,
    encodable,
    plain,
    plain_calls,
    protocol_of,
    read_calls,
)
from matsmith.core.errors import EndpointError

CHARACTERS_PER_TOKEN = (
    4.0  # only where an endpoint reports no usage; such counts say so
)
MOST_TOKENS = 10**9  # of a request or a reply; a report of more cannot be true

Fault = Literal["length", "content_filter", "refusal", "tool_call", "empty", "context"]

#: What happened, for a user.
FAULTS: Mapping[str, str] = SAID["faults"]
#: Why providers say that a reply ended, in lower case; a reason not listed is not a fault.
_ENDINGS: Mapping[str, Fault] = {
    end: fault for fault, ends in SAID["reasons"].items() for end in ends
}

#: Tokens of a reply whose log-probabilities are kept, and alternatives kept of each.
FIRST_TOKENS, ALTERNATIVES = 5, 20

#: Fields beside the content in which endpoints return reasoning, and how deep its text may lie.
_REASONING = ("reasoning_content", "reasoning")
_DEEPEST = 5


class ModelError(Exception):
    """The endpoint failed after its retries: infrastructure, never a wrong answer."""


class ContextError(ModelError):
    """The prompt is longer than the model can read: a wrong answer, no failed endpoint."""


class Sent(BaseModel, extra="forbid", frozen=True):
    """What an endpoint sent, as it is stored.

    ``stop`` is why the reply ended, as the endpoint says; ``usage`` are the tokens of prompt and
    reply as reported, if they are counts; ``raw`` is what of a reply with calls its endpoint wants
    back unchanged; for ``logprobs`` see `Reply`.
    """

    text: str
    stop: str = ""
    usage: tuple[int, int] | None = None
    calls: tuple[dict[str, Any], ...] = ()
    refused: bool = False
    reasoning: str = ""
    raw: dict[str, Any] | None = None
    logprobs: tuple[dict[str, float], ...] | None = None


@dataclass(frozen=True)
class Reply:
    """A model's text and what it took.

    ``reasoning`` is recorded, never parsed; ``fault`` is why the reply is not the whole answer;
    ``adjusted`` what the endpoint made the client change about the request; ``logprobs`` those of
    the alternatives of the first tokens, where they were asked for and are to be had; ``changed``
    the segments of the prompt that have changed since the reply was recorded, if it was.
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
    changed: tuple[str, ...] | None = None

    @property
    def message(self) -> Message:
        """The reply as it stands in the conversation that follows."""
        return Message("assistant", self.text, self.tool_calls, raw=self.raw)


class _Call(BaseModel, extra="allow"):
    id: Any = None
    function: dict[str, Any] = {}


class _ChoiceMessage(BaseModel, extra="allow"):
    content: str | list[Any] | None = None
    refusal: Any = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _ChoiceMessage
    finish_reason: Any = None
    logprobs: Any = None


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: Any = None


def sent_of(said: Any, *, offered: bool, logprobs: bool) -> Sent:
    """What of a completion is kept; `EndpointError` where it is none, or says that it failed."""
    listed = said.get("choices") if isinstance(said, dict) else None
    for each in (said, *(listed if isinstance(listed, list) else ())):
        if isinstance(each, dict) and each.get("error"):
            why = str(each["error"])[:300]
            raise EndpointError(
                f"the endpoint says that it failed: {why}", passing=True
            )
    try:
        completion = _Completion.model_validate(said)
    except ValidationError as error:
        where = ".".join(map(str, error.errors(include_input=False)[0]["loc"])) or "it"
        raise EndpointError(
            f"the endpoint sent no chat completion: {where} is wrong"
        ) from None
    choice, message = completion.choices[0], completion.choices[0].message
    text = message.content or ""
    if isinstance(text, list):
        text = "".join(map(_text_of, filter(_is_text, text)))
    stop = str(choice.finish_reason or "")[:100]
    if stop.lower() in SAID["failures"]:
        raise EndpointError(f"the endpoint ended the reply with {stop!r}", passing=True)
    calls = message.tool_calls or []
    usage = completion.usage if isinstance(completion.usage, dict) else {}
    return Sent(
        text=text,
        stop=stop,
        usage=counts(usage.get("prompt_tokens"), usage.get("completion_tokens")),
        calls=tuple(
            {
                "id": c.id,
                "name": c.function.get("name"),
                "args": c.function.get("arguments"),
            }
            for c in calls
        ),
        refused=bool(message.refusal),
        reasoning=_reasoning(message),
        raw=_raw(message) if offered and calls else None,
        logprobs=_first_tokens(choice.logprobs) if logprobs else None,
    )


def read(sent: Sent, messages: Sequence[Message], tools: Tools) -> Reply:
    """What was sent in answer to ``messages``, read; its cost is not known here."""
    text, calls = encodable(sent.text), calls_of(sent.calls) if tools else ()
    if tools and not calls:  # also from an endpoint that leaves calls in the text
        text, calls = read_calls(text, tools)
    fault = _fault(sent)
    written = text + (_called(sent.calls) if sent.calls else "")
    usage = None if sent.usage is None else counts(*sent.usage)
    estimated = usage is None or usage[0] == 0 or (usage[1] == 0 and bool(written))
    if usage is None or estimated:
        usage = tokens_of(messages, tools), round(len(written) / CHARACTERS_PER_TOKEN)
    return Reply(
        text,
        Usage(1, 0, *usage, estimated, None),
        0.0,
        reasoning=sent.reasoning,
        fault=None if calls and fault == "tool_call" else fault,
        tool_calls=calls,
        raw=sent.raw,
        logprobs=sent.logprobs,
    )


def counts(prompt: object, completion: object) -> tuple[int, int] | None:
    """Tokens of prompt and reply where both are counts that can be true."""
    pair = [
        n
        for n in (prompt, completion)
        if isinstance(n, int) and not isinstance(n, bool)
    ]
    if len(pair) < 2 or not all(0 <= n <= MOST_TOKENS for n in pair):
        return None
    return pair[0], pair[1]


def tokens_of(messages: Sequence[Message], tools: Tools) -> int:
    """About how many tokens a prompt has, pictures apart."""
    characters = sum(len(m.text) + len(_called(plain_calls(m))) for m in messages)
    characters += len(protocol_of(tools)) if tools else 0
    return round(characters / CHARACTERS_PER_TOKEN)


def _called(calls: Sequence[Mapping[str, Any]]) -> str:
    """Calls as text: they are tokens as well."""
    return (
        str([(call.get("name"), call.get("args")) for call in calls]) if calls else ""
    )


def _fault(sent: Sent) -> Fault | None:
    """Why a reply is not the whole answer, from what an endpoint says about it.

    Some endpoints end an ordinary answer with a tool's reason: next to text that is not a fault.
    """
    fault = _ENDINGS.get(sent.stop.lower())
    if sent.refused and fault != "content_filter":
        return "refusal"
    if fault not in (None, "tool_call"):
        return fault
    if sent.text.strip():
        return None
    return "tool_call" if sent.calls or fault else "empty"


def _reasoning(message: _ChoiceMessage) -> str:
    """Reasoning that came as a field or as blocks of its own."""
    parts = [getattr(message, field, None) for field in _REASONING]
    blocks = message.content if isinstance(message.content, list) else []
    parts += [block for block in blocks if not _is_text(block)]
    return "\n".join(dict.fromkeys(text for part in parts if (text := _text_of(part))))


def _is_text(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "text"


def _raw(message: _ChoiceMessage) -> dict[str, Any] | None:
    """Thoughts behind calls, and what stands beside these: some endpoints want them back."""
    fields = {
        key: value for key in _REASONING if (value := getattr(message, key, None))
    }
    calls = [call.model_extra or {} for call in message.tool_calls or ()]
    extras = [
        {k: v for k, v in more.items() if k not in ("type", "index")} for more in calls
    ]
    raw: dict[str, Any] | None = plain({"fields": fields, "calls": extras})
    return raw if fields or any(extras) else None


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
    return next(
        (found for key in keys if (found := _text_of(block.get(key), depth + 1))), ""
    )


class _Token(BaseModel):
    token: str
    logprob: FiniteFloat
    top_logprobs: list[_Token] = []


_TOKENS = TypeAdapter(list[_Token])


def _first_tokens(sent: object) -> tuple[dict[str, float], ...] | None:
    """Alternatives of the first tokens of a reply, with their log-probabilities."""
    listed = sent.get("content") if isinstance(sent, Mapping) else None
    try:
        tokens = _TOKENS.validate_python(
            listed[:FIRST_TOKENS] if isinstance(listed, list) else []
        )
    except ValidationError:
        return None
    listed = [(token.top_logprobs or [token])[:ALTERNATIVES] for token in tokens]
    return (
        tuple({one.token[:100]: one.logprob for one in each} for each in listed) or None
    )
