"""Problems about lattice models: Chern and winding numbers, gaps; golds by NumPy on a grid."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from experiments.benchmarks.qmbench.crystals import Drawn, Rng

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
    right, up = np.roll(states, -1, 0), np.roll(states, -1, 1)
    around = (states, right, np.roll(right, -1, 1), up, states)
    links = [np.einsum("xyi,xyi->xy", a.conj(), b) for a, b in pairwise(around)]
    # A = i <u|du> has the other sign than the phase of a link.
    return -round(float(np.angle(np.prod(links, axis=0)).sum()) / (2 * np.pi))


def winding(coefficients: dict[int, float]) -> tuple[int, float]:
    """How often h(k) goes around the origin, and how near it comes."""
    k = np.linspace(0, 2 * np.pi, 4001)
    h = sum(value * np.exp(1j * n * k) for n, value in coefficients.items())
    phase = np.unwrap(np.angle(h))
    return round((phase[-1] - phase[0]) / (2 * np.pi)), float(np.abs(h).min())


def chain_gap(energies: Any, hoppings: Any, below: int) -> float:
    """Gap above the ``below`` lowest bands of a chain with nearest-neighbour hopping."""
    count = len(energies)
    k = np.linspace(0, np.pi, 401)  # extrema are at the ends
    up = np.zeros((len(k), count, count), complex)
    for i, t in enumerate(hoppings):
        up[:, i, (i + 1) % count] = t * np.exp(1j * k) if i == count - 1 else t
    bands = np.linalg.eigvalsh(np.diag(energies) + up + up.conj().transpose(0, 2, 1))
    return float(bands[:, below].min() - bands[:, below - 1].max())


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


def chern_number(rng: Rng) -> Drawn:
    """Of a Qi-Wu-Zhang model, with a winding of its own in each direction."""
    p, q = (int(n) for n in rng.integers(1, 3, size=2))
    v, t = (round(float(x), 2) for x in rng.uniform(0.5, 1.5, size=2))
    phase = rng.choice([-1.0, 1.0]) * rng.choice([rng.uniform(0.3, 1.7), rng.uniform(2.3, 3)],
                                                 p=[0.75, 0.25])  # fmt: skip
    m = round(float(phase * t), 2)
    return {"p": p, "q": q, "v": v, "t": t, "m": m}, {"answer": {"value": chern(p, q, v, t, m)}}


def winding_number(rng: Rng) -> Drawn:
    """Of a chain of dimers with hopping to further cells."""
    while True:
        given = dict(zip((-1, 0, 1, 2), _energies(rng, -1.5, 1.5, 4), strict=True))
        number, nearest = winding(given)
        if nearest > 0.15:
            told = ", ".join(f"t({n}) = {value} eV" for n, value in given.items())
            return {"hoppings": told}, {"answer": {"value": number}}


def gap_of_chain(rng: Rng) -> Drawn:
    """Of a chain with two to four sites in its cell."""
    while True:
        count = int(rng.integers(2, 5))
        below = int(rng.integers(1, count))
        energies, hoppings = _energies(rng, -1, 1, count), _energies(rng, 0.4, 2, count)
        gap = chain_gap(energies, hoppings, below)
        if gap > 0.2:
            told = {"energies": _listed(energies), "hoppings": _listed(hoppings)}
            return {"count": count, "below": below, "above": below + 1, **told}, _interval(gap)


def gap_of_honeycomb(rng: Rng) -> Drawn:
    """With another hopping along each bond."""
    while True:
        delta = round(float(rng.uniform(0.1, 1)), 2)
        hoppings = _energies(rng, 0.4, 3, 3)
        gap = honeycomb_gap(delta, hoppings)
        if gap > 0.2:
            return {"delta": delta, "hoppings": _listed(hoppings)}, _interval(gap)


def _energies(rng: Rng, low: float, high: float, count: int) -> list[float]:
    return [round(float(x), 2) for x in rng.uniform(low, high, size=count)]


def _listed(values: list[float]) -> str:
    return ", ".join(map(str, values))


def _interval(gap: float) -> dict[str, Any]:
    return {"answer": {"low": 0.99 * gap, "high": 1.01 * gap, "unit": "eV"}}
