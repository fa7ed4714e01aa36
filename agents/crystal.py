"""A crystal as crystallographers draw it: what pictures that turn and still ones show.

The conventional cell, its atoms repeated on faces, edges and corners, bonds, axes and a legend.
The numbers may come from a model's code: they are checked and counted before anything is computed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foundation.terminal import printable

Array = NDArray[np.float64]

#: Sites of a cell of which the conventional one is sought, and of one that is drawn completely.
CONVENTIONAL_SITES, DRAWN_SITES = 100, 150
BALLS = 320  # atoms with their repetitions; beyond, each site is drawn once
BONDS = 900
SYMPREC = 0.01  # Å, as pymatgen's SpacegroupAnalyzer
ON_FACE = 0.05  # Å from a face of the cell
#: Å that a bond may be longer than two covalent radii: Meng and Lewis, J. Comput. Chem. 12, 891
#: (1991). No longer than 1.15 times the shortest contact of either atom, so that second
#: neighbours in bcc metals are none.
BOND_SLACK, BOND_FACTOR = 0.45, 1.15
SHORTEST = 0.4  # Å; closer atoms are on one site
UNKNOWN_COLOUR, UNKNOWN_RADIUS = "ff69b4", 1.5
_SYMBOL = re.compile(r"[A-Z][a-z]?")
_NONMETALS = frozenset(
    re.findall(r"\w+", "H He B C N O F Ne Si P S Cl Ar Ge As Se Br Kr Sb Te I Xe At Rn")
)
_HERE = Path(__file__).parent
#: Colours of Jmol, by chemical symbol.
COLOURS: Mapping[str, str] = json.loads((_HERE / "drawing.json").read_text("utf-8"))


@dataclass(frozen=True)
class Cell:
    """A cell with its sites.

    Attributes
    ----------
    vectors
        Rows in Å, shape (3, 3).
    species
        What each site is called.
    fractions
        Fractional coordinates, shape (sites, 3).
    """

    vectors: Array
    species: tuple[str, ...]
    fractions: Array


@dataclass(frozen=True)
class Ball:
    """An atom that is drawn: site ``row`` of the cell, or a repetition of it by whole cells."""

    row: int
    fraction: tuple[float, float, float]
    repeated: bool


@dataclass(frozen=True)
class Drawing:
    """What is drawn of a cell.

    Attributes
    ----------
    bonds
        Pairs of positions in ``balls``.
    total
        Sites of the cell, drawn or not.
    """

    cell: Cell
    balls: tuple[Ball, ...]
    bonds: tuple[tuple[int, int], ...]
    total: int

    @property
    def places(self) -> Array:
        """Positions of the balls in Å, shape (balls, 3)."""
        fractions = np.array([ball.fraction for ball in self.balls]).reshape(-1, 3)
        return np.asarray(fractions @ self.cell.vectors)

    @property
    def sticks(self) -> Array:
        """Ends of the bonds in Å where they leave their balls, shape (bonds, 2, 3)."""
        if not self.bonds:
            return np.zeros((0, 2, 3))
        ends = self.places[np.array(self.bonds)]
        kinds = [self.cell.species[ball.row] for ball in self.balls]
        radii = np.array([ball_radius(kind) for kind in kinds])[np.array(self.bonds)]
        along = ends[:, 1] - ends[:, 0]
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        start = ends[:, 0] + radii[:, :1] * along
        end = ends[:, 1] - radii[:, 1:] * along
        return np.stack([start, end], axis=1)

    @property
    def legend(self) -> Counter[str]:
        """Species with the number of their sites."""
        return Counter(self.cell.species)


def read_cell(
    vectors: object, species: Sequence[str], fractions: object
) -> Cell | None:
    """A cell of plain numbers; ``None`` of what has no shape.

    Numbers that are not finite, a flat or huge cell, and rows too few have none.
    """
    try:
        lattice: Array = np.array(vectors, dtype=float).reshape(3, 3)
        sites: Array = np.array(fractions, dtype=float).reshape(len(species), 3)
    except (ValueError, TypeError, OverflowError):
        return None
    if not (np.isfinite(lattice).all() and np.isfinite(sites).all()):
        return None
    longest = (
        np.linalg.norm(lattice, axis=1).max() if np.abs(lattice).max() < 1e6 else 0
    )
    if longest <= 0 or abs(np.linalg.det(lattice / longest)) < 1e-9:
        return None
    return Cell(lattice, tuple(species), sites)


def conventional(cell: Cell) -> Cell:
    """The conventional cell where that holds more sites; else the cell as it is given.

    A cell without symmetry, a large one, and one whose atoms overlap are left as they are.
    """
    count = len(cell.species)
    lengths = np.linalg.norm(cell.vectors, axis=1)
    plausible = 0 < count <= CONVENTIONAL_SITES and 0.5 < lengths.min() < 100
    if not plausible or _closest(cell) < SHORTEST:
        return cell
    import spglib  # noqa: PLC0415 -- slow to import

    kinds = {name: number for number, name in enumerate(dict.fromkeys(cell.species), 1)}
    numbers = [kinds[name] for name in cell.species]
    try:
        standard = spglib.standardize_cell(
            (cell.vectors.tolist(), cell.fractions.tolist(), numbers),
            to_primitive=False,
            no_idealize=True,
            symprec=SYMPREC,
        )
    except (spglib.SpglibError, ValueError):
        return cell
    if standard is None or len(standard[2]) <= count:
        return cell
    names = {number: name for name, number in kinds.items()}
    vectors, fractions, found = standard
    species = tuple(names[int(number)] for number in found)
    return Cell(np.asarray(vectors), species, np.asarray(fractions))


def drawing(cell: Cell, first: Sequence[int] = ()) -> Drawing:
    """What is drawn of a cell as it is given; sites in ``first`` are drawn in any case."""
    total = len(cell.species)
    wanted = [row for row in dict.fromkeys(first) if 0 <= row < total]
    others = (row for row in range(total) if row not in set(wanted))
    rows = sorted([*wanted, *others][:DRAWN_SITES])
    wrapped = cell.fractions % 1.0
    balls = [ball for row in rows for ball in _repetitions(cell, row, wrapped[row])]
    if len(balls) > BALLS or len(rows) < total:
        balls = [Ball(row, _triple(wrapped[row]), repeated=False) for row in rows]
    return Drawing(cell, tuple(balls), _bonds(cell, balls), total)


def scene(shown: Drawing) -> dict[str, Any]:
    """A drawing as plain data in Å, for a viewer: what turns shows what the still picture does."""
    kinds = list(dict.fromkeys(shown.cell.species))
    balls = [
        [kinds.index(shown.cell.species[ball.row]), *place]
        for ball, place in zip(shown.balls, shown.places.round(4).tolist(), strict=True)
    ]
    return {
        "cell": shown.cell.vectors.round(5).tolist(),
        "kinds": [
            {
                "name": printable(kind[:20]),
                "colour": atom_colour(kind),
                "radius": round(ball_radius(kind), 3),
                "sites": shown.legend[kind],
            }
            for kind in kinds
        ],
        "balls": balls,
        "bonds": [list(pair) for pair in shown.bonds],
        "total": shown.total,
    }


def atom_colour(kind: str) -> str:
    """The colour of a site by the chemical symbol in front of its name, as six hex digits."""
    symbol = element(kind)
    return COLOURS.get(symbol, COLOURS.get(symbol[:1], UNKNOWN_COLOUR))


def covalent_radius(kind: str) -> float:
    """In Å, after Cordero et al., Dalton Trans. 2832 (2008)."""
    return _radii().get(element(kind), UNKNOWN_RADIUS)


def ball_radius(kind: str) -> float:
    """In Å: small enough that bonds are seen."""
    return float(np.clip(0.4 * covalent_radius(kind), 0.2, 0.75))


def element(kind: str) -> str:
    """The chemical symbol in front of the name of a site, empty without one."""
    symbol = _SYMBOL.match(kind)
    return symbol[0] if symbol else ""


@cache
def _radii() -> Mapping[str, float]:
    radii: Mapping[str, float] = json.loads((_HERE / "radii.json").read_text("utf-8"))
    return radii


def _repetitions(cell: Cell, row: int, fraction: Array) -> Iterator[Ball]:
    """A site, and where it stands again: on each opposite face, edge and corner."""
    heights = _heights(cell.vectors)
    near = np.minimum(fraction, 1 - fraction) * heights < ON_FACE
    snapped = np.where(near & (fraction > 0.5), fraction - 1, fraction)
    shifts = [(0, 1) if on_face else (0,) for on_face in near]
    for shift in product(*shifts):
        yield Ball(row, _triple(snapped + shift), repeated=any(shift))


def _heights(vectors: Array) -> Array:
    """Distances between opposite faces of a cell, in Å."""
    reciprocal = np.linalg.inv(vectors)
    return np.asarray(1 / np.linalg.norm(reciprocal, axis=0))


def _triple(fraction: Array) -> tuple[float, float, float]:
    x, y, z = fraction.tolist()
    return x, y, z


def _closest(cell: Cell) -> float:
    """The shortest distance between two sites in Å; infinite for a single one."""
    between = cell.fractions[:, None] - cell.fractions[None]
    nearest = (between - between.round()) @ cell.vectors
    distances = np.linalg.norm(nearest, axis=2)
    np.fill_diagonal(distances, np.inf)
    return float(distances.min(initial=np.inf))


def _bonds(cell: Cell, balls: Sequence[Ball]) -> tuple[tuple[int, int], ...]:
    """Pairs of balls at bonding distance; metals bond among themselves only in metals."""
    if len(balls) < 2:
        return ()
    places = np.array([ball.fraction for ball in balls]) @ cell.vectors
    kinds = [cell.species[ball.row] for ball in balls]
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    distances[distances < SHORTEST] = np.inf
    radii = np.array([covalent_radius(kind) for kind in kinds])
    bonded = distances <= radii[:, None] + radii[None] + BOND_SLACK
    metals = np.array([element(kind) not in _NONMETALS for kind in kinds])
    if metals.any() and not metals.all():
        bonded &= ~(metals[:, None] & metals[None])
    allowed = np.where(bonded, distances, np.inf)
    shortest = allowed.min(axis=1)
    near = distances <= BOND_FACTOR * np.maximum(shortest[:, None], shortest[None])
    pairs = np.argwhere(np.triu(bonded & near, 1)).tolist()
    return tuple((i, j) for i, j in pairs) if len(pairs) <= BONDS else ()
