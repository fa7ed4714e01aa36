"""What happens while a question is worked on, as it happens."""

from __future__ import annotations

import time
from dataclasses import dataclass

from agents.base import Step
from matsmith.core.terminal import printable

_BEGINNINGS = {
    "model": "asking the model ({about})", "retrieve": "searching for {about}",
    "execute": "running a draft", "run": "running code", "answer": "reading the answer",
    "look": "looking into {about}", "final": "running the answer",
    "again": "the answer failed ({about}); once more",
}  # fmt: skip
WORDS = 120  # characters of one event


@dataclass(frozen=True)
class Event:
    """One thing that begins, or has ended (``done``)."""

    text: str  # one line, safe for a terminal; of hostile origin, so to be escaped in a page
    done: bool
    seconds: float = 0.0  # since the question was asked


def event_of(step: Step, started: float) -> Event | None:
    """What a step means to a user (``None``: nothing), the question being ``started`` when."""
    detail = step.detail
    if step.kind == "parse":
        return None
    begins = step.kind == "begin"
    name = str(detail["kind"] if begins else detail.get("name", step.kind))
    text = _BEGINNINGS.get(name, "{name}: {about}") if begins else _ended(step)
    text = printable(text.format(name=name, **detail) if begins else text)
    line = " ".join(text.split())
    line = line if len(line) <= WORDS else f"{line[:WORDS]}..."
    return Event(line, not begins, time.monotonic() - started)


def ending(step: Step) -> str:
    """The outcome of an execution in one line."""
    lines = str(step.detail["error"]).strip().splitlines()
    return f"{step.detail['outcome']}{': ' + lines[-1] if lines else ''}"


def _ended(step: Step) -> str:
    detail = step.detail
    match step.kind:
        case "retrieve":
            names = [str(hit["name"]).rpartition(".")[2] for hit in detail["hits"]]
            return f"found {len(names)} documents: {', '.join(names[:6])}"
        case "model":
            failed = f": {detail['error']}" if "error" in detail else ""
            return f"asked the model ({detail['purpose']}){failed}"
        case "execute":
            return f"executed a draft: {ending(step)}"
        case "check":
            return f"checked: {'; '.join(detail['findings'][:3]) or 'nothing to object to'}"
        case _:
            first = str(detail["result"]).partition("\n")[0]
            return f"called {detail['name']}: {first}"
