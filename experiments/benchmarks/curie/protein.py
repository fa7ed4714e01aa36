"""Made structures of proteins (``pdb``): a helix backbone as ATOM records, with the usual traps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

from experiments.benchmarks.curie.prose import Made, Position, name

RESIDUES = {
    "A": "ALA", "R": "ARG", "N": "ASN", "D": "ASP", "C": "CYS", "Q": "GLN", "E": "GLU", "G": "GLY",
    "H": "HIS", "I": "ILE", "L": "LEU", "K": "LYS", "M": "MET", "F": "PHE", "P": "PRO", "S": "SER",
    "T": "THR", "W": "TRP", "Y": "TYR", "V": "VAL", "X": "UNK",
}  # fmt: skip
SHORTEST, LONGEST = 20, 200
#: Words of the records of one residue, about.
_WORDS = 50
#: Cylindrical coordinates (radius in Å, degrees, height in Å) of the backbone of a residue.
_BACKBONE = (("N", 1.55, -28.0, -0.9), ("CA", 2.28, 0.0, 0.0), ("C", 1.66, 26.0, 1.1),
             ("O", 2.0, 24.0, 2.3))  # fmt: skip


def pdb(rng: Random, words: int, position: Position) -> Made:
    """A chain whose length grows with ``words``; beyond that, remarks and water pad the file.

    Chains of one paper begin alike whatever their length: 20 to 200 residues with a run of one
    residue, an unknown residue, a gap in the numbering, and an atom in two places.
    """
    letters = "".join(rng.choice(sorted(set(RESIDUES) - {"X"})) for _ in range(LONGEST))
    run, unknown = rng.randint(2, 8), rng.randint(10, SHORTEST - 2)
    letters = letters[:run] + letters[run] * rng.randint(2, 5) + letters[run:]
    letters = letters[:unknown] + "X" + letters[unknown:]
    gap, doubled, first = rng.randint(5, 15), rng.randint(0, 15), rng.randint(1, 40)
    title = f"{name(rng)} peptide"
    sequence = letters[: max(SHORTEST, min(LONGEST, words // _WORDS))]
    chain = list(_chain(sequence, first, gap, doubled))
    left = words - sum(len(line.split()) for line in chain)
    padding = max(0, left // 11)
    share = {"front": 0.0, "middle": 0.5, "end": 1.0, "spread": 0.5}[position]
    before = round(padding * share)
    remarks = [
        "REMARK 300 THIS REMARK HOLDS NOTHING ABOUT THE SEQUENCE OF THE CHAIN"
        for _ in range(before)
    ]
    waters = [
        _record("HETATM", len(chain) + n, "O", " ", "HOH", 1001 + n,
                (rng.uniform(-30, 30), rng.uniform(-30, 30), rng.uniform(-30, 30)))
        for n in range(padding - before)
    ]  # fmt: skip
    lines = [f"TITLE     {title.upper()}", *remarks, *chain, "TER", *waters, "END"]
    return Made(title, ["\n".join(chain)], {"sequence": sequence}, text="\n".join(lines))


def _chain(sequence: str, first: int, gap: int, doubled: int) -> Iterator[str]:
    serial = 1
    for place, letter in enumerate(sequence):
        number = first + place + (7 if place >= gap else 0)  # the chain is broken there
        for atom, radius, turn, height in _BACKBONE:
            angle = math.radians(100.0 * place + turn)
            point = radius * math.cos(angle), radius * math.sin(angle), height + 1.5 * place
            for other in "AB" if place == doubled and atom == "CA" else " ":
                shift = 0.3 * (other == "B")
                moved = (point[0] + shift, point[1], point[2])
                yield _record("ATOM", serial, atom, other, RESIDUES[letter], number, moved)
                serial += 1


def _record(  # noqa: PLR0917 -- the columns of a record
    kind: str, serial: int, atom: str, other: str, residue: str, number: int,
    point: tuple[float, float, float],
) -> str:  # fmt: skip
    x, y, z = point
    share = 1.0 if other == " " else 0.5
    return (
        f"{kind:<6}{serial:>5}  {atom:<3}{other}{residue} A{number:>4}    "
        f"{x:8.3f}{y:8.3f}{z:8.3f}{share:6.2f}{20.0:6.2f}          {atom[0]:>2}"
    )
