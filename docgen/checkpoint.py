"""Append-only record of written documentation: what a killed run had finished stays finished."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from docgen.texts import Text
from sandbox.lines import JsonLines, read_lines


@dataclass(frozen=True)
class Written:
    """The outcome of one symbol.

    Attributes
    ----------
    source_hash, prompt
        What the text was written about, and the version of the prompt; see :mod:`docgen.prompts`.
    writer, date
        Name of the model, and the day.
    status
        ``done``, or ``failed`` after the last attempt (then ``error`` says why, ``text`` is
        empty, and the next run tries again).
    together
        Symbols that were documented in the same requests.
    prompt_tokens, completion_tokens
        Of these requests, as the endpoint reported them over all attempts; ``None`` when it did
        not.
    """

    qualname: str
    source_hash: str
    writer: str
    text: str
    status: Literal["done", "failed"] = "done"
    prompt: str = ""
    date: str = ""
    error: str | None = None
    attempts: int = 1
    together: int = 1
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def as_text(self) -> Text:
        """What of it is shared."""
        return Text(self.qualname, self.source_hash, self.prompt, self.writer, self.date, self.text)


class Checkpoint:
    """A JSONL file of :class:`Written`, later lines win; several processes may append to it.

    Without a path nothing is kept: for a writer whose texts cost nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.damaged = 0
        self._done: dict[tuple[str, str, str], Written] = {}
        self._known: dict[tuple[str, str], str] = {}
        for written in self._read():
            self._remember(written)

    def done(self, qualname: str, source_hash: str, writer: str) -> Written | None:
        """The last finished text about this source, ``None`` when it must be written."""
        return self._done.get((qualname, source_hash, writer))

    def known(self, qualname: str, source_hash: str, writer: str) -> bool:
        """Whether a text about another source of this symbol was written before."""
        return self._known.get((qualname, writer), source_hash) != source_hash

    def texts(self) -> list[Text]:
        """Every finished text."""
        return [written.as_text() for written in self._done.values()]

    @contextmanager
    def writer(self) -> Iterator[_Appender]:
        """Opens the file for appending."""
        lines = None if self.path is None else JsonLines(self.path)
        try:
            yield _Appender(self, lines)
        finally:
            if lines is not None:
                lines.close()

    def _remember(self, written: Written) -> None:
        if written.status == "done":
            self._done[written.qualname, written.source_hash, written.writer] = written
            self._known[written.qualname, written.writer] = written.source_hash

    def _read(self) -> Iterator[Written]:
        if self.path is None or not self.path.exists():
            return
        for _, line in read_lines(self.path):
            try:
                yield _parse(line)
            except (ValueError, TypeError):
                self.damaged += 1  # written again


class _Appender:
    def __init__(self, checkpoint: Checkpoint, lines: JsonLines | None) -> None:
        self._checkpoint = checkpoint
        self._lines = lines

    def append(self, written: Written) -> None:
        """Record an item; it is in the file when this returns."""
        if self._lines is not None:
            self._lines.append(asdict(written))
        self._checkpoint._remember(written)


def _parse(line: bytes) -> Written:
    """A record from its line.

    Raises
    ------
    ValueError, TypeError
        When the line is not a record.
    """
    written = Written(**json.loads(line))
    if written.status not in {"done", "failed"} or not isinstance(written.text, str):
        raise ValueError("not a record of this file")
    return written
