"""Says what is in input files; runs inside the sandbox, for a file is as untrusted as a result.

Standard library, and the materials libraries of the environment where they are needed.
"""

from __future__ import annotations

import csv
import itertools
import json
import os
import re
import warnings
from typing import Any

LINES, COLUMNS, LISTED = 6, 30, 40  # of a text, of a table, of a folder
WIDTH = 160  # characters of a line
SITES = 400  # of a structure that is drawn
NEAR, REACH = (
    60,
    6.0,
)  # sites of a structure whose distances are listed, up to so many Å
LOOKED_AT = 8  # files of a folder
BYTES = 64 << 20  # of a file that is parsed
_STRUCTURE = re.compile(
    r"(POSCAR|CONTCAR|\.cif$|\.vasp$|\.xsf$|\.cssr$|\.res$|\.poscar$|\.mcif$)",
    re.IGNORECASE,
)


def summarise(names: list[str]) -> dict[str, dict[str, Any]]:
    """Kind, summary and, of a structure, cell and sites, by the name of the input."""
    warnings.simplefilter("ignore")
    return {
        name: _folder(name) if os.path.isdir(name) else _file(name) for name in names
    }


def _folder(name: str) -> dict[str, Any]:
    found = sorted(
        os.path.join(top, each) for top, _, names in os.walk(name) for each in names
    )
    lines = [f"{path} ({os.path.getsize(path)} bytes)" for path in found[:LISTED]]
    if len(found) > LISTED:
        lines.append(f"... {len(found) - LISTED} more")
    chosen = [path for path in found if _STRUCTURE.search(path)][:LOOKED_AT]
    lines += [f"{path}: {_file(path)['summary']}" for path in chosen]
    return {"kind": "folder", "summary": f"{len(found)} files\n" + "\n".join(lines)}


def _file(name: str) -> dict[str, Any]:
    base = os.path.basename(name)
    if os.path.getsize(name) > BYTES:
        return {"kind": "file", "summary": "too large to be looked at"}
    for test, read in (
        (_STRUCTURE.search(base), _structure),
        (re.search(r"vasprun.*\.xml$", base, re.IGNORECASE), _vasprun),
        (base.lower().endswith((".csv", ".tsv")), _table),
        (base.lower().endswith(".json"), _json),
    ):
        if test:
            try:
                return read(name)
            except Exception as error:  # noqa: BLE001 -- a damaged file raises whatever it may
                said = f"{type(error).__name__}: {error}"[:WIDTH]
                return {
                    **_text(name),
                    "note": f"looks like {read.__name__[1:]}, but: {said}",
                }
    return _text(name)


def _structure(name: str) -> dict[str, Any]:
    from pymatgen.core import Structure  # noqa: PLC0415 -- only where a file needs it
    from pymatgen.symmetry.analyzer import SpacegroupAnalyzer  # noqa: PLC0415

    structure = Structure.from_file(name)
    a, b, c = structure.lattice.abc
    angles = "/".join(f"{angle:.2f}" for angle in structure.lattice.angles)
    said = [
        structure.composition.formula,
        f"{len(structure)} sites",
        f"a={a:.4f} b={b:.4f} c={c:.4f} Å, angles {angles}°",
        "ordered" if structure.is_ordered else "disordered",
    ]
    facts = {
        "density": float(structure.density),
        "volume": structure.volume,
        "sites": len(structure),
        "formula": structure.composition.reduced_formula,
        "a": a,
        "b": b,
        "c": c,
    }
    if structure.is_ordered and len(structure) <= SITES:
        analyzer = SpacegroupAnalyzer(structure)
        symbol, number = (
            analyzer.get_space_group_symbol(),
            analyzer.get_space_group_number(),
        )
        said.insert(2, f"space group {symbol} ({number}, symprec 0.01)")
        facts |= {"symbol": symbol, "number": number}
        facts["species"] = [site.specie.symbol for site in structure]
        facts["names"] = {
            str(e): e.long_name for e in structure.composition.element_composition
        }
    if (
        len(structure) <= NEAR
    ):  # and, as the last one, what no distance within the cell reaches
        near = {round(float(d), 3) for d in structure.get_neighbor_list(REACH)[3]}
        facts["distances"] = [*sorted(near), a + b + c]
    found: dict[str, Any] = {
        "kind": "structure",
        "summary": ", ".join(said),
        "facts": facts,
    }
    if len(structure) <= SITES:
        found["cell"] = structure.lattice.matrix.tolist()
        found["species"] = [site.species_string for site in structure]
        found["fractions"] = structure.frac_coords.tolist()
    return found


def _vasprun(name: str) -> dict[str, Any]:
    from pymatgen.io.vasp import Vasprun  # noqa: PLC0415 -- see above

    run = Vasprun(
        name,
        parse_dos=False,
        parse_eigen=False,
        parse_potcar_file=False,
        exception_on_bad_xml=False,
    )
    energy, sites = float(run.final_energy), len(run.final_structure)
    formula, steps = run.final_structure.composition.formula, len(run.ionic_steps)
    said = (
        f"VASP run of {formula}, {steps} ionic steps, "
        f"final energy {energy:.6f} eV, converged: {run.converged}"
    )
    facts = {"energy": energy, "energy_per_atom": energy / sites}
    return {"kind": "vasprun", "summary": said, "facts": facts}


def _table(name: str) -> dict[str, Any]:
    with open(name, newline="", encoding="utf-8", errors="replace") as file:
        start = file.read(8192)
        file.seek(0)
        separator = csv.Sniffer().sniff(start, delimiters=",;\t ").delimiter
        rows = csv.reader(file, delimiter=separator)
        head = next(rows)
        first = list(itertools.islice(rows, 3))
        count = len(first) + sum(1 for _ in rows)
    columns = ", ".join(head[:COLUMNS])[: 4 * WIDTH]
    shown = "\n".join(separator.join(row)[:WIDTH] for row in first)
    summary = f"{count} rows, separator {separator!r}, columns: {columns}\nfirst rows:\n{shown}"
    return {"kind": "table", "summary": summary}


def _json(name: str) -> dict[str, Any]:
    with open(name, encoding="utf-8") as file:
        found = json.load(file)
    if isinstance(found, dict):
        module, cls = found.get("@module"), found.get("@class")
        what = f"{module}.{cls} as a dict" if module and cls else "object"
        keys = ", ".join(map(str, list(found)[:COLUMNS]))[: 4 * WIDTH]
        return {"kind": "json", "summary": f"{what} with keys: {keys}"}
    length = len(found) if isinstance(found, list) else 1
    return {"kind": "json", "summary": f"{type(found).__name__} of {length}"}


def _text(name: str) -> dict[str, Any]:
    with open(name, "rb") as file:
        start = file.read(8192)
    if b"\0" in start:
        return {"kind": "binary", "summary": "no text"}
    lines = start.decode("utf-8", "replace").splitlines()[:LINES]
    shown = "\n".join(line[:WIDTH] for line in lines)
    return {"kind": "text", "summary": f"first lines:\n{shown}"}
