"""Text of a model, of its code or of a file: safe for a terminal, and Python in colours."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # not where only text is made safe
    from rich.text import Text

_UNUSUAL = re.compile(r"[^\x20-\x7e\n\t]")
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
    "comment": "italic bright_black",
    "string": "green",
    "number": "cyan",
    "keyword": "bold blue",
    "function": "bold",
    "class": "bold",
    "decorator": "magenta",
}


def printable(text: object) -> str:
    r"""Text in which control characters are visible instead of being obeyed.

    Newlines and tabs are kept (a line that ends in ``\r\n`` ends in ``\n``). Everything else that
    is not a visible character (escape sequences, carriage returns, marks that turn the direction
    of writing, halves of characters) is shown as Python would write it: ``\x1b``, ``\u202e``.
    """
    return _UNUSUAL.sub(_visible, str(text).replace("\r\n", "\n"))


def _visible(match: re.Match[str]) -> str:
    sign = match[0]
    if (
        sign.isprintable() or unicodedata.category(sign) == "Zs"
    ):  # other widths of a space
        return sign
    return sign.encode("unicode_escape").decode("ascii")


def quote(text: object, language: str = "text") -> str:
    """Text of somebody else as a fenced quotation in Markdown, which nothing in it can close."""
    visible = printable(text).strip("\n")
    longest = max((len(run) for run in re.findall(r"`+", visible)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{visible}\n{fence}"


def pieces(code: str) -> Iterator[tuple[str, str]]:
    """The code in pieces, each with its kind; in linear time, whatever it is, Python or not.

    Kinds are ``comment``, ``string``, ``number``, ``keyword``, ``decorator``, ``function`` and
    ``class`` (names that are defined); empty for the rest.
    """
    before = ""
    for match in _TOKEN.finditer(code):
        text, kind = match[0], match.lastgroup or ""
        if kind == "name":
            defined = {"def": "function", "class": "class"}.get(before, "")
            kind = "keyword" if keyword.iskeyword(text) else defined
        if not text.isspace():
            before = text
        yield kind, text


def coloured(code: str) -> Text:
    """The code for a terminal."""
    from rich.text import Text  # noqa: PLC0415 -- see above

    text = Text()
    for kind, piece in pieces(printable(code)):
        text.append(piece, style=_STYLES.get(kind))
    return text
