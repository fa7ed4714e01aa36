"""Compares a POSCAR text with the gold up to symmetry; runs in the verification sandbox only.

Two crystals are the same when rotation, reflection, translation and another choice of cell vectors
bring one onto the other, within tolerances in absolute units. Strain that the tolerances of the
cell allow moves no site: distances are measured in the gold's cell, between fractions.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from pymatgen.core import Element, Lattice
from scipy.optimize import linear_sum_assignment

MAX_CHARACTERS = 500_000
MAX_SITES = 2000
MAX_LENGTH = 1e4  # of a cell vector, in Å
#: Volumes that the tolerances of lengths and angles can leave equal, with room to spare.
VOLUMES = (0.7, 1.4)
_SYMBOL = re.compile(r"([A-Z][a-z]?)(?:[_/.].{0,40})?")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?")


class PoscarError(Exception):
    """An answer is wrong; the text names the verdict."""


@dataclass(frozen=True)
class PoscarCrystal:
    """Cell vectors as rows in Å, an element per site, and fractional coordinates."""

    matrix: Any
    species: tuple[str, ...]
    fractions: Any


def read_poscar(text: str) -> PoscarCrystal:
    """Read a POSCAR of VASP 5 or later.

    Selective dynamics, velocities, comments, Cartesian mode, three scale factors and a negative
    one (the volume) are understood. pymatgen's reader is not used: with a negative scale it
    multiplies Cartesian positions by it.
    """
    if len(text) > MAX_CHARACTERS:
        raise PoscarError("TooLarge")
    lines = text.splitlines()
    if len(lines) < 8:
        raise PoscarError("Unreadable")
    scale = _numbers(lines[1], 1, most=3)
    rows = np.array([_numbers(line, 3) for line in lines[2:5]])
    kinds, counts, rest = _species(lines)
    if rest and rest[0].strip()[:1] in {"S", "s"}:
        rest = rest[1:]
    mode = rest[0].strip()[:1].lower() if rest else ""
    if not mode.isalpha() or len(rest) - 1 < sum(counts):
        raise PoscarError("Unreadable")
    sites = np.array([_numbers(line, 3) for line in rest[1 : 1 + sum(counts)]])
    factor: Any = np.array(scale) if len(scale) == 3 else scale[0]
    with np.errstate(all="ignore"):
        if np.ndim(factor) == 0 and factor < 0:
            factor = (-factor / abs(np.linalg.det(rows))) ** (1 / 3)
        matrix = rows * factor
        volume = abs(np.linalg.det(matrix))
        lengths = np.linalg.norm(matrix, axis=1)
        if (
            not np.isfinite(matrix).all()
            or lengths.max() > MAX_LENGTH
            or not volume > 1e-3
        ):
            raise PoscarError("InvalidCell")
        fractions = (
            sites * factor @ np.linalg.inv(matrix) if mode in {"c", "k"} else sites
        )
    if not np.abs(fractions).max() < 1e6:
        raise PoscarError("InvalidSites")
    species = tuple(
        kind for kind, count in zip(kinds, counts, strict=True) for _ in range(count)
    )
    return PoscarCrystal(matrix, species, fractions)


def _species(lines: list[str]) -> tuple[list[str], list[int], list[str]]:
    """Symbols, their counts, and the lines behind them."""
    tokens = re.split(r"[!#]", lines[5], maxsplit=1)[0].split()
    if tokens and all(token.isdecimal() for token in tokens):
        raise PoscarError("NoSpecies")
    matches = [_SYMBOL.fullmatch(token) for token in tokens]
    kinds = [
        match[1] for match in matches if match and Element.is_valid_symbol(match[1])
    ]
    counts = []
    for token in lines[6].split():
        if not token.isdecimal() or len(token) > 9:
            break
        counts.append(int(token))
    if (
        not kinds
        or len(kinds) != len(tokens)
        or len(counts) != len(kinds)
        or 0 in counts
    ):
        raise PoscarError("Unreadable")
    if sum(counts) > MAX_SITES:
        raise PoscarError("TooManySites")
    return kinds, counts, lines[7:]


def _numbers(line: str, least: int, most: int = 0) -> list[float]:
    """Numbers at the beginning of a line: ``least``, or ``most`` where so many are there."""
    values: list[float] = []
    for token in line.split()[: most or least]:
        if len(token) > 60 or not _NUMBER.fullmatch(token):
            break
        values.append(float(token.lower().replace("d", "e")))
    if len(values) < least:
        raise PoscarError("Unreadable")
    return values if len(values) == most else values[:least]


def best_mapping(
    gold: PoscarCrystal, answer: PoscarCrystal, limits: dict[str, float]
) -> Any:
    """Displacements of the first mapping within the limit, else of the best that is nearly."""
    if Counter(gold.species) != Counter(answer.species):
        raise PoscarError("CompositionMismatch")
    kinds, given = np.array(gold.species), np.array(answer.species)
    rarest = min(Counter(gold.species).items(), key=lambda item: (item[1], item[0]))[0]
    best = None
    worst = np.inf
    mapped_cells = 0
    for fractions in bases(answer, Lattice(gold.matrix), limits):
        mapped_cells += 1
        for candidate in gold.fractions[kinds == rarest]:
            moved = fractions + (candidate - fractions[given == rarest][0])
            mapping = assign(gold, moved, kinds, given, 2 * limits["site"])
            if mapping is not None:
                farthest = np.linalg.norm(mapping @ gold.matrix, axis=1).max()
                if farthest < worst:
                    best, worst = mapping, farthest
                if worst <= limits["site"]:
                    return best
    if best is None:
        raise PoscarError("SiteMismatch" if mapped_cells else "LatticeMismatch")
    return best


def bases(answer: PoscarCrystal, cell: Lattice, limits: dict[str, float]) -> Any:
    """The answer's fractions in every basis of its lattice that is like the gold's cell."""
    own = Lattice(answer.matrix)
    if not VOLUMES[0] < own.volume / cell.volume < VOLUMES[1]:
        return
    # Reduced, so that no cell takes long to search; a far shorter vector is none of the gold's.
    reduced = own.get_lll_reduced_lattice()
    if min(reduced.abc) < 0.5 * min(cell.get_lll_reduced_lattice().abc):
        return
    fractions = reduced.get_fractional_coords(
        own.get_cartesian_coords(answer.fractions)
    )
    for _, _, change in reduced.find_all_mappings(
        cell, ltol=limits["length"], atol=limits["angle"], skip_rotation_matrix=True
    ):
        if round(abs(np.linalg.det(change))) == 1:
            yield fractions @ np.linalg.inv(change)


def assign(
    gold: PoscarCrystal, moved: Any, kinds: Any, given: Any, within: float
) -> Any:
    """Fractional displacements of the sites in gold's order, the mean one removed.

    ``None`` where a site is farther than ``within`` from all of its species: no translation that
    brings one site onto its partner then brings all of them within half of it. Rounding finds the
    nearest image of whatever is nearer than half the distance between lattice planes.
    """
    matched = np.empty_like(gold.fractions)
    for kind in dict.fromkeys(gold.species):
        away = moved[given == kind][None] - gold.fractions[kinds == kind][:, None]
        away -= np.round(away)
        distances = np.linalg.norm(away @ gold.matrix, axis=2)
        if distances.min(axis=0).max() > within or distances.min(axis=1).max() > within:
            return None
        rows, columns = linear_sum_assignment(distances)
        matched[kinds == kind] = away[rows, columns]
    return matched - matched.mean(axis=0)


def grade_poscar(gold: str, answer: str, limits: dict[str, float]) -> dict[str, Any]:
    """Judge one POSCAR; ``limits`` are ``length`` (relative), ``angle`` (degrees), ``site`` (Å).

    ``error`` is the name of the verdict (``None``: right), ``worst`` how far (Å) the worst site is
    from its place in the best mapping, where there is one; ``fault`` what is wrong with the gold.
    """
    verdict: dict[str, Any] = {"error": None, "worst": None, "fault": None}
    try:
        right = read_poscar(gold)
    except PoscarError as error:
        return verdict | {"fault": str(error)}
    try:
        mapping = best_mapping(right, read_poscar(answer), limits)
    except PoscarError as error:
        return verdict | {"error": str(error)}
    worst = float(np.linalg.norm(mapping @ right.matrix, axis=1).max())
    return verdict | {
        "error": None if worst <= limits["site"] else "SiteMismatch",
        "worst": worst,
    }
