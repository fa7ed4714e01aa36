"""Problems about symmetry: operations, tensors, Wyckoff positions, k-points; golds by spglib."""

from __future__ import annotations

import string
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import spglib

from experiments.benchmarks.qmbench.crystals import Drawn, Rng, compound, poscar_text

OPTIONS = 5
#: Space groups whose axes are orthogonal and equal where they are exchanged, so that rotations in
#: the basis of the cell are those of Cartesian space.
ORTHOGONAL = (16, 25, 47, 75, 81, 83, 89, 99, 111, 123, 195, 200, 207, 215, 221)


@cache
def setting(number: int) -> tuple[int, Any]:
    """The first setting of a space group: its Hall number and its type."""
    kinds = ((hall, spglib.get_spacegroup_type(hall)) for hall in range(1, 531))
    return next((hall, kind) for hall, kind in kinds if kind is not None and kind.number == number)


@cache
def operations(number: int) -> tuple[Any, Any]:
    """Rotations, shape (n, 3, 3), and translations, shape (n, 3), in the basis of the cell."""
    found: Any = spglib.get_symmetry_from_database(setting(number)[0])
    return found["rotations"], found["translations"]


def name(number: int) -> str:
    """Symbol and number."""
    return f"{setting(number)[1].international_short} (No. {number})"


def invariant(number: int, rng: Rng) -> Any:
    """A random third-rank tensor, symmetric in its last two indices, averaged over a group."""
    tensor = rng.normal(size=(3, 3, 3))
    tensor += tensor.transpose(0, 2, 1)
    turns = operations(number)[0].astype(float)
    turned = np.einsum("nai,nbj,nck,ijk->abc", turns, turns, turns, tensor, optimize=True)
    return turned / len(turns)


def choice(rng: Rng, right: Sequence[str], wrong: Sequence[str]) -> dict[str, Any]:
    """Options in random order, and the letters of the right ones."""
    texts = [*right, *wrong]
    order = [texts[i] for i in rng.permutation(len(texts))]
    choices = dict(zip(string.ascii_uppercase, order, strict=False))
    answer = "".join(letter for letter, text in choices.items() if text in set(right))
    return {"choices": choices, "answer": answer}


def draw(rng: Rng, right: Sequence[str], wrong: Sequence[str]) -> tuple[list[str], list[str]]:
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
    rows = (next(f"{signs[int(v)]}{axis}" for v, axis in zip(row, "xyz", strict=True) if v)
            for row in turn)  # fmt: skip
    return f"({', '.join(rows)})"


def tensor_components(rng: Rng) -> Drawn:
    """Which components of a tensor must vanish."""
    while True:
        number = int(rng.choice(ORTHOGONAL))
        tensor = np.abs(invariant(number, rng))
        named = {f"χ_{'xyz'[i]}{'xyz'[j]}{'xyz'[k]}": float(tensor[i, j, k])
                 for i in range(3) for j in range(3) for k in range(j, 3)}  # fmt: skip
        gone = [one for one, value in named.items() if value < 1e-9]
        kept = [one for one, value in named.items() if value >= 1e-9]
        if kept and gone:
            return {"group": name(number)}, choice(rng, *draw(rng, gone, kept))


def inversion_sites(rng: Rng) -> Drawn:
    """Which positions have inversion in their site symmetry."""
    while True:
        number = int(rng.integers(2, 231))
        turns, shifts = operations(number)
        centres = [shift for turn, shift in zip(turns, shifts, strict=True)
                   if (turn == -np.eye(3)).all()]  # fmt: skip
        if centres and not setting(number)[1].choice:  # which names one of several settings
            break
    sites: tuple[list[str], list[str]] = ([], [])
    for point in product([Fraction(n, 4) for n in range(4)], repeat=3):
        twice = 2 * np.array([float(x) for x in point])
        away = [np.abs(twice - shift - np.round(twice - shift)).max() for shift in centres]
        sites[int(min(away) >= 1e-6)].append(f"({', '.join(map(str, point))})")
    return {"group": name(number)}, choice(rng, *draw(rng, *sites))


def second_harmonic(rng: Rng) -> Drawn:
    """Which space groups allow a second-harmonic signal."""
    numbers = rng.permutation(np.arange(1, 231))[:60]
    allowed = {int(n): bool(np.abs(invariant(int(n), rng)).max() > 1e-9) for n in numbers}
    # Without inversion and yet none: what a quick look at inversion gets wrong.
    trap = name(int(rng.choice(np.arange(207, 215))))
    right, wrong = draw(rng, [name(n) for n, yes in allowed.items() if yes],
                        [name(n) for n, yes in allowed.items() if not yes])  # fmt: skip
    wrong = [trap, *(text for text in wrong if text != trap)][: len(wrong)]
    return {}, choice(rng, right, wrong)


def k_points(rng: Rng) -> Drawn:
    """How many k-points of a mesh are inequivalent."""
    crystal = compound(rng).cell()
    stretched = np.diag([1.0, 1.0, round(float(rng.uniform(1.05, 1.3)), 3)])
    matrix = crystal.lattice.matrix @ stretched
    text = poscar_text(matrix, [site.specie.symbol for site in crystal], crystal.frac_coords)
    n, m = (int(x) for x in rng.integers(3, 9, size=2))
    cell = (matrix, crystal.frac_coords, crystal.atomic_numbers)
    mapping, _ = spglib.get_ir_reciprocal_mesh([n, n, m], cell, is_shift=[0, 0, 0], symprec=1e-4)
    return {"n": n, "m": m, "poscar": text}, {"answer": {"value": len(np.unique(mapping))}}
