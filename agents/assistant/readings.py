"""What several readers say of one structure file; runs inside the sandbox.

A value that an answer took from a parser is not confirmed by the same parser. So a file is read
by pymatgen, by ASE, and from its own text, each for itself; whoever compares leaves out the reader
that the code used. A reader that fails, or cannot represent the file, says nothing.
"""

from __future__ import annotations

import contextlib
import gzip
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

DENSITY = 1.66053906660  # g/cm^3 of one atomic mass unit per cubic angstrom
SYMPREC = 0.01  # angstrom
SAME_SITE = (
    0.005  # in fractions of the cell: coordinates truncated to three digits coincide
)
NEAR_SITES, REACH = 60, 6.0  # sites whose distances are listed, up to so many angstrom

Reading = dict[str, Any]


def read_all(name: str) -> dict[str, Reading]:
    """Readings by reader: ``volume`` (A^3), ``density`` (g/cm^3), ``composition``, and more."""
    kind = name.lower().removesuffix(".gz")
    readers: dict[str, Callable[[str], Reading]] = {
        "pymatgen": read_by_pymatgen,
        "ase": read_by_ase,
    }
    if kind.endswith((".cif", ".mcif")):
        readers["its own text"] = read_cif_text
    elif re.search(r"poscar|contcar|\.vasp$", kind):
        readers["its own text"] = read_poscar_text
    readings = {}
    with unpacked(name) as plain:
        for reader, read in readers.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with contextlib.suppress(
                    Exception
                ):  # a damaged file raises whatever it may
                    readings[reader] = read(plain)
    return readings


@contextlib.contextmanager
def unpacked(name: str) -> Iterator[str]:
    """The file, or what a gzipped one holds, under its own name."""
    if not name.lower().endswith(".gz"):
        yield name
        return
    with tempfile.TemporaryDirectory() as folder:
        base = re.split(r"[\\/]", name)[-1]
        plain = f"{folder}/{base[: -len('.gz')]}"
        with gzip.open(name, "rb") as packed, open(plain, "wb") as file:
            shutil.copyfileobj(packed, file, 1 << 20)
        yield plain


def read_by_pymatgen(name: str) -> Reading:
    """The structure as pymatgen reads it."""
    from pymatgen.core import Structure  # noqa: PLC0415 -- only where a file needs it

    structure = Structure.from_file(name)
    composition = structure.composition.element_composition
    reading: Reading = {
        "composition": {str(element): float(n) for element, n in composition.items()},
        "volume": float(structure.volume),
        "density": float(structure.density),
        "sites": len(structure),
        **dict(zip("abc", map(float, structure.lattice.abc), strict=True)),
    }
    if structure.is_ordered:
        numbers = [site.specie.Z for site in structure]
        cell = (structure.lattice.matrix, structure.frac_coords, numbers)
        reading |= _symmetry(cell)
    if structure.is_ordered and len(structure) <= NEAR_SITES:
        distances = structure.get_neighbor_list(REACH)[3]
        reading["distances"] = _distances(distances, reading)
    return reading


def read_by_ase(name: str) -> Reading:
    """The structure as ASE reads it; of a disordered one only the cell."""
    import ase.io  # noqa: PLC0415 -- only where a file needs it
    from ase.neighborlist import neighbor_list  # noqa: PLC0415

    atoms: Any = ase.io.read(name)
    volume = float(atoms.get_volume())
    lengths = map(float, atoms.cell.lengths())
    reading: Reading = {"volume": volume, **dict(zip("abc", lengths, strict=True))}
    occupancies = (atoms.info.get("occupancy") or {}).values()
    if any(share != 1 for site in occupancies for share in site.values()):
        return reading
    symbols = atoms.get_chemical_symbols()
    reading["composition"] = {s: float(symbols.count(s)) for s in sorted(set(symbols))}
    reading["density"] = float(atoms.get_masses().sum()) / volume * DENSITY
    reading["sites"] = len(atoms)
    reading |= _symmetry((atoms.cell[:], atoms.get_scaled_positions(), atoms.numbers))
    if len(atoms) <= NEAR_SITES:
        distances = neighbor_list("d", atoms, REACH)
        reading["distances"] = _distances(distances, reading)
    return reading


def _distances(distances: Any, reading: Reading) -> list[float]:
    """Each distance once, and last a length that none within the cell reaches."""
    longest = float(reading["a"] + reading["b"] + reading["c"])
    return [*sorted({round(float(d), 3) for d in distances}), longest]


def _symmetry(cell: Any) -> Reading:
    import spglib  # noqa: PLC0415 -- only where a file needs it

    dataset = spglib.get_symmetry_dataset(cell, symprec=SYMPREC)
    if dataset is None:
        return {}
    primitive_sites = len(set(map(int, dataset.mapping_to_primitive)))
    return {
        "symbol": str(dataset.international),
        "number": int(dataset.number),
        "primitive_sites": primitive_sites,
    }


