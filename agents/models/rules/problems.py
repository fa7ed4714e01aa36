"""Sentences of solid-state problems, read into code: lattice models, k-points, structures.

This is what ``model=rules`` knows of QMBench: forms of sentences, and how such a thing is computed.
Numbers come from the sentence; nothing is computed here.
"""

from __future__ import annotations

import re

_N = r"([-+]?\d+(?:\.\d+)?)"
_LIST = r"([-+\d., ]{1,200})"
_ASKS = 'returns the dict {"answer": '
#: Prototype as a sentence says it -> name in ASE, and what stands in the formula.
_CRYSTALS = {
    "rock salt": "rocksalt", "zinc blende": "zincblende", "caesium chloride": "cesiumchloride",
    "fluorite": "fluorite",
}  # fmt: skip
_COMPOUND = (
    r"([A-Z][A-Za-z0-9]{0,20}) in the (rock salt|zinc blende|caesium chloride|fluorite|perovskite) "
    rf"structure, a = {_N} Å"
)

_HEAD = "import numpy as np\n\n\ndef solve():\n"
_WRITE = """
from io import StringIO
from ase.io import write
text = StringIO()
write(text, atoms, format="vasp", direct=True, sort=True)
return {"answer": text.getvalue()}"""
_CELL = """
from ase.build import bulk
atoms = bulk({formula!r}, {ase!r}, a={a}, cubic=True)"""
_PEROVSKITE = """
from ase import Atoms
from ase.formula import Formula
first, second, third = Formula({formula!r}).count()
at = [(0, 0, 0), (0.5, 0.5, 0.5), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)]
atoms = Atoms([first, second] + 3 * [third], scaled_positions=at, cell=3 * [{a}], pbc=True)"""
_CHERN = """
p, q, v, t, m = {p}, {q}, {v}, {t}, {m}
n = 300
k = 2 * np.pi * np.arange(n) / n
kx, ky = np.meshgrid(k, k, indexing="ij")
h = np.array([v * np.sin(p * kx), v * np.sin(q * ky), m + t * (np.cos(p * kx) + np.cos(q * ky))])
hx = np.array([v * p * np.cos(p * kx), 0 * kx, -t * p * np.sin(p * kx)])
hy = np.array([0 * kx, v * q * np.cos(q * ky), -t * q * np.sin(q * ky)])
solid = (h * np.cross(hx, hy, axis=0)).sum(axis=0) / (h**2).sum(axis=0) ** 1.5
return {{"answer": int(round(solid.sum() * (2 * np.pi / n) ** 2 / (4 * np.pi)))}}"""
_WINDING = """
k = np.linspace(0, 2 * np.pi, 20001)
h = sum(t * np.exp(1j * n * k) for n, t in {terms})
turned = np.angle(h[1:] / h[:-1]).sum()
return {{"answer": int(round(turned / (2 * np.pi)))}}"""
_CHAIN = """
energies, hoppings, below = [{energies}], [{hoppings}], {below}
bands = []
for k in np.linspace(0, np.pi, 2001):
    h = np.diag(np.array(energies, dtype=complex))
    for i, t in enumerate(hoppings):
        j = (i + 1) % len(energies)
        step = t * (np.exp(1j * k) if j == 0 else 1)
        h[i, j] += step
        h[j, i] += np.conj(step)
    bands.append(np.linalg.eigvalsh(h))
bands = np.array(bands)
return {{"answer": float(bands[:, below].min() - bands[:, below - 1].max())}}"""
_HONEYCOMB = """
one, two, three = sorted([{hoppings}])
least = max(0.0, three - one - two)  # the triangle of the hoppings closes, or it does not
return {{"answer": 2 * float(np.hypot({delta}, least))}}"""
_K_POINTS = """
import spglib
from io import StringIO
from ase.io import read
atoms = read(StringIO({poscar!r}), format="vasp")
cell = (atoms.cell[:], atoms.get_scaled_positions(), atoms.numbers)
mapping, _ = spglib.get_ir_reciprocal_mesh({mesh}, cell, is_shift=[0, 0, 0], symprec=1e-4)
return {{"answer": len(set(mapping.tolist()))}}"""
_STRAIN = """
atoms.set_cell(atoms.cell[:] @ np.diag(1 + np.array({strains}) / 100), scale_atoms=True)"""
_VACANCY = """
atoms = atoms.repeat({counts})
del atoms[atoms.get_chemical_symbols().index({element!r})]"""
_METAL = """
from ase.build import fcc100, fcc111
atoms = fcc{face}({metal!r}, size=(1, 1, {layers}), a={a}, vacuum={vacuum} / 2)"""
_TERMINATED = """
from ase.formula import Formula
names = list(Formula({formula!r}).count())
corner = "".join(sorted(Formula({ends!r}).count())) == "".join(sorted([names[0], names[2]]))
symbols, places = [], []
for layer in range({layers}):
    z = layer * {a} / 2
    if (layer % 2 == 0) == corner:
        symbols += [names[0], names[2]]
        places += [(0, 0, z), ({a} / 2, {a} / 2, z)]
    else:
        symbols += [names[1], names[2], names[2]]
        places += [({a} / 2, {a} / 2, z), ({a} / 2, 0, z), (0, {a} / 2, z)]
height = ({layers} - 1) * {a} / 2 + {vacuum}
atoms = Atoms(symbols, positions=places, cell=[{a}, {a}, height], pbc=True)"""


