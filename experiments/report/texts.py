"""The long texts of a page, once each, compressed.

Prompts repeat each other's documents line by line, so a page keeps every distinct line once, and
every text as ranges of line numbers; the browser puts a text together when it is opened.
"""

from __future__ import annotations

import base64
import json
import zlib

#: Shorter texts stand in the page as they are.
INLINE = 200


class Texts:
    """Collects texts and packs them."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._numbers: dict[str, int] = {}
        self._texts: list[list[int]] = []
        self._known: dict[str, int] = {}

    def add(self, text: str) -> int:
        """Keep a text; returns its number."""
        if text not in self._known:
            self._known[text] = len(self._texts)
            self._texts.append(self._ranges(text))
        return self._known[text]

    def _ranges(self, text: str) -> list[int]:
        """The text's lines as first, count, first, count, ..."""
        ranges: list[int] = []
        for line in text.split("\n"):
            number = self._numbers.setdefault(line, len(self._lines))
            if number == len(self._lines):
                self._lines.append(line)
            if ranges and ranges[-2] + ranges[-1] == number:
                ranges[-1] += 1
            else:
                ranges += [number, 1]
        return ranges

    def packed(self) -> str:
        """Everything as JSON, compressed, in base64: letters, digits, ``+``, ``/`` and ``=``."""
        plain = json.dumps({"lines": self._lines, "texts": self._texts}, separators=(",", ":"))
        return base64.b64encode(zlib.compress(plain.encode("ascii"), 9)).decode()
