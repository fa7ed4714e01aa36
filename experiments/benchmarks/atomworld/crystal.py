"""A crystal as AtomWorld writes it: cell parameters, and rows of species and fractions.

Cartesian coordinates are those of ASE: *a* along x, *b* in the xy plane. pymatgen puts *c* along z,
which is another frame for every cell that is not orthogonal. Crystals begin as structure types
(``prototypes.yaml``), or as files of the user's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Template
from numpy.typing import NDArray
from pymatgen.core import Lattice, Structure
from pymatgen.io.cif import CifFile
from pymatgen.util.coord import pbc_shortest_vectors

from foundation.configuration import data_of

Array = NDArray[np.float64]

DECIMALS = 6  # of a CIF, and so of what a target can be told from
_LENGTHS = ("_cell_length_a", "_cell_length_b", "_cell_length_c")
_ANGLES = ("_cell_angle_alpha", "_cell_angle_beta", "_cell_angle_gamma")
_CIF = Template(
    Path(__file__).with_name("structure.cif.j2").read_text("utf-8"),
    keep_trailing_newline=True,
)


@dataclass(frozen=True)
class Crystal:
    """A periodic structure in P1, each row an atom.

    ``cell`` is a, b, c in Å and alpha, beta, gamma in degrees; ``fractions`` have shape (n, 3).
    """

    cell: tuple[float, ...]
    species: tuple[str, ...]
    fractions: Array

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Crystal:
        """Of ``{cell, species, fractions}``."""
        fractions = np.array(plain["fractions"], dtype=float).reshape(-1, 3)
        return cls(
            tuple(map(float, plain["cell"])),
            tuple(map(str, plain["species"])),
            fractions,
        )

    def plain(self) -> dict[str, Any]:
        """As a target travels: JSON-able."""
        return {
            "cell": list(self.cell),
            "species": list(self.species),
            "fractions": self.fractions.tolist(),
        }

    @property
    def lattice(self) -> Any:
        """As pymatgen has it; ``lattice.matrix`` holds the cell vectors as rows, in Å."""
        return Lattice.from_parameters(*self.cell, vesta=True)

    @property
    def positions(self) -> Array:
        """Cartesian coordinates of the rows as they are listed, in Å, shape (n, 3)."""
        return np.asarray(self.lattice.get_cartesian_coords(self.fractions))

    def moved(self, positions: Array) -> Crystal:
        """The same atoms at other Cartesian positions (Å), wrapped into the cell."""
        return Crystal(
            self.cell, self.species, wrap(self.lattice.get_fractional_coords(positions))
        )

    def with_atom(self, symbol: str, position: Array) -> Crystal:
        """One more atom, in the last row."""
        grown = Crystal(self.cell, (*self.species, symbol), self.fractions)
        return grown.moved(np.vstack([self.positions, position]))

    def rows(self, keep: Iterable[int]) -> Crystal:
        """Some of the rows, in the order given."""
        chosen = [int(row) for row in keep]
        species = tuple(self.species[row] for row in chosen)
        return Crystal(self.cell, species, self.fractions[chosen])

    def images(self, centre: int) -> tuple[Array, Array]:
        """Vectors (Å) from an atom to the nearest image of each, and their lengths."""
        (vectors,), (squares,) = pbc_shortest_vectors(
            self.lattice, self.fractions[[centre]], self.fractions, return_d2=True
        )
        return vectors, np.sqrt(squares)

    def all_images(self, centre: int, other: int, within: float) -> Array:
        """Vectors (Å) from an atom to every image of another that is at most so far away."""
        here = self.positions[centre]
        images, *_ = self.lattice.get_points_in_sphere(
            [self.fractions[other]], here, within, zip_results=False
        )
        return np.asarray(
            self.lattice.get_cartesian_coords(np.reshape(images, (-1, 3))) - here
        )

    def apart(self, vectors: Array) -> float:
        """Largest distance (Å) between places modulo the cell; 0 for images of one place."""
        away = self.lattice.get_fractional_coords(vectors - vectors[0])
        left = self.lattice.get_cartesian_coords(away - np.round(away))
        return float(np.linalg.norm(left, axis=1).max())

    def unlike(self, other: Crystal, within: float) -> list[int]:
        """Rows without an atom of the same species in the same place (Å) of another crystal.

        None where the cells differ: places cannot be compared then.
        """
        if np.abs(np.array(self.cell) - other.cell).max() > 0.1:
            return []
        alike = np.array(self.species)[:, None] == np.array(other.species)
        near = (
            other.lattice.get_all_distances(self.fractions, other.fractions) <= within
        )
        return [int(row) for row in np.flatnonzero(~(alike & near).any(axis=1))]

    def to_cif(self, decimals: int = DECIMALS) -> str:
        """P1, with rows as listed and fractions in [0, 1)."""
        cell = zip((*_LENGTHS, *_ANGLES), self.cell, strict=True)
        fractions, number = wrap(self.fractions, decimals), f"{{:.{decimals}f}}"
        fields = {
            "cell": cell,
            "species": self.species,
            "fractions": fractions,
            "number": number,
        }
        return str(_CIF.render(fields))


def wrap(fractions: Array, decimals: int = 12) -> Array:
    """Fractions in [0, 1), also after rounding: 0.9999999 is 0."""
    rounded = np.round(fractions, decimals)
    return np.asarray(np.where(rounded % 1.0 == 0.0, 0.0, rounded % 1.0))


def read_cif(text: str) -> Crystal:
    """Read a P1 CIF of the published data or of our own; answers are never read here."""
    try:
        block = next(iter(CifFile.from_str(text).data.values()))
        cell = tuple(float(block[tag]) for tag in (*_LENGTHS, *_ANGLES))
        fractions = [
            [float(x) for x in block[f"_atom_site_fract_{axis}"]] for axis in "xyz"
        ]
        species = re.findall(
            r"(?m)^[A-Z][a-z]?", "\n".join(block["_atom_site_type_symbol"])
        )
        sites = np.array(fractions).T.reshape(len(species), 3)
    except (KeyError, ValueError, TypeError, StopIteration) as error:
        raise ValueError(f"the CIF has no readable cell or sites ({error!r})") from None
    return Crystal(cell, tuple(species), sites)


@dataclass(frozen=True)
class Prototype:
    """A structure type: a, b, c in units of the shortest bond, angles in degrees, and sites.

    These are for each kind of atom its fractional coordinates.
    """

    name: str
    cell: tuple[float, ...]
    sites: tuple[Array, ...]

    def crystal(self, symbols: tuple[str, ...], bond: float) -> Crystal:
        """With these species, one of each kind, and a shortest bond in Å."""
        lengths = (length * bond for length in self.cell[:3])
        kinds = zip(symbols, self.sites, strict=True)
        species = tuple(symbol for symbol, sites in kinds for _ in sites)
        return Crystal((*lengths, *self.cell[3:]), species, wrap(np.vstack(self.sites)))


def _prototypes() -> Iterator[Prototype]:
    data = data_of(__file__, "prototypes")
    for name, entry in data["prototypes"].items():
        points = _points(data["centring"][entry.get("centring", "none")])
        sites = tuple(
            (points[:, None] + _points(kind)).reshape(-1, 3) for kind in entry["sites"]
        )
        yield Prototype(name, tuple(map(float, entry["cell"])), sites)


def _points(rows: list[list[Any]]) -> Array:
    return np.array([[float(Fraction(str(x))) for x in row] for row in rows])


PROTOTYPES = tuple(_prototypes())


def read_structures(folder: Path) -> dict[str, Crystal]:
    """The structures of a user's folder by file name, in P1: any format that pymatgen reads."""
    crystals = {}
    for file in sorted(
        path for path in folder.expanduser().glob("*") if path.is_file()
    ):
        try:
            read: Any = Structure.from_file(str(file))
            symbols = tuple(site.specie.symbol for site in read)
        except Exception as error:  # of any of its parsers
            raise ValueError(f"structures={folder}: {file.name}: {error}") from error
        cell = tuple(round(float(x), DECIMALS) for x in read.lattice.parameters)
        fractions = wrap(np.asarray(read.frac_coords, dtype=float), DECIMALS)
        crystals[file.name] = Crystal(cell, symbols, fractions)
    if not crystals:
        raise ValueError(f"structures={folder}: holds no files of structures")
    return crystals
