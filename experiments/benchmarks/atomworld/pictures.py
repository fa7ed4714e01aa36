"""Structures before an action, the target and the answer, side by side.

An answer is drawn from the plain data that the verification sandbox hands back: its text is never
parsed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.drawing import structure_svg
from experiments.benchmarks.atomworld.crystal import Crystal

#: Å; atoms that are nearer are in the same place.
SAME = 0.02
#: Each picture is compared with another, and atoms that are not in it have rings.
_OTHER = {"before": "target", "target": "before", "answer": "target"}


def pictures(**structures: Mapping[str, Any] | None) -> dict[str, str]:
    """Titles to SVG texts, of ``before``, ``target`` and ``answer`` as far as they are there.

    Rings are around atoms that the action takes away or changes (before), that it brings or
    changes (target), and that are not where the target has them (answer).
    """
    known = {title: Crystal.of(plain) for title, plain in structures.items() if plain is not None}
    drawn = {}
    for title, one in known.items():
        ringed = one.unlike(known.get(_OTHER[title], one), SAME) if "before" in known else []
        fractions = one.fractions.tolist()
        drawn[title] = structure_svg(one.lattice.tolist(), one.species, fractions, marked=ringed)
    return drawn
