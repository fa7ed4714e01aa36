"""Parameters of a chat model that its endpoint refuses, and the limit on a reply's length.

Endpoints disagree about ``temperature``, ``top_p`` and the name of the limit, and say so with a
status 400 that names the parameter. Chat models are pydantic models: what is changed here is a
copy that shares its connections with the original.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # slow to import
    from langchain_core.language_models import BaseChatModel

#: The two names of the limit among OpenAI-compatible endpoints.
RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}

#: Fields in which chat models keep the limit.
LIMITS = ("max_tokens", "max_output_tokens", "num_predict")

#: Fields that hold further parameters by name.
NESTED = ("model_kwargs", "extra_body")

#: Common parameters; further ones are those that ``model.options`` sets.
KNOWN = ("temperature", "top_p", "top_k", "stop", "seed", "presence_penalty",
         "frequency_penalty", "reasoning_effort", "logprobs", "verbosity")  # fmt: skip

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
    r"|tokens.{0,60}too large for model with \d+ maximum context",
    re.IGNORECASE,
)
_REPLY_TOO_LARGE = re.compile(
    r"max_(?:completion_|output_)?tokens\W.{0,60}\btoo (?:large|high|big)"
)
_LONGEST = 4000  # characters of an error that are read


def refused_parameter(status: object, message: str, sent: Iterable[str]) -> str | None:
    """The parameter of ``sent`` that an error refuses: the one that its message names first.

    An error about a value that is too large, or about something else, refuses none.
    """
    text = message[:_LONGEST]
    if status not in (400, 422) or not _REFUSAL.search(text):
        return None
    named = {name: re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in sent}
    places = {name: match.start() for name, match in named.items() if match}
    return min(places, key=lambda name: places[name]) if places else None


def refuses_tools(error: Exception) -> bool:
    """Whether an endpoint says that it does not take tools."""
    if isinstance(error, NotImplementedError):  # a chat model that cannot bind any
        return True
    status, text = _status(error), str(error)[:_LONGEST]
    if refused_parameter(status, text, ("tools", "tool_choice", "functions")) is not None:
        return True
    return isinstance(status, int) and status in _NO_TOOLS and _TOOLS.search(text) is not None


def overflows(error: Exception) -> bool:
    """Whether an endpoint says that the prompt is longer than what the model can read."""
    status, text = _status(error), str(error)[:_LONGEST]
    if isinstance(status, int) and status not in (400, 413, 422, 500):
        return False
    return _OVERFLOW.search(text) is not None and _REPLY_TOO_LARGE.search(text) is None


def refuses_logprobs(error: Exception) -> bool:
    """Whether an endpoint says that it tells no log-probabilities, or not so many."""
    return _status(error) in (400, 403, 422) and "logprobs" in str(error)[:_LONGEST]


def adjusted(chat: BaseChatModel, error: Exception) -> tuple[BaseChatModel, str] | None:
    """``chat`` without, or with the other name of, the parameter that ``error`` refuses.

    Returns
    -------
    tuple or None
        The changed model and what was changed; ``None`` when the error is about something else.
        As each change takes something away, asking again ends.
    """
    name = refused_parameter(_status(error), str(error), _sent(chat))
    if name is None:
        return None
    if name not in RENAMED:
        return _without(chat, name), f"{name} not sent: the endpoint refuses it"
    limit, other = reply_limit(chat), RENAMED[name]
    bare = _without(chat, name)
    renamed_before = name in (getattr(chat, "extra_body", None) or {})
    if limit is None or renamed_before or "extra_body" not in type(chat).model_fields:
        return bare, f"{name} not sent: the endpoint refuses it"
    body = {**(getattr(bare, "extra_body", None) or {}), other: limit}
    return bare.model_copy(update={"extra_body": body}), f"{name} sent as {other}"


def reply_limit(chat: BaseChatModel) -> int | None:
    """Tokens of a reply at most, as far as ``chat`` sends a limit."""
    held = [getattr(chat, field, None) for field in LIMITS]
    held += [(getattr(chat, "extra_body", None) or {}).get(name) for name in RENAMED]
    return next((limit for limit in held if isinstance(limit, int) and limit > 0), None)


def with_limit(chat: BaseChatModel, limit: int) -> BaseChatModel:
    """``chat`` with another limit where it has one."""
    changes: dict[str, Any] = {
        field: limit for field in LIMITS if getattr(chat, field, None) is not None
    }
    body = getattr(chat, "extra_body", None) or {}
    if body.keys() & RENAMED.keys():
        changes["extra_body"] = {k: limit if k in RENAMED else v for k, v in body.items()}
    return chat.model_copy(update=changes)


def _status(error: Exception) -> object:
    return getattr(error, "status_code", None) or getattr(error, "code", None)


def _sent(chat: BaseChatModel) -> set[str]:
    """Names of the parameters that ``chat`` sends."""
    nested = {name for field in NESTED for name in getattr(chat, field, None) or {}}
    plain = {name for name in (*KNOWN, *LIMITS) if getattr(chat, name, None) is not None}
    if "max_tokens" in plain:
        alias = type(chat).model_fields["max_tokens"].alias  # the name that goes over the wire
        plain = (plain - {"max_tokens"}) | {alias if alias in RENAMED else "max_tokens"}
    return nested | plain


def _without(chat: BaseChatModel, name: str) -> BaseChatModel:
    changes: dict[str, Any] = {}
    for field in NESTED:
        held = getattr(chat, field, None) or {}
        if name in held:
            changes[field] = {k: v for k, v in held.items() if k != name}
    if not changes:  # what was renamed is nested, and its field is empty
        fields = LIMITS if name in RENAMED else (name,)
        changes = {field: None for field in fields if field in type(chat).model_fields}
    return chat.model_copy(update=changes)
