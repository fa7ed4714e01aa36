"""Problems about crystals and their symmetry; golds by pymatgen, NumPy and spglib."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import spglib
from pymatgen.core import Lattice, Structure

from foundation.configuration import data_of

Rng = np.random.Generator
#: Values of a prompt, and keys of its problem.
Drawn = tuple[dict[str, Any], dict[str, Any]]
PROTOTYPES: dict[str, Any] = data_of(__file__)
METALS = (
    ("Cu", 3.61),
    ("Al", 4.05),
    ("Ag", 4.09),
    ("Pt", 3.92),
    ("Ni", 3.52),
    ("Au", 4.08),
)


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
        prototype = PROTOTYPES[self.prototype]
        sites = [
            (element, np.mod(np.add(position, point), 1))
            for element, own in zip(self.elements, prototype["sites"], strict=True)
            for position in own
            for point in prototype["points"]
        ]
        species, fractions = zip(*sites, strict=True)
        return Structure(Lattice.cubic(self.a), species, fractions)


def compound(rng: Rng, prototypes: Sequence[str] = tuple(PROTOTYPES)) -> Compound:
    """Any, with a lattice constant of its own."""
    prototype = prototypes[int(rng.integers(len(prototypes)))]
    compounds = list(PROTOTYPES[prototype]["compounds"].items())
    formula, near = compounds[int(rng.integers(len(compounds)))]
    return Compound(prototype, formula, round(near * float(rng.uniform(0.95, 1.05)), 3))


def poscar_of(structure: Structure) -> str:
    """The POSCAR of a structure of elements; species stand in the order of their first site."""
    symbols = [site.specie.symbol for site in structure]
    counts = Counter(symbols)
    rows = [
        at
        for kind in counts
        for symbol, at in zip(symbols, structure.frac_coords, strict=True)
        if symbol == kind
    ]
    cell, sites = (
        [" ".join(f"{x:.9f}" for x in vector) for vector in some]
        for some in (structure.lattice.matrix, rows)
    )
    head = [" ".join(counts), " ".join(map(str, counts.values())), "Direct"]
    return "\n".join(["crystal", "1.0", *cell, *head, *sites]) + "\n"


def _gold(structure: Structure) -> dict[str, Any]:
    return {"answer": {"poscar": poscar_of(structure)}}


def conventional_cell(rng: Rng) -> Drawn:
    """The conventional cell of a prototype."""
    material = compound(rng)
    return {"compound": material}, _gold(material.cell())


def strained_cell(rng: Rng) -> Drawn:
    """A strained conventional cell; one strain is above the tolerance of lengths."""
    material = compound(rng)
    strains = [round(float(x), 1) for x in rng.uniform(-3, 3, size=3)]
    axis = int(rng.integers(3))
    strains[axis] = round(float(rng.choice([-1, 1]) * rng.uniform(7, 12)), 1)
    cell = material.cell()
    matrix = cell.lattice.matrix @ np.diag(1 + np.array(strains) / 100)
    changes = ", ".join(
        f"{x:+.1f} % along {axis}" for x, axis in zip(strains, "xyz", strict=True)
    )
    strained = Structure(Lattice(matrix), cell.species, cell.frac_coords)
    return {"compound": material, "strains": changes}, _gold(strained)


def vacancy(rng: Rng) -> Drawn:
    """A supercell that lacks an atom.

    All of its element are equivalent by translations and inversion, whatever the supercell: those
    of oxygen in a perovskite are not.
    """
    material = compound(rng)
    counts = [int(n) for n in rng.permutation([1, int(rng.integers(1, 3)), 2])]
    removed = material.elements[int(rng.integers(2))]
    cell = material.cell()
    cell.make_supercell(counts)
    cell.remove_sites(
        [next(i for i, s in enumerate(cell) if s.specie.symbol == removed)]
    )
    size = " x ".join(map(str, counts))
    return {"compound": material, "counts": size, "removed": removed}, _gold(cell)


def slab(rng: Rng) -> Drawn:
    """A slab with vacuum: of a metal, or of a perovskite with a termination."""
    vacuum = round(float(rng.uniform(10, 16)), 1)
    if rng.random() < 0.5:
        metal, near = METALS[int(rng.integers(len(METALS)))]
        a = round(near * float(rng.uniform(0.97, 1.03)), 3)
        layers = int(rng.integers(3, 8))
        face = str(rng.choice(["111", "100"]))
        side = a / np.sqrt(2)
        angle, shift, spacing = (
            (60, 1 / 3, a / np.sqrt(3)) if face == "111" else (90, 0.5, a / 2)
        )
        sheets = [[(metal, n * shift % 1, n * shift % 1)] for n in range(layers)]
        what = f"fcc {metal}, a = {a:.3f} Å, with {layers} atomic layers parallel to ({face})"
    else:
        material = compound(rng, ("perovskite",))
        corner, centre, oxygen = material.elements
        layers = 2 * int(rng.integers(1, 4)) + 1
        first = int(rng.integers(2))
        side = material.a
        angle = 90
        spacing = material.a / 2
        kinds = (
            [(corner, 0.0, 0.0), (oxygen, 0.5, 0.5)],
            [(centre, 0.5, 0.5), (oxygen, 0.5, 0.0), (oxygen, 0.0, 0.5)],
        )
        sheets = [kinds[(n + first) % 2] for n in range(layers)]
        ends = f"{corner}{oxygen}" if first == 0 else f"{centre}{oxygen}2"
        what = (
            f"{material}, with {layers} atomic layers parallel to (001), terminated by {ends} "
            "on both sides"
        )
    height = spacing * (layers - 1) + vacuum
    sites = [
        (kind, (x, y, n * spacing / height))
        for n, sheet in enumerate(sheets)
        for kind, x, y in sheet
    ]
    lattice = Lattice.from_parameters(side, side, height, 90, 90, angle)
    structure = Structure(lattice, *zip(*sites, strict=True))
    return {"what": what, "vacuum": f"{vacuum:.1f}"}, _gold(structure)


OPTIONS = 5
#: Space groups whose axes are orthogonal and equal where they are exchanged, so that rotations in
#: the basis of the cell are those of Cartesian space.
ORTHOGONAL = (16, 25, 47, 75, 81, 83, 89, 99, 111, 123, 195, 200, 207, 215, 221)


@cache
def setting(number: int) -> tuple[int, Any]:
    """The first setting of a space group: its Hall number and its type."""
    kinds = ((hall, spglib.get_spacegroup_type(hall)) for hall in range(1, 531))
    return next(
        (hall, kind)
        for hall, kind in kinds
        if kind is not None and kind.number == number
    )


@cache
def operations(number: int) -> tuple[Any, Any]:
    """Rotations, shape (n, 3, 3), and translations, shape (n, 3), in the basis of the cell."""
    database: Any = spglib.get_symmetry_from_database(setting(number)[0])
    return database["rotations"], database["translations"]


def name(number: int) -> str:
    """Symbol and number."""
    return f"{setting(number)[1].international_short} (No. {number})"


def invariant(number: int, rng: Rng) -> Any:
    """A random third-rank tensor, symmetric in its last two indices, averaged over a group."""
    tensor = rng.normal(size=(3, 3, 3))
    tensor += tensor.transpose(0, 2, 1)
    turns = operations(number)[0].astype(float)
    turned = np.einsum(
        "nai,nbj,nck,ijk->abc", turns, turns, turns, tensor, optimize=True
    )
    return turned / len(turns)


def choice(rng: Rng, right: Sequence[str], wrong: Sequence[str]) -> dict[str, Any]:
    """Options in random order, and the letters of the right ones."""
    texts = [*right, *wrong]
    order = [texts[i] for i in rng.permutation(len(texts))]
    choices = dict(zip(string.ascii_uppercase, order, strict=False))
    answer = "".join(letter for letter, text in choices.items() if text in set(right))
    return {"choices": choices, "answer": answer}


def draw(
    rng: Rng, right: Sequence[str], wrong: Sequence[str]
) -> tuple[list[str], list[str]]:
    """`OPTIONS` options, at least one of either kind."""
    most = min(OPTIONS - 1, len(right))
    count = int(rng.integers(max(1, OPTIONS - len(wrong)), most + 1))
    return _some(rng, right, count), _some(rng, wrong, OPTIONS - count)


def _some(rng: Rng, items: Sequence[str], count: int) -> list[str]:
    return [items[i] for i in rng.choice(len(items), count, replace=False)]


def point_operations(rng: Rng) -> Drawn:
    """Which operations a point group has."""
    number = int(rng.choice(ORTHOGONAL[:-1]))
    own = {_triplet(turn) for turn in operations(number)[0]} - {"(x, y, z)"}
    others = {_triplet(turn) for turn in operations(221)[0]} - own - {"(x, y, z)"}
    return {"group": name(number)}, choice(rng, *draw(rng, sorted(own), sorted(others)))


def _triplet(turn: Any) -> str:
    signs = {-1: "-", 1: ""}
    rows = (
        next(f"{signs[int(v)]}{axis}" for v, axis in zip(row, "xyz", strict=True) if v)
        for row in turn
    )
    return f"({', '.join(rows)})"


def tensor_components(rng: Rng) -> Drawn:
    """Which components of a tensor must vanish."""
    while True:
        number = int(rng.choice(ORTHOGONAL))
        tensor = np.abs(invariant(number, rng))
        named = {
            f"χ_{'xyz'[i]}{'xyz'[j]}{'xyz'[k]}": float(tensor[i, j, k])
            for i in range(3)
            for j in range(3)
            for k in range(j, 3)
        }
        gone = [component for component, value in named.items() if value < 1e-9]
        allowed = [component for component, value in named.items() if value >= 1e-9]
        if allowed and gone:
            return {"group": name(number)}, choice(rng, *draw(rng, gone, allowed))


def inversion_sites(rng: Rng) -> Drawn:
    """Which positions have inversion in their site symmetry."""
    while True:
        number = int(rng.integers(2, 231))
        turns, shifts = operations(number)
        centres = [
            shift
            for turn, shift in zip(turns, shifts, strict=True)
            if (turn == -np.eye(3)).all()
        ]
        if (
            centres and not setting(number)[1].choice
        ):  # which names one of several settings
            break
    sites: tuple[list[str], list[str]] = ([], [])
    for point in product([Fraction(n, 4) for n in range(4)], repeat=3):
        twice = 2 * np.array([float(x) for x in point])
        away = [
            np.abs(twice - shift - np.round(twice - shift)).max() for shift in centres
        ]
        sites[int(min(away) >= 1e-6)].append(f"({', '.join(map(str, point))})")
    return {"group": name(number)}, choice(rng, *draw(rng, *sites))


def second_harmonic(rng: Rng) -> Drawn:
    """Which space groups allow a second-harmonic signal."""
    numbers = rng.permutation(np.arange(1, 231))[:60]
    allowed = {
        int(n): bool(np.abs(invariant(int(n), rng)).max() > 1e-9) for n in numbers
    }
    # Without inversion and yet none: what a quick look at inversion gets wrong.
    trap = name(int(rng.choice(np.arange(207, 215))))
    right, wrong = draw(
        rng,
        [name(n) for n, yes in allowed.items() if yes],
        [name(n) for n, yes in allowed.items() if not yes],
    )
    wrong = [trap, *(text for text in wrong if text != trap)][: len(wrong)]
    return {}, choice(rng, right, wrong)


def k_points(rng: Rng) -> Drawn:
    """How many k-points of a mesh are inequivalent."""
    crystal = compound(rng).cell()
    stretched = np.diag([1.0, 1.0, round(float(rng.uniform(1.05, 1.3)), 3)])
    matrix = crystal.lattice.matrix @ stretched
    text = poscar_of(Structure(matrix, crystal.species, crystal.frac_coords))
    n, m = (int(x) for x in rng.integers(3, 9, size=2))
    cell = (matrix, crystal.frac_coords, crystal.atomic_numbers)
    mapping, _ = spglib.get_ir_reciprocal_mesh(
        [n, n, m], cell, is_shift=[0, 0, 0], symprec=1e-4
    )
    return {"n": n, "m": m, "poscar": text}, {
        "answer": {"value": len(np.unique(mapping))}
    }
