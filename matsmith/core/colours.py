"""Python source in colours; in linear time, whatever it is, and whether or not it is Python."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator

from rich.text import Text

from matsmith.core.terminal import printable

_STRING = (
    "[rRbBuUfF]{0,2}(?:"
    r"'''(?:[^'\\]|\\.|'(?!''))*(?:'''|\Z)"
    r'|"""(?:[^"\\]|\\.|"(?!""))*(?:"""|\Z)'
    r"|'(?:[^'\\\n]|\\.)*'?"
    r'|"(?:[^"\\\n]|\\.)*"?)'
)
#: One of them matches at every place, and none looks further than it takes.
_TOKEN = re.compile(
    rf"(?P<comment>\#[^\n]*)|(?P<string>{_STRING})|(?P<number>\d[\w.]*)|(?P<name>[^\W\d]\w*)"
    r"|(?P<decorator>@[\w.]*)|\s+|.",
    re.DOTALL,
)
_STYLES = {
    "comment": "italic bright_black", "string": "green", "number": "cyan", "keyword": "bold blue",
    "function": "bold", "class": "bold", "decorator": "magenta",
}  # fmt: skip


def pieces(code: str) -> Iterator[tuple[str, str]]:
    """The code in pieces, each with its kind.

    Kinds are ``comment``, ``string``, ``number``, ``keyword``, ``decorator``, ``function`` and
    ``class`` (names that are defined); empty for the rest.
    """
    run, of, before = "", "", ""
    for match in _TOKEN.finditer(code):
        text, kind = match[0], match.lastgroup or ""
        if kind == "name":
            kind = {"def": "function", "class": "class"}.get(before, "")
            if keyword.iskeyword(text):
                kind = "keyword"
        if not text.isspace():
            before = text
            if kind != of:
                if run:
                    yield of, run
                run, of = "", kind
        run += text
    if run:
        yield of, run


def coloured(code: str) -> Text:
    """The code for a terminal."""
    text = Text()
    for kind, piece in pieces(printable(code)):
        text.append(piece, style=_STYLES.get(kind))
    return text
