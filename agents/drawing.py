"""Structures as still pictures: SVG text that needs no library.

The picture is about 300 pixels wide and has no ground of its own: inks are mid-grey, and atoms keep
their colours, so that it can be read on light and on dark pages. Every text in it is escaped; none
of it is more than a label. What is drawn is decided by :mod:`agents.crystal`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, Template

from agents.crystal import (
    Array,
    Drawing,
    atom_colour,
    ball_radius,
    drawing,
    read_cell,
)

#: Species in the legend, and characters of one.
MAX_SPECIES, MAX_LABEL = 8, 10
STILL_BONDS = 300  # of a still picture, so that it stays small

_WIDTH, _HEIGHT = 300, 300
_MARGIN = 26.0
_RADII = (2.5, 17.0)  # pixels of a ball
#: Columns: to the right, up, and towards the eye, which looks from the front with *c* upwards.
_VIEW = np.array(
    [
        [-0.304776, -0.212233, 0.928477],
        [0.952424, -0.067915, 0.297113],
        [0, 0.974856, 0.222834],
    ]
)
_CORNERS = np.array(list(np.ndindex(2, 2, 2)), dtype=float)
_ENDS_OF_AXES = [4, 2, 1]  # of the corners


def structure_svg(
    cell: Sequence[Sequence[float]],
    species: Sequence[str],
    fractions: Sequence[Sequence[float]],
    *,
    marked: Collection[int] = (),
    title: str = "",
) -> str:
    """Draw a crystal in the cell that is given: SVG text below 60 kB.

    Of what has no shape (numbers that are not finite, a flat cell, a row too few) it is a picture
    that says so.

    Parameters
    ----------
    cell
        Cell vectors as rows, in Å, shape (3, 3).
    species
        What each site is called; its colour follows from the chemical symbol in front.
    fractions
        Fractional coordinates, shape (n, 3). Sites on a face of the cell are drawn on the
        opposite one, too.
    marked
        Rows to put a ring around; they are drawn even when not all sites are.
    """
    read = read_cell(cell, species, fractions)
    if read is None:
        return _drawn(title=title, note="cannot be drawn", place=_HEIGHT / 2)
    return drawing_svg(drawing(read, sorted(marked)), marked=marked, title=title)


def drawing_svg(
    shown: Drawing, *, marked: Collection[int] = (), title: str = ""
) -> str:
    """A drawing as SVG text; see `structure_svg`."""
    sticks = shown.sticks if len(shown.bonds) <= STILL_BONDS else np.zeros((0, 2, 3))
    points = [_CORNERS @ shown.cell.vectors, shown.places, sticks.reshape(-1, 3)]
    seen = np.vstack(points) @ _VIEW
    flat, scale = _on_paper(seen)
    places, depth = flat.tolist(), seen[:, 2].tolist()
    kinds = [shown.cell.species[ball.row] for ball in shown.balls]
    radii = [float(np.clip(scale * ball_radius(kind), *_RADII)) for kind in kinds]
    pieces = [("edge", *edge) for edge in _edges(places, depth)]
    pieces += [
        ("atom", depth[n], kind or "?", [*places[n], radius])
        for n, (kind, radius) in enumerate(zip(kinds, radii, strict=True), 8)
    ]
    for n in range(8 + len(kinds), len(places), 2):
        away = (depth[n] + depth[n + 1]) / 2
        pieces.append(("bond", away, "", [*places[n], *places[n + 1]]))
    rows = set(marked)
    rings = [
        [*places[n], radii[n - 8]]
        for n, ball in enumerate(shown.balls, 8)
        if ball.row in rows and not ball.repeated
    ]
    sites = len({ball.row for ball in shown.balls})
    return _drawn(
        title=title,
        axes=_axes(flat),
        pieces=sorted(pieces, key=lambda piece: piece[1]),
        rings=rings,
        **_legend(shown.legend, sites),
    )


def _on_paper(seen: Array) -> tuple[Array, float]:
    """Points in pixels, and pixels per Å."""
    low, high = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
    room = np.array([_WIDTH, _HEIGHT]) - 2 * _MARGIN - [0, 30]
    scale = float((room / (high - low)).min())
    middle = [_WIDTH / 2, _HEIGHT / 2 - 4]
    return (seen[:, :2] - (low + high) / 2) * [scale, -scale] + middle, scale


def _edges(
    places: Sequence[Sequence[float]], depth: Sequence[float]
) -> list[tuple[float, str, list[float]]]:
    return [
        (depth[n] / 2 + depth[m] / 2, "", [*places[n], *places[m]])
        for n in range(8)
        for m in range(n)
        if np.abs(_CORNERS[n] - _CORNERS[m]).sum() == 1
    ]


def _axes(flat: Array) -> list[tuple[str, float, float]]:
    """Names of the axes, just beyond their ends."""
    along = flat[_ENDS_OF_AXES] - flat[0]
    unit = along / np.linalg.norm(along, axis=1, keepdims=True).clip(1)
    ends = flat[_ENDS_OF_AXES] + 24 * unit
    return [(name, x, y + 4) for name, (x, y) in zip("abc", ends.tolist(), strict=True)]


def _legend(kinds: Counter[str], sites: int) -> dict[str, Any]:
    listed = list(kinds.items())[:MAX_SPECIES]
    step = min(62.0, (_WIDTH - 12) / max(1, len(listed)))
    left = (_WIDTH - step * len(listed)) / 2 + 8
    legend = [
        (
            kind or "?",
            left + step * place,
            kind[:MAX_LABEL] + (f" {count}" if step > 45 else ""),
        )
        for place, (kind, count) in enumerate(listed)
    ]
    notes = [f"{sites} of {kinds.total()} atoms shown"] if sites < kinds.total() else []
    if len(kinds) > len(listed):
        notes.append(f"{len(kinds) - len(listed)} more species")
    return {"legend": legend, "note": ", ".join(notes), "place": _HEIGHT - 26}


def _drawn(title: str, **parts: Any) -> str:
    return _template().render(title=title[:60], width=_WIDTH, height=_HEIGHT, **parts)


@cache
def _template() -> Template:
    """Every text is escaped; XML has no control characters."""
    made = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True)
    made.filters["colour"] = atom_colour
    made.filters["visible"] = lambda text: "".join(
        c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text
    )
    return made.get_template("drawing.svg.j2")
