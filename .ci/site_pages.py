"""Hooks of mkdocs: pages at the top of the repository join the site, and links follow them.

A link to a file that has no page (a source, a licence) becomes its text; a link to a file that
does not exist stays, and the strict build fails.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
#: Files at the top of the repository -> their pages. The start page is docs/README.md.
TOP = {
    "README.md": "ABOUT.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
}
SOURCES = {page: name for name, page in TOP.items()}
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages at the top of the repository."""
    for name, page in TOP.items():
        text = (ROOT / name).read_text("utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point the links of a page to pages."""
    where = page.file.src_uri
    source = SOURCES.get(where, posixpath.join("docs", where))
    fences = _FENCE.findall(markdown)
    texts = _FENCE.split(markdown)
    linked = [_LINK.sub(lambda link: _link(link, source, where), t) for t in texts]
    pieces = [linked[0]]
    for fence, text in zip(fences, linked[1:], strict=True):
        pieces += [fence, text]
    return "".join(pieces)


def _link(link: re.Match[str], source: str, where: str) -> str:
    """A link of a file in the repository as one between pages."""
    text, target, anchor = link[1], link[2], link[3] or ""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    if path in TOP:
        page = TOP[path]
    elif path.startswith("docs/"):
        page = path.removeprefix("docs/")
    elif (ROOT / path).exists():
        return text
    else:
        return link[0]
    if (ROOT / path).is_dir():
        return text
    return (
        f"[{text}]({posixpath.relpath(page, posixpath.dirname(where) or '.')}{anchor})"
    )
