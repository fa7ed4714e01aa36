"""Replies of a model on disk: the same request, sampled for the same purpose, pays once."""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agents.models.calls import Message, plain_message
from agents.models.reply import Sent
from agents.models.written import ToolSchemas

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"
)
_LOG = logging.getLogger(__name__)


def request_key(
    model: Mapping[str, Any],
    messages: Sequence[Message],
    sample: str,
    tools: ToolSchemas,
) -> str:
    """Hash of model identity and parameters, messages, tools if any, and the sample's index.

    Without the index repeated samples would all be the first one, and their variance would vanish.
    """
    request = {
        "model": dict(model),
        "messages": [list(plain_message(message).values()) for message in messages],
        "sample": sample,
        **({"tools": list(tools)} if tools else {}),
    }
    text = json.dumps(request, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class ReplyCache:
    """Replies on disk (SQLite, safe for several processes), readable by their owner only.

    It saves money and never costs any: whatever is wrong with it (a full disk, a damaged file, a
    folder that cannot be written) is a miss and one warning.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database = sqlite3.connect(
            ":memory:"
        )  # empty, where there can be no other
        self._warned = False
        with self._harmless():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.chmod(0o600)
            self._database = sqlite3.connect(path, timeout=30.0)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._run(_SCHEMA)

    def get(self, key: str) -> Sent | None:
        """What was kept under ``key``; ``None`` for nothing that can be read."""
        with self._harmless():
            for (reply,) in self._run("SELECT reply FROM replies WHERE key = ?", key):
                return Sent.model_validate(json.loads(reply))
        return None

    def put(self, key: str, sent: Sent) -> None:
        """Keep a reply; an older one under the same key is replaced."""
        with self._harmless():
            reply = json.dumps(sent.model_dump(exclude_defaults=True))
            self._run("INSERT OR REPLACE INTO replies VALUES (?, ?)", key, reply)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _run(self, statement: str, *values: str) -> list[Any]:
        with self._database:
            return self._database.execute(statement, values).fetchall()

    @contextmanager
    def _harmless(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error, ValueError, RecursionError) as error:
            if not self._warned:
                self._warned = True
                _LOG.warning(
                    "replies are not kept in %s, or found there: %s", self._path, error
                )
