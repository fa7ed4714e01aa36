"""Templates about symmetry: operations, tensors, Wyckoff positions, k-points; golds by spglib."""

from __future__ import annotations

import string
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import spglib

from experiments.benchmarks.qmbench.crystals import compound, poscar_text
from experiments.benchmarks.qmbench.problem import Integer, Problem

Rng = np.random.Generator
OPTIONS = 5
#: Space groups whose axes are orthogonal and equal where they are exchanged, so that rotations in
#: the basis of the cell are those of Cartesian space.
ORTHOGONAL = (16, 25, 47, 75, 81, 83, 89, 99, 111, 123, 195, 200, 207, 215, 221)


@cache
def hall_number(number: int) -> int:
    """The first setting of a space group."""
    return next(hall for hall in range(1, 531) if _kind(hall).number == number)


@cache
def _kind(hall: int) -> Any:
    return spglib.get_spacegroup_type(hall)


@cache
def operations(number: int) -> tuple[Any, Any]:
    """Rotations, shape (n, 3, 3), and translations, shape (n, 3), in the basis of the cell."""
    found: Any = spglib.get_symmetry_from_database(hall_number(number))
    return found["rotations"], found["translations"]


def name(number: int) -> str:
    """Symbol and number."""
    return f"{_kind(hall_number(number)).international_short} (No. {number})"


def invariant(number: int, rng: Rng) -> Any:
    """A random third-rank tensor, symmetric in its last two indices, averaged over a group."""
    tensor = rng.normal(size=(3, 3, 3))
    tensor += tensor.transpose(0, 2, 1)
    turns = operations(number)[0].astype(float)
    turned = np.einsum("nai,nbj,nck,ijk->abc", turns, turns, turns, tensor, optimize=True)
    return turned / len(turns)


def choice(
    rng: Rng, name: str, prompt: str, right: Sequence[str], wrong: Sequence[str], **more: Any
) -> Problem:
    """A problem whose options stand in random order; ``more``: other keys of it."""
    texts = [*right, *wrong]
    order = [texts[i] for i in rng.permutation(len(texts))]
    choices = dict(zip(string.ascii_uppercase, order, strict=False))
    answer = "".join(letter for letter, text in choices.items() if text in set(right))
    return Problem(id=name, type="choice", prompt=prompt, choices=choices, answer=answer, **more)


def draw(rng: Rng, right: Sequence[str], wrong: Sequence[str]) -> tuple[list[str], list[str]]:
    """`OPTIONS` options, at least one of either kind."""
    most = min(OPTIONS - 1, len(right))
    count = int(rng.integers(max(1, OPTIONS - len(wrong)), most + 1))
    return _some(rng, right, count), _some(rng, wrong, OPTIONS - count)


def _some(rng: Rng, items: Sequence[str], count: int) -> list[str]:
    return [items[i] for i in rng.choice(len(items), count, replace=False)]


def point_operations(rng: Rng) -> Problem:
    """Which operations a point group has."""
    number = int(rng.choice(ORTHOGONAL[:-1]))
    own = {_triplet(turn) for turn in operations(number)[0]} - {"(x, y, z)"}
    others = {_triplet(turn) for turn in operations(221)[0]} - own - {"(x, y, z)"}
    prompt = (
        "Which of these operations, given as the image of the point (x, y, z), belong to the point "
        f"group of the space group {name(number)} in its standard setting?"
    )
    right, wrong = draw(rng, sorted(own), sorted(others))
    return choice(rng, "operations", prompt, right, wrong, topics=("symmetry",), difficulty="easy")


def _triplet(turn: Any) -> str:
    signs = {-1: "-", 1: ""}
    rows = (next(f"{signs[int(v)]}{axis}" for v, axis in zip(row, "xyz", strict=True) if v)
            for row in turn)  # fmt: skip
    return f"({', '.join(rows)})"


