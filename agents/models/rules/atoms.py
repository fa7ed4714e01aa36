"""Sentences about atoms ("Move the atom at index 3 by [...]"), read into an action.

The published wordings of AtomWorld differ in brackets, commas, blanks and signs; this reads all of
them. It is what ``model=rules`` knows of structures, and how published questions, which do not
store their parameters, are given literal targets.
"""

from __future__ import annotations

import re
from typing import Any

_D = r"([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"
_I = r"(\d+)"
_E = r"([A-Z][a-z]?)"
_TIMES = "(?:x|X|[*]|by|\N{MULTIPLICATION SIGN})"
_FROM = rf"angstrom (?:away )?from (?:the )?(?:atom )?(?:at )?(?:index )?{_I}\b"
_V = r"[\[(]([^\])]{1,100})[\])]"
_ANY = r"[^.]{0,80}?"

#: First match decides; groups by name of the parameter, in their order.
_SENTENCES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("add", rf"\bAdd one {_E}\b.{{0,60}}?coordinate\w* {_V}", ("symbol", "vector")),
    ("change", rf"\bChange{_ANY}index {_I} into {_E}\b", ("index", "symbol")),
    ("remove", rf"\bRemove{_ANY}index {_I}\b", ("index",)),
    ("move", rf"\bMove{_ANY}index {_I} by (?:displacement )?{_V}",
     ("index", "vector")),
    ("move_towards", rf"\bMove{_ANY}index {_I} towards{_ANY}index {_I} by {_D}",
     ("index1", "index2", "distance")),
    ("insert_between",
     rf"\bInsert (?:an? )?{_E}\b(?: atom)?.{{0,60}}?indices {_I} and {_I}\b.{{0,60}}?{_D} {_FROM}",
     ("symbol", "index1", "index2", "distance", "from")),
    ("swap", rf"\bSwap\b.{{0,60}}?indices {_I} and {_I}\b", ("index1", "index2")),
    ("delete_below",
     rf"\bDelete\b.{{0,60}}?lower than{_ANY}index {_I}\b.{{0,60}}?(Excluding|Including)",
     ("index", "inclusive")),
    ("rotate_around",
     rf"within {_D} angstrom of.{{0,40}}?index {_I} by {_D} degrees? around the axis {_V}",
     ("radius", "index", "angle", "axis")),
    ("insert_point",
     rf"\bbetween the points at indices {_I} and {_I}, {_D} units away from point {_I}",
     ("index1", "index2", "distance", "from")),
    ("rotate_points", rf"by {_D} degrees around the axis {_V}{_ANY}index {_I}\b",
     ("angle", "axis", "index")),
    ("super_cell", rf"\bsize\w* (?:of )?{_I} ?{_TIMES} ?{_I} ?{_TIMES} ?{_I}\b",
     ("n1", "n2", "n3")),
)  # fmt: skip


def parse(sentence: str) -> tuple[str, dict[str, Any]] | None:
    """Read an action and its parameters; ``None`` where nothing is recognised.

    Returns
    -------
    tuple of str and dict
        Name of the action; indices from 0, lengths in Å, angles in degrees, vectors as lists.
    """
    text = " ".join(sentence[:2000].split())
    for action, pattern, names in _SENTENCES:
        match = re.search(pattern, text)
        if match is None:
            continue
        given = {
            name: _value(name, value) for name, value in zip(names, match.groups(), strict=True)
        }
        if None in given.values():
            continue
        if action.startswith("insert") and given.pop("from") == given["index2"]:
            given["index1"], given["index2"] = given["index2"], given["index1"]
        if action == "super_cell":
            given = {"counts": [given["n1"], given["n2"], given["n3"]]}
        return action, given
    return None


def _value(name: str, text: str) -> Any:
    if name in {"vector", "axis"}:
        numbers = re.findall(_D, text)
        return [float(number) for number in numbers] if len(numbers) == 3 else None
    if name == "symbol":
        return text
    if name == "inclusive":
        return text == "Including"
    return float(text) if name in {"distance", "radius", "angle"} else int(text)


