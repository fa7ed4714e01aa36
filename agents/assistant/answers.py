"""What the assistant answers: plain data that terminal, page, notebook and file can hold."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agents.base import Usage
from sandbox.terminal import printable

AnswerKind = Literal[
    "answered",  # the code ran and returned values
    "needs_input",  # something is missing that only the user can give: `text` says what
    "no_code",  # the model wrote none: `text` is what it said instead
    "failed",  # the code does not work: `error`
    "stopped",  # by the user, by the time limit or by a limit of `budget`: `text` says which
    "broken",  # the endpoint, the sandbox or the documents failed: `text`; not the model's doing
]
OriginKind = Literal["computed", "read", "given", "assumed", "unknown"]


@dataclass(frozen=True)
class Literal_:  # noqa: N801 -- a literal of the code, not `typing.Literal`
    """A number or text that stands in the code."""

    text: str
    line: int


@dataclass(frozen=True)
class Origin:
    """Where a value comes from, as far as the code says.

    Attributes
    ----------
    calls
        Dotted names of the library's functions and attributes that it went through.
    files
        Input files that it depends on.
    given
        Literals of the code that it depends on and that stand in the question.
    assumed
        Those that stand neither in the question nor in what was returned before: the model's own.
    unknown
        Why this list may be incomplete; empty when it is not.
    """

    calls: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    given: tuple[Literal_, ...] = ()
    assumed: tuple[Literal_, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def kind(self) -> OriginKind:
        """In one word, the best that can be said for certain."""
        if self.calls:
            return "computed"
        if self.unknown:
            return "unknown"
        if self.files:
            return "read"
        return "assumed" if self.assumed or not self.given else "given"


@dataclass(frozen=True)
class Value:
    """One value of an answer.

    Attributes
    ----------
    value
        JSON-able; an object of a library is its text.
    text
        As it is shown: of hostile origin, to be escaped.
    unit
        ``None`` where neither the code nor the name says one.
    """

    name: str
    value: Any
    text: str
    unit: str | None = None
    origin: Origin = field(default_factory=Origin)


@dataclass(frozen=True)
class Source:
    """The document of a symbol that the code uses.

    Attributes
    ----------
    path, line
        In the installed source, relative to the folder of the packages; line 0 is unknown.
    link
        ``file:`` URL of that place on this machine, empty where it does not exist.
    about
        What the symbol does, in one line.
    """

    name: str
    distribution: str
    version: str
    path: str = ""
    line: int = 0
    link: str = ""
    about: str = ""


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
    """A file that the code wrote: its content is as untrusted as a result.

    Attributes
    ----------
    name
        Relative, without ``..`` or anything hidden.
    mime
        By its first bytes, for pictures; else by its name.
    """

    name: str
    mime: str
    size: int
    sha256: str
    data: bytes = field(repr=False, default=b"")


@dataclass(frozen=True)
class Figure:
    """A picture; a page shows it as an ``<img>`` only, so that nothing in it can run."""

    title: str
    mime: str
    data: bytes = field(repr=False)

    @property
    def uri(self) -> str:
        """The picture as the source of an ``<img>``."""
        return f"data:{self.mime};base64,{base64.b64encode(self.data).decode()}"


@dataclass(frozen=True, repr=False)
class Answer:
    """An answer with what shows that it works. Whatever the model or its code wrote is hostile.

    Attributes
    ----------
    text
        What there is to say besides the values: what is missing, why there is nothing.
    values
        What the code returned.
    notes
        What a reader must know before trusting the values.
    sources
        Documents of the symbols that the code uses.
    files, figures
        What the code wrote to ``out/``; pictures among it, and structures drawn.
    tried
        How each executed draft ended.
    error, printed
        Of the final run.
    model
        Its name; says where it is no LLM.
    versions
        Installed versions by distribution name.
    lock
        SHA-256 of the lock file of the environment.
    seconds
        From question to answer.
    """

    question: str
    kind: AnswerKind
    text: str = ""
    code: str | None = None
    entry: str | None = None
    values: tuple[Value, ...] = ()
    notes: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    inputs: tuple[InputFile, ...] = ()
    files: tuple[OutputFile, ...] = ()
    figures: tuple[Figure, ...] = ()
    tried: tuple[str, ...] = ()
    outcome: str | None = None
    error: str = ""
    printed: str = ""
    model: str = ""
    tier: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    lock: str = ""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    def __getitem__(self, name: str) -> Any:
        """A value by its name."""
        for value in self.values:
            if value.name == name:
                return value.value
        raise KeyError(name)

    def __repr__(self) -> str:
        told = ", ".join(f"{v.name}={v.text[:40]}" for v in self.values) or self.text[:80]
        return f"<Answer {self.kind}: {' '.join(printable(told).split())[:200]}>"

    def _repr_html_(self) -> str:
        """For a notebook."""
        from agents.assistant.html import notebook_html  # noqa: PLC0415 -- it imports this module

        return notebook_html(self)

    @property
    def works(self) -> bool:
        """Whether there are values of code that ran."""
        return self.kind == "answered"

    @property
    def needs_input(self) -> str | None:
        """What is missing that only the user can give."""
        return self.text if self.kind == "needs_input" else None

    @property
    def returned(self) -> str:
        """The values as text, one a line."""
        return "\n".join(f"{value.name!r}: {value.text}" for value in self.values)
