"""What comes out of the assistant: events while it works, then an answer.

All of it is plain data that terminal, page, notebook and file can hold.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, StringConstraints

from agents.base import Step, Usage
from foundation.terminal import printable

AnswerKind = Literal[
    "answered",  # the code ran and returned values
    "needs_input",  # something is missing that only the user can give: `text` says what
    "explained",  # in words, where there was nothing to compute: `text`
    "no_code",  # there is neither code nor words: `text` says why
    "failed",  # the code does not work: `error`
    "stopped",  # by the user, by the time limit or by a limit of `budget`: `text` says which
    "broken",  # the endpoint, the sandbox or the documents failed: `text`; not the model's doing
]

#: Third-party packages whose functions are arithmetic, not knowledge of materials.
ARITHMETIC = frozenset({"numpy"})
WORDS = 120  # characters of one event
_BEGINNINGS = {
    "model": "asking the model ({about})",
    "retrieve": "searching for {about}",
    "execute": "running a draft",
    "run": "running code",
    "answer": "reading the answer",
    "look": "looking into {about}",
    "final": "running the answer",
    "again": "the answer failed ({about}); once more",
}


@dataclass(frozen=True)
class Value:
    """One value of an answer."""

    name: str
    value: Any  # JSON-able; an object of a library is its text
    text: str  # as it is shown: of hostile origin, to be escaped
    unit: str | None = (
        None  # the model's word; `None` where neither code nor name says one
    )
    repeats: int | None = (
        None  # line in which it stands as a literal: it was not computed
    )


class Source(BaseModel, strict=True, frozen=True):
    """A symbol of a library that the run used."""

    name: Annotated[str, StringConstraints(max_length=300)]
    distribution: str
    version: str


class Trace(BaseModel, strict=True, frozen=True):
    """What a run used; made inside the sandbox, so as untrusted as its result.

    Symbols stand in the order of their first use; ``read`` are inputs that were opened;
    ``warnings`` are those of libraries, about values; ``noted`` is whether the run could be
    followed at all.
    """

    symbols: list[Source] = []
    read: list[str] = []
    warnings: list[Annotated[str, StringConstraints(max_length=300)]] = []
    noted: bool = True

    @property
    def sources(self) -> tuple[Source, ...]:
        """What belongs to an installed package that knows more than arithmetic, in its order."""
        return tuple(
            s for s in self.symbols if s.version and s.distribution not in ARITHMETIC
        )

    @property
    def library(self) -> tuple[str, ...]:
        """The names of `sources`."""
        return tuple(source.name for source in self.sources)


@dataclass(frozen=True)
class InputFile:
    """An input of a question: where it lies and what is in it."""

    name: str
    path: str
    kind: str
    size: int
    sha256: str
    summary: str = ""


@dataclass(frozen=True)
class OutputFile:
    """A file that the code wrote: its content is as untrusted as a result."""

    name: str  # relative, without `..` or anything hidden
    mime: str  # of a picture, by its first bytes
    size: int
    sha256: str
    data: bytes = field(repr=False, default=b"")


@dataclass(frozen=True)
class Figure:
    """A picture; a page shows it as an ``<img>`` only, so that nothing in it can run.

    ``structure`` has what is drawn of a crystal (:func:`agents.crystal.scene`) and its ``files``,
    with which a page makes the picture one that turns and can be saved.
    """

    title: str
    mime: str
    data: bytes = field(repr=False)
    structure: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def uri(self) -> str:
        """The picture as the source of an ``<img>``."""
        return f"data:{self.mime};base64,{base64.b64encode(self.data).decode()}"


@dataclass(frozen=True, repr=False)
class Answer:
    """An answer with what shows that it works. Whatever the model or its code wrote is hostile."""

    question: str
    kind: AnswerKind
    text: str = ""  # besides the values: what is missing, why there is nothing
    said: str = ""  # by the model, beside its code
    code: str | None = None
    entry: str | None = None
    values: tuple[Value, ...] = ()
    read: tuple[str, ...] = ()  # inputs that the run opened
    notes: tuple[str, ...] = ()  # what to know before trusting the values
    sources: tuple[Source, ...] = ()  # of the library, in the order of their use
    inputs: tuple[InputFile, ...] = ()
    files: tuple[OutputFile, ...] = ()
    figures: tuple[Figure, ...] = ()  # among the files, and of structures
    tried: tuple[str, ...] = ()  # how drafts ended, and answers that did not work
    outcome: str | None = None
    error: str = ""  # of the final run
    printed: str = ""
    model: str = ""
    tier: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    lock: str = ""  # SHA-256 of the lock file of the environment
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    def __getitem__(self, name: str) -> Any:
        """A value by its name."""
        return {value.name: value.value for value in self.values}[name]

    def __repr__(self) -> str:
        told = (
            ", ".join(f"{v.name}={v.text[:40]}" for v in self.values) or self.text[:80]
        )
        return f"<Answer {self.kind}: {' '.join(printable(told).split())[:200]}>"

    @property
    def works(self) -> bool:
        """Whether there are values of code that ran."""
        return self.kind == "answered"

    @property
    def computed(self) -> bool:
        """Whether its values come from code that was executed, and not from words."""
        return self.works

    @property
    def returned(self) -> str:
        """The values as text, one a line."""
        return "\n".join(f"{value.name!r}: {value.text}" for value in self.values)


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


def ending(outcome: object, error: str) -> str:
    """How an execution ended, in one line."""
    return ": ".join([str(outcome), *error.strip().splitlines()[-1:]])


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
            return (
                f"executed a draft: {ending(detail['outcome'], str(detail['error']))}"
            )
        case "check":
            return f"checked: {'; '.join(detail['findings'][:3]) or 'nothing to object to'}"
        case _:
            first = str(detail["result"]).partition("\n")[0]
            return f"called {detail['name']}: {first}"
