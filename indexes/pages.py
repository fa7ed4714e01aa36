"""Documentation pages -> text, with the places where symbols are described."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

_DIRECTIVE = re.compile(
    r"^[ \t]*\.\. (?:py:)?(?:auto)?(?:class|function|method|property|attribute|module|exception)::"
    r"[ \t]*([\w.]+)",
    re.MULTILINE,
)
_HIDDEN = frozenset({"script", "style", "nav", "header", "footer", "head"})
_BLOCKS = frozenset(
    re.findall(r"\w+", "p div dt dd li tr pre section br table ul dl h1 h2 h3 h4 h5 h6")
)


def read_page(path: Path) -> tuple[str, list[tuple[int, str]]]:
    """Text of a page, and pairs of character offset and qualified name described there.

    In Sphinx HTML a description begins at a ``<dt id="package.module.Name">``, in reStructuredText
    at a directive such as ``.. autoclass:: package.module.Name``.
    """
    raw = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix != ".html":
        return raw, [(match.start(), match[1]) for match in _DIRECTIVE.finditer(raw)]
    parser = _Page()
    parser.feed(raw)
    parser.close()
    return parser.text, parser.marks


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.marks: list[tuple[int, str]] = []
        self._hidden: list[str] = []
        self._verbatim = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden.append(tag)
        if tag in _BLOCKS and not self.text.endswith("\n"):
            self.text += "\n"
        self._verbatim += tag == "pre"
        identifier = dict(attrs).get("id")
        if tag == "dt" and identifier and "." in identifier:
            self.marks.append((len(self.text), identifier))

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            while self._hidden and self._hidden.pop() != tag:
                pass
        self._verbatim -= tag == "pre" and self._verbatim > 0
        if tag in _BLOCKS and not self.text.endswith("\n\n"):
            self.text += "\n"

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text += data if self._verbatim else re.sub(r"\s+", " ", data)