def tensor_components(rng: Rng) -> Problem:
    """Which components of a tensor must vanish."""
    while True:
        number = int(rng.choice(ORTHOGONAL))
        tensor = np.abs(invariant(number, rng))
        named = {f"χ_{'xyz'[i]}{'xyz'[j]}{'xyz'[k]}": float(tensor[i, j, k])
                 for i in range(3) for j in range(3) for k in range(j, 3)}  # fmt: skip
        gone = [one for one, value in named.items() if value < 1e-9]
        kept = [one for one, value in named.items() if value >= 1e-9]
        if kept and gone:
            break
    prompt = (
        "Which of these components of the second-harmonic susceptibility χ_ijk (symmetric in j and "
        f"k, Cartesian axes along the cell vectors) vanish by symmetry in the space group "
        f"{name(number)}?"
    )
    right, wrong = draw(rng, gone, kept)
    return choice(
        rng, "tensor", prompt, right, wrong, topics=("symmetry", "optical"), difficulty="medium"
    )


def inversion_sites(rng: Rng) -> Problem:
    """Which positions have inversion in their site symmetry."""
    while True:
        number = int(rng.integers(2, 231))
        if _kind(hall_number(number)).choice:
            continue  # more than one setting
        turns, shifts = operations(number)
        centres = [shift for turn, shift in zip(turns, shifts, strict=True)
                   if (turn == -np.eye(3)).all()]  # fmt: skip
        if not centres:
            continue
        points = list(product([Fraction(n, 4) for n in range(4)], repeat=3))
        right: list[str] = []
        wrong: list[str] = []
        for point in points:
            twice = 2 * np.array([float(x) for x in point])
            away = [np.abs(twice - shift - np.round(twice - shift)).max() for shift in centres]
            (right if min(away) < 1e-6 else wrong).append(f"({', '.join(map(str, point))})")
        break
    prompt = (
        "At which of these positions (fractional coordinates, standard setting) of the space group "
        f"{name(number)} does the site symmetry contain inversion?"
    )
    chosen = draw(rng, right, wrong)
    return choice(rng, "inversion", prompt, *chosen, topics=("symmetry",), difficulty="medium")


def second_harmonic(rng: Rng) -> Problem:
    """Which space groups allow a second-harmonic signal."""
    numbers = rng.permutation(np.arange(1, 231))[:60]
    allowed = {int(n): bool(np.abs(invariant(int(n), rng)).max() > 1e-9) for n in numbers}
    # Without inversion and yet none: what a quick look at inversion gets wrong.
    trap = int(rng.choice(np.arange(207, 215)))
    right, wrong = draw(rng, [name(n) for n, yes in allowed.items() if yes],
                        [name(n) for n, yes in allowed.items() if not yes])  # fmt: skip
    wrong = [name(trap), *(text for text in wrong if text != name(trap))][: len(wrong)]
    prompt = (
        "Which of these space groups allow second-harmonic generation in the bulk, in the electric "
        "dipole approximation (a susceptibility χ_ijk that is symmetric in j and k)?"
    )
    topics = ("symmetry", "optical")
    return choice(rng, "second_harmonic", prompt, right, wrong, topics=topics, difficulty="hard")


def k_points(rng: Rng) -> Problem:
    """How many k-points of a mesh are inequivalent."""
    crystal = compound(rng).cell()
    stretched = np.diag([1.0, 1.0, round(float(rng.uniform(1.05, 1.3)), 3)])
    matrix = crystal.lattice.matrix @ stretched
    text = poscar_text(matrix, [site.specie.symbol for site in crystal], crystal.frac_coords)
    n, m = (int(x) for x in rng.integers(3, 9, size=2))
    cell = (matrix, crystal.frac_coords, crystal.atomic_numbers)
    mapping, _ = spglib.get_ir_reciprocal_mesh([n, n, m], cell, is_shift=[0, 0, 0], symprec=1e-4)
    prompt = (
        f"How many k-points of the Γ-centred {n} x {n} x {m} mesh are inequivalent under the "
        "symmetry of this crystal and time reversal (no magnetism)?\n\n"
        f"```\n{text}```"
    )
    return Problem(
        id="k_points", topics=("computation", "symmetry"), type="number", difficulty="medium",
        prompt=prompt, answer=Integer(value=len(np.unique(mapping))),
    )  # fmt: skip
