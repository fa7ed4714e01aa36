"""A crystal as AtomWorld writes it: cell parameters, and rows of species and fractions.

Cartesian coordinates are those of ASE: *a* along x, *b* in the xy plane. pymatgen puts *c* along z,
which is another frame for every cell that is not orthogonal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

REMOVED = "[VALUE_TO_BE_INSERTED]"  # in a file that is to be repaired
DECIMALS = 6  # of a CIF, and so of what a target can be told from
_LENGTHS = ("_cell_length_a", "_cell_length_b", "_cell_length_c")
_ANGLES = ("_cell_angle_alpha", "_cell_angle_beta", "_cell_angle_gamma")
_HEAD = """\
_symmetry_space_group_name_H-M   'P 1'
_symmetry_Int_Tables_number   1
_chemical_formula_sum   '{formula}'
loop_
 _symmetry_equiv_pos_site_id
 _symmetry_equiv_pos_as_xyz
  1  'x, y, z'
loop_
 _atom_site_type_symbol
 _atom_site_label
 _atom_site_symmetry_multiplicity
 _atom_site_fract_x
 _atom_site_fract_y
 _atom_site_fract_z
 _atom_site_occupancy"""


class CrystalError(ValueError):
    """A CIF text is not what the benchmark's own data look like."""


