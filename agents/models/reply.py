"""What a model sent, and what is read from it: text, reasoning, calls, usage, and what is wrong.

`Sent` is what of an endpoint's message is kept, as plain data: a live reply, a cached one and a
recorded one all pass through it into the one reader, `read`. Nothing in it is trusted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, Field, FiniteFloat, TypeAdapter, ValidationError

from agents.base import Usage
from agents.models.calls import (
    ENDPOINTS,
    Message,
    ToolCall,
    calls_of,
    encodable,
    plain,
    plain_calls,
    protocol_of,
)
from agents.models.frames import is_stream, merged
from agents.models.harmony import channels_of
from agents.models.windows import IMPOSSIBLE, dense_length, was_cut
from agents.models.written import (
    MAX_CALLS,
    ToolSchemas,
    WrittenCall,
    calls_in_reasoning,
    read_calls,
)
from docgen.reading import spoken
from foundation.errors import EndpointError
from foundation.refusals import refusal_in_body

CHARACTERS_PER_TOKEN = (
    4.0  # only where an endpoint reports no usage; such counts say so
)
MOST_TOKENS = 10**9  # of a request or a reply; a report of more cannot be true

Fault = Literal[
    "length",
    "content_filter",
    "refusal",
    "tool_call",
    "empty",
    "context",
    "too_large",
    "too_many_calls",
]
#: Why a reply ends that was not kept, beside the reasons that endpoints give.
TOO_LARGE, TOO_MANY_CALLS = "max_reply_bytes", "max_calls"
MAX_REPLY_BYTES = 2_000_000

#: What happened, for a user.
FAULTS: Mapping[str, str] = ENDPOINTS["faults"]
#: Why providers say that a reply ended, in lower case; a reason not listed is not a fault.
_ENDINGS: Mapping[str, Fault] = {
    end: fault for fault, ends in ENDPOINTS["reasons"].items() for end in ends
}

#: Tokens of a reply whose log-probabilities are kept, and alternatives kept of each.
FIRST_TOKENS, ALTERNATIVES = 5, 20

MIN_TOOLS = 1500  # characters of tools from which their tokens can be missed

#: Fields beside the content in which endpoints return reasoning, and how deep its text may lie.
_REASONING = ("reasoning_content", "reasoning", "thinking")
_SENT_BACK = ("reasoning_content", "reasoning", "reasoning_details")
_DEEPEST = 5


class ModelError(Exception):
    """The endpoint failed after its retries: infrastructure, never a wrong answer."""


class ContextError(ModelError):
    """The prompt is longer than the model can read: a wrong answer, no failed endpoint."""


class Sent(BaseModel, extra="forbid", frozen=True):
    """What an endpoint sent, as it is stored.

    ``stop`` is why the reply ended, as the endpoint says; ``usage`` are the tokens of prompt and
    reply as reported, if they are counts; ``raw`` is what of a reply with calls its endpoint wants
    back unchanged; ``dropped`` how many characters were not kept of a reply that is too large;
    ``requests`` how many replies were paid for until this one came; for ``logprobs`` see `Reply`.
    """

    text: str
    stop: str = ""
    usage: tuple[int, int] | None = None
    calls: tuple[dict[str, Any], ...] = ()
    refused: bool = False
    reasoning: str = ""
    raw: dict[str, Any] | None = None
    logprobs: tuple[dict[str, float], ...] | None = None
    dropped: int = 0
    requests: int = 1

    @property
    def is_empty(self) -> bool:
        """Whether nothing of a reply is there."""
        return not (self.text or self.reasoning or self.calls or self.dropped)


@dataclass(frozen=True)
class Reply:
    """A model's text and what it took.

    ``reasoning`` is recorded, never parsed; ``fault`` is why the reply is not the whole answer;
    ``adjusted`` what the endpoint made the client change about the request; ``logprobs`` those of
    the alternatives of the first tokens, where they were asked for and are to be had; ``changed``
    the segments of the prompt that have changed since the reply was recorded, if it was;
    ``seconds`` what it took once it was sent, and ``queued`` how long it waited for that.
    """

    text: str
    usage: Usage
    seconds: float
    queued: float = 0.0
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


class _Function(BaseModel, extra="allow"):
    name: Any = None
    arguments: Any = None


class _Call(BaseModel, extra="allow"):
    id: Any = None
    function: _Function = _Function()

    @property
    def sent(self) -> dict[str, Any]:
        """As it is stored."""
        function = self.function
        return {"id": self.id, "name": function.name, "args": function.arguments}


class _ChoiceMessage(BaseModel, extra="allow"):
    content: str | list[Any] | dict[str, Any] | None = None
    refusal: Any = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None  # of servers older than tools

    @property
    def blocks(self) -> list[Any]:
        """The content, piece by piece."""
        return self.content if isinstance(self.content, list) else [self.content]

    @property
    def calls(self) -> list[_Call]:
        """The calls, in the new form or the old one."""
        if self.tool_calls:
            return self.tool_calls
        return [_Call(function=self.function_call)] if self.function_call else []


class _Choice(BaseModel):
    message: _ChoiceMessage
    finish_reason: Any = None
    logprobs: Any = None


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: Any = None


def sent_of(
    completion: Any, *, offered: bool, logprobs: bool, most: int = MAX_REPLY_BYTES
) -> Sent:
    """What of a completion, whole or in frames, is kept of a reply of at most ``most`` bytes.

    Raises
    ------
    EndpointError
        Where it is no completion, or says that it failed.
    """
    whole = merged(completion) if is_stream(completion) else completion
    checked = _completion_of(whole)
    choice, message = checked.choices[0], checked.choices[0].message
    stop = str(choice.finish_reason or "")[:100]
    if stop.lower() in ENDPOINTS["failures"]:
        raise EndpointError(f"the endpoint ended the reply with {stop!r}", passing=True)
    usage = checked.usage if isinstance(checked.usage, dict) else {}
    calls = message.calls
    sent = Sent(
        text="".join(_text_of(block) for block in message.blocks if _is_text(block)),
        stop=stop,
        usage=counts(usage.get("prompt_tokens"), usage.get("completion_tokens")),
        calls=tuple(call.sent for call in calls),
        refused=bool(message.refusal) or any(map(_is_refusal, message.blocks)),
        reasoning=_reasoning(message),
        raw=_raw(message) if offered and calls else None,
        logprobs=_first_tokens(choice.logprobs) if logprobs else None,
    )
    return _bounded(sent, most)


def _completion_of(whole: Any) -> _Completion:
    """A completion whose shape was checked."""
    choices = whole.get("choices") if isinstance(whole, dict) else None
    for part in (whole, *(choices if isinstance(choices, list) else ())):
        if isinstance(part, dict) and part.get("error"):
            raise refusal_in_body(part["error"])
    if isinstance(whole, dict) and not choices and not isinstance(choices, int | str):
        raise EndpointError("the endpoint sent no choices", passing=True)
    try:
        return _Completion.model_validate(whole)
    except ValidationError as error:
        where = ".".join(map(str, error.errors(include_input=False)[0]["loc"])) or "it"
        raise EndpointError(
            f"the endpoint sent no chat completion: {where} is wrong"
        ) from None


def _bounded(sent: Sent, most: int) -> Sent:
    """What was sent, or that it was more than a reply may be."""
    size = len(sent.text) + len(sent.reasoning) + len(_called(sent.calls))
    if len(sent.calls) > MAX_CALLS:
        return Sent(text="", stop=TOO_MANY_CALLS, usage=sent.usage, dropped=size)
    parts = (sent.text, sent.reasoning, _called(sent.calls))
    if sum(len(part.encode("utf-8", "replace")) for part in parts) > most:
        return Sent(text="", stop=TOO_LARGE, usage=sent.usage, dropped=size)
    return sent


def read(sent: Sent, messages: Sequence[Message], tools: ToolSchemas) -> Reply:
    """What was sent in answer to ``messages``, read; its cost is not known here."""
    text, reasoning = encodable(sent.text), sent.reasoning
    written: tuple[WrittenCall, ...] = ()
    channels = channels_of(text)
    if channels is not None:
        text, written = channels.final, channels.calls
        reasoning = "\n".join(filter(None, [reasoning, channels.analysis]))
    calls = calls_of(sent.calls, tools) if tools else ()
    if tools and not calls:
        if not written:  # an endpoint may leave calls in the text, or in the thoughts
            text, written = read_calls(text, tools)
        if not written and not spoken(text).strip():
            written = calls_in_reasoning(reasoning or text, tools)
        calls = calls_of([call.sent for call in written], tools)
    fault = _fault(sent, text, called=bool(sent.calls or written))
    if len(calls) > MAX_CALLS:
        calls, fault = (), "too_many_calls"
    size = len(text) + len(_called(sent.calls)) + sent.dropped
    usage = None if sent.usage is None else counts(*sent.usage)
    estimated = usage is None or usage[0] == 0 or (usage[1] == 0 and size > 0)
    if usage is None or estimated:
        usage = tokens_of(messages, tools), round(size / CHARACTERS_PER_TOKEN)
    elif was_cut([message.text for message in messages], usage[0]):
        fault = fault or "context"
    return Reply(
        text,
        Usage(sent.requests, 0, *usage, estimated, None),
        0.0,
        reasoning=reasoning,
        fault=None if calls and fault == "tool_call" else fault,
        tool_calls=calls,
        raw=sent.raw,
        logprobs=sent.logprobs,
    )


def after(lost: Sent, sent: Sent) -> Sent:
    """What was sent, with the tokens of a reply before it that was paid for and not used."""
    requests = lost.requests + sent.requests
    if lost.usage is None or sent.usage is None:
        return sent.model_copy(update={"usage": None, "requests": requests})
    usage = lost.usage[0] + sent.usage[0], lost.usage[1] + sent.usage[1]
    return sent.model_copy(update={"usage": usage, "requests": requests})


def drops_tools(sent: Sent, messages: Sequence[Message], tools: ToolSchemas) -> bool:
    """Whether the tokens that an endpoint counted show that it left the tools out.

    Some templates do so without a word.
    """
    length = dense_length(json.dumps(list(tools)))
    if sent.calls or sent.usage is None or length < MIN_TOOLS:
        return False
    texts = [message.text for message in messages]
    alone = sum(map(dense_length, texts))
    tokens = sent.usage[0]
    if tokens <= 0 or alone / tokens > IMPOSSIBLE:
        return False  # a count that cannot even hold the messages shows nothing
    return (alone + length) / tokens > IMPOSSIBLE and not was_cut(texts, tokens)


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


def tokens_of(messages: Sequence[Message], tools: ToolSchemas) -> int:
    """About how many tokens a prompt has, pictures apart."""
    characters = sum(len(m.text) + len(_called(plain_calls(m))) for m in messages)
    characters += len(protocol_of(tools)) if tools else 0
    return round(characters / CHARACTERS_PER_TOKEN)


def _called(calls: Sequence[Mapping[str, Any]]) -> str:
    """Calls as text: they are tokens as well."""
    return (
        str([(call.get("name"), call.get("args")) for call in calls]) if calls else ""
    )


def _fault(sent: Sent, text: str, *, called: bool) -> Fault | None:
    """Why a reply is not the whole answer, from what an endpoint says about it.

    Some endpoints end an ordinary answer with a tool's reason: next to text that is not a fault.
    """
    stop = sent.stop.lower()
    if any(stop.endswith(reason) for reason in ENDPOINTS["malformed"]):
        return "tool_call"
    fault = _ENDINGS.get(stop)
    if sent.refused and fault != "content_filter":
        return "refusal"
    if fault not in (None, "tool_call"):
        return fault
    if text.strip():
        return None
    return "tool_call" if called or fault else "empty"


def _reasoning(message: _ChoiceMessage) -> str:
    """Reasoning that came as a field or as blocks of its own."""
    parts = [getattr(message, field, None) for field in _REASONING]
    parts += [
        block for block in message.blocks if not (_is_text(block) or _is_refusal(block))
    ]
    return "\n".join(dict.fromkeys(text for part in parts if (text := _text_of(part))))


def _is_text(block: object) -> bool:
    """Whether a piece of content is spoken: in chat completions, or in the newer interface."""
    return isinstance(block, str) or (
        isinstance(block, dict) and block.get("type") in {"text", "output_text"}
    )


def _is_refusal(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "refusal"


def _raw(message: _ChoiceMessage) -> dict[str, Any] | None:
    """Thoughts behind calls, and what stands beside these: some endpoints want them back."""
    fields = {
        key: value for key in _SENT_BACK if (value := getattr(message, key, None))
    }
    calls = [call.model_extra or {} for call in message.calls]
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
