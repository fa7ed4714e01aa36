"""The ten actions, in two readings, and the sentences that ask for them.

``published`` does what the authors' generator did; ``literal`` what the sentence says. They differ
in ``insert_between`` (unrounded distance), ``delete_below`` (the reference layer always stays) and
``rotate_around`` (listed positions rotate, not the nearest images). The sentences are ours
(``wording.yaml``), also where they have the published word orders and notations.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from experiments.benchmarks.atomworld.crystal import Array, Crystal
from foundation.configuration import data_of

Target = Literal["published", "literal"]

#: Å below which two heights are the same.
LAYER = 1e-3


def act(
    action: str, crystal: Crystal, given: Mapping[str, Any], target: Target
) -> Crystal:
    """The structure after one of `ACTIONS` with its parameters, in one of the two readings."""
    species = list(crystal.species)
    at = crystal.positions
    match action:
        case "add":  # in the last row
            return crystal.with_atom(given["symbol"], np.array(given["vector"]))
        case "change":
            species[given["index"]] = given["symbol"]
        case "swap":  # their species
            first = given["index1"]
            second = given["index2"]
            species[first], species[second] = species[second], species[first]
        case "remove":
            return crystal.rows(
                [row for row in range(len(species)) if row != given["index"]]
            )
        case "move":
            at[given["index"]] += given["vector"]
            return crystal.moved(at)
        case (
            "move_towards" | "insert_between"
        ):  # on the line between the listed positions
            here, there = at[[given["index1"], given["index2"]]]
            length = float(np.linalg.norm(there - here))
            distance = given["distance"]
            if action == "move_towards":
                at[given["index1"]] += distance * ((there - here) / length)
                return crystal.moved(at)
            if (
                target == "published" and given.get("ratio") is not None
            ):  # was not rounded
                distance = given["ratio"] * length
            return crystal.with_atom(
                given["symbol"], here + distance / length * (there - here)
            )
        case "delete_below":  # what "including itself" means is not what was done
            above = at[:, 2] - at[given["index"], 2]
            if given["inclusive"] and target == "literal":
                return crystal.rows(np.flatnonzero(above > LAYER))
            keep = above >= (-LAYER if target == "literal" else 0.0)
            keep[given["index"]] = True
            return crystal.rows(np.flatnonzero(keep))
        case "rotate_around":  # neighbours, by the right-hand rule
            index = given["index"]
            vectors, distances = crystal.images(index)
            chosen = distances < given["radius"]
            chosen[index] = False
            around = vectors if target == "literal" else at - at[index]
            turned = (
                around
                @ rotation(np.array(given["axis"], dtype=float), given["angle"]).T
            )
            at[chosen] = at[index] + turned[chosen]
            return crystal.moved(at)
        case (
            "super_cell"
        ):  # one whole copy after another; the last direction runs fastest
            counts = np.array(given["counts"])
            shifts = np.array(list(np.ndindex(*given["counts"])))
            fractions = ((crystal.fractions[None] + shifts[:, None]) / counts).reshape(
                -1, 3
            )
            cell = (*(np.array(crystal.cell[:3]) * counts).tolist(), *crystal.cell[3:])
            return Crystal(cell, crystal.species * len(shifts), fractions)
        case unknown:
            raise ValueError(f"no action {unknown}")
    return Crystal(crystal.cell, tuple(species), crystal.fractions)


def rotation(axis: Array, degrees: float) -> Array:
    """Rotation matrix about an axis by the right-hand rule (Rodrigues), shape (3, 3)."""
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = np.radians(degrees)
    return np.asarray(
        np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    )


Wording = Literal["published", "own", "paraphrase"]

_SENTENCES: Mapping[str, Any] = data_of(__file__, "wording")
FRAME = str(_SENTENCES["frame"])
ACTIONS = tuple(_SENTENCES["own"])
_NUMBER = r"([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"
_KINDS = {
    "I": r"(\d+)",
    "D": _NUMBER,
    "E": "([A-Z][a-z]?)",
    "V": r"[\[(]([^\])]{1,100})[\])]",
    "T": "(?:x|X|[*]|by|\N{MULTIPLICATION SIGN})",
}
_PATTERNS = {
    action: (re.compile(re.sub(r"\b[IDEVT]\b", lambda m: _KINDS[m[0]], pattern)), names)
    for action, (pattern, *names) in _SENTENCES["read"].items()
}


def sentence(
    draw: random.Random, action: str, given: Mapping[str, Any], wording: Wording
) -> str:
    """An action in words, of several phrasings the one that is drawn."""
    choices = _SENTENCES[wording].get(action, _SENTENCES["own"][action])
    fields: dict[str, Any] = {}
    for name, value in given.items():
        if name in {"vector", "axis"}:
            fields[name] = _vector(draw, value, plain=wording != "published")
        elif name == "inclusive":
            fields[name] = _SENTENCES["inclusive"][value]
        elif name == "counts":
            fields |= dict(zip(("n1", "n2", "n3"), value, strict=True))
        else:
            fields[name] = value
    return str(draw.choice(choices)).format(**fields)


def _vector(draw: random.Random, value: list[float], *, plain: bool) -> str:
    """As a list; published sentences also have NumPy's notation, with blanks and bare points."""
    if plain or draw.random() < 0.5:
        return str(list(value))
    width = draw.choice((0, 1))
    short = (f"{v:g}." if float(v).is_integer() else f"{v:g}" for v in value)
    return (
        "["
        + " ".join(" " * width + s if not s.startswith("-") else s for s in short)
        + "]"
    )


def parse(text: str) -> tuple[str, dict[str, Any]] | None:
    """Read an action and its parameters; ``None`` where nothing is recognised.

    The published wordings differ in brackets, commas, blanks and signs; this reads all of them.
    """
    text = " ".join(text[:2000].split())
    for action, (pattern, names) in _PATTERNS.items():
        match = pattern.search(text)
        if match is None:
            continue
        given = {
            n: _value(n, value) for n, value in zip(names, match.groups(), strict=True)
        }
        if None in given.values():
            continue
        if action == "insert_between" and given.pop("from") == given["index2"]:
            given["index1"], given["index2"] = given["index2"], given["index1"]
        return action, {
            "counts": list(given.values())
        } if action == "super_cell" else given
    return None


def _value(name: str, text: str) -> Any:
    if name in {"vector", "axis"}:
        numbers = re.findall(_NUMBER, text)
        return [float(number) for number in numbers] if len(numbers) == 3 else None
    if name == "inclusive":
        return text == "Including"
    if name == "symbol":
        return text
    return float(text) if name in {"distance", "radius", "angle"} else int(text)
