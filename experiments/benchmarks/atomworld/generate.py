"""Generated questions: a structure, an action, its parameters and its sentence.

Everything follows from the seed. Structure *n* is the same for all ten actions: it is what answers
are clustered by.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.benchmarks.atomworld.actions import (
    ACTIONS,
    LAYER,
    Wording,
    act,
    rotation,
    sentence,
)
from experiments.benchmarks.atomworld.crystal import (
    DECIMALS,
    PROTOTYPES,
    Crystal,
    read_structures,
    wrap,
)

COMMON = re.findall(
    "[A-Z][a-z]?",
    "LiBeBCNOFNaMgAlSiPSClKCaScTiVCrMnFeCoNiCuZnGaGeAsSeBrRbSrYZrNbMoRuRhPdAgCdInSnSbTeICsBaLaCe"
    "NdSmGdDyErYbLuHfTaWReOsIrPtAuHgTlPbBi",
)
AXES = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
TRIES = 300  # of parameters for one structure
STRUCTURES = 30  # drawn for one question before none is found
SAME = 0.01  # Å, between images that make no difference
NEAREST = 0.05  # Å; images that are that much farther away may be taken for the nearest


@dataclass(frozen=True)
class ActionItem:
    """One generated question: the structure before an action, and after it in both readings."""

    action: str
    structure: str
    number: int
    before: Crystal
    given: Mapping[str, Any]
    sentence: str
    literal: Crystal
    published: Crystal


def generate(
    *,
    seed: int,
    items: int,
    actions: Sequence[str] = ACTIONS,
    wording: Wording = "own",
    unambiguous: bool = True,
    sizes: Sequence[int] = (8, 16, 32),
    structures: str | None = None,
) -> list[ActionItem]:
    """Make ``items`` questions for each action.

    ``unambiguous`` ones have one answer whichever image of an atom is taken (see `unique`);
    ``sizes`` are numbers of atoms to reach by repeating the cell, in turn; the ``structures`` of a
    folder are taken in turn, as they are, and what cannot be asked of one is left out.
    """
    own = list(read_structures(Path(structures)).items()) if structures else []
    questions: list[ActionItem] = []
    for number in range(items):
        for attempt in range(1 if own else STRUCTURES):
            draw = random.Random(f"{seed}:structure:{number}:{attempt}")  # noqa: S311 -- no secret
            name, size = f"s{number}", sizes[number % len(sizes)] if sizes else 0
            name, crystal = (
                own[number % len(own)] if own else (name, structure(draw, size))
            )
            candidates = []
            for (
                action
            ) in ACTIONS:  # of all: which are asked for does not change the structure
                draw = random.Random(f"{seed}:{action}:{number}:{wording}")  # noqa: S311
                tried = (_parameters(draw, action, crystal) for _ in range(TRIES))
                fit = (
                    given
                    for given in tried
                    if given is not None
                    and (not unambiguous or unique(action, crystal, given))
                )
                if (given := next(fit, None)) is None:
                    continue
                candidates.append(
                    ActionItem(
                        action,
                        name,
                        number,
                        crystal,
                        given,
                        sentence(draw, action, given, wording),
                        act(action, crystal, given, "literal"),
                        act(action, crystal, given, "published"),
                    )
                )
            if len(candidates) == len(ACTIONS):
                break
        if not own and len(candidates) < len(ACTIONS):
            raise ValueError(f"no structure {number} permits all actions")
        questions += [item for item in candidates if item.action in actions]
    return questions


def structure(draw: random.Random, size: int) -> Crystal:
    """A strained prototype with noise on its sites, of at least ``size`` atoms."""
    prototype = draw.choice(PROTOTYPES)
    symbols = tuple(draw.sample(COMMON[1:], len(prototype.sites)))
    crystal = prototype.crystal(symbols, draw.uniform(2.0, 2.9))
    # Four atoms of two species at least: else some actions cannot be done.
    while len(crystal.species) < max(4, size):
        shortest = 2 - int(
            np.argmin(np.round(crystal.cell[2::-1], 6))
        )  # of equals the last
        counts = [2 if axis == shortest else 1 for axis in range(3)]
        crystal = act("super_cell", crystal, {"counts": counts}, "literal")
    if len(set(crystal.species)) == 1:
        given = {"index": draw.randrange(len(crystal.species)), "symbol": COMMON[0]}
        crystal = act("change", crystal, given, "literal")
    lengths = [length * (1 + draw.uniform(-0.03, 0.03)) for length in crystal.cell[:3]]
    skewed = draw.random() < 0.5
    angles = [
        angle + (draw.uniform(-12, 12) if skewed else 0.0) for angle in crystal.cell[3:]
    ]
    cell = tuple(round(value, DECIMALS) for value in (*lengths, *angles))
    strained = Crystal(cell, crystal.species, crystal.fractions)
    while True:
        noise = np.array(
            [[draw.gauss(0, 0.03 / 3**0.5) for _ in "xyz"] for _ in crystal.species]
        )
        moved = strained.moved(strained.positions + noise)
        if cuts(moved):
            return Crystal(moved.cell, moved.species, wrap(moved.fractions, DECIMALS))


def cuts(crystal: Crystal) -> list[int]:
    """Atoms with others clearly below and above, at heights that a file tells apart."""
    height = crystal.positions[:, 2]
    rows = []
    for row, at in enumerate(height):
        near = np.abs(height - at)
        clear = ((near < 1e-4) | (near > 3 * LAYER)).all()
        if clear and (height < at - 0.05).any() and (height > at + 3 * LAYER).any():
            rows.append(row)
    return rows


def unique(action: str, crystal: Crystal, given: Mapping[str, Any]) -> bool:
    """Whether an action has one outcome, whichever image of an atom is taken.

    Between two atoms the listed image or any that is about the nearest may be meant; around an
    atom, the listed image of a neighbour or any within the radius.
    """
    if action in {"move_towards", "insert_between"}:
        first = given["index1"]
        second = given["index2"]
        listed = crystal.positions[second] - crystal.positions[first]
        length = float(crystal.images(first)[1][second])
        ways = np.vstack([listed, crystal.all_images(first, second, length + NEAREST)])
        ways /= np.linalg.norm(ways, axis=1)[:, None]
        return length > NEAREST and crystal.apart(given["distance"] * ways) < SAME
    if action == "rotate_around":
        centre = given["index"]
        turn = rotation(np.array(given["axis"], dtype=float), given["angle"]).T
        for row, nearest in enumerate(crystal.images(centre)[1]):
            inside = crystal.all_images(centre, row, given["radius"] + SAME)
            if row == centre:
                if len(inside) > 1:  # an image of the centre itself
                    return False
            elif len(inside):
                if nearest >= given["radius"]:
                    return False
                listed = crystal.positions[row] - crystal.positions[centre]
                if crystal.apart(np.vstack([listed, inside]) @ turn) >= SAME:
                    return False
    return True


def _parameters(
    draw: random.Random, action: str, crystal: Crystal
) -> dict[str, Any] | None:
    """Parameters of an action, rounded as the sentence gives them; ``None``: try again."""
    count = len(crystal.species)
    index = draw.randrange(count)
    others = [row for row in range(count) if row != index]
    if action == "add":
        at = crystal.lattice.get_cartesian_coords([draw.random() for _ in "xyz"])
        return {"symbol": draw.choice(COMMON), "vector": np.round(at, 4).tolist()}
    if action == "change":
        other = draw.choice(
            [symbol for symbol in COMMON if symbol != crystal.species[index]]
        )
        return {"index": index, "symbol": other}
    if action == "remove":
        return {"index": index} if others else None
    if action == "move":
        return {"index": index, "vector": [round(draw.gauss(0, 2), 4) for _ in "xyz"]}
    if action == "super_cell":
        counts = [draw.randint(1, 4) for _ in "xyz"]
        return {"counts": counts} if 2 <= np.prod(counts) <= 8 else None
    if action == "delete_below":
        rows = cuts(crystal)
        return (
            {"index": draw.choice(rows), "inclusive": draw.random() < 0.5}
            if rows
            else None
        )
    if not others:
        return None
    if action == "rotate_around":
        near = np.sort(np.delete(crystal.images(index)[1], index))
        radius = round(max(draw.uniform(1.0, 4.0), float(near[0]) + 0.1), 4)
        if (np.abs(near - radius) < 0.01).any():
            return None
        angle = round(draw.uniform(45.0, 315.0), 4)
        return {
            "radius": radius,
            "index": index,
            "angle": angle,
            "axis": list(draw.choice(AXES)),
        }
    other = draw.choice(others)
    length = float(np.linalg.norm(crystal.positions[other] - crystal.positions[index]))
    pair = {"index1": index, "index2": other}
    if action == "swap":
        return pair if crystal.species[index] != crystal.species[other] else None
    if action == "move_towards":
        return {**pair, "distance": round(draw.uniform(0.1, min(3.0, 0.9 * length)), 4)}
    ratio = draw.uniform(0.1, 0.9)
    distance = round(ratio * length, 2)
    return {"symbol": draw.choice(COMMON), **pair, "distance": distance, "ratio": ratio}
