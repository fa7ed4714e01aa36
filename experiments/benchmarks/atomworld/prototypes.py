"""Fifteen structure types by their ideal coordinates, as starting points of generated questions.

Lengths are in units of the shortest bond, so that random species get a plausible cell. Coordinates
follow the International Tables (spinel: Fd-3m, origin choice 2; corundum: hexagonal axes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from experiments.benchmarks.atomworld.crystal import Array, Crystal, wrap

_FACES = ((0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0))
_RHOMBOHEDRAL = ((0, 0, 0), (2 / 3, 1 / 3, 1 / 3), (1 / 3, 2 / 3, 2 / 3))
_Z, _X, _U, _O = 0.352, 0.306, 0.2625, 0.305  # corundum, corundum, spinel, rutile


@dataclass(frozen=True)
class Prototype:
    """A structure type.

    Attributes
    ----------
    cell
        a, b, c in units of the shortest bond; angles in degrees.
    sites
        For each kind of atom its fractional coordinates.
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
        fractions: Array = np.array([at for _, at in rows], dtype=float)
        cell = (a, b, c, *self.cell[3:])
        return Crystal(cell, tuple(symbol for symbol, _ in rows), wrap(fractions))


def _centred(
    sites: Sequence[tuple[float, ...]], by: tuple[tuple[float, ...], ...]
) -> tuple[tuple[float, ...], ...]:
    return tuple((x + s, y + t, z + u) for (s, t, u), (x, y, z) in product(by, sites))


def _cubic(length: float) -> tuple[float, float, float, float, float, float]:
    return (length, length, length, 90.0, 90.0, 90.0)


def _hexagonal(a: float, c: float) -> tuple[float, float, float, float, float, float]:
    return (a, a, c, 90.0, 90.0, 120.0)


_TETRAHEDRAL = 4 / 3**0.5
_ORIGIN = [(0.0, 0.0, 0.0)]
_SPINEL_OXYGEN: list[tuple[float, ...]] = [
    (_U, _U, _U), (0.75 - _U, 0.25 - _U, 0.5 + _U), (0.25 - _U, 0.5 + _U, 0.75 - _U),
    (0.5 + _U, 0.75 - _U, 0.25 - _U), (0.75 + _U, 0.25 + _U, 0.5 - _U), (-_U, -_U, -_U),
    (0.25 + _U, 0.5 - _U, 0.75 + _U), (0.5 - _U, 0.75 + _U, 0.25 + _U),
]  # fmt: skip

PROTOTYPES: tuple[Prototype, ...] = (
    Prototype("sc", _cubic(1.0), (tuple(_ORIGIN),)),
    Prototype("bcc", _cubic(2 / 3**0.5), (_centred(_ORIGIN, ((0, 0, 0), (0.5, 0.5, 0.5))),)),
    Prototype("fcc", _cubic(2**0.5), (_FACES,)),
    Prototype("hcp", _hexagonal(1.0, (8 / 3) ** 0.5), (
        ((1 / 3, 2 / 3, 0.25), (2 / 3, 1 / 3, 0.75)),)),
    Prototype("diamond", _cubic(_TETRAHEDRAL), (_centred([*_ORIGIN, (0.25, 0.25, 0.25)], _FACES),)),
    Prototype("rocksalt", _cubic(2.0), (_FACES, _centred([(0.5, 0.5, 0.5)], _FACES))),
    Prototype("zincblende", _cubic(_TETRAHEDRAL), (_FACES, _centred([(0.25, 0.25, 0.25)], _FACES))),
    Prototype("wurtzite", _hexagonal((8 / 3) ** 0.5, 8 / 3), (
        ((1 / 3, 2 / 3, 0.0), (2 / 3, 1 / 3, 0.5)),
        ((1 / 3, 2 / 3, 0.375), (2 / 3, 1 / 3, 0.875)))),
    Prototype("CsCl", _cubic(2 / 3**0.5), (tuple(_ORIGIN), ((0.5, 0.5, 0.5),))),
    Prototype("fluorite", _cubic(_TETRAHEDRAL), (
        _FACES, _centred([(0.25, 0.25, 0.25), (0.75, 0.75, 0.75)], _FACES))),
    Prototype("rutile", (2.354, 2.354, 1.518, 90.0, 90.0, 90.0), (
        ((0.0, 0.0, 0.0), (0.5, 0.5, 0.5)),
        ((_O, _O, 0.0), (-_O, -_O, 0.0), (0.5 - _O, 0.5 + _O, 0.5), (0.5 + _O, 0.5 - _O, 0.5)))),
    Prototype("perovskite", _cubic(2.0), (
        tuple(_ORIGIN), ((0.5, 0.5, 0.5),), ((0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5)))),
    Prototype("corundum", _hexagonal(2.564, 7.0), (
        _centred([(0, 0, _Z), (0, 0, 0.5 - _Z), (0, 0, -_Z), (0, 0, 0.5 + _Z)], _RHOMBOHEDRAL),
        _centred([(_X, 0, 0.25), (0, _X, 0.25), (-_X, -_X, 0.25), (-_X, 0, 0.75), (0, -_X, 0.75),
                  (_X, _X, 0.75)], _RHOMBOHEDRAL))),
    Prototype("spinel", _cubic(4.2), (
        _centred([(0.125, 0.125, 0.125), (0.875, 0.375, 0.375)], _FACES),
        _centred([(0.5, 0.5, 0.5), (0.25, 0.75, 0.0), (0.75, 0.0, 0.25), (0.0, 0.25, 0.75)],
                 _FACES),
        _centred(_SPINEL_OXYGEN, _FACES))),
    Prototype("graphite", _hexagonal(3**0.5, 4.72), (
        ((0.0, 0.0, 0.25), (0.0, 0.0, 0.75), (1 / 3, 2 / 3, 0.25), (2 / 3, 1 / 3, 0.75)),)),
)  # fmt: skip
