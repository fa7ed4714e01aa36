"""A structure before an action, the target and the answer, side by side.

An answer is drawn from the plain data that the verification sandbox hands back: its text is never
parsed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agents.drawing import structure_svg
from experiments.benchmarks.atomworld.crystal import Crystal

#: Å; atoms that are nearer are in the same place.
SAME = 0.02


def crystal(plain: Mapping[str, Any]) -> Crystal:
    """Of ``{cell, species, fractions}``."""
    a, b, c, alpha, beta, gamma = map(float, plain["cell"])
    fractions = np.array(plain["fractions"], dtype=float).reshape(-1, 3)
    return Crystal((a, b, c, alpha, beta, gamma), tuple(map(str, plain["species"])), fractions)


def pictures(
    before: Mapping[str, Any], target: Mapping[str, Any], answer: Mapping[str, Any] | None
) -> dict[str, str]:
    """Titles to SVG texts.

    Rings are around atoms that the action takes away or changes (before), that it brings or
    changes (target), and that are not where the target has them (answer).
    """
    first, wanted = crystal(before), crystal(target)
    shown = {
        "before": _draw(first, first.unlike(wanted, SAME)),
        "target": _draw(wanted, wanted.unlike(first, SAME)),
    }
    if answer is not None:
        given = crystal(answer)
        shown["answer"] = _draw(given, given.unlike(wanted, SAME))
    return shown


def drawn(structures: Mapping[str, Mapping[str, Any] | None]) -> dict[str, str]:
    """Titles to SVG texts of structures that are not compared."""
    return {title: _draw(crystal(one), []) for title, one in structures.items() if one}


def _draw(one: Crystal, ringed: list[int]) -> str:
    fractions = one.fractions.tolist()
    return structure_svg(one.lattice.tolist(), one.species, fractions, marked=ringed)
