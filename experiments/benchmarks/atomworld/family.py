"""The family around the actions: PointWorld, CIF-Repair, CIF-Gen, StructProp.

Each makes its questions from a seed; CIF-Repair and CIF-Gen are read from a file as well.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from agents.answer_formats import AnswerFormat, Block, Json
from experiments.benchmarks.atomworld.actions import rotation
from experiments.benchmarks.atomworld.crystal import Array, Crystal, CrystalError
from experiments.benchmarks.atomworld.generate import AXES, COMMON, structure
from experiments.benchmarks.atomworld.prototypes import PROTOTYPES
from experiments.benchmarks.atomworld.scorer import plain

Family = Literal["pointworld", "cif_repair", "cif_gen", "structprop"]
FAMILIES: tuple[Family, ...] = ("pointworld", "cif_repair", "cif_gen", "structprop")

CIF = Block("cif")
POINTS = Json([["x", "y", "z"]])

REMOVED = "[VALUE_TO_BE_INSERTED]"
#: Targets of the published CIF-Gen that are not what their prompt says: four layers, not two.
ERRATA = {("Ag", "hcp"), ("Cs", "hcp")}
METALS = ("Al", "Ni", "Cu", "Pd", "Ag", "Pt", "Au")


class FamilyError(ValueError):
    """A file of questions is missing, or is something else."""


@dataclass(frozen=True)
class Asked:
    """One question of the family.

    Attributes
    ----------
    task
        What is asked, without the form of the answer.
    form, wanted
        The form of the answer, and what it holds, in words.
    rule, given
        Function of the grader, and what it compares with.
    file
        Content of ``structure.cif``, where there is one.
    """

    name: str
    task: str
    form: AnswerFormat
    wanted: str
    rule: str
    given: Mapping[str, Any]
    labels: Mapping[str, str] = field(default_factory=dict)
    file: str | None = None


def ask(family: Family, seed: int, items: int, calculator: str) -> list[Asked]:
    """Generated questions; ``items`` of each action of PointWorld, ``items`` of every other."""
    if family == "pointworld":
        return [_points(seed, action, n) for action in _MOVES for n in range(items)]
    if family == "cif_repair":
        return [_repair(*_broken(seed, n), f"repair-{n:03d}") for n in range(items)]
    if family == "cif_gen":
        return [_generation(f"gen-{n:03d}", **_prototype(seed, n)) for n in range(items)]
    return [_property(seed, n, calculator) for n in range(items)]


def read(family: Family, path: Path) -> list[Asked]:
    """Questions from a file of JSON lines.

    Raises
    ------
    FamilyError
        Where the family has no such files, or a line lacks something.
    """
    if family not in {"cif_repair", "cif_gen"}:
        raise FamilyError(f"family={family}: has generated questions only (source=generated)")
    found = []
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            row = json.loads(line)
            name = str(row.get("id", f"repair-{number:03d}"))
            if family == "cif_repair":
                about = f"{row['kind']} {row['tag']}"
                asked = _repair(
                    row["original"], row["corrupted"], row["removed_value"], about, name
                )
            else:
                asked = _published_generation(name, row)
            found.append(asked)
    except (OSError, ValueError, KeyError, TypeError, CrystalError) as error:
        raise FamilyError(f"path={path}: is not a file of {family} questions ({error})") from error
    return found


# PointWorld

_MOVES: Mapping[str, str] = {
    "move": "Move the point at index {one} by displacement {vector}.",
    "move_towards": "Move the point at index {one} towards the point at index {two} by {distance}.",
    "insert_between": (
        "Insert a point between the points at indices {one} and {two}, {distance} units away from "
        "point {one}; it becomes the last one."
    ),
    "rotate_around": (
        "Rotate all points by {angle} degrees around the axis {axis} through the point at index "
        "{one}, by the right-hand rule."
    ),
}  # fmt: skip


def _points(seed: int, action: str, number: int) -> Asked:
    draw = random.Random(f"{seed}:pointworld:{action}:{number}")  # noqa: S311 -- no secret
    before = np.array([[round(draw.uniform(-10, 10), 2) for _ in "xyz"] for _ in range(2)])
    one = draw.randrange(2)
    way = before[1 - one] - before[one]
    length = float(np.linalg.norm(way))
    drawn = np.array([draw.gauss(0, 1) for _ in "xyz"])
    given: dict[str, Any] = {
        "one": one, "two": 1 - one, "axis": list(draw.choice(AXES)),
        "angle": round(draw.uniform(15, 180), 2),
        "vector": np.round(drawn / np.linalg.norm(drawn) * draw.uniform(0.5, 5), 2).tolist(),
        "distance": round(draw.uniform(0.1, 0.9) * length if action == "insert_between"
                          else draw.uniform(0.5, 5), 2),
    }  # fmt: skip
    after = _moved(action, before, given, way / length)
    task = (
        f"Points in space, as Cartesian coordinates x, y, z, indices from 0: {before.tolist()}\n\n"
        f"Action: {_MOVES[action].format(**given)}"
    )
    return Asked(
        f"{action}-{number:03d}", task, POINTS,
        "the list of all points afterwards, in their order, each [x, y, z]", "moved_points",
        {"before": before.tolist(), "after": after.tolist()}, {"action": action},
    )  # fmt: skip


def _moved(action: str, before: Array, given: Mapping[str, Any], way: Array) -> Array:
    one, after = given["one"], before.copy()
    if action == "move":
        after[one] += given["vector"]
    elif action == "move_towards":
        after[one] += given["distance"] * way
    elif action == "insert_between":
        after = np.vstack([before, before[one] + given["distance"] * way])
    else:
        turned = rotation(np.array(given["axis"], dtype=float), given["angle"])
        after = before[one] + (before - before[one]) @ turned.T
    return after


# CIF-Repair

_TAGS = (
    *(f"_cell_length_{axis}" for axis in "abc"),
    *(f"_cell_angle_{angle}" for angle in ("alpha", "beta", "gamma")),
    *(f"_atom_site_{name}" for name in ("type_symbol", "label", "symmetry_multiplicity",
                                        "fract_x", "fract_y", "fract_z", "occupancy")),
)  # fmt: skip
_RENAMED: Mapping[str, Mapping[str, str]] = {
    **{f"cell_length abc->{to}": {f"_cell_length_{a}": f"_cell_length_{b}"
                                  for a, b in zip("abc", to, strict=True)}
       for to in ("xyz", "uvw", "ijk")},
    **{f"fract xyz->{to}": {f"_fract_{a}": f"_fract_{b}" for a, b in zip("xyz", to, strict=True)}
       for to in ("abc", "uvw", "ijk")},
    "_atom_site->_atom": {"_atom_site_": "_atom_"},
    "_cell->_lattice": {"_cell_": "_lattice_"},
    "_cell_length,_cell_angle->_cell": {"_cell_length_": "_cell_", "_cell_angle_": "_cell_"},
}  # fmt: skip
CORRUPTIONS = (*(f"remove {tag}" for tag in _TAGS), *(f"rename {what}" for what in _RENAMED))


def corrupted(cif: str, corruption: str) -> tuple[str, str | None]:
    """A CIF with one of `CORRUPTIONS`, and the value that was removed with its tag."""
    kind, _, what = corruption.partition(" ")
    if kind == "remove":
        lines = cif.splitlines(keepends=True)
        at = next(n for n, line in enumerate(lines) if line.split()[:1] == [what])
        _, _, value = lines[at].strip().partition(" ")
        return "".join(lines[:at] + lines[at + 1 :]), value.strip() or None
    for old, new in _RENAMED[what].items():
        cif = cif.replace(old, new)
    return cif, None


def _broken(seed: int, number: int) -> tuple[str, str, str | None, str]:
    draw = random.Random(f"{seed}:repair:{number}")  # noqa: S311 -- no secret
    original = structure(draw, 0)[1].to_cif()
    corruption = CORRUPTIONS[number % len(CORRUPTIONS)]
    return original, *corrupted(original, corruption), corruption


def _repair(original: str, broken: str, removed: str | None, about: str, name: str) -> Asked:
    task = (
        "A CIF file is damaged: a tag is missing or has a wrong name. Repair it and change nothing "
        f"else. Where a value is missing that you cannot know, write {REMOVED} in its place."
    )
    given = {"original": original, "corrupted": broken, "removed": removed}
    return Asked(
        name, task, CIF, "the whole repaired CIF file", "repaired", given,
        {"kind": about.partition(" ")[0], "corruption": about}, broken,
    )  # fmt: skip


# CIF-Gen

_HINTS: Mapping[str, str] = {
    "rutile": "the anions are at (u, u, 0) with u = 0.305",
    "wurtzite": "the internal coordinate u is 0.375",
    "fluorite": "the first element of the formula is on the face-centred sites",
    "perovskite": "the second element of the formula is at the centre of the octahedron",
    "graphite": "two layers in a cell",
}
_GENERATED = [p for p in PROTOTYPES if p.name not in {"corundum", "spinel"}]


def _prototype(seed: int, number: int) -> dict[str, Any]:
    draw = random.Random(f"{seed}:gen:{number}")  # noqa: S311 -- no secret
    prototype = _GENERATED[number % len(_GENERATED)]
    symbols = tuple(draw.sample(COMMON, len(prototype.sites)))
    made = prototype.crystal(symbols, draw.uniform(1.8, 2.9))
    a, _, c = (round(length, 6) for length in made.cell[:3])
    target = Crystal((a, a, c, *made.cell[3:]), made.species, made.fractions)
    counts = [len(kind) for kind in prototype.sites]
    divisor = int(np.gcd.reduce(counts))
    formula = "".join(
        f"{symbol}{count // divisor if count > divisor else ''}"
        for symbol, count in zip(symbols, counts, strict=True)
    )
    return {
        "formula": formula, "prototype": prototype.name, "a": a, "c": None if a == c else c,
        "hint": _HINTS.get(prototype.name, ""), "target": plain(target),
    }  # fmt: skip


def _generation(  # noqa: PLR0917 -- what a prompt says
    name: str, formula: str, prototype: str, a: float, c: float | None, hint: str, target: Any,
) -> Asked:  # fmt: skip
    constants = f"lattice constant a: {a} angstrom" + (f"; c: {c} angstrom" if c else "")
    task = (
        f"Write a CIF file in P1 of {formula} in the {prototype} structure. Conventional cell: "
        f"{constants}{f'; {hint}' if hint else ''}."
    )
    return _cif_of(name, task, target, {"kind": prototype})


def _cif_of(name: str, task: str, target: Any, labels: Mapping[str, str]) -> Asked:
    return Asked(name, task, CIF, "the whole CIF file", "generated", {"target": target}, labels)


def _published_generation(name: str, row: Mapping[str, Any]) -> Asked:
    vectors = np.array(row["target"]["lattice"], dtype=float)
    lengths = np.linalg.norm(vectors, axis=1)
    unit = vectors / lengths[:, None]
    angles = np.degrees(np.arccos([unit[1] @ unit[2], unit[0] @ unit[2], unit[0] @ unit[1]]))
    target = {
        "cell": [*lengths.tolist(), *angles.tolist()],
        "species": row["target"]["species"], "fractions": row["target"]["frac"],
    }  # fmt: skip
    labels = {"kind": str(row["prototype"])}
    if (row["formula"], row["prototype"]) in ERRATA:
        labels["erratum"] = "the target is a four-layer cell, which the prompt does not say"
    return _cif_of(name, str(row["prompt_requirements"]), target, labels)


# StructProp


def _property(seed: int, number: int, calculator: str) -> Asked:
    draw = random.Random(f"{seed}:property:{number}")  # noqa: S311 -- no secret
    one, two = draw.sample(METALS, 2)
    fractions = next(p for p in PROTOTYPES if p.name == "fcc").crystal((one,), 2.0).fractions
    edge = round(draw.uniform(3.7, 4.2), 4)
    kinds = draw.choice([(one,) * 4, (two, one, one, one), (one, one, two, two)])
    before = Crystal((edge, edge, edge, 90.0, 90.0, 90.0), kinds, fractions)
    trend = ("increase", "decrease")[number % 2]
    what, allowed = "bulk modulus", f" Use no other elements than {', '.join(METALS)}."
    if calculator != "emt":
        what, allowed = "property that the calculator gives", ""
    task = (
        f"Change the crystal structure (its species, its cell or its coordinates) so that its "
        f"{what} {trend}s: it is calculated for your structure and for the given one.{allowed}"
    )
    given = {"before": plain(before), "trend": trend, "calculator": calculator}
    return Asked(
        f"property-{number:03d}", task, CIF, "the whole CIF file of the changed structure",
        "changed", given, {"kind": trend}, before.to_cif(),
    )  # fmt: skip
