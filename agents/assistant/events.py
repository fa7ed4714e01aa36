"""What happens while a question is worked on, as it happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from agents.base import Question, Step
from sandbox.terminal import printable

EventKind = Literal["preparing", "thinking", "searching", "reading", "running", "checking"]
_READING = frozenset({"lookup", "resolve", "tree", "source", "contents"})
WORDS = 120  # characters of one event


@dataclass(frozen=True)
class Event:
    """One thing that begins, or has ended.

    Attributes
    ----------
    text
        One line, safe for a terminal; of hostile origin, so to be escaped in a page.
    done
        Whether it has ended; ``False``: it begins.
    seconds
        Since the question was asked.
    tokens
        Spent by it; of ``thinking`` that is done.
    """

    kind: EventKind
    text: str
    done: bool
    seconds: float = 0.0
    tokens: int = 0


#: Whoever is told of the steps of the question that the current task works on.
_LISTENER: ContextVar[Callable[[Step], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[Step], None]) -> Iterator[None]:
    """Tell ``listener`` of every step that this task makes inside."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def heard(_: Question, step: Step) -> None:
    """Pass a step on to whoever listens (``on_step`` of :class:`agents.episode.Parts`)."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(step)


def event_of(step: Step, started: float) -> Event | None:
    """What a step means to a user; ``None``: nothing.

    Parameters
    ----------
    started
        When the question was asked, on the monotonic clock.
    """
    detail = step.detail
    seconds = time.monotonic() - started
    if step.kind == "begin":
        kind, text = _beginning(str(detail["kind"]), str(detail["about"]))
        return Event(kind, _line(text), False, seconds)
    if step.kind == "parse":
        return None
    kind, text = _ended(step)
    tokens = 0
    if step.kind == "model" and "usage" in detail:
        tokens = int(detail["usage"]["prompt_tokens"]) + int(detail["usage"]["completion_tokens"])
    return Event(kind, _line(text), True, seconds, tokens)


def ending(step: Step) -> str:
    """The outcome of an execution in one line."""
    lines = str(step.detail["error"]).strip().splitlines()
    return f"{step.detail['outcome']}{': ' + lines[-1] if lines else ''}"


def _beginning(kind: str, about: str) -> tuple[EventKind, str]:
    if kind == "model":
        return "thinking", f"asking the model ({about})"
    if kind == "retrieve":
        return "searching", f"searching for {about}"
    if kind == "execute":
        return "running", "running a draft"
    if kind in {"run", "answer"}:
        return "running", "running code" if kind == "run" else "reading the answer"
    return _of_tool(kind), f"{kind}: {about}"


def _of_tool(name: str) -> EventKind:
    if name in _READING:
        return "reading"
    return "searching" if name == "search" else "running" if name == "run" else "checking"


def _ended(step: Step) -> tuple[EventKind, str]:
    detail = step.detail
    if step.kind == "retrieve":
        names = [str(hit["name"]).rpartition(".")[2] for hit in detail["hits"]]
        return "searching", f"found {len(names)} documents: {', '.join(names[:6])}"
    if step.kind == "model":
        failed = f": {detail['error']}" if "error" in detail else ""
        return "thinking", f"asked the model ({detail['purpose']}){failed}"
    if step.kind == "execute":
        return "running", f"executed a draft: {ending(step)}"
    if step.kind == "check":
        return "checking", "checked: " + (
            "; ".join(detail["findings"][:3]) or "nothing to object to"
        )
    first = str(detail["result"]).partition("\n")[0]
    return _of_tool(str(detail["name"])), f"called {detail['name']}: {first}"


def _line(text: str) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= WORDS else f"{line[:WORDS]}..."
