"""Generated questions: a strained prototype, an action, its parameters and its sentence.

Everything follows from the seed. Structure *n* is the same for all ten actions: it is what answers
are clustered by.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from experiments.benchmarks.atomworld.actions import ACTIONS, LAYER, apply
from experiments.benchmarks.atomworld.crystal import Crystal, wrap
from experiments.benchmarks.atomworld.prototypes import PROTOTYPES
from experiments.benchmarks.atomworld.wording import Wording, sentence

Symbols = Literal["common", "all"]

COMMON = re.findall(
    "[A-Z][a-z]?",
    "LiBeBCNOFNaMgAlSiPSClKCaScTiVCrMnFeCoNiCuZnGaGeAsSeBrRbSrYZrNbMoRuRhPdAgCdInSnSbTeICsBaLaCe"
    "NdSmGdDyErYbLuHfTaWReOsIrPtAuHgTlPbBi",
)
RARE = re.findall(
    "[A-Z][a-z]?",
    "HHeNeArKrXeTcPrPmEuTbHoTmPoAtRnFrRaAcThPaUNpPuAmCmBkCfEsFmMdNoLrRfDbSgBhHsMtDsRgCnNhFlMcLvTs"
    "Og",
)
AXES = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
DECIMALS = 6  # of the CIF, and so of what a target can be told from
TRIES = 300


@dataclass(frozen=True)
class Item:
    """One generated question.

    Attributes
    ----------
    structure
        Number of the structure; questions that share it are not independent.
    before, literal, published
        Before the action, and after it in both readings.
    """

    action: str
    structure: int
    prototype: str
    before: Crystal
    given: Mapping[str, Any]
    sentence: str
    literal: Crystal
    published: Crystal


def generate(
    *, seed: int, items: int, actions: Sequence[str] = tuple(ACTIONS), wording: Wording = "own",
    unambiguous: bool = False, symbols: Symbols = "common", sizes: Sequence[int] = (),
    chain: int = 1,
) -> list[Item]:  # fmt: skip
    """Make ``items`` questions for each action.

    Parameters
    ----------
    unambiguous
        Only such as both readings, and nearest images, give the same target; what cannot be had
        is left out.
    sizes
        Number of atoms to reach by repeating the cell, cycled; empty: one cell.
    chain
        Actions one after another; the first is what the question is counted under.

    Raises
    ------
    ValueError
        When no structure permits an action.
    """
    made = []
    for number in range(items):
        draw = random.Random(f"{seed}:structure:{number}")  # noqa: S311 -- no secret
        prototype, crystal = structure(draw, sizes[number % len(sizes)] if sizes else 0)
        for action in actions:
            draw = random.Random(f"{seed}:{action}:{number}:{wording}")  # noqa: S311 -- no secret
            item = _item(
                draw, number, prototype, crystal, action, wording, unambiguous, symbols, chain
            )
            if item is not None:
                made.append(item)
    return made


def structure(draw: random.Random, size: int) -> tuple[str, Crystal]:
    """A strained prototype with noise on its sites, of at least ``size`` / 2 atoms."""
    prototype = draw.choice(PROTOTYPES)
    symbols = tuple(draw.sample(COMMON[1:], len(prototype.sites)))
    crystal = prototype.crystal(symbols, draw.uniform(2.0, 2.9))
    # Four atoms of two species at least: else some actions cannot be done.
    while len(crystal.species) < 4 or len(crystal.species) * 2 <= size:
        shortest = 2 - int(np.argmin(np.round(crystal.cell[2::-1], 6)))  # of equals the last
        counts = [2 if axis == shortest else 1 for axis in range(3)]
        crystal = apply("super_cell", crystal, {"counts": counts}, "literal")
    if len(set(crystal.species)) == 1:
        given = {"index": draw.randrange(len(crystal.species)), "symbol": COMMON[0]}
        crystal = apply("change", crystal, given, "literal")
    lengths = [length * (1 + draw.uniform(-0.03, 0.03)) for length in crystal.cell[:3]]
    skewed = draw.random() < 0.5
    angles = [angle + (draw.uniform(-12, 12) if skewed else 0.0) for angle in crystal.cell[3:]]
    a, b, c, alpha, beta, gamma = (round(value, DECIMALS) for value in (*lengths, *angles))
    strained = Crystal((a, b, c, alpha, beta, gamma), crystal.species, crystal.fractions)
    while True:
        noise = np.array([[draw.gauss(0, 0.03 / 3**0.5) for _ in "xyz"] for _ in crystal.species])
        moved = strained.moved(strained.positions + noise)
        if cuts(moved):
            rounded = wrap(moved.fractions, DECIMALS)
            return prototype.name, Crystal(moved.cell, moved.species, rounded)


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


def _item(  # noqa: PLR0917 -- what an item is drawn from
    draw: random.Random, number: int, prototype: str, before: Crystal, action: str,
    wording: Wording, unambiguous: bool, symbols: Symbols, chain: int,
) -> Item | None:  # fmt: skip
    pool = COMMON + (RARE if symbols == "all" else [])
    for _ in range(TRIES):
        literal = published = before
        steps: list[tuple[str, Mapping[str, Any]]] = []
        clear = True
        for link in range(chain):
            kind = action if link == 0 else draw.choice(sorted(ACTIONS))
            given = _parameters(draw, kind, literal, pool)
            if given is None:
                break
            clear = clear and _nearest(literal, given)
            told = {name: value for name, value in given.items() if name != "ratio"}
            literal = apply(kind, literal, told, "literal")
            published = apply(kind, published, given, "published")
            steps.append((kind, given))
        if len(steps) == chain and (not unambiguous or (clear and _same(literal, published))):
            said = " Then: ".join(sentence(draw, kind, given, wording) for kind, given in steps)
            return Item(action, number, prototype, before, steps[0][1], said, literal, published)
    if unambiguous:
        return None
    raise ValueError(f"{action} cannot be done to structure {number} ({prototype})")


def _same(one: Crystal, two: Crystal) -> bool:
    if one.species != two.species:
        return False
    away = one.fractions - two.fractions
    return bool(np.abs((away - np.round(away)) @ one.lattice).max(initial=0.0) < 0.006)


def _nearest(crystal: Crystal, given: Mapping[str, Any]) -> bool:
    """Whether the listed vector between two atoms is the one between nearest images."""
    if "index1" not in given or "distance" not in given:
        return True
    one, two = given["index1"], given["index2"]
    listed = crystal.positions[two] - crystal.positions[one]
    return bool(np.linalg.norm(listed) <= crystal.images(one)[1][two] + 1e-6)


def _parameters(
    draw: random.Random, action: str, crystal: Crystal, pool: Sequence[str]
) -> dict[str, Any] | None:
    """Parameters of an action, rounded as the sentence gives them; ``None``: try again."""
    count = len(crystal.species)
    index = draw.randrange(count)
    others = [row for row in range(count) if row != index]
    if action == "add":
        at = np.array([draw.random() for _ in "xyz"]) @ crystal.lattice
        return {"symbol": draw.choice(pool), "vector": _rounded(at)}
    if action == "change":
        other = draw.choice([symbol for symbol in pool if symbol != crystal.species[index]])
        return {"index": index, "symbol": other}
    if action == "remove":
        return {"index": index} if others else None
    if action == "move":
        return {"index": index, "vector": _rounded(np.array([draw.gauss(0, 2) for _ in "xyz"]))}
    if action == "super_cell":
        counts = [draw.randint(1, 4) for _ in "xyz"]
        return {"counts": counts} if 2 <= np.prod(counts) <= 8 else None
    if action == "delete_below":
        rows = cuts(crystal)
        return {"index": draw.choice(rows), "inclusive": draw.random() < 0.5} if rows else None
    if not others:
        return None
    if action == "rotate_around":
        return _rotation(draw, crystal, index)
    return _pair(draw, action, crystal, index, draw.choice(others), pool)


def _pair(  # noqa: PLR0917 -- what a pair is drawn from
    draw: random.Random, action: str, crystal: Crystal, one: int, two: int, pool: Sequence[str]
) -> dict[str, Any] | None:
    length = float(np.linalg.norm(crystal.positions[two] - crystal.positions[one]))
    pair = {"index1": one, "index2": two}
    if action == "swap":
        return pair if crystal.species[one] != crystal.species[two] else None
    if action == "move_towards":
        return {**pair, "distance": round(draw.uniform(0.1, 3.0), 4)}
    ratio = draw.uniform(0.1, 0.9)
    distance = round(ratio * length, 2)
    return {"symbol": draw.choice(pool), **pair, "distance": distance, "ratio": ratio}


def _rotation(draw: random.Random, crystal: Crystal, index: int) -> dict[str, Any] | None:
    _, distances = crystal.images(index)
    near = np.sort(np.delete(distances, index))
    radius = round(max(draw.uniform(1.0, 4.0), float(near[0]) + 0.1), 4)
    if (np.abs(near - radius) < 0.01).any():
        return None
    angle = round(draw.uniform(45.0, 315.0), 4)
    return {"radius": radius, "index": index, "angle": angle, "axis": list(draw.choice(AXES))}


def _rounded(vector: Any) -> list[float]:
    return [round(float(value), 4) for value in vector]
