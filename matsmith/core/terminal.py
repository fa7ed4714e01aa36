"""Text of a model, of its code or of a file, made safe for a terminal."""

from __future__ import annotations

import re
import unicodedata

_UNUSUAL = re.compile(r"[^\x20-\x7e\n\t]")


def printable(text: object) -> str:
    r"""Text in which control characters are visible instead of being obeyed.

    Newlines and tabs are kept (a line that ends in ``\r\n`` ends in ``\n``). Everything else that
    is not a visible character (escape sequences, carriage returns, marks that turn the direction
    of writing, halves of characters) is shown as Python would write it: ``\x1b``, ``\u202e``.
    """
    return _UNUSUAL.sub(_visible, str(text).replace("\r\n", "\n"))


def _visible(match: re.Match[str]) -> str:
    sign = match[0]
    if sign.isprintable() or unicodedata.category(sign) == "Zs":  # other widths of a space
        return sign
    return sign.encode("unicode_escape").decode("ascii")
