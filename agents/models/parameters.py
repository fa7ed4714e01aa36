"""Fields of a request that its endpoint refuses, and other things that it says in a refusal.

Endpoints disagree about ``temperature``, ``top_p`` and the name of the limit on a reply, and say so
with a status 400 that names the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from matsmith.core.errors import EndpointError

#: The names of the limit among OpenAI-compatible endpoints, of which the first is tried first.
NEW, OLD = "max_completion_tokens", "max_tokens"

_NO_TOOLS = frozenset({400, 404, 405, 422, 500, 501})  # llama.cpp: 500, OpenRouter: 404
_REFUSAL = re.compile(
    r"unsupported|not support|n't support|unrecognized|unknown|unexpected|extra_forbidden"
    r"|extra inputs|not permitted|not allowed|deprecated|only the default|cannot both",
    re.IGNORECASE,
)
#: What servers say that cannot call tools, or were not started for it, beside the refusals above.
_TOOLS = re.compile(
    r"tools?\b.{0,40}\brequires|tool.{0,20}(?:not supported|unsupported)"
    r"|(?:not|n't|no endpoints found that) support.{0,20}\b(?:tool|function)",
    re.IGNORECASE,
)
#: How endpoints say that a prompt is longer than the model's window, and how they say that a
#: limit on the reply is, which is a setting.
_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|ContextWindowExceeded|maximum context length"
    r"|(?:prompt|input) is too long|exceeds? the (?:available |model'?s )?context (?:size|window)"
    r"|input tokens? (?:count )?.{0,40}exceeds? the (?:maximum|configured)"
    r"|tokens.{0,60}too large for model with \d+ maximum context"
    r"|`inputs` (?:tokens|must have less than)|(?:payload|content|request entity) too large",
    re.IGNORECASE,
)
_REPLY_TOO_LARGE = re.compile(
    r"max_(?:completion_|output_)?tokens\W.{0,60}\btoo (?:large|high|big)"
)
_LONGEST = 4000  # characters of an error that are read


def refused_parameter(status: int | None, message: str, sent: Iterable[str]) -> str | None:
    """The parameter of ``sent`` that an error refuses: the one that its message names first."""
    text = message[:_LONGEST]
    if status not in (400, 422) or not _REFUSAL.search(text):
        return None
    named = {name: re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in sent}
    places = {name: match.start() for name, match in named.items() if match}
    return min(places, key=lambda name: places[name]) if places else None


def refuses_tools(error: Exception) -> bool:
    """Whether an endpoint says that it does not take tools."""
    status, text = _status(error), str(error)[:_LONGEST]
    if refused_parameter(status, text, ("tools", "tool_choice", "functions")) is not None:
        return True
    return status in _NO_TOOLS and _TOOLS.search(text) is not None


def overflows(error: Exception) -> bool:
    """Whether an endpoint says that the prompt is longer than what the model can read."""
    text = str(error)[:_LONGEST]
    if _status(error) not in (None, 400, 413, 422, 500):
        return False
    return _OVERFLOW.search(text) is not None and _REPLY_TOO_LARGE.search(text) is None


def refuses_logprobs(error: Exception) -> bool:
    """Whether an endpoint says that it tells no log-probabilities, or not so many."""
    return _status(error) in (400, 403, 422) and "logprobs" in str(error)[:_LONGEST]


def adjusted(settings: Mapping[str, Any], error: Exception) -> tuple[Mapping[str, Any], str] | None:
    """``settings`` without, or with the other name of, the one that ``error`` refuses; and how.

    ``None`` when the error is about something else. As each change takes something away, asking
    again ends.
    """
    name = refused_parameter(_status(error), str(error), settings.keys() - {"model"})
    if name is None:
        return None
    rest = {key: value for key, value in settings.items() if key != name}
    if name != NEW:
        return rest, f"{name} not sent: the endpoint refuses it"
    return rest | {OLD: settings[name]}, f"{name} sent as {OLD}"


def _status(error: Exception) -> int | None:
    return error.status if isinstance(error, EndpointError) else None
