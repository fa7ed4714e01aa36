"""Model traffic as JSONL: recorded as it happens, replayed in place of a model.

A recorded line holds the request (identity of the model, messages, sample) and its reply with
usage, or its failure, so that a replayed run makes the same rows as the recorded one, what it
spent included. The endpoint's address is not part of a request: a recording is replayed anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.models.cache import request_key
from agents.models.content import plain_message
from sandbox.lines import JsonLines, read_lines

if TYPE_CHECKING:  # slow to import
    from langchain_core.messages import BaseMessage

ADDRESS = ("base_url", "provider", "path")


Tools = Sequence[Mapping[str, Any]]


def _key(
    identity: Mapping[str, Any], messages: Sequence[BaseMessage], sample: str, tools: Tools
) -> str:
    model = {name: value for name, value in identity.items() if name not in ADDRESS}
    return request_key(model, messages, sample, tools)


class Recorder:
    """Appends every exchange to a file, one line each, flushed at once."""

    def __init__(self, path: Path) -> None:
        # half a character is read back as it was
        self._lines = JsonLines(path, halves="backslashreplace")

    def reply(
        self,
        identity: Mapping[str, Any],
        messages: Sequence[BaseMessage],
        sample: str,
        reply: Mapping[str, Any],
        tools: Tools = (),
    ) -> None:
        """Keep a reply (what :meth:`agents.models.Reply.stored` returns)."""
        self._write(identity, messages, sample, tools, {"reply": reply})

    def failure(
        self,
        identity: Mapping[str, Any],
        messages: Sequence[BaseMessage],
        sample: str,
        error: str,
        tools: Tools = (),
        *,
        context: bool = False,
    ) -> None:
        """Keep a failed request; ``context``: the prompt was too long for the model."""
        outcome = {"error": error, **({"context": True} if context else {})}
        self._write(identity, messages, sample, tools, outcome)

    def _write(
        self,
        identity: Mapping[str, Any],
        messages: Sequence[BaseMessage],
        sample: str,
        tools: Tools,
        outcome: Mapping[str, Any],
    ) -> None:
        line = {
            "key": _key(identity, messages, sample, tools),
            "model": identity.get("name"),
            "sample": sample,
            "messages": [plain_message(message) for message in messages],
            **outcome,
        }
        self._lines.append(line)


class Replay:
    """Recorded exchanges by request; of equal requests the last one recorded counts."""

    def __init__(self, path: Path, exchanges: Mapping[str, Mapping[str, Any]]) -> None:
        self.path = path
        self._exchanges = exchanges

    @classmethod
    def load(cls, path: Path) -> Replay:
        """Read a recording.

        Raises
        ------
        ValueError
            When the file is missing, or a line other than the last is not an exchange (a run that
            was killed may leave half a line at the end).
        """
        exchanges: dict[str, Mapping[str, Any]] = {}
        try:
            lines = list(read_lines(path))
        except OSError as error:
            raise ValueError(f"model.replay: cannot read {path}: {error.strerror}") from error
        for number, line in lines:
            try:
                exchange = json.loads(line)
                exchanges[exchange["key"]] = exchange
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"model.replay: line {number} of {path} is not a recorded exchange"
                ) from error
        return cls(path, exchanges)

    def find(
        self,
        identity: Mapping[str, Any],
        messages: Sequence[BaseMessage],
        sample: str,
        tools: Tools = (),
    ) -> Mapping[str, Any] | None:
        """The recorded exchange of a request: it has ``reply`` or ``error``."""
        return self._exchanges.get(_key(identity, messages, sample, tools))
