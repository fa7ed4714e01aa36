"""Sentences for the ten actions, in our own words.

``published`` has the word orders and notations of the published sentences, in which numbers and
vectors are written in several ways; ``own`` is one clear sentence; ``paraphrase`` are further ones
that the parser of ``model=rules`` does not know.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Literal

Wording = Literal["published", "own", "paraphrase"]

FRAME = (
    "Cartesian coordinates have a along x and b in the xy plane; indices of atoms start at 0, in the "
    "order of the file; lengths are in angstrom."
)

_OWN: Mapping[str, str] = {
    "add": "Add one {symbol} atom at the Cartesian coordinate {vector}.",
    "change": "Change the atom at index {index} into {symbol}.",
    "remove": "Remove the atom at index {index}.",
    "move": "Move the atom at index {index} by {vector} angstrom.",
    "move_towards": "Move the atom at index {index1} towards the atom at index {index2} by {distance} angstrom.",
    "insert_between": "Insert {symbol} between atoms at indices {index1} and {index2}, {distance} angstrom from {index1}.",
    "swap": "Swap the species of the atoms at indices {index1} and {index2}.",
    "delete_below": "Delete all atoms whose z coordinate is lower than the atom at index {index}. {inclusive}",
    "rotate_around": "Rotate all atoms within {radius} angstrom of the atom at index {index} by {angle} degrees around the axis {axis}, by the right-hand rule; the atom itself stays.",
    "super_cell": "Build a supercell of size {n1} x {n2} x {n3}.",
}  # fmt: skip
_INCLUSIVE = {
    True: "Including itself and atoms with the same z coordinate.",
    False: "Excluding itself and atoms with the same z coordinate.",
}
_PUBLISHED: Mapping[str, tuple[str, ...]] = {
    "swap": ("Swap the atoms at indices {index1} and {index2} in the cif file.",
             "Swap the spatial positions of atoms at indices {index1} and {index2} in the cif file."),
    "insert_between": (
        "Insert {symbol} between atoms at indices {index1} and {index2} that are {distance} angstrom from {index1} in the cif file.",
        "Insert a {symbol} atom between atoms at indices {index1} and {index2}, which is {distance} angstrom from atom at {index1}."),
    "super_cell": tuple("Create a supercell with size {n1}%s{n2}%s{n3} of the cif file." % (s, s)
                        for s in ("x", "X", "*", " by ", " \N{MULTIPLICATION SIGN} ")),
    "rotate_around": ("Rotate all surrounding atoms within {radius} angstrom of the center atom at index {index} by {angle} degree around the axis {axis} in the cif file.",),
}  # fmt: skip
_PARAPHRASE: Mapping[str, tuple[str, ...]] = {
    "add": ("Place a further {symbol} at r = {vector}.", "One {symbol} more, please: its Cartesian position is {vector}.", "Put {symbol} on the point {vector} (Cartesian) of the cell."),
    "change": ("Atom number {index} becomes {symbol}.", "Substitute {symbol} for what sits on site {index}.", "Site {index} shall be {symbol} from now on."),
    "remove": ("Take out atom number {index}.", "Make a vacancy on site {index}.", "Site {index} is to be vacant."),
    "move": ("Displace atom number {index} by the Cartesian vector {vector}.", "Add {vector} to the Cartesian position of site {index}.", "Shift site {index}: dr = {vector}."),
    "move_towards": ("Bring atom {index1} {distance} angstrom nearer to atom {index2}, along the line between their listed positions.", "Shift site {index1} by {distance} angstrom in the direction of site {index2} as listed.", "Along the straight line from site {index1} to site {index2} as listed, site {index1} advances {distance} angstrom."),
    "insert_between": ("On the line from atom {index1} to atom {index2}, {distance} angstrom after atom {index1}, put {symbol}.", "A new {symbol} goes on the segment {index1}-{index2} (listed positions), {distance} angstrom away from {index1}.", "Starting at site {index1}, go {distance} angstrom towards site {index2} as listed and place {symbol} there."),
    "swap": ("Exchange what sits on sites {index1} and {index2}.", "Atoms {index1} and {index2} trade places.", "Let sites {index1} and {index2} exchange their elements."),
    "delete_below": ("Cut away everything below atom {index} (smaller z). {inclusive}", "Keep only what is not lower in z than atom {index}. {inclusive}", "Atoms with z under that of site {index} go. {inclusive}"),
    "rotate_around": ("Every atom closer than {radius} angstrom to atom {index} turns about it by {angle} degrees, right-handed, axis {axis}.", "Turn the neighbours of site {index} (distance below {radius} angstrom) right-handedly by {angle} degrees about {axis} through that site.", "Centre: site {index}. Rotate its surroundings up to {radius} angstrom by {angle} degrees about {axis}, right-hand rule."),
    "super_cell": ("Repeat the cell {n1} times along a, {n2} times along b and {n3} times along c.", "Stack {n1}, {n2} and {n3} copies along a, b and c.", "Multiply the lattice vectors a, b, c by {n1}, {n2}, {n3} and fill the cell."),
}  # fmt: skip


def sentence(draw: random.Random, action: str, given: Mapping[str, Any], wording: Wording) -> str:
    """An action in words.

    Parameters
    ----------
    draw
        Chooses among several phrasings.
    """
    choices: tuple[str, ...] = (_OWN[action],)
    if wording == "published":
        choices = _PUBLISHED.get(action, choices)
    elif wording == "paraphrase":
        choices = _PARAPHRASE[action]
    shown: dict[str, Any] = {}
    for name, value in given.items():
        if name in {"vector", "axis"}:
            shown[name] = _vector(draw, value, plain=wording != "published")
        elif name == "inclusive":
            shown[name] = _INCLUSIVE[value]
        elif name == "counts":
            shown |= dict(zip(("n1", "n2", "n3"), value, strict=True))
        else:
            shown[name] = value
    return draw.choice(choices).format(**shown)


def _vector(draw: random.Random, value: list[float], *, plain: bool) -> str:
    """As a list; published sentences also have NumPy's notation, with blanks and bare points."""
    if plain or draw.random() < 0.5:
        return str(list(value))
    width = draw.choice((0, 1))
    short = (f"{v:g}." if float(v).is_integer() else f"{v:g}" for v in value)
    return "[" + " ".join(" " * width + s if not s.startswith("-") else s for s in short) + "]"