def answer(text: str) -> str | None:
    """The reply to a question about atoms; ``None`` where the text is none.

    Where code is wanted it is written from the sentence; where the file itself is wanted, the one
    in the prompt comes back unchanged: no arithmetic is done here.
    """
    head, _, rest = text.partition("Action:")
    points = re.search(r"indices from 0: (\[\[[-+0-9.eE, \[\]]{1,2000}\]\])", head)
    if not rest or not (points or "CIF" in head):
        return None
    if "<code>" not in text:
        if points:
            return f"<answer>{points[1]}</answer>"
        cif = head.rpartition("<cif>")[2].partition("</cif>")[0]
        return f"<cif>{cif}</cif>" if cif.strip() else None
    steps = [parse(part) for part in rest.partition("\n")[0].split(" Then: ")]
    if None in steps:
        return None
    known = [step for step in steps if step is not None]
    if points:
        lines = [_step(f"points {action}", given) for action, given in known]
        code = _POINTS.format(points=points[1], steps="\n".join(lines))
    else:
        code = _PROGRAM.format(steps="\n".join(_step(*step) for step in known))
    return f"<answer><code>```python\n{code}\n```</code><name>edited</name></answer>"


_PROGRAM = """\
import numpy as np
from ase.io import read


def edited():
    atoms = read("structure.cif")
{steps}
    atoms.write("edited.cif")
    return {{"answer": open("edited.cif").read()}}"""

_POINTS = """\
import numpy as np


def edited():
    points = np.array({points}, dtype=float)
{steps}
    return {{"answer": points.tolist()}}"""

_TURN = """\
axis = np.array({axis}) / np.linalg.norm({axis})
cross = np.cross(np.eye(3), axis)
turn = np.radians({angle})
matrix = np.eye(3) + np.sin(turn) * cross + (1 - np.cos(turn)) * cross @ cross
"""

_STEPS: dict[str, str] = {
    "add": "atoms.append({symbol!r})\natoms.positions[-1] = {vector}",
    "change": "atoms.symbols[{index}] = {symbol!r}",
    "remove": "del atoms[{index}]",
    "move": "atoms.positions[{index}] += {vector}",
    "move_towards": (
        "way = atoms.positions[{index2}] - atoms.positions[{index1}]\n"
        "atoms.positions[{index1}] += {distance} * way / np.linalg.norm(way)"
    ),
    "insert_between": (
        "here = atoms.positions[{index1}].copy()\n"
        "way = atoms.positions[{index2}] - here\n"
        "atoms.append({symbol!r})\n"
        "atoms.positions[-1] = here + {distance} * way / np.linalg.norm(way)"
    ),
    "swap": (
        "symbols = atoms.get_chemical_symbols()\n"
        "symbols[{index1}], symbols[{index2}] = symbols[{index2}], symbols[{index1}]\n"
        "atoms.set_chemical_symbols(symbols)"
    ),
    "delete_below": (
        "atoms.wrap(eps=1e-9)\n"
        "height = atoms.positions[:, 2] - atoms.positions[{index}, 2]\n"
        "atoms = atoms[height > 1e-3] if {inclusive} else atoms[height >= -1e-3]"
    ),
    "rotate_around": (
        "around = atoms.get_distances({index}, range(len(atoms)), mic=True, vector=True)\n"
        "near = np.linalg.norm(around, axis=1) < {radius}\n"
        "near[{index}] = False\n"
        f"{_TURN}"
        "atoms.positions[near] = atoms.positions[{index}] + around[near] @ matrix.T"
    ),
    "points move": "points[{index}] += {vector}",
    "points move_towards": (
        "way = points[{index2}] - points[{index1}]\n"
        "points[{index1}] += {distance} * way / np.linalg.norm(way)"
    ),
    "points insert_point": (
        "way = points[{index2}] - points[{index1}]\n"
        "there = points[{index1}] + {distance} * way / np.linalg.norm(way)\n"
        "points = np.vstack([points, there])"
    ),
    "points rotate_points": (
        f"{_TURN}points = points[{{index}}] + (points - points[{{index}}]) @ matrix.T"
    ),
    "super_cell": "atoms = atoms.repeat({counts})",
}


def _step(action: str, given: dict[str, Any]) -> str:
    return "\n".join(f"    {line}" for line in _STEPS[action].format(**given).splitlines())
