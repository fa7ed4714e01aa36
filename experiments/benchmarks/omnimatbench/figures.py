"""The picture of a question, and gold and answer side by side, for the report."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape

from agents.base import Image, Question

#: Rows of the table, and characters of a cell.
MAX_ROWS, MAX_CELL = 40, 44
_LINE, _COLUMNS, _WIDTH = 20, (8, 70, 350), 640
_INK, _RIGHT, _WRONG = "#76808b", "#2e8b57", "#d1495b"


def side_by_side(
    question: Question, golds: Sequence[str], answers: Sequence[str], right: Sequence[bool]
) -> dict[str, str]:
    """Title to figure: what the question shows, then the slots."""
    pictures = [part for part in question.parts if isinstance(part, Image)]
    shown = {
        f"picture {number}" if len(pictures) > 1 else "picture":
            f"data:image/png;base64,{b64encode(picture.data).decode()}"
        for number, picture in enumerate(pictures, 1) if picture.mime == "image/png"
    }  # fmt: skip
    return {**shown, "gold and answer": _table(golds, answers, right)}


def _table(golds: Sequence[str], answers: Sequence[str], right: Sequence[bool]) -> str:
    rows = list(zip(golds, answers, right, strict=True))[:MAX_ROWS]
    lines = [_cells(1, ("slot", "gold", "answer"), _INK)]
    for number, (gold, answer, ok) in enumerate(rows, 1):
        lines.append(_cells(number + 1, (str(number), gold, answer), _RIGHT if ok else _WRONG))
    if len(golds) > len(rows):
        lines.append(_cells(len(rows) + 2, ("", f"and {len(golds) - len(rows)} more", ""), _INK))
    height = _LINE * (len(lines) + 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" font-family="monospace" font-size="12">'
        f"{''.join(lines)}</svg>"
    )


def _cells(line: int, texts: Sequence[str], colour: str) -> str:
    return "".join(
        f'<text x="{x}" y="{line * _LINE}" fill="{colour}">{_shown(text)}</text>'
        for x, text in zip(_COLUMNS, texts, strict=True)
    )


def _shown(text: str) -> str:
    """A cell: printable characters only, which XML can hold."""
    plain = "".join(c if c.isprintable() else " " for c in text[: MAX_CELL + 1])
    return escape(plain if len(plain) <= MAX_CELL else plain[: MAX_CELL - 3] + "...")