@dataclass(frozen=True)
class Crystal:
    """A periodic structure in P1, each row an atom.

    ``cell`` is a, b, c in Å and alpha, beta, gamma in degrees; ``fractions`` have shape (n, 3).
    """

    cell: tuple[float, float, float, float, float, float]
    species: tuple[str, ...]
    fractions: Array

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Crystal:
        """Of ``{cell, species, fractions}``."""
        a, b, c, alpha, beta, gamma = map(float, plain["cell"])
        fractions = np.array(plain["fractions"], dtype=float).reshape(-1, 3)
        return cls((a, b, c, alpha, beta, gamma), tuple(map(str, plain["species"])), fractions)

    def plain(self) -> dict[str, Any]:
        """As a target travels: JSON-able."""
        return {"cell": list(self.cell), "species": list(self.species),
                "fractions": self.fractions.tolist()}  # fmt: skip

    @property
    def lattice(self) -> Array:
        """Cell vectors as rows, in Å, shape (3, 3)."""
        a, b, c, *angles = self.cell
        cos_a, cos_b, cos_c = np.cos(np.radians(angles))
        sin_c = np.sin(np.radians(angles[2]))
        y = (cos_a - cos_b * cos_c) / sin_c
        z = np.sqrt(1.0 - cos_b**2 - y**2)
        return np.array([[a, 0, 0], [b * cos_c, b * sin_c, 0], [c * cos_b, c * y, c * z]])

    @property
    def positions(self) -> Array:
        """Cartesian coordinates of the rows as they are listed, in Å, shape (n, 3)."""
        return np.asarray(self.fractions @ self.lattice)

    def moved(self, positions: Array) -> Crystal:
        """The same atoms at other Cartesian positions (Å), wrapped into the cell."""
        return Crystal(self.cell, self.species, wrap(positions @ np.linalg.inv(self.lattice)))

    def with_atom(self, symbol: str, position: Array) -> Crystal:
        """One more atom, in the last row."""
        grown = Crystal(
            self.cell, (*self.species, symbol), np.vstack([self.fractions, np.zeros(3)])
        )
        return grown.moved(np.vstack([self.positions, position]))

    def rows(self, keep: Array | list[int]) -> Crystal:
        """Some of the rows, in the order given."""
        chosen = [int(row) for row in keep]
        return Crystal(
            self.cell, tuple(self.species[row] for row in chosen), self.fractions[chosen]
        )

    def images(self, centre: int) -> tuple[Array, Array]:
        """Vectors (Å) from an atom to the nearest image of each, and their lengths."""
        around = self.fractions - self.fractions[centre]
        around -= np.round(around)
        shifts = np.array(np.meshgrid(*[[-1, 0, 1]] * 3, indexing="ij")).reshape(3, -1).T
        candidates = (around[:, None, :] + shifts[None, :, :]) @ self.lattice
        lengths = np.linalg.norm(candidates, axis=2)
        best = lengths.argmin(axis=1)
        rows = np.arange(len(around))
        return candidates[rows, best], lengths[rows, best]

    def all_images(self, centre: int, other: int, within: float) -> Array:
        """Vectors (Å) from an atom to every image of another that is at most so far away."""
        around = self.fractions[other] - self.fractions[centre]
        heights = 1 / np.linalg.norm(np.linalg.inv(self.lattice), axis=0)
        most = np.ceil(within / heights + np.abs(around)).astype(int)
        shifts = np.array(list(np.ndindex(*(2 * most + 1)))) - most
        vectors: Array = (around + shifts) @ self.lattice
        return np.asarray(vectors[np.linalg.norm(vectors, axis=1) <= within])

    def apart(self, vectors: Array) -> float:
        """Largest distance (Å) between places modulo the cell; 0 for images of one place."""
        away = (vectors - vectors[0]) @ np.linalg.inv(self.lattice)
        left = (away - np.round(away)) @ self.lattice
        return float(np.linalg.norm(left, axis=1).max())

    def unlike(self, other: Crystal, within: float) -> list[int]:
        """Rows without an atom of the same species in the same place (Å) of another crystal.

        None where the cells differ: places cannot be compared then.
        """
        if np.abs(np.array(self.cell) - other.cell).max() > 0.1:
            return []
        kinds = np.array(other.species)
        found = []
        for row, (symbol, at) in enumerate(zip(self.species, self.fractions, strict=True)):
            away = other.fractions[kinds == symbol] - at
            lengths = np.linalg.norm((away - np.round(away)) @ other.lattice, axis=1)
            if not (lengths <= within).any():
                found.append(row)
        return found

    def to_cif(self, decimals: int = DECIMALS) -> str:
        """P1, with rows as listed and fractions in [0, 1)."""
        counts = {symbol: self.species.count(symbol) for symbol in dict.fromkeys(self.species)}
        formula = " ".join(f"{symbol}{count}" for symbol, count in counts.items())
        tags = zip((*_LENGTHS, *_ANGLES), self.cell, strict=True)
        lines = ["data_structure", *(f"{tag}   {value:.{decimals}f}" for tag, value in tags)]
        lines.append(_HEAD.format(formula=formula))
        seen: dict[str, int] = {}
        for symbol, row in zip(self.species, wrap(self.fractions, decimals), strict=True):
            number = seen.get(symbol, 0)
            seen[symbol] = number + 1
            x, y, z = (f"{value:.{decimals}f}" for value in row)
            lines.append(f"  {symbol}  {symbol}{number}  1  {x}  {y}  {z}  1.0")
        return "\n".join(lines) + "\n"


def wrap(fractions: Array, decimals: int = 12) -> Array:
    """Fractions in [0, 1), also after rounding: 0.9999999 is 0."""
    rounded = np.round(fractions, decimals)
    return np.asarray(np.where(rounded % 1.0 == 0.0, 0.0, rounded % 1.0))


def read_cif(text: str) -> Crystal:
    """Read a P1 CIF of the published data or of our own; answers are never read here."""
    from pymatgen.io.cif import CifFile  # noqa: PLC0415 -- slow, and seldom needed

    try:
        block = next(iter(CifFile.from_str(text).data.values()))
        a, b, c, alpha, beta, gamma = (float(block[tag]) for tag in (*_LENGTHS, *_ANGLES))
        fractions = [[float(x) for x in block[f"_atom_site_fract_{axis}"]] for axis in "xyz"]
        species = re.findall(r"(?m)^[A-Z][a-z]?", "\n".join(block["_atom_site_type_symbol"]))
        sites = np.array(fractions).T.reshape(len(species), 3)
    except (KeyError, ValueError, TypeError, StopIteration) as error:
        raise CrystalError(f"the CIF has no readable cell or sites ({error!r})") from None
    return Crystal((a, b, c, alpha, beta, gamma), tuple(species), sites)
