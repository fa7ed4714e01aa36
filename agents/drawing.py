"""Structures as pictures: a unit cell with its atoms, as SVG text that needs no library.

The picture is about 300 pixels wide and has no ground of its own: inks are mid-grey, and atoms keep
their colours, so that it can be read on light and on dark pages. Every text in it is escaped; none
of it is more than a label.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

#: Atoms drawn at most; the rest is only counted.
MAX_SITES = 150
#: Species in the legend, and characters of one.
MAX_SPECIES, MAX_LABEL = 8, 10
_SHADED = 30  # species with light and shadow; further ones are flat

_WIDTH, _HEIGHT = 300, 300
_MARGIN = 26.0
_SEGMENTS = 8  # of an edge, so that atoms hide what is behind them
_INK, _MARK = "#76808b", "#e6007e"
_UNKNOWN = "ff69b4"
#: Colours of Jmol, by atomic number.
_COLOURS = """\
Hffffff Hed9ffff Licc80ff Bec2ff00 Bffb5b5 C909090 N3050f8 Off0d0d F90e050 Neb3e3f5 Naab5cf2
Mg8aff00 Albfa6a6 Sif0c8a0 Pff8000 Sffff30 Cl1ff01f Ar80d1e3 K8f40d4 Ca3dff00 Sce6e6e6 Tibfc2c7
Va6a6ab Cr8a99c7 Mn9c7ac7 Fee06633 Cof090a0 Ni50d050 Cuc88033 Zn7d80b0 Gac28f8f Ge668f8f Asbd80e3
Seffa100 Bra62929 Kr5cb8d1 Rb702eb0 Sr00ff00 Y94ffff Zr94e0e0 Nb73c2c9 Mo54b5b5 Tc3b9e9e Ru248f8f
Rh0a7d8c Pd006985 Agc0c0c0 Cdffd98f Ina67573 Sn668080 Sb9e63b5 Ted47a00 I940094 Xe429eb0 Cs57178f
Ba00c900 La70d4ff Ceffffc7 Prd9ffc7 Ndc7ffc7 Pma3ffc7 Sm8fffc7 Eu61ffc7 Gd45ffc7 Tb30ffc7 Dy1fffc7
Ho00ff9c Er00e675 Tm00d452 Yb00bf38 Lu00ab24 Hf4dc2ff Ta4da6ff W2194d6 Re267dab Os266696 Ir175487
Ptd0d0e0 Auffd123 Hgb8b8d0 Tla6544d Pb575961 Bi9e4fb5 Poab5c00 At754f45 Rn428296 Fr420066 Ra007d00
Ac70abfa Th00baff Pa00a1ff U008fff Np0080ff Pu006bff Am545cf2 Cm785ce3 Bk8a4fe3 Cfa136d4 Esb31fd4"""
COLOURS = {word[:-6]: word[-6:] for word in _COLOURS.split()}

_Points = NDArray[np.float64]


def structure_svg(
    cell: Sequence[Sequence[float]],
    species: Sequence[str],
    fractions: Sequence[Sequence[float]],
    *,
    marked: Collection[int] = (),
    title: str = "",
) -> str:
    """Draw a crystal.

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
    title
        Stands above the picture.

    Returns
    -------
    str
        SVG text below 60 kB; of what has no shape (numbers that are not finite, a flat cell, a row
        too few) a picture that says so.
    """
    try:
        lattice: _Points = np.array(cell, dtype=float).reshape(3, 3)
        sites: _Points = np.array(fractions, dtype=float).reshape(len(species), 3)
    except (ValueError, TypeError, OverflowError):
        return _frame(title, [_text(_WIDTH / 2, _HEIGHT / 2, "cannot be drawn", "middle")])
    sane = np.isfinite(lattice).all() and np.isfinite(sites).all() and np.abs(lattice).max() < 1e6
    lengths = np.linalg.norm(lattice, axis=1) if sane else np.zeros(3)
    volume = abs(np.linalg.det(lattice / lengths.max())) if lengths.max() > 0 else 0.0
    if volume < 1e-9:
        return _frame(title, [_text(_WIDTH / 2, _HEIGHT / 2, "cannot be drawn", "middle")])

    chosen = set(sorted({row for row in marked if 0 <= row < len(species)})[:MAX_SITES])
    others = [row for row in range(len(species)) if row not in chosen]
    rows = sorted([*chosen, *others[: MAX_SITES - len(chosen)]])
    corners = np.array(list(np.ndindex(2, 2, 2)), dtype=float)
    points = np.vstack([corners, sites[rows] % 1.0]) @ lattice
    seen = _looked_at(points)
    low, high = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
    scale = float(((np.array([_WIDTH, _HEIGHT]) - 2 * _MARGIN - [0, 30]) / (high - low)).min())
    flat = (seen[:, :2] - (low + high) / 2) * [scale, -scale] + [_WIDTH / 2, _HEIGHT / 2 - 4]
    depth = seen[:, 2]
    radius = float(np.clip(0.30 * scale * (volume * lengths.max() ** 3 / max(1, len(species)))
                           ** (1 / 3), 2.5, 15.0))  # fmt: skip

    kinds = Counter(species)
    shades = {kind: number for number, kind in enumerate(kinds)}
    pieces = _edges(corners, flat[:8], depth[:8])
    for row, (x, y), away in zip(rows, flat[8:], depth[8:], strict=True):
        named = radius > 7 and len(rows) <= 64
        drawn = _atom(x, y, radius, species[row], shades[species[row]], named=named)
        pieces.append((away, drawn))
    body = [_shade(kind, number) for kind, number in shades.items() if number < _SHADED]
    body += [drawn for _, drawn in sorted(pieces, key=lambda piece: piece[0])]
    places = zip(rows, flat[8:], strict=True)
    body += [_ring(x, y, radius + 3) for row, (x, y) in places if row in chosen]
    for name, corner in zip("abc", (4, 2, 1), strict=True):
        outwards = flat[corner] - flat[0]
        x, y = flat[corner] + 11 * outwards / max(1.0, float(np.linalg.norm(outwards)))
        body.append(_text(x, y + 4, name, "middle", style="font-style:italic"))
    return _frame(title, body + _legend(kinds, shades, len(rows)))


def _looked_at(points: _Points) -> _Points:
    """To the right, up, and towards the eye, which looks from the front with *c* upwards."""
    towards = np.array([1.0, 0.32, 0.24])
    towards /= np.linalg.norm(towards)
    right = np.cross([0.0, 0.0, 1.0], towards)
    right /= np.linalg.norm(right)
    return np.asarray(points @ np.array([right, np.cross(towards, right), towards]).T)


def _edges(corners: _Points, flat: _Points, depth: _Points) -> list[tuple[float, str]]:
    found = []
    for one, start in enumerate(corners):
        for two in range(one + 1, 8):
            if np.abs(corners[two] - start).sum() != 1:
                continue
            for part in range(_SEGMENTS):
                t, u = part / _SEGMENTS, (part + 1) / _SEGMENTS
                (x, y), (v, w) = (flat[one] + s * (flat[two] - flat[one]) for s in (t, u))
                away = float(depth[one] + (t + u) / 2 * (depth[two] - depth[one]))
                found.append((away, f'<path d="M{x:.1f} {y:.1f}L{v:.1f} {w:.1f}" class="e"/>'))
    return found


def _atom(x: float, y: float, radius: float, kind: str, shade: int, *, named: bool) -> str:
    fill = f"url(#s{shade})" if shade < _SHADED else f"#{_colour(kind)}"
    drawn = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{fill}" class="a"/>'
    if not named or len(kind) > 3:
        return drawn
    ink = "#fff" if _luminance(_colour(kind)) < 0.42 else "#111"
    size = radius * (1.0 if len(kind) < 3 else 0.7)
    return drawn + (
        f'<text x="{x:.1f}" y="{y + 0.35 * size:.1f}" fill="{ink}" font-size="{size:.1f}" '
        f'text-anchor="middle">{_escaped(kind)}</text>'
    )


def _ring(x: float, y: float, radius: float) -> str:
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="none" '
    return f'{circle}stroke="#fff" stroke-width="4"/>{circle}stroke="{_MARK}" stroke-width="2.4"/>'


def _legend(kinds: Counter[str], shades: dict[str, int], drawn: int) -> list[str]:
    shown = list(kinds.items())[:MAX_SPECIES]
    step = min(62.0, (_WIDTH - 12) / max(1, len(shown)))
    left = (_WIDTH - step * len(shown)) / 2
    found = []
    for place, (kind, count) in enumerate(shown):
        x = left + step * place + 8
        found.append(_atom(x, _HEIGHT - 12, 6.0, kind, shades[kind], named=False))
        label = kind[:MAX_LABEL] + (f" {count}" if step > 45 else "")
        found.append(_text(x + 10, _HEIGHT - 8, label, "start"))
    total = sum(kinds.values())
    notes = [f"{drawn} of {total} atoms shown"] if drawn < total else []
    if len(kinds) > len(shown):
        notes.append(f"{len(kinds) - len(shown)} more species")
    return [*found, _text(_WIDTH / 2, _HEIGHT - 26, ", ".join(notes), "middle")] if notes else found


def _frame(title: str, body: Sequence[str]) -> str:
    name = _escaped(title[:60])
    head = _text(_WIDTH / 2, 14, title[:60], "middle", style="font-weight:600") if title else ""
    newline = "\n"  # pages keep equal lines once
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img" font-family="system-ui,sans-serif" '
        f'font-size="12"><title>{name or "crystal structure"}</title>'
        f"<style>.e{{stroke:{_INK};stroke-width:1.3;stroke-linecap:round}}"
        f".a{{stroke:#4d565f;stroke-width:.7}}</style>{head}\n{newline.join(body)}</svg>"
    )


def _text(x: float, y: float, text: str, anchor: str, *, style: str = "") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{_INK}" text-anchor="{anchor}"'
        f"{f' style={chr(34)}{style}{chr(34)}' if style else ''}>{_escaped(text)}</text>"
    )


def _escaped(text: str) -> str:
    """As text of XML, which has no control characters."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def _shade(kind: str, number: int) -> str:
    """Light from the upper left."""
    base = _colour(kind)
    return (
        f'<radialGradient id="s{number}" cx=".35" cy=".32" r=".75">'
        f'<stop offset="0" stop-color="#{_mixed(base, 255, 0.65)}"/>'
        f'<stop offset=".45" stop-color="#{base}"/>'
        f'<stop offset="1" stop-color="#{_mixed(base, 0, 0.38)}"/></radialGradient>'
    )


def _colour(kind: str) -> str:
    symbol = re.match(r"[A-Z][a-z]?", kind)
    return COLOURS.get(symbol[0], COLOURS.get(symbol[0][0], _UNKNOWN)) if symbol else _UNKNOWN


def _channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (0, 2, 4)]


def _mixed(colour: str, other: int, share: float) -> str:
    return "".join(f"{round(c + share * (other - c)):02x}" for c in _channels(colour))


def _luminance(colour: str) -> float:
    red, green, blue = _channels(colour)
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255
