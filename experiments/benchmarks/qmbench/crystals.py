"""Problems whose answers are structures; golds by pymatgen and NumPy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pymatgen.core import Lattice, Structure

from experiments.samples import data_of

Rng = np.random.Generator
#: Values of a prompt, and keys of its problem.
Drawn = tuple[dict[str, Any], dict[str, Any]]
PROTOTYPES: dict[str, Any] = data_of(__file__)
METALS = (("Cu", 3.61), ("Al", 4.05), ("Ag", 4.09), ("Pt", 3.92), ("Ni", 3.52), ("Au", 4.08))


@dataclass(frozen=True)
class Compound:
    """A cubic compound with its lattice constant in Å."""

    prototype: str
    formula: str
    a: float

    def __str__(self) -> str:
        return f"{self.formula} in the {self.prototype} structure, a = {self.a:.3f} Å"

    @property
    def elements(self) -> list[str]:
        """In the order of the prototype."""
        return re.findall("[A-Z][a-z]?", self.formula)

    def cell(self) -> Structure:
        """The conventional cell."""
        known = PROTOTYPES[self.prototype]
        sites = [
            (element, np.mod(np.add(position, point), 1))
            for element, own in zip(self.elements, known["sites"], strict=True)
            for position in own
            for point in known["points"]
        ]
        species, fractions = zip(*sites, strict=True)
        return Structure(Lattice.cubic(self.a), species, fractions)


def compound(rng: Rng, prototypes: Sequence[str] = tuple(PROTOTYPES)) -> Compound:
    """Any, with a lattice constant of its own."""
    prototype = prototypes[int(rng.integers(len(prototypes)))]
    known = list(PROTOTYPES[prototype]["compounds"].items())
    formula, near = known[int(rng.integers(len(known)))]
    return Compound(prototype, formula, round(near * float(rng.uniform(0.95, 1.05)), 3))


def poscar_text(matrix: Any, species: Sequence[str], fractions: Any) -> str:
    """A POSCAR; sites are sorted by species, in the order of their first site."""
    kinds = list(dict.fromkeys(species))
    counts = [list(species).count(kind) for kind in kinds]
    at = np.asarray(fractions)
    rows = [at[i] for kind in kinds for i, one in enumerate(species) if one == kind]
    lines = ["crystal", "1.0", *(" ".join(f"{x:.9f}" for x in vector) for vector in matrix),
             " ".join(kinds), " ".join(map(str, counts)), "Direct",
             *(" ".join(f"{x:.9f}" for x in row) for row in rows)]  # fmt: skip
    return "\n".join(lines) + "\n"


def poscar_of(structure: Structure) -> str:
    """The POSCAR of a structure of elements."""
    symbols = [site.specie.symbol for site in structure]
    return poscar_text(structure.lattice.matrix, symbols, structure.frac_coords)


def _gold(structure: Structure) -> dict[str, Any]:
    return {"answer": {"poscar": poscar_of(structure)}}


def conventional_cell(rng: Rng) -> Drawn:
    """The conventional cell of a prototype."""
    one = compound(rng)
    return {"compound": one}, _gold(one.cell())


def strained_cell(rng: Rng) -> Drawn:
    """A strained conventional cell; one strain is above the tolerance of lengths."""
    one = compound(rng)
    strains = [round(float(x), 1) for x in rng.uniform(-3, 3, size=3)]
    axis = int(rng.integers(3))
    strains[axis] = round(float(rng.choice([-1, 1]) * rng.uniform(7, 12)), 1)
    cell = one.cell()
    matrix = cell.lattice.matrix @ np.diag(1 + np.array(strains) / 100)
    told = ", ".join(f"{x:+.1f} % along {axis}" for x, axis in zip(strains, "xyz", strict=True))
    strained = Structure(Lattice(matrix), cell.species, cell.frac_coords)
    return {"compound": one, "strains": told}, _gold(strained)


def vacancy(rng: Rng) -> Drawn:
    """A supercell that lacks an atom.

    All of its element are equivalent by translations and inversion, whatever the supercell: those
    of oxygen in a perovskite are not.
    """
    one = compound(rng)
    counts = [int(n) for n in rng.permutation([1, int(rng.integers(1, 3)), 2])]
    removed = one.elements[int(rng.integers(2))]
    cell = one.cell()
    cell.make_supercell(counts)
    cell.remove_sites([next(i for i, s in enumerate(cell) if s.specie.symbol == removed)])
    told = " x ".join(map(str, counts))
    return {"compound": one, "counts": told, "removed": removed}, _gold(cell)


def slab(rng: Rng) -> Drawn:
    """A slab with vacuum: of a metal, or of a perovskite with a termination."""
    vacuum = round(float(rng.uniform(10, 16)), 1)
    if rng.random() < 0.5:
        metal, near = METALS[int(rng.integers(len(METALS)))]
        a = round(near * float(rng.uniform(0.97, 1.03)), 3)
        layers, face = int(rng.integers(3, 8)), str(rng.choice(["111", "100"]))
        side = a / np.sqrt(2)
        angle, shift, spacing = (60, 1 / 3, a / np.sqrt(3)) if face == "111" else (90, 0.5, a / 2)
        sheets = [[(metal, n * shift % 1, n * shift % 1)] for n in range(layers)]
        what = f"fcc {metal}, a = {a:.3f} Å, with {layers} atomic layers parallel to ({face})"
    else:
        one = compound(rng, ("perovskite",))
        corner, centre, oxygen = one.elements
        layers = 2 * int(rng.integers(1, 4)) + 1
        first = int(rng.integers(2))
        side, angle, spacing = one.a, 90, one.a / 2
        kinds = ([(corner, 0.0, 0.0), (oxygen, 0.5, 0.5)],
                 [(centre, 0.5, 0.5), (oxygen, 0.5, 0.0), (oxygen, 0.0, 0.5)])  # fmt: skip
        sheets = [kinds[(n + first) % 2] for n in range(layers)]
        ends = f"{corner}{oxygen}" if first == 0 else f"{centre}{oxygen}2"
        what = (
            f"{one}, with {layers} atomic layers parallel to (001), terminated by {ends} on both "
            "sides"
        )
    height = spacing * (layers - 1) + vacuum
    sites = [(kind, (x, y, n * spacing / height)) for n, sheet in enumerate(sheets)
             for kind, x, y in sheet]  # fmt: skip
    lattice = Lattice.from_parameters(side, side, height, 90, 90, angle)
    made = Structure(lattice, *zip(*sites, strict=True))
    return {"what": what, "vacuum": f"{vacuum:.1f}"}, _gold(made)
