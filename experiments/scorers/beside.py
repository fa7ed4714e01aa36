"""Figures that a report shows: what was asked, and what was expected beside what came."""

from __future__ import annotations

import textwrap
from base64 import b64encode
from collections.abc import Sequence
from html import escape

from agents.base import Image, Question

#: Rows of a table, lines of one cell, and characters of the figure.
MAX_ROWS, MAX_LINES, MAX_SIZE = 60, 12, 50_000
_INK, _RIGHT, _WRONG = "#76808b", "#2e8b57", "#d1495b"
_LINE, _LETTER = 16, 7.3


def pictures(question: Question) -> dict[str, str]:
    """Title to picture: what the question shows."""
    images = [part for part in question.attachments if isinstance(part, Image)]
    return {
        f"picture {number}"
        if len(images) > 1
        else "picture": f"data:image/png;base64,{b64encode(picture.data).decode()}"
        for number, picture in enumerate(images, 1)
        if picture.mime == "image/png"
    }


def beside(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[bool | None],
    widths: Sequence[int],
) -> str:
    """A table as SVG, whose rows are green, red or, where nobody knows, grey.

    Parameters
    ----------
    heads, rows
        Texts; each cell is wrapped, and cut after `MAX_LINES` lines.
    right
        For each row.
    widths
        Of the columns, in characters.
    """
    body: list[str] = []
    y = _LINE
    colours = {True: _RIGHT, False: _WRONG, None: _INK}
    table = [
        (heads, _INK),
        *((row, colours[ok]) for row, ok in zip(rows, right, strict=True)),
    ]
    for number, (texts, colour) in enumerate(table):
        if number > MAX_ROWS or sum(map(len, body)) > MAX_SIZE:
            left = f"and {len(table) - number} more"
            body.append(f'<text x="8" y="{y}" fill="{_INK}">{left}</text>')
            break
        cells = [
            _wrapped(text, width) for text, width in zip(texts, widths, strict=False)
        ]
        x = 8.0
        for lines, width in zip(cells, widths, strict=False):
            body += [
                f'<text x="{x:g}" y="{y + n * _LINE}" fill="{colour}">{escape(line)}</text>'
                for n, line in enumerate(lines)
            ]
            x += (width + 2) * _LETTER
        y += _LINE * max(map(len, cells)) + 4
    across = 16 + sum(width + 2 for width in widths) * _LETTER
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across:g} {y}" width="{across:g}" '
        f'height="{y}" font-family="monospace" font-size="12">{"".join(body)}</svg>'
    )


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of printable characters, which XML can hold."""
    text = text[: (MAX_LINES + 1) * width]
    plain = "".join(c if c.isprintable() or c == "\n" else " " for c in text)
    lines = [
        line
        for part in plain.split("\n")
        for line in textwrap.wrap(part, width) or [""]
    ]
    return [*lines[: MAX_LINES - 1], "..."] if len(lines) > MAX_LINES else lines or [""]
