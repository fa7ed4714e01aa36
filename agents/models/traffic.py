"""Model traffic as JSONL: recorded as it happens, replayed in place of a model.

A recorded line holds the request (identity of the model, messages, sample) and its reply with
usage, or its failure, so that a replayed run makes the same rows as the recorded one, what it
spent included. The endpoint's address is not part of a request: a recording is replayed anywhere.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.models.cache import request_key
from agents.models.content import plain_message

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
        path.parent.mkdir(parents=True, exist_ok=True)
        # half a character becomes the escape that JSON has for it, and is read back as it was
        self._file = path.open("a", encoding="utf-8", errors="backslashreplace")
        self._lock = threading.Lock()

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
    ) -> None:
        """Keep a failed request."""
        self._write(identity, messages, sample, tools, {"error": error})

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
        with self._lock:
            self._file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
            self._file.flush()


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
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise ValueError(f"model.replay: cannot read {path}: {error.strerror}") from error
        exchanges: dict[str, Mapping[str, Any]] = {}
        for number, line in enumerate(lines, 1):
            try:
                exchange = json.loads(line)
                exchanges[exchange["key"]] = exchange
            except (ValueError, KeyError, TypeError) as error:
                if number == len(lines):
                    break
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
