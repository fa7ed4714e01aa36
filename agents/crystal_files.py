"""A cell as the text of a CIF or a POSCAR, for whoever takes a structure from the page."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from agents.crystal import COLOURS, Cell, element

_OCCUPANCY = re.compile(r"([A-Z][a-z]?)(?:\d*[+-])?:([01](?:\.\d{1,6})?|\.\d{1,6})")

Occupants = list[tuple[str, float]]


def cif(cell: Cell) -> str | None:
    """All sites in P 1; ``None`` where a site is no chemical element."""
    occupants = _occupants(cell.species)
    if occupants is None:
        return None
    a, b, c = np.linalg.norm(cell.vectors, axis=1)
    x, y, z = cell.vectors
    angles = [_angle(y, z), _angle(x, z), _angle(x, y)]
    lines = ["data_structure", "_symmetry_space_group_name_H-M 'P 1'"]
    lines += [
        f"_cell_length_{n} {v:.8f}" for n, v in zip("abc", (a, b, c), strict=True)
    ]
    names = ("alpha", "beta", "gamma")
    lines += [f"_cell_angle_{n} {v:.8f}" for n, v in zip(names, angles, strict=True)]
    lines += ["loop_", " _symmetry_equiv_pos_as_xyz", " 'x, y, z'", "loop_"]
    lines += [
        f" _atom_site_{column}"
        for column in (
            "label",
            "type_symbol",
            "fract_x",
            "fract_y",
            "fract_z",
            "occupancy",
        )
    ]
    number = 0
    for on_site, fraction in zip(occupants, cell.fractions, strict=True):
        place = " ".join(f"{value:.8f}" for value in fraction)
        for symbol, occupancy in on_site:
            number += 1
            lines.append(f" {symbol}{number} {symbol} {place} {occupancy:g}")
    return "\n".join(lines) + "\n"


def poscar(cell: Cell) -> str | None:
    """In fractional coordinates; ``None`` where a site is not one whole element."""
    occupants = _occupants(cell.species)
    if occupants is None or any(site != [(site[0][0], 1.0)] for site in occupants):
        return None
    symbols = [site[0][0] for site in occupants]
    order = list(dict.fromkeys(symbols))
    counts = [symbols.count(symbol) for symbol in order]
    formula = "".join(f"{s}{n}" for s, n in zip(order, counts, strict=True))
    lines = [formula, "1.0"]
    lines += [" ".join(f"{value:.10f}" for value in row) for row in cell.vectors]
    lines += [" ".join(order), " ".join(map(str, counts)), "direct"]
    for wanted in order:
        for symbol, fraction in zip(symbols, cell.fractions, strict=True):
            if symbol == wanted:
                lines.append(" ".join(f"{value:.10f}" for value in fraction))
    return "\n".join(lines) + "\n"


def _occupants(species: Sequence[str]) -> list[Occupants] | None:
    sites: list[Occupants] = []
    for name in species:
        parts: Occupants = [(m[1], float(m[2])) for m in _OCCUPANCY.finditer(name)]
        if ":" not in name:
            parts = [(element(name), 1.0)]
        if not parts or any(symbol not in COLOURS for symbol, _ in parts):
            return None
        sites.append(parts)
    return sites


def _angle(one: np.ndarray, other: np.ndarray) -> float:
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
