"""Templates whose answers are structures; golds by pymatgen and NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pymatgen.core import Lattice, Structure

from experiments.benchmarks.qmbench.problem import Poscar, Problem

Rng = np.random.Generator
_F = ((0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0))
_P = ((0, 0, 0),)
Positions = tuple[tuple[float, float, float], ...]
#: Name of a cubic prototype: its lattice points, and the positions of each species.
PROTOTYPES: dict[str, tuple[Positions, tuple[Positions, ...]]] = {
    "rock salt": (_F, (((0, 0, 0),), ((0.5, 0.5, 0.5),))),
    "zinc blende": (_F, (((0, 0, 0),), ((0.25, 0.25, 0.25),))),
    "caesium chloride": (_P, (((0, 0, 0),), ((0.5, 0.5, 0.5),))),
    "fluorite": (_F, (((0, 0, 0),), ((0.25, 0.25, 0.25), (0.75, 0.75, 0.75)))),
    "perovskite": (
        _P, (((0, 0, 0),), ((0.5, 0.5, 0.5),), ((0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5))),
    ),
}  # fmt: skip
#: Formula, its elements in the order of the prototype, and roughly its lattice constant in Å.
COMPOUNDS: dict[str, tuple[tuple[str, tuple[str, ...], float], ...]] = {
    "rock salt": (("MgO", ("Mg", "O"), 4.21), ("NaCl", ("Na", "Cl"), 5.64),
                  ("NiO", ("Ni", "O"), 4.18), ("PbTe", ("Pb", "Te"), 6.46)),
    "zinc blende": (("GaAs", ("Ga", "As"), 5.65), ("ZnS", ("Zn", "S"), 5.41),
                    ("InP", ("In", "P"), 5.87), ("CdTe", ("Cd", "Te"), 6.48)),
    "caesium chloride": (("CsCl", ("Cs", "Cl"), 4.12), ("NiAl", ("Ni", "Al"), 2.89),
                         ("TlBr", ("Tl", "Br"), 3.97)),
    "fluorite": (("CaF2", ("Ca", "F"), 5.46), ("CeO2", ("Ce", "O"), 5.41),
                 ("UO2", ("U", "O"), 5.47)),
    "perovskite": (("SrTiO3", ("Sr", "Ti", "O"), 3.91), ("KNbO3", ("K", "Nb", "O"), 4.02),
                   ("BaZrO3", ("Ba", "Zr", "O"), 4.19)),
}  # fmt: skip
METALS = (("Cu", 3.61), ("Al", 4.05), ("Ag", 4.09), ("Pt", 3.92), ("Ni", 3.52), ("Au", 4.08))


@dataclass(frozen=True)
class Compound:
    """A cubic compound with its lattice constant in Å."""

    prototype: str
    formula: str
    elements: tuple[str, ...]
    a: float

    @property
    def told(self) -> str:
        """As a prompt names it."""
        return f"{self.formula} in the {self.prototype} structure, a = {self.a:.3f} Å"

    def cell(self) -> Structure:
        """The conventional cell."""
        points, positions = PROTOTYPES[self.prototype]
        sites = [
            (element, np.mod(np.add(position, point), 1))
            for element, own in zip(self.elements, positions, strict=True)
            for position in own
            for point in points
        ]
        species, fractions = zip(*sites, strict=True)
        return Structure(Lattice.cubic(self.a), species, fractions)


def compound(rng: Rng, prototypes: Sequence[str] = tuple(PROTOTYPES)) -> Compound:
    """Any, with a lattice constant of its own."""
    prototype = prototypes[int(rng.integers(len(prototypes)))]
    known = COMPOUNDS[prototype]
    formula, elements, near = known[int(rng.integers(len(known)))]
    a = round(near * float(rng.uniform(0.95, 1.05)), 3)
    return Compound(prototype, formula, elements, a)


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


def _problem(name: str, prompt: str, structure: Structure, difficulty: Any) -> Problem:
    text = poscar_text(
        structure.lattice.matrix, [site.specie.symbol for site in structure], structure.frac_coords
    )
    return Problem(
        id=name, topics=("structure",), type="poscar", difficulty=difficulty, prompt=prompt,
        answer=Poscar(poscar=text),
    )  # fmt: skip


def conventional_cell(rng: Rng) -> Problem:
    """The conventional cell of a prototype."""
    one = compound(rng)
    prompt = f"Write a POSCAR file of the conventional cubic cell of {one.told}."
    return _problem("conventional_cell", prompt, one.cell(), "easy")


def strained_cell(rng: Rng) -> Problem:
    """A strained conventional cell; one strain is above the tolerance of lengths."""
    one = compound(rng)
    strains = [round(float(x), 1) for x in rng.uniform(-3, 3, size=3)]
    axis = int(rng.integers(3))
    strains[axis] = round(float(rng.choice([-1, 1]) * rng.uniform(7, 12)), 1)
    cell = one.cell()
    matrix = cell.lattice.matrix @ np.diag(1 + np.array(strains) / 100)
    told = ", ".join(f"{x:+.1f} % along {axis}" for x, axis in zip(strains, "xyz", strict=True))
    prompt = (
        f"The conventional cubic cell of {one.told}, is strained: {told} (the cell vectors are "
        "along x, y and z; the sites keep their fractional coordinates). Write a POSCAR file of "
        "the strained cell."
    )
    strained = Structure(Lattice(matrix), cell.species, cell.frac_coords)
    return _problem("strained_cell", prompt, strained, "medium")


def vacancy(rng: Rng) -> Problem:
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
    prompt = (
        f"Write a POSCAR file of the {counts[0]} x {counts[1]} x {counts[2]} supercell of the "
        f"conventional cubic cell of {one.told}, from which one {removed} atom is removed. "
        "No atom relaxes."
    )
    return _problem("vacancy", prompt, cell, "medium")


def slab(rng: Rng) -> Problem:
    """A slab with vacuum: of a metal, or of a perovskite with a termination."""
    vacuum = round(float(rng.uniform(10, 16)), 1)
    if rng.random() < 0.5:
        metal, near = METALS[int(rng.integers(len(METALS)))]
        a = round(near * float(rng.uniform(0.97, 1.03)), 3)
        layers, face = int(rng.integers(3, 8)), str(rng.choice(["111", "100"]))
        spacing = a / np.sqrt(3) if face == "111" else a / 2
        side = a / np.sqrt(2)
        angle = 60 if face == "111" else 90
        shift = [1 / 3, 1 / 3] if face == "111" else [1 / 2, 1 / 2]
        height = spacing * (layers - 1) + vacuum
        sites = [[n * shift[0] % 1, n * shift[1] % 1, n * spacing / height] for n in range(layers)]
        lattice = Lattice.from_parameters(side, side, height, 90, 90, angle)
        made = Structure(lattice, [metal] * layers, sites)
        what = f"fcc {metal}, a = {a:.3f} Å, with {layers} atomic layers parallel to ({face})"
    else:
        one = compound(rng, ("perovskite",))
        corner, centre, oxygen = one.elements
        layers = 2 * int(rng.integers(1, 4)) + 1
        first = int(rng.integers(2))
        height = one.a / 2 * (layers - 1) + vacuum
        species: list[str] = []
        sites = []
        for n in range(layers):
            z = n * one.a / 2 / height
            flat = (n + first) % 2 == 0
            species += [corner, oxygen] if flat else [centre, oxygen, oxygen]
            sites += ([[0, 0, z], [0.5, 0.5, z]] if flat
                      else [[0.5, 0.5, z], [0.5, 0, z], [0, 0.5, z]])  # fmt: skip
        made = Structure(Lattice.orthorhombic(one.a, one.a, height), species, sites)
        ends = f"{corner}{oxygen}" if first == 0 else f"{centre}{oxygen}2"
        what = (
            f"{one.told}, with {layers} atomic layers parallel to (001), terminated by "
            f"{ends} on both sides"
        )
    prompt = (
        f"Write a POSCAR file of a slab of {what}, in the smallest surface cell (1 x 1), with the "
        f"third cell vector perpendicular to the surface and {vacuum:.1f} Å of vacuum between the "
        "outermost layers of neighbouring slabs. No atom relaxes."
    )
    return _problem("slab", prompt, made, "hard")
