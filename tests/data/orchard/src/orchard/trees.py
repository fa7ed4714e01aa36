"""Trees, and the grid they stand on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: Variety -> (yield of a full-grown tree in kg, age in years at half of it).
VARIETIES = {
    "bramley": (92.0, 6.5),
    "cox": (48.0, 5.0),
    "discovery": (41.0, 4.5),
    "egremont": (39.0, 5.5),
    "jonagold": (77.0, 5.0),
    "laxton": (55.0, 6.0),
    "russet": (36.0, 7.0),
}


@dataclass(frozen=True)
class Tree:
    """A tree.

    Parameters
    ----------
    variety
        Key of `VARIETIES`.
    age
        In years.
    height, width
        Of the crown, in metres.
    """

    variety: str
    age: float
    height: float = 2.4
    width: float = 1.8

    def __post_init__(self) -> None:
        if self.variety not in VARIETIES:
            raise LookupError(f"no variety {self.variety!r}")

    def crown_volume(self) -> float:
        """Volume of the crown in cubic metres, taken as an ellipsoid of revolution."""
        return math.pi / 6 * self.height * self.width**2

    def annual_yield(self, lost: float = 0.0) -> float:
        """Fruit of this year in kg: a logistic curve of the age, less the lost fraction."""
        full, half_age = VARIETIES[self.variety]
        return (1 - lost) * full / (1 + math.exp(half_age - self.age))


class Orchard:
    """Trees on a rectangular grid.

    Parameters
    ----------
    trees
        Row by row.
    columns
        Trees in a row.
    spacing
        Distance of rows, and of trees within a row, in metres.
    """

    def __init__(
        self, trees: list[Tree], columns: int, spacing: tuple[float, float] = (4.0, 2.5)
    ) -> None:
        self.trees = list(trees)
        self.columns = columns
        self.spacing = spacing

    def positions(self) -> np.ndarray:
        """Positions of the trunks in metres, one row of the array per tree, along then across."""
        index = np.arange(len(self.trees))
        return np.stack(
            [
                index % self.columns * self.spacing[1],
                index // self.columns * self.spacing[0],
            ],
            axis=1,
        )

    def varieties_present(self) -> list[str]:
        """Varieties of the trees, each once."""
        return list({tree.variety for tree in self.trees})

    def yields_by_variety(self, lost: float = 0.0) -> dict[str, float]:
        """Fruit of this year in kg for each variety."""
        result: dict[str, float] = {}
        for tree in self.trees:
            result[tree.variety] = result.get(tree.variety, 0.0) + tree.annual_yield(
                lost
            )
        return result

    def pollination_gaps(self, reach: float) -> int:
        """Number of trees without another variety within reach, a distance in metres."""
        where = self.positions()
        gaps = 0
        for tree, here in zip(self.trees, where, strict=True):
            near = np.linalg.norm(where - here, axis=1) <= reach
            others = {
                t.variety for t, close in zip(self.trees, near, strict=True) if close
            }
            gaps += others == {tree.variety}
        return gaps
