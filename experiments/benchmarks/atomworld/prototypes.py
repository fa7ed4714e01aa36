"""Structure types (``prototypes.yaml``), and structures of the user's own, as starting points."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.benchmarks.atomworld.crystal import DECIMALS, Crystal, wrap
from experiments.samples import data_of


@dataclass(frozen=True)
class Prototype:
    """A structure type: a, b, c in units of the shortest bond, angles in degrees, and sites.

    These are for each kind of atom its fractional coordinates.
    """

    name: str
    cell: tuple[float, float, float, float, float, float]
    sites: tuple[tuple[tuple[float, ...], ...], ...]

    def crystal(self, symbols: tuple[str, ...], bond: float) -> Crystal:
        """With these species, one of each kind, and a shortest bond in Å."""
        a, b, c = (length * bond for length in self.cell[:3])
        rows = [
            (symbol, at) for symbol, kind in zip(symbols, self.sites, strict=True) for at in kind
        ]
        fractions = np.array([at for _, at in rows], dtype=float)
        cell = (a, b, c, *self.cell[3:])
        return Crystal(cell, tuple(symbol for symbol, _ in rows), wrap(fractions))


def _prototypes() -> tuple[Prototype, ...]:
    known = data_of(__file__)
    centring = {name: [_point(at) for at in some] for name, some in known["centring"].items()}
    made = []
    for name, told in known["prototypes"].items():
        points = centring.get(told.get("centring", ""), [(0.0, 0.0, 0.0)])
        sites = tuple(
            tuple(
                (x + s, y + t, z + u) for (s, t, u), (x, y, z) in product(points, map(_point, kind))
            )
            for kind in told["sites"]
        )
        a, b, c, gamma = (*map(float, told["cell"]), 90.0)[:4]
        made.append(Prototype(name, (a, b, c, 90.0, 90.0, gamma), sites))
    return tuple(made)


def _point(at: list[Any]) -> tuple[float, ...]:
    return tuple(float(Fraction(str(x))) for x in at)


PROTOTYPES = _prototypes()


def read_structures(folder: Path) -> dict[str, Crystal]:
    """The structures of a user's folder by file name, in P1: any format that pymatgen reads."""
    from pymatgen.core import Structure  # noqa: PLC0415 -- slow, and only this option needs it

    found = {}
    for file in sorted(path for path in folder.expanduser().glob("*") if path.is_file()):
        try:
            read: Any = Structure.from_file(str(file))
            symbols = tuple(site.specie.symbol for site in read)
        except Exception as error:  # of any of its parsers
            raise ValueError(f"structures={folder}: {file.name}: {error}") from error
        a, b, c, alpha, beta, gamma = (round(float(x), DECIMALS) for x in read.lattice.parameters)
        fractions = wrap(np.asarray(read.frac_coords, dtype=float), DECIMALS)
        found[file.name] = Crystal((a, b, c, alpha, beta, gamma), symbols, fractions)
    if not found:
        raise ValueError(f"structures={folder}: holds no files of structures")
    return found
