"""What the assistant answers: plain data that terminal, page, notebook and file can hold."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from agents.base import Usage
from matsmith.core.terminal import printable

AnswerKind = Literal[
    "answered",  # the code ran and returned values
    "needs_input",  # something is missing that only the user can give: `text` says what
    "explained",  # in words, where there was nothing to compute: `text`
    "no_code",  # there is neither code nor words: `text` says why
    "failed",  # the code does not work: `error`
    "stopped",  # by the user, by the time limit or by a limit of `budget`: `text` says which
    "broken",  # the endpoint, the sandbox or the documents failed: `text`; not the model's doing
]


@dataclass(frozen=True)
class Value:
    """One value of an answer."""

    name: str
    value: Any  # JSON-able; an object of a library is its text
    text: str  # as it is shown: of hostile origin, to be escaped
    unit: str | None = None  # the model's word; `None` where neither code nor name says one
    repeats: int | None = None  # line in which it stands as a literal: it was not computed


class Source(BaseModel):
    """A symbol of a library that the run used: its file below the packages; line 0 is unknown."""

    model_config = ConfigDict(strict=True, frozen=True)

    name: Annotated[str, StringConstraints(max_length=300)]
    distribution: str
    version: str
    path: str = ""
    line: int = 0


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

    ``structure`` has, of a crystal, its ``cell`` (Å, rows), ``fractions``, ``species`` and their
    ``colours``, with which a page makes the picture one that turns.
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
        told = ", ".join(f"{v.name}={v.text[:40]}" for v in self.values) or self.text[:80]
        return f"<Answer {self.kind}: {' '.join(printable(told).split())[:200]}>"

    @property
    def works(self) -> bool:
        """Whether there are values of code that ran."""
        return self.kind == "answered"

    @property
    def returned(self) -> str:
        """The values as text, one a line."""
        return "\n".join(f"{value.name!r}: {value.text}" for value in self.values)
