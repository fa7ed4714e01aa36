"""Structures as pictures: a unit cell with its atoms, as SVG text that needs no library.

The picture is about 300 pixels wide and has no ground of its own: inks are mid-grey, and atoms keep
their colours, so that it can be read on light and on dark pages. Every text in it is escaped; none
of it is more than a label.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, Template
from numpy.typing import NDArray

#: Atoms drawn at most; the rest is only counted.
MAX_SITES = 150
#: Species in the legend, and characters of one.
MAX_SPECIES, MAX_LABEL = 8, 10

_WIDTH, _HEIGHT = 300, 300
_MARGIN = 26.0
_UNKNOWN = "ff69b4"
#: Colours of Jmol, by chemical symbol.
COLOURS: Mapping[str, str] = json.loads(
    Path(__file__).with_suffix(".json").read_text("utf-8")
)
#: Columns: to the right, up, and towards the eye, which looks from the front with *c* upwards.
_VIEW = np.array(
    [
        [-0.304776, -0.212233, 0.928477],
        [0.952424, -0.067915, 0.297113],
        [0, 0.974856, 0.222834],
    ]
)

_Points = NDArray[np.float64]


def structure_svg(
    cell: Sequence[Sequence[float]],
    species: Sequence[str],
    fractions: Sequence[Sequence[float]],
    *,
    marked: Collection[int] = (),
    title: str = "",
) -> str:
    """Draw a crystal: SVG text below 60 kB.

    Of what has no shape (numbers that are not finite, a flat cell, a row too few) it is a picture
    that says so.

    Parameters
    ----------
    cell
        Cell vectors as rows, in Å, shape (3, 3).
    species
        What each site is called; its colour follows from the chemical symbol in front.
    fractions
        Fractional coordinates, shape (n, 3); sites are drawn where they lie in the cell.
    marked
        Rows to put a ring around; they are drawn even when not all sites are.
    """
    try:
        lattice: _Points = np.array(cell, dtype=float).reshape(3, 3)
        sites: _Points = np.array(fractions, dtype=float).reshape(len(species), 3)
    except (ValueError, TypeError, OverflowError):
        lattice, sites = np.zeros((3, 3)), np.zeros((0, 3))
    sane = (
        np.isfinite(lattice).all()
        and np.isfinite(sites).all()
        and np.abs(lattice).max() < 1e6
    )
    lengths = np.linalg.norm(lattice, axis=1) if sane else np.zeros(3)
    volume = abs(np.linalg.det(lattice / lengths.max())) if lengths.max() > 0 else 0.0
    if volume < 1e-9:
        return _drawn(title=title, note="cannot be drawn", place=_HEIGHT / 2)

    chosen = set(sorted({row for row in marked if 0 <= row < len(species)})[:MAX_SITES])
    others = [row for row in range(len(species)) if row not in chosen]
    rows = sorted([*chosen, *others[: MAX_SITES - len(chosen)]])
    corners = np.array(list(np.ndindex(2, 2, 2)), dtype=float)
    seen = np.vstack([corners, sites[rows] % 1.0]) @ lattice @ _VIEW
    low, high = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
    scale = float(
        ((np.array([_WIDTH, _HEIGHT]) - 2 * _MARGIN - [0, 30]) / (high - low)).min()
    )
    flat = (seen[:, :2] - (low + high) / 2) * [scale, -scale] + [
        _WIDTH / 2,
        _HEIGHT / 2 - 4,
    ]
    places, depth = flat.tolist(), seen[:, 2].tolist()
    radius = float(
        np.clip(
            0.30
            * scale
            * (volume * lengths.max() ** 3 / max(1, len(species))) ** (1 / 3),
            2.5,
            15.0,
        )
    )
    pieces = [
        (depth[n] / 2 + depth[m] / 2, "", [*places[n], *places[m]])
        for n in range(8)
        for m in range(n)
        if np.abs(corners[n] - corners[m]).sum() == 1
    ]
    pieces += [
        (depth[n], species[row] or "?", places[n]) for n, row in enumerate(rows, 8)
    ]
    along = flat[[4, 2, 1]] - flat[0]
    ends = flat[[4, 2, 1]] + 11 * along / np.linalg.norm(
        along, axis=1, keepdims=True
    ).clip(1)
    axes = [(name, x, y + 4) for name, (x, y) in zip("abc", ends.tolist(), strict=True)]
    return _drawn(
        title=title,
        radius=radius,
        axes=axes,
        pieces=sorted(pieces, key=lambda piece: piece[0]),
        rings=[places[n] for n, row in enumerate(rows, 8) if row in chosen],
        **_legend(Counter(species), len(rows)),
    )


def _legend(kinds: Counter[str], drawn: int) -> dict[str, Any]:
    shown = list(kinds.items())[:MAX_SPECIES]
    step = min(62.0, (_WIDTH - 12) / max(1, len(shown)))
    left = (_WIDTH - step * len(shown)) / 2 + 8
    legend = [
        (
            kind or "?",
            left + step * place,
            kind[:MAX_LABEL] + (f" {count}" if step > 45 else ""),
        )
        for place, (kind, count) in enumerate(shown)
    ]
    notes = [f"{drawn} of {kinds.total()} atoms shown"] if drawn < kinds.total() else []
    if len(kinds) > len(shown):
        notes.append(f"{len(kinds) - len(shown)} more species")
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


def atom_colour(kind: str) -> str:
    """The colour of a site by the chemical symbol in front of its name, as six hex digits."""
    symbol = re.match(r"[A-Z][a-z]?", kind)
    return (
        COLOURS.get(symbol[0], COLOURS.get(symbol[0][0], _UNKNOWN))
        if symbol
        else _UNKNOWN
    )
