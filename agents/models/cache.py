"""Response cache: the same request, sampled for the same purpose, is paid for once."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.models.content import plain_message

if TYPE_CHECKING:  # slow to import
    from langchain_core.messages import BaseMessage

_SCHEMA = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"


def request_key(
    model: Mapping[str, Any],
    messages: Sequence[BaseMessage],
    sample: str,
    tools: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Hash of model identity and parameters, messages, *sample index*, and tools if any.

    Without the sample index repeated samples would all be the first one, and their
    variance would vanish.
    """
    plain = [plain_message(message) for message in messages]
    request = {
        "model": dict(model),
        "messages": [list(message.values()) for message in plain],
        "sample": sample,
        **({"tools": list(tools)} if tools else {}),
    }
    text = json.dumps(request, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class ReplyCache:
    """Replies on disk (SQLite, safe for several processes)."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, timeout=30.0)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute(_SCHEMA)
        self._database.commit()

    def get(self, key: str) -> dict[str, Any] | None:
        """The stored reply, or ``None``."""
        row = self._database.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else dict(json.loads(row[0]))

    def put(self, key: str, reply: Mapping[str, Any]) -> None:
        """Store a reply; an older one under the same key is replaced."""
        self._database.execute(
            "INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, json.dumps(dict(reply)))
        )
        self._database.commit()

    def close(self) -> None:
        """Close the database."""
        self._database.close()
