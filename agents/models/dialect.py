"""How one endpoint wants to be asked, as far as its refusals have taught.

Endpoints disagree about ``temperature``, ``top_p`` and the name of the limit on a reply, about
tools, log-probabilities and the role ``system``, and say so with a status 400 or 500 that names it.
What one refuses is not sent to it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from agents.models.calls import ENDPOINTS, Message, as_text, wire
from agents.models.windows import excess_of
from agents.models.written import ToolSchemas
from foundation.errors import EndpointError

#: The names of the limit on a reply among endpoints, of which the first is tried first.
NEW, OLD = "max_completion_tokens", "max_tokens"
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}

_NO_TOOLS = frozenset({400, 404, 405, 422, 500, 501})  # llama.cpp: 500, OpenRouter: 404
_LONGEST = 4000  # characters of an error that are read
_PATTERNS = {
    name: re.compile("|".join(patterns), re.IGNORECASE)
    for name, patterns in ENDPOINTS["patterns"].items()
}


@dataclass(frozen=True)
class Dialect:
    """What requests look like.

    Attributes
    ----------
    settings
        Fields of a request besides messages and tools.
    text_tools
        Whether tools are told of in the text.
    logprobs
        Whether log-probabilities are asked for at all.
    system
        Whether there is a role ``system``; else its text begins the user's message.
    alternating
        Whether messages of one role in a row are joined.
    """

    settings: Mapping[str, Any]
    text_tools: bool = False
    logprobs: bool = True
    system: bool = True
    alternating: bool = False

    def body(
        self, messages: Sequence[Message], tools: ToolSchemas, logprobs: int
    ) -> dict[str, Any]:
        """The body of a request."""
        body = dict(self.settings)
        if tools and self.text_tools:
            messages = as_text(messages, tools)
        body["messages"] = [wire(message) for message in self.shaped(messages)]
        if tools and not self.text_tools:
            body["tools"] = list(tools)
        if logprobs and self.logprobs:
            body |= {"logprobs": True, "top_logprobs": logprobs}
        return body

    def shaped(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The conversation in the roles that the endpoint takes."""
        if not self.system:
            messages = [
                replace(message, role="user") if message.role == "system" else message
                for message in messages
            ]
        return messages if self.system and not self.alternating else _joined(messages)

    def adapted(
        self, error: Exception, messages: Sequence[Message], *, may_text_tools: bool
    ) -> tuple[Dialect, str] | None:
        """A dialect without what ``error`` refuses, and what has changed; ``None`` for neither.

        As each change takes something away, asking again ends.
        """
        if may_text_tools and not self.text_tools and refuses_tools(error):
            note = "tools sent as text: the endpoint refuses them"
            return replace(self, text_tools=True), note
        if self.logprobs and refuses_logprobs(error):
            return replace(self, logprobs=False), ""
        if change := adjusted(self.settings, error):
            settings, note = change
            return replace(self, settings=settings), note
        excess = excess_of(error)
        limit = next((name for name in (NEW, OLD) if name in self.settings), NEW)
        if excess and excess.always and excess.room:
            if self.settings.get(limit, excess.room + 1) <= excess.room:
                return None
            settings = {**self.settings, limit: excess.room}
            note = f"{limit} sent as {excess.room}: the endpoint allows no more"
            return replace(self, settings=settings), note
        return self._reshaped(error, messages)

    def _reshaped(
        self, error: Exception, messages: Sequence[Message]
    ) -> tuple[Dialect, str] | None:
        """Other roles, where they are refused and would differ."""
        text = str(error)[:_LONGEST]
        if _PATTERNS["no_system"].search(text):
            changed = replace(self, system=False)
            note = "instructions sent in the user's message: there is no role system"
        elif _PATTERNS["alternate"].search(text):
            changed = replace(self, alternating=True)
            note = "messages of one role in a row joined: roles must alternate"
        else:
            return None
        shapes = [list(shape.shaped(messages)) for shape in (self, changed)]
        return (changed, note) if shapes[0] != shapes[1] else None


def _joined(messages: Sequence[Message]) -> list[Message]:
    """Messages of one role in a row as one, where all of them are plain text."""
    joined: list[Message] = []
    for role, group in groupby(messages, lambda message: message.role):
        members = list(group)
        plain = all(isinstance(m.content, str) and not m.calls for m in members)
        if role not in {"user", "assistant"} or not plain:
            joined += members
            continue
        joined.append(Message(role, "\n\n".join(m.text for m in members)))
    return joined


def refused_parameter(
    status: int | None, message: str, sent: Iterable[str]
) -> str | None:
    """The parameter of ``sent`` that an error refuses: the one that its message names first."""
    text = message[:_LONGEST]
    if status not in (400, 422) or not _PATTERNS["refused"].search(text):
        return None
    named = {name: re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in sent}
    places = {name: match.start() for name, match in named.items() if match}
    return min(places, key=lambda name: places[name]) if places else None


def refuses_tools(error: Exception) -> bool:
    """Whether an endpoint says that it does not take tools."""
    status, text = _status(error), str(error)[:_LONGEST]
    names = ("tools", "tool_choice", "functions")
    if refused_parameter(status, text, names) is not None:
        return True
    return status in _NO_TOOLS and _PATTERNS["no_tools"].search(text) is not None


def refuses_logprobs(error: Exception) -> bool:
    """Whether an endpoint says that it tells no log-probabilities, or not so many."""
    return _status(error) in (400, 403, 422) and "logprobs" in str(error)[:_LONGEST]


def adjusted(
    settings: Mapping[str, Any], error: Exception
) -> tuple[Mapping[str, Any], str] | None:
    """``settings`` without, or with the other name of, the one that ``error`` refuses; and how.

    ``None`` when the error is about something else.
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
