"""Pictures of answers: where the evidence stood, boxes on a map, aligned sequences."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from experiments.benchmarks.curie.marks import Box

_INK, _GOLD, _FOUND, _SHOWN = "#76808b", "#2a9d5c", "#e6007e", "#8899cc"
_ROW = 60  # residues
_ROWS = 40  # of an alignment that are drawn


def _frame(width: float, height: float, title: str, body: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" font-family="system-ui,sans-serif" '
        f'font-size="11"><title>{escape(title)}</title>{"".join(body)}</svg>'
    )


def _text(x: float, y: float, text: str, fill: str = _INK, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}" text-anchor="{anchor}">{escape(text)}</text>'


def _bar(x: float, y: float, wide: float, high: float, fill: str) -> str:
    wide = max(1.5, wide)
    return f'<rect x="{x:.1f}" y="{y:g}" width="{wide:.1f}" height="{high:g}" fill="{fill}"/>'


def positions(
    length: int, evidence: Sequence[tuple[int, int]], shown: Sequence[tuple[int, int]]
) -> str:
    """A paper as a line, with what holds the gold and, below, what a retriever showed."""
    width, left = 560.0, 10.0
    scale = width / max(1, length)
    body = [f'<path d="M{left} 24H{left + width}" stroke="{_INK}"/>']
    body += [_bar(left + a * scale, 18, (b - a) * scale, 12, _GOLD) for a, b in evidence[:200]]
    body += [_bar(left + a * scale, 34, (b - a) * scale, 8, _SHOWN) for a, b in shown[:200]]
    body.append(_text(left, 12, "evidence" + (", and below it the extracts" if shown else "")))
    return _frame(width + 2 * left, 48, "position of the evidence", body)


def boxes(gold: Box, found: Box | None) -> str:
    """Gold and answer on a map of their surroundings, or of the world where they are far apart."""
    centre = gold.centre[0]
    pairs = [(gold, _GOLD, "gold"), *([(found, _FOUND, "answer")] if found else [])]
    placed = []
    for box, colour, name in pairs:
        west = (box.west - centre + 180.0) % 360.0 - 180.0
        wide = sum(end - start for start, end in box.spans)
        placed.append((west, west + wide, box.south, box.north, colour, name))
    reach = 1.2 * max(max(abs(p[0]), abs(p[1])) for p in placed)
    middle = gold.centre[1]
    tall = 1.2 * max(max(abs(p[2] - middle), abs(p[3] - middle)) for p in placed)
    reach = min(180.0, max(reach, 1.5 * tall, 0.05))
    width, height = 360.0, 240.0
    scale = width / (2 * reach)

    def across(value: float) -> float:
        return width / 2 + value * scale

    def down(value: float) -> float:
        return height / 2 - (value - middle) * scale

    step = next(s for s in (0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60) if 2 * reach / s <= 8)
    body = [f'<rect width="{width:g}" height="{height:g}" fill="none" stroke="{_INK}"/>']
    lines = range(int(-reach / step) - 1, int(reach / step) + 2)
    for n in lines:
        east = round(centre / step) * step + n * step
        x = across(east - centre)
        if 0 < x < width:
            label = (east + 180.0) % 360.0 - 180.0
            body.append(f'<path d="M{x:.1f} 0V{height:g}" stroke="{_INK}" stroke-width=".4"/>')
            body.append(_text(x + 2, height - 3, f"{label:g}°"))
        north = round(middle / step) * step + n * step
        y = down(north)
        if 0 < y < height and abs(north) <= 90:
            body.append(f'<path d="M0 {y:.1f}H{width:g}" stroke="{_INK}" stroke-width=".4"/>')
            body.append(_text(2, y - 2, f"{north:g}°"))
    for place, (west, east, south, north, colour, name) in enumerate(placed):
        dashes = ' stroke-dasharray="6 5"' if place else ""  # over the gold, which shows through
        body.append(
            f'<rect x="{across(west):.1f}" y="{down(north):.1f}" '
            f'width="{(east - west) * scale:.1f}" height="{(north - south) * scale:.1f}" '
            f'fill="{colour}" fill-opacity=".12" stroke="{colour}" stroke-width="2"{dashes}/>'
        )
        body.append(_text(width - 4, 14 + 13 * place, name, colour, "end"))
    return _frame(width, height, "box on the map", body)


def alignment(rows: Sequence[str]) -> str:
    """Two aligned sequences, gold above, with identities between them."""
    gold, found = rows[0], rows[1]
    starts = list(range(0, len(gold), _ROW))[:_ROWS]
    body = []
    for number, start in enumerate(starts):
        y = 16 + 44 * number
        pair = gold[start : start + _ROW], found[start : start + _ROW]
        same = "".join("|" if a == b else " " for a, b in zip(*pair, strict=True))
        for line, text in enumerate((pair[0], same, pair[1])):
            fill = _GOLD if line == 0 else _FOUND if line == 2 else _INK
            body.append(
                f'<text x="6" y="{y + 12 * line}" fill="{fill}" font-family="monospace" '
                f'xml:space="preserve">{escape(text)}</text>'
            )
    if len(starts) * _ROW < len(gold):
        body.append(_text(6, 16 + 44 * len(starts), f"{len(gold) - len(starts) * _ROW} more"))
    return _frame(460, 44 * len(starts) + 30, "aligned sequences", body)
