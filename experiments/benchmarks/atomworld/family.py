"""The family around the actions: PointWorld, CIF-Repair, CIF-Gen, StructProp.

Each makes its questions from a seed and ``family.yaml``; CIF-Repair and CIF-Gen are read from a
file as well.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pymatgen.core import Lattice

from agents.answer_formats import Block, Json
from experiments.benchmarks.atomworld.actions import rotation
from experiments.benchmarks.atomworld.crystal import PROTOTYPES, Array, Crystal
from experiments.benchmarks.atomworld.generate import AXES, COMMON, structure
from experiments.benchmarks.release import ReleaseError, entries
from foundation.configuration import data_of

Family = Literal["pointworld", "cif_repair", "cif_gen", "structprop"]
CIF = Block("cif")
POINTS = Json([["x", "y", "z"]])
_KEYS: Mapping[Family, set[str]] = {
    "cif_repair": {"kind", "tag", "original", "corrupted", "removed_value"},
    "cif_gen": {"formula", "prototype", "prompt_requirements", "target"},
}
DATA: Mapping[Family, Mapping[str, Any]] = data_of(__file__)
CORRUPTIONS = tuple(
    f"{kind} {what}"
    for kind, some in (("remove", "removed"), ("rename", "renamed"))
    for what in DATA["cif_repair"][some]
)


@dataclass(frozen=True)
class FamilyQuestion:
    """One question of the family.

    ``given`` is what the grader compares with; ``file`` is the content of ``structure.cif``, and
    ``right`` a right answer, where there are such.
    """

    family: Family
    name: str
    task: str
    given: Mapping[str, Any]
    labels: Mapping[str, str]
    file: str | None = None
    right: Any = None


def ask(family: Family, seed: int, items: int) -> list[FamilyQuestion]:
    """Generated questions; ``items`` of each action of PointWorld, ``items`` of every other."""
    if family == "pointworld":
        return [
            _points(seed, action, n)
            for action in DATA[family]["actions"]
            for n in range(items)
        ]
    make = {"cif_repair": _broken, "cif_gen": _prototype, "structprop": _property}[
        family
    ]
    return [make(seed, number) for number in range(items)]


def read(family: Family, path: str | None) -> list[FamilyQuestion]:
    """Questions from a file of JSON lines."""
    if family not in _KEYS:
        raise ReleaseError(
            f"family={family}: has generated questions only (source=generated)"
        )
    if path is None:
        raise ReleaseError("source=published needs path=FILE of the questions")
    rows = entries(Path(path).expanduser(), _KEYS[family])
    rebuilt = _published_repair if family == "cif_repair" else _published_generation
    try:
        return [
            rebuilt(str(row.get("id", f"repair-{number:03d}")), row)
            for number, row in enumerate(rows)
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise ReleaseError(
            f"{path}: is not a file of {family} questions ({error})"
        ) from error


# PointWorld


def _points(seed: int, action: str, number: int) -> FamilyQuestion:
    draw = random.Random(f"{seed}:pointworld:{action}:{number}")  # noqa: S311 -- no secret
    before = np.array(
        [[round(draw.uniform(-10, 10), 2) for _ in "xyz"] for _ in range(2)]
    )
    first = draw.randrange(2)
    way = before[1 - first] - before[first]
    length = float(np.linalg.norm(way))
    drawn = np.array([draw.gauss(0, 1) for _ in "xyz"])
    given: dict[str, Any] = {
        "one": first,
        "two": 1 - first,
        "axis": list(draw.choice(AXES)),
        "angle": round(draw.uniform(15, 180), 2),
        "vector": np.round(
            drawn / np.linalg.norm(drawn) * draw.uniform(0.5, 5), 2
        ).tolist(),
        "distance": round(
            draw.uniform(0.1, 0.9) * length
            if action == "insert_between"
            else draw.uniform(0.5, 5),
            2,
        ),
    }
    points = before.tolist()
    after = moved(action, before, given, way / length).tolist()
    task = DATA["pointworld"]["task"].format(
        before=points, action=DATA["pointworld"]["actions"][action].format(**given)
    )
    return FamilyQuestion(
        "pointworld",
        f"{action}-{number:03d}",
        task,
        {"before": points, "after": after},
        {"action": action},
        right=after,
    )


def moved(action: str, before: Array, given: Mapping[str, Any], way: Array) -> Array:
    """The points after an action; ``way`` is the direction from one to the other."""
    first = given["one"]
    after = before.copy()
    if action == "move":
        after[first] += given["vector"]
    elif action == "move_towards":
        after[first] += given["distance"] * way
    elif action == "insert_between":
        after = np.vstack([before, before[first] + given["distance"] * way])
    else:
        turned = rotation(np.array(given["axis"], dtype=float), given["angle"])
        after = before[first] + (before - before[first]) @ turned.T
    return after


# CIF-Repair


def corrupted(cif: str, corruption: str) -> tuple[str, str | None]:
    """A CIF with one of `CORRUPTIONS`, and the value that was removed with its tag."""
    kind, _, what = corruption.partition(" ")
    if kind == "remove":
        lines = cif.splitlines(keepends=True)
        at = next(n for n, line in enumerate(lines) if line.split()[:1] == [what])
        _, _, value = lines[at].strip().partition(" ")
        return "".join(lines[:at] + lines[at + 1 :]), value.strip() or None
    for old, new in DATA["cif_repair"]["renamed"][what].items():
        cif = cif.replace(old, new)
    return cif, None


def _broken(seed: int, number: int) -> FamilyQuestion:
    draw = random.Random(f"{seed}:repair:{number}")  # noqa: S311 -- no secret
    original = structure(draw, 0).to_cif()
    corruption = CORRUPTIONS[number % len(CORRUPTIONS)]
    return _repair(
        original, *corrupted(original, corruption), corruption, f"repair-{number:03d}"
    )


def _published_repair(name: str, row: Mapping[str, Any]) -> FamilyQuestion:
    about = f"{row['kind']} {row['tag']}"
    return _repair(row["original"], row["corrupted"], row["removed_value"], about, name)


def _repair(
    original: str, broken: str, removed: str | None, about: str, name: str
) -> FamilyQuestion:
    given = {"original": original, "corrupted": broken, "removed": removed}
    labels = {"kind": about.partition(" ")[0], "corruption": about}
    task = DATA["cif_repair"]["task"]
    return FamilyQuestion(
        "cif_repair", name, task, given, labels, file=broken, right=original
    )


# CIF-Gen


def _prototype(seed: int, number: int) -> FamilyQuestion:
    draw = random.Random(f"{seed}:gen:{number}")  # noqa: S311 -- no secret
    candidates = [
        candidate
        for candidate in PROTOTYPES
        if candidate.name not in {"corundum", "spinel"}
    ]
    prototype = candidates[number % len(candidates)]
    symbols = tuple(draw.sample(COMMON, len(prototype.sites)))
    crystal = prototype.crystal(symbols, draw.uniform(1.8, 2.9))
    a, _, c = (round(length, 6) for length in crystal.cell[:3])
    target = Crystal(
        (a, a, c, *crystal.cell[3:]), crystal.species, crystal.fractions
    ).plain()
    counts = np.array([len(kind) for kind in prototype.sites])
    shares = zip(symbols, counts // np.gcd.reduce(counts), strict=True)
    formula = "".join(
        f"{symbol}{share if share > 1 else ''}" for symbol, share in shares
    )
    texts = DATA["cif_gen"]
    phrases = (
        f"lattice constant a: {a} angstrom",
        f"c: {c} angstrom" if a != c else "",
        texts["hints"].get(prototype.name),
    )
    constants = "; ".join(filter(None, phrases))
    task = texts["task"].format(
        formula=formula, prototype=prototype.name, constants=constants
    )
    return _cif_of(f"gen-{number:03d}", task, target, {"kind": prototype.name})


def _cif_of(
    name: str, task: str, target: Any, labels: Mapping[str, str]
) -> FamilyQuestion:
    right = Crystal.of(target).to_cif()
    return FamilyQuestion(
        "cif_gen", name, task, {"target": target}, labels, right=right
    )


def _published_generation(name: str, row: Mapping[str, Any]) -> FamilyQuestion:
    plain = row["target"]
    labels = {"kind": str(row["prototype"])}
    cell = list(map(float, Lattice(plain["lattice"]).parameters))
    target = {"cell": cell, "species": plain["species"], "fractions": plain["frac"]}
    if erratum := DATA["cif_gen"]["errata"].get(f"{row['formula']} {row['prototype']}"):
        labels["erratum"] = erratum
    return _cif_of(name, str(row["prompt_requirements"]), target, labels)


# StructProp


def _property(seed: int, number: int) -> FamilyQuestion:
    draw = random.Random(f"{seed}:property:{number}")  # noqa: S311 -- no secret
    first, second = draw.sample(DATA["structprop"]["metals"], 2)
    fractions = (
        next(p for p in PROTOTYPES if p.name == "fcc").crystal((first,), 2.0).fractions
    )
    edge = round(draw.uniform(3.7, 4.2), 4)
    kinds = draw.choice(
        [(first,) * 4, (second, first, first, first), (first, first, second, second)]
    )
    before = Crystal((edge, edge, edge, 90.0, 90.0, 90.0), kinds, fractions)
    trend = ("increase", "decrease")[number % 2]
    given = {"before": before.plain(), "trend": trend}
    task = DATA["structprop"]["task"].format(trend=trend)
    return FamilyQuestion(
        "structprop",
        f"property-{number:03d}",
        task,
        given,
        {"kind": trend},
        file=before.to_cif(),
        right=_other_modulus(kinds, trend).to_cif(),
    )


def _other_modulus(kinds: Sequence[str], trend: str) -> Crystal:
    """A structure whose bulk modulus by effective-medium theory is above or below any asked about.

    Of the metals there platinum has the highest one: 277 GPa in fcc, 279 GPa in hcp with c/a = 1.6.
    Aluminium has the lowest one, 40 GPa in fcc, and 22 GPa with every fourth atom missing.
    """
    fcc = next(p for p in PROTOTYPES if p.name == "fcc").crystal(("Pt",), 2.0).fractions
    if trend == "decrease":
        cell = (4.0, 4.0, 4.0, 90.0, 90.0, 90.0)
        return Crystal(cell, ("Al",) * 3, fcc[:3])
    if set(kinds) == {"Pt"}:
        places = np.array([[1 / 3, 2 / 3, 0.25], [2 / 3, 1 / 3, 0.75]])
        return Crystal((2.77, 2.77, 1.6 * 2.77, 90.0, 90.0, 120.0), ("Pt",) * 2, places)
    cell = (3.92, 3.92, 3.92, 90.0, 90.0, 90.0)
    return Crystal(cell, ("Pt",) * 4, fcc)
