"""Templates about lattice models: Chern and winding numbers, gaps; golds by NumPy on a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.benchmarks.qmbench.problem import Integer, Interval, Problem

Rng = np.random.Generator
GRID = 40  # points along each direction of the Brillouin zone


def chern(p: int, q: int, v: float, t: float, m: float) -> int:
    """Chern number of the lower band, by the field strength on the lattice of k-points."""
    k = 2 * np.pi * np.arange(GRID) / GRID
    kx, ky = (axis[..., None, None] for axis in np.meshgrid(k, k, indexing="ij"))
    x, y, z = (np.array(s, complex) for s in ([[0, 1], [1, 0]], [[0, -1j], [1j, 0]],
                                              [[1, 0], [0, -1]]))  # fmt: skip
    matrices = (v * np.sin(p * kx) * x + v * np.sin(q * ky) * y
                + (m + t * (np.cos(p * kx) + np.cos(q * ky))) * z)  # fmt: skip
    states = np.linalg.eigh(matrices)[1][..., 0]

    def link(one: Any, other: Any) -> Any:
        return np.einsum("xyi,xyi->xy", one.conj(), other)

    right, up = np.roll(states, -1, 0), np.roll(states, -1, 1)
    across = np.roll(right, -1, 1)
    field = np.angle(
        link(states, right) * link(right, across) * link(across, up) * link(up, states)
    )
    # A = i <u|du> has the other sign than the phase of a link.
    return -round(float(field.sum()) / (2 * np.pi))


def winding(coefficients: dict[int, float]) -> tuple[int, float]:
    """How often h(k) goes around the origin, and how near it comes."""
    k = np.linspace(0, 2 * np.pi, 4001)
    h = sum(value * np.exp(1j * n * k) for n, value in coefficients.items())
    phase = np.unwrap(np.angle(h))
    return round((phase[-1] - phase[0]) / (2 * np.pi)), float(np.abs(h).min())


def chain_gap(energies: Any, hoppings: Any, below: int) -> float:
    """Gap above the ``below`` lowest bands of a chain with nearest-neighbour hopping."""
    count = len(energies)
    bands = []
    for k in np.linspace(0, np.pi, 401):  # extrema are at the ends
        matrix = np.diag(np.array(energies, complex))
        for i, t in enumerate(hoppings):
            phase = np.exp(1j * k) if i == count - 1 else 1.0
            matrix[i, (i + 1) % count] += t * phase
            matrix[(i + 1) % count, i] += t * np.conj(phase)
        bands.append(np.linalg.eigvalsh(matrix))
    found = np.array(bands)
    return float(found[:, below].min() - found[:, below - 1].max())


def honeycomb_gap(delta: float, hoppings: Any) -> float:
    """Gap of a honeycomb lattice with site energies ``±delta``; by grids that grow finer."""
    centre, width = np.zeros(2), np.pi
    least = np.inf
    for _ in range(40):
        axis = np.linspace(-width, width, 81)
        a, b = np.meshgrid(centre[0] + axis, centre[1] + axis, indexing="ij")
        size = np.abs(hoppings[0] + hoppings[1] * np.exp(1j * a) + hoppings[2] * np.exp(1j * b))
        best = np.unravel_index(size.argmin(), size.shape)
        centre, least = np.array([a[best], b[best]]), min(least, float(size[best]))
        width *= 0.5
    return 2 * float(np.hypot(delta, least))


def chern_number(rng: Rng) -> Problem:
    """Of a Qi-Wu-Zhang model, with a winding of its own in each direction."""
    p, q = (int(n) for n in rng.integers(1, 3, size=2))
    v, t = (round(float(x), 2) for x in rng.uniform(0.5, 1.5, size=2))
    phase = rng.choice([-1.0, 1.0]) * rng.choice([rng.uniform(0.3, 1.7), rng.uniform(2.3, 3)],
                                                 p=[0.75, 0.25])  # fmt: skip
    m = round(float(phase * t), 2)
    prompt = (
        "A square lattice (lattice constant 1) has the Bloch Hamiltonian\n"
        "H(k) = v [sin(p kx) sigma_x + sin(q ky) sigma_y]\n"
        "+ [m + t cos(p kx) + t cos(q ky)] sigma_z\n"
        f"with p = {p}, q = {q}, v = {v} eV, t = {t} eV, m = {m} eV. What is the Chern number of "
        "the lower band, C = (1/2π) ∫ (∂A_y/∂kx - ∂A_x/∂ky) dkx dky over the Brillouin zone "
        "(-π to π each) with A_j = i <u|∂u/∂k_j>?"
    )
    return Problem(
        id="chern_number", topics=("electronic",), type="number", difficulty="hard", prompt=prompt,
        answer=Integer(value=chern(p, q, v, t, m)),
    )  # fmt: skip


def winding_number(rng: Rng) -> Problem:
    """Of a chain of dimers with hopping to further cells."""
    while True:
        given = {n: round(float(x), 2) for n, x in zip(
            (-1, 0, 1, 2), rng.uniform(-1.5, 1.5, size=4), strict=True)}  # fmt: skip
        number, nearest = winding(given)
        if nearest > 0.15:
            break
    told = ", ".join(f"t({n}) = {value} eV" for n, value in given.items())
    prompt = (
        "A chain of dimers with sites A and B has chiral symmetry: H(k) = [[0, h*(k)], [h(k), 0]] "
        f"with h(k) = Σ_n t(n) exp(i n k), {told}. How often does h(k) wind around the origin, "
        "counter-clockwise positive, when k goes from 0 to 2π?"
    )
    return Problem(
        id="winding_number", topics=("electronic",), type="number", difficulty="medium",
        prompt=prompt, answer=Integer(value=number),
    )  # fmt: skip


def gap_of_chain(rng: Rng) -> Problem:
    """Of a chain with two to four sites in its cell."""
    while True:
        count = int(rng.integers(2, 5))
        below = int(rng.integers(1, count))
        energies = [round(float(x), 2) for x in rng.uniform(-1, 1, size=count)]
        hoppings = [round(float(x), 2) for x in rng.uniform(0.4, 2, size=count)]
        gap = chain_gap(energies, hoppings, below)
        if gap > 0.2:
            break
    prompt = (
        f"A chain has {count} sites in its cell, with the site energies "
        f"{', '.join(map(str, energies))} eV and the hoppings {', '.join(map(str, hoppings))} eV "
        "between nearest neighbours, the last one from the last site to the first one of the next "
        f"cell. How large is the gap between the {below} lowest bands and the next one, in eV?"
    )
    return _gap("gap_of_chain", prompt, gap)


def gap_of_honeycomb(rng: Rng) -> Problem:
    """With another hopping along each bond."""
    while True:
        delta = round(float(rng.uniform(0.1, 1)), 2)
        hoppings = [round(float(x), 2) for x in rng.uniform(0.4, 3, size=3)]
        gap = honeycomb_gap(delta, hoppings)
        if gap > 0.2:
            break
    prompt = (
        f"A honeycomb lattice has the site energies {delta} eV on sublattice A and {-delta} eV on "
        f"sublattice B, and the hoppings {', '.join(map(str, hoppings))} eV along the three bonds "
        "of a site, none further. How large is its band gap at half filling, in eV?"
    )
    return _gap("gap_of_honeycomb", prompt, gap)


def _gap(name: str, prompt: str, gap: float) -> Problem:
    return Problem(
        id=name, topics=("electronic",), type="number", difficulty="medium", prompt=prompt,
        answer=Interval(low=0.99 * gap, high=1.01 * gap, unit="eV"),
    )  # fmt: skip
