"""Says what is in input files; runs inside the sandbox, for a file is as untrusted as a result.

Standard library, and the materials libraries of the environment where they are needed. What a
parser warns of is handed over as well: a wrong value often begins there.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from agents.assistant.readings import (
    nearest_sites,
    read_all,
    read_vasprun_text,
    unpacked,
)
from agents.assistant.warned import ABOUT_CODE

LINES, COLUMNS, LISTED = 6, 30, 40  # of a text, of a table, of a folder
WIDTH = 160  # characters of a line
SITES = 400  # of a structure that is drawn
LOOKED_AT = 8  # files of a folder
BYTES = 64 << 20  # of a file that is parsed
WARNED, WARNING = 6, 300  # warnings of a parser, characters of one
_STRUCTURE = re.compile(
    r"(POSCAR|CONTCAR|\.cif$|\.vasp$|\.xsf$|\.cssr$|\.res$|\.poscar$|\.mcif$)",
    re.IGNORECASE,
)


def summarise(names: list[str]) -> dict[str, dict[str, Any]]:
    """Kind, summary and, of a structure, cell, sites and readings, by the name of the input."""
    return {name: _input(name) for name in names}


def _input(name: str) -> dict[str, Any]:
    if os.path.isdir(name):
        return _folder(name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        about = _file(name)
    messages = warnings_of(caught)
    if messages:
        about.setdefault("facts", {})["warnings"] = messages
    return about


def warnings_of(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    """Warnings about values, each once, on one line."""
    messages = [
        " ".join(str(warning.message).split())[:WARNING]
        for warning in caught
        if not issubclass(warning.category, ABOUT_CODE)
    ]
    return list(dict.fromkeys(messages))[:WARNED]


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
    plain = base.lower().removesuffix(".gz")
    readers: tuple[tuple[Any, Callable[[str], dict[str, Any]]], ...] = (
        (_STRUCTURE.search(plain), _structure),
        (re.search(r"vasprun.*\.xml$", plain), _vasprun),
        (base.lower().endswith((".csv", ".tsv")), _table),
        (base.lower().endswith(".json"), _json),
    )
    for matches, read in readers:
        if not matches:
            continue
        try:
            return read(name)
        except Exception as error:  # noqa: BLE001 -- a damaged file raises whatever it may
            reason = f"{type(error).__name__}: {error}"[:WIDTH]
            note = f"looks like {read.__name__[1:]}, but: {reason}"
            return {**_text(name), "note": note}
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
    facts: dict[str, Any] = {
        "readings": read_all(name),
        "nearest": nearest_sites(structure),
    }
    if structure.is_ordered and len(structure) <= SITES:
        with contextlib.suppress(Exception):  # sites that overlap have no symmetry
            analyzer = SpacegroupAnalyzer(structure)
            symbol = analyzer.get_space_group_symbol()
            number = analyzer.get_space_group_number()
            said.insert(2, f"space group {symbol} ({number}, symprec 0.01)")
        facts["species"] = [site.specie.symbol for site in structure]
        facts["names"] = {
            str(e): e.long_name for e in structure.composition.element_composition
        }
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
    energy = float(run.final_energy)
    formula, steps = run.final_structure.composition.formula, len(run.ionic_steps)
    said = (
        f"VASP run of {formula}, {steps} ionic steps, "
        f"final energy {energy:.6f} eV, converged: {run.converged}"
    )
    with unpacked(name) as plain:
        readings = {"its own text": read_vasprun_text(plain)}
    return {"kind": "vasprun", "summary": said, "facts": {"readings": readings}}


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