def read_cif_text(name: str) -> Reading:
    """Cell, sites and symmetry operations of a CIF, put together here.

    ASE only takes the file apart. Images of a site that coincide within `SAME_SITE` are one site;
    occupancies count.
    """
    import numpy as np  # noqa: PLC0415 -- see above
    from ase.data import atomic_masses, atomic_numbers  # noqa: PLC0415
    from ase.io.cif import parse_cif  # noqa: PLC0415
    from ase.spacegroup.spacegroup import parse_sitesym  # noqa: PLC0415

    block = next(iter(parse_cif(name)))
    volume = float(block.get_cell().volume)
    operations = next(
        (
            block[tag]
            for tag in (
                "_space_group_symop_operation_xyz",
                "_symmetry_equiv_pos_as_xyz",
            )
            if tag in block
        ),
        None,
    )
    declared = block.get("_space_group_it_number") or block.get(
        "_symmetry_int_tables_number"
    )
    if operations is None and declared not in {None, 1}:
        return {"volume": volume}  # operations that only a table of groups could give
    rotations, translations = parse_sitesym(operations or ["x,y,z"])
    labels = block.get("_atom_site_type_symbol") or block["_atom_site_label"]
    occupancies = block.get("_atom_site_occupancy") or [1.0] * len(labels)
    coordinates = [block[f"_atom_site_fract_{axis}"] for axis in "xyz"]
    composition: dict[str, float] = {}
    for label, occupancy, *place in zip(labels, occupancies, *coordinates, strict=True):
        element = _element(str(label), atomic_numbers)
        images: list[Any] = []
        for rotation, translation in zip(rotations, translations, strict=True):
            image = np.asarray(rotation) @ np.asarray(place, float) + translation
            offsets = [image - other for other in images]
            if not any(np.abs(d - d.round()).max() < SAME_SITE for d in offsets):
                images.append(image)
        amount = len(images) * float(occupancy)
        composition[element] = composition.get(element, 0.0) + amount
    mass = sum(atomic_masses[atomic_numbers[e]] * n for e, n in composition.items())
    return {
        "volume": volume,
        "composition": composition,
        "density": float(mass) / volume * DENSITY,
    }


def _element(label: str, numbers: dict[str, int]) -> str:
    """The element that a type symbol or a label begins with (``Fe3+``, ``OH2``, ``CA1``)."""
    letters = re.match(r"[A-Za-z]{1,2}", label)
    if letters is None:
        raise ValueError(f"no element in {label!r}")
    symbol = letters[0].capitalize() if letters[0][1:].islower() else letters[0][0]
    if symbol not in numbers:
        symbol = symbol[0].upper()
    if symbol not in numbers:
        raise ValueError(f"no element in {label!r}")
    return symbol


def read_poscar_text(name: str) -> Reading:
    """Scale, vectors and counts at the head of a POSCAR."""
    import numpy as np  # noqa: PLC0415 -- see above
    from ase.data import atomic_masses, atomic_numbers  # noqa: PLC0415

    with open(name, encoding="utf-8", errors="replace") as file:
        lines = [file.readline().split() for _ in range(7)]
    scale = float(lines[1][0])
    vectors = np.array([row[:3] for row in lines[2:5]], dtype=float)
    volume = abs(float(np.linalg.det(vectors)))
    volume = -scale if scale < 0 else volume * scale**3
    symbols = lines[5] if not lines[5][0].isdigit() else []
    counts = [int(n) for n in (lines[6] if symbols else lines[5]) if n.isdigit()]
    reading: Reading = {"volume": volume, "sites": sum(counts)}
    if symbols and len(symbols) == len(counts):
        composition: dict[str, float] = {}
        for symbol, count in zip(symbols, counts, strict=True):
            element = symbol.partition("_")[0].partition("/")[0]
            composition[element] = composition.get(element, 0.0) + count
        masses = (atomic_masses[atomic_numbers[e]] * n for e, n in composition.items())
        reading["composition"] = composition
        reading["density"] = float(sum(masses)) / volume * DENSITY
    return reading


def read_vasprun_text(name: str) -> Reading:
    """Energies of the last ionic step, as the XML has them: free, without entropy, sigma -> 0."""
    energies: list[float] = []
    sites = 0
    for _, element in ElementTree.iterparse(name):  # noqa: S314 -- inside the sandbox
        if element.tag == "calculation":
            last = element.find("energy")
            if last is not None:
                energies = [float(item.text or "nan") for item in last.findall("i")]
            element.clear()
        elif element.tag == "atoms" and element.text:
            sites = int(element.text)
    reading: Reading = {"energy": energies}
    if sites:
        reading["energy_per_atom"] = [energy / sites for energy in energies]
    return reading


def nearest_sites(structure: Any) -> tuple[float, str] | None:
    """The shortest distance of sites as pymatgen reads them, angstrom, and which sites they are.

    ``None`` where none are within 1 angstrom.
    """
    first, second, _, distances = structure.get_neighbor_list(1.0)
    if len(distances) == 0:
        return None
    nearest = int(distances.argmin())
    pair = [structure[int(first[nearest])], structure[int(second[nearest])]]
    return float(distances[nearest]), " and ".join(site.species_string for site in pair)
