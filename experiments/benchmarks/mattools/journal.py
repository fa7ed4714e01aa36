"""Results that stay, whatever happens next: one line of JSON each, kept as soon as it is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel

Row = TypeVar("Row", bound=BaseModel)


class Journal(Generic[Row]):
    """An append-only file of ``form``; ``rows`` is everything in it, oldest first."""

    def __init__(self, path: Path, form: type[Row]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = path.open("a+b")
        self._file.seek(0)
        whole, end, _ = self._file.read().rpartition(b"\n")
        self._file.truncate(len(whole) + len(end))  # half a line of a killed process
        self.rows = [form.model_validate_json(line) for line in whole.splitlines()]

    def add(self, *rows: Row) -> None:
        """Keep rows, all or none of them."""
        # Texts of a model may hold lone surrogates, which UTF-8 cannot.
        lines = (json.dumps(row.model_dump(), ensure_ascii=False) + "\n" for row in rows)
        self._file.write("".join(lines).encode("utf-8", "replace"))
        self._file.flush()
        self.rows += rows

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