def answer(text: str) -> str | None:
    """The reply to a problem in the arm ``tool``; ``None`` where nothing is known of it."""
    if _ASKS not in text or "<answer>" not in text:
        return None
    question = text.partition(_ASKS)[0][-20_000:]
    body = _model(question) or _mesh(question) or _structure(question)
    if body is None:
        return None
    lines = "".join(f"    {line}\n" if line else "\n" for line in body.strip("\n").splitlines())
    return f"<answer><code>```python\n{_HEAD}{lines}```</code><name>solve</name></answer>"


def _model(text: str) -> str | None:
    """Of a lattice model."""
    if "Chern number of the lower band" in text and "sin(p kx)" in text:
        given = {name: re.search(rf"\b{name} = {_N}", text) for name in ("p", "q", "v", "t", "m")}
        if all(given.values()):
            return _CHERN.format(**{name: found[1] for name, found in given.items() if found})
    if "wind around the origin" in text and "exp(i n k)" in text:
        terms = [(int(n), float(t)) for n, t in re.findall(rf"t\((-?\d)\) = {_N}", text)]
        return _WINDING.format(terms=terms) if terms else None
    chain = re.search(
        rf"site energies {_LIST} eV and the hoppings {_LIST} eV.{{0,200}}?the (\d) lowest bands",
        text, re.DOTALL,
    )  # fmt: skip
    if chain and "A chain has" in text:
        return _CHAIN.format(energies=chain[1], hoppings=chain[2], below=chain[3])
    honeycomb = re.search(
        rf"honeycomb lattice has the site energies {_N} eV.{{0,80}}?the hoppings {_LIST} eV along",
        text, re.DOTALL,
    )  # fmt: skip
    if honeycomb:
        return _HONEYCOMB.format(delta=honeycomb[1], hoppings=honeycomb[2])
    return None


def _mesh(text: str) -> str | None:
    """Of a mesh of k-points, for a crystal that is given as a POSCAR."""
    mesh = re.search(r"Γ-centred (\d+) x (\d+) x (\d+) mesh", text)
    block = re.search(r"```\n(.{1,5000}?)```", text, re.DOTALL)
    if mesh is None or block is None:
        return None
    return _K_POINTS.format(poscar=block[1], mesh=[int(n) for n in mesh.groups()])


def _structure(text: str) -> str | None:
    """Of a structure that is described."""
    if "POSCAR" not in text:
        return None
    one = re.search(_COMPOUND, text)
    cell = ""
    if one is not None and one[2] == "perovskite":
        cell = _PEROVSKITE.format(formula=one[1], a=one[3])
    elif one is not None:
        cell = _CELL.format(formula=one[1], ase=_CRYSTALS[one[2]], a=one[3])
    if "a slab of" in text:
        edit = _slab(text, one)
        cell = cell if one else "\n"
    elif "supercell" in text:
        edit = _vacancy(text)
    elif "strained" in text:
        strains = [float(x) for x in re.findall(rf"{_N} % along [xyz]", text)]
        edit = _STRAIN.format(strains=strains) if len(strains) == 3 else None
    else:
        edit = "" if "conventional cubic cell" in text else None
    return None if edit is None or not cell else cell + edit + _WRITE


def _slab(text: str, one: re.Match[str] | None) -> str | None:
    layers = re.search(r"with (\d+) atomic layers parallel to \((\d{3})\)", text)
    vacuum = re.search(rf"{_N} Å of vacuum", text)
    if layers is None or vacuum is None:
        return None
    metal = re.search(rf"fcc ([A-Z][a-z]?), a = {_N} Å", text)
    if metal is not None and layers[2] in {"100", "111"}:
        return _METAL.format(
            face=layers[2], metal=metal[1], a=metal[2], layers=layers[1], vacuum=vacuum[1]
        )
    ends = re.search(r"terminated by (\w{1,20}) on both sides", text)
    if one is None or one[2] != "perovskite" or ends is None:
        return None
    return _TERMINATED.format(
        formula=one[1], ends=ends[1], a=one[3], layers=layers[1], vacuum=vacuum[1]
    )


def _vacancy(text: str) -> str | None:
    counts = re.search(r"the (\d) x (\d) x (\d) supercell", text)
    gone = re.search(r"one ([A-Z][a-z]?) atom is removed", text)
    if counts is None or gone is None:
        return None
    return _VACANCY.format(counts=tuple(int(n) for n in counts.groups()), element=gone[1])
