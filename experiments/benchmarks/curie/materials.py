"""Made papers about calculations (``dft``) and about measured properties (``mpve``)."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from experiments.benchmarks.curie.prose import Made, name, names

#: Elements that ASE's EMT knows, with their usual lattice constants in Å: made cells are near them.
_METALS = {"Al": 4.05, "Ni": 3.52, "Cu": 3.61, "Pd": 3.89, "Ag": 4.09, "Pt": 3.92, "Au": 4.08}
_FULL = {"Al": "aluminium", "Ni": "nickel", "Cu": "copper", "Pd": "palladium", "Ag": "silver",
         "Pt": "platinum", "Au": "gold"}  # fmt: skip
_FUNCTIONALS = ("PBE", "PBEsol", "RPBE", "LDA", "SCAN", "BLYP", "PW91", "revPBE")
_SOFTWARE = ("VASP", "Quantum ESPRESSO", "CASTEP", "GPAW", "ABINIT", "CP2K")

_SCRIPT = """\
from ase.build import bulk, fcc111
from ase.calculators.emt import EMT


def energies():
    structures = {{
{built}
    }}
    found = {{}}
    for label, atoms in structures.items():
        atoms.calc = EMT()
        found[label] = float(atoms.get_potential_energy())
    return found
"""
#: What the archive has beside the calculations: inputs and settings, each as JSON.
_INPUTS = """\
import json


class StructureMetadata(dict):
    parse_raw = staticmethod(json.loads)


class DFTParameters(dict):
    parse_raw = staticmethod(json.loads)


{parsed}
"""


def dft(rng: Random) -> Made:
    """A paper with structures, settings and energies; with values that are not its own."""
    metals = rng.sample(sorted(_METALS), rng.randint(2, 5))
    labels = names(rng, len(metals))
    structures, built, evidence = [], [], []
    for number, (metal, label) in enumerate(zip(metals, labels, strict=True), 1):
        a = round(_METALS[metal] * rng.uniform(0.98, 1.02), 3)
        wrong = round(a * rng.uniform(1.03, 1.06), 3)
        common = {
            "id": f"structure_metadata_{number}", "common_name": f"{label} cell",
            "scientific_name": _FULL[metal], "composition": metal, "lattice_a": f"{a} Å",
        }  # fmt: skip
        if rng.random() < 0.5:
            n = rng.randint(1, 3)
            structures.append(common | {
                "type": "bulk crystal structure", "supercell": f"{n}x{n}x{n}",
                "space group": "Fm-3m",
            })  # fmt: skip
            built.append(
                f'        "{label}": bulk("{metal}", "fcc", a={a}, cubic=True).repeat({n}),'
            )
            what = (
                f"a {n}x{n}x{n} supercell of the conventional cell of fcc {_FULL[metal]} "
                f"({metal}, space group Fm-3m)"
            )
        else:
            layers, vacuum = rng.randint(3, 5), rng.randint(6, 12)
            structures.append(common | {
                "type": "slab", "supercell": "2x2x1", "orientation": "(111)",
                "vacuum_z": f"{vacuum} Å", "description": f"{layers} layers",
            })  # fmt: skip
            built.append(
                f'        "{label}": fcc111("{metal}", size=(2, 2, {layers}), a={a}, '
                f"vacuum={vacuum}),"
            )
            what = (
                f"a slab of {layers} layers of fcc {_FULL[metal]} ({metal}) with orientation (111) "
                f"in a 2x2x1 supercell with {vacuum} Å of vacuum along z on each side"
            )
        evidence.append(
            f"The {label} cell is {what}. A first choice of {wrong} Å for its lattice constant was "
            f"abandoned; all results are for a = {a} Å."
        )
    settings, told = _settings(rng)
    other = name(rng)
    evidence += [
        *told,
        (f"For comparison, the {other} group used {rng.choice(_SOFTWARE)} with a cutoff of "
        f"{rng.randrange(250, 300, 5)} eV and a {rng.randint(13, 17)}x1x1 mesh; none of their "
        "settings were used here."),
        "Convergence was tested with cutoffs of 210, 230 and 250 eV, which were too low to keep.",
        "As a check that can be repeated anywhere, the total energy of each final structure, as "
        "given and without any relaxation, was also computed with ASE's calculator EMT; cells were "
        "built with ase.build.bulk (conventional cubic cells, then repeated) and "
        "ase.build.fcc111, and are labelled "
        + ", ".join(labels[:-1]) + f" and {labels[-1]}.",
    ]  # fmt: skip
    parsed = "\n".join(
        f"{kind.lower()}_{number} = {kind}.parse_raw({json.dumps(each, ensure_ascii=False)!r})"
        for kind, listed in (("StructureMetadata", structures), ("DFTParameters", settings))
        for number, each in enumerate(listed, 1)
    )
    script = _SCRIPT.format(built="\n".join(built))
    whole = f"{_INPUTS.format(parsed=parsed)}\n{script}"
    record = {
        "code": f"# Reproduces the calculations of the paper.\n{whole}",
        "no_header_code": whole,
        "graph_as_text": " -> ".join(["structures", "energies", *labels]),
    }
    return Made(
        f"Total energies of {name(rng)} model cells", evidence, record, {"reference": script}
    )


def _settings(rng: Random) -> tuple[list[dict[str, Any]], list[str]]:
    """Sets of settings as dicts and as paragraphs."""
    kinds = rng.sample(("relaxation", "total energy", "density of states", "band structure"),
                       rng.randint(1, 4))  # fmt: skip
    found, told = [], []
    for kind in kinds:
        k, cutoff = rng.randint(3, 12), rng.randrange(305, 700, 5)
        exponent, force = rng.randint(5, 8), rng.choice((0.01, 0.02, 0.03, 0.05))
        relaxed, spin = kind == "relaxation", rng.random() < 0.5
        software, functional = rng.choice(_SOFTWARE), rng.choice(_FUNCTIONALS)
        each = {
            "function_name": kind, "software": software, "functional": functional,
            "k-points": f"[{k},{k},{k}]", "energy_cutoff": f"{cutoff} eV",
            "energy_convergence": f"1e-{exponent} eV", "relaxed_nuclei": float(relaxed),
            "relaxed_unit_cell": 0.0, "spin": float(spin),
        }  # fmt: skip
        if relaxed:
            each["force_convergence"] = f"{force} eV/Å"
        found.append(each)
        moved = (
            f"nuclei were relaxed until forces fell below {force} eV/Å, at fixed cell"
            if relaxed
            else "neither nuclei nor cell were relaxed"
        )
        told.append(
            f"The {kind} was computed with {software} and the functional {functional}, "
            f"{'with' if spin else 'without'} spin polarisation, on a {k}x{k}x{k} k-point mesh "
            f"with a cutoff of {cutoff} eV; the energy was converged to 1e-{exponent} eV and "
            f"{moved}."
        )
    return found, told


#: Property, synonym, unit, another unit with its factor, range of values; trivia last.
_PROPERTIES: tuple[tuple[str, str, str, str, float, float, float, bool], ...] = (
    ("band gap", "optical gap", "eV", "meV", 1000.0, 0.4, 6.5, False),
    ("refractive index", "index of refraction", "", "", 1.0, 1.3, 3.6, False),
    ("hardness", "indentation hardness", "GPa", "MPa", 1000.0, 2.0, 40.0, False),
    ("density", "mass density", "g/cm3", "kg/m3", 1000.0, 2.0, 11.0, False),
    ("Curie temperature", "ordering temperature", "K", "", 1.0, 60.0, 900.0, False),
    ("thickness", "film thickness", "nm", "Å", 10.0, 15.0, 400.0, True),
    ("annealing temperature", "temperature of the anneal", "K", "", 1.0, 500.0, 1300.0, True),
)


def mpve(rng: Random) -> Made:
    """A paper with values in prose and in a table, some of them repeated in other units."""
    record: list[dict[str, Any]] = []
    prose: list[str] = []
    rows: list[str] = []
    for material in names(rng, rng.randint(2, 4)):
        compound = f"{material}ite"
        # A band gap in every paper: the variant `specific` asks for nothing else.
        chosen = [_PROPERTIES[0], *rng.sample(_PROPERTIES[1:], rng.randint(2, 4))]
        for prop, synonym, unit, other, factor, low, high, trivia in chosen:
            digits = 0 if high > 50 else 2
            value = round(rng.uniform(low, high), digits)
            spread = rng.random() < 0.3
            top = round(value * 1.1, digits) if spread else value
            texts = [f"{number:.{digits}f}" for number in (value, top)]
            shown = f"{texts[0]} to {texts[1]}" if spread else texts[0]
            if rng.random() < 0.4:
                where = "Table 1"
                rows.append(f"{compound} & {prop} & {shown} & {unit or '-'} \\\\")
            else:
                term = synonym if rng.random() < 0.3 else prop
                where = f"The {term} of our {compound} samples is {shown} {unit}".strip() + "."
                prose.append(where)
            if other and rng.random() < 0.4:
                again = " to ".join(f"{float(text) * factor:g}" for text in dict.fromkeys(texts))
                prose.append(
                    f"In other units, the {prop} of {compound} stated in this paper is "
                    f"{again} {other}."
                )
            record.append({
                "material": compound, "material_descriptor": "own samples", "property_name": prop,
                "property_descriptor": "", "low_value": texts[0], "high_value": texts[1],
                "value_units": unit, "value_source_passage": where, "trivia": trivia,
                "synonyms": synonym, "index": len(record), "paper_id": "made",
            })  # fmt: skip
    rng.shuffle(prose)
    stranger = name(rng)
    prose.append(
        f"Others report a band gap of {rng.uniform(7, 9):.2f} eV for {stranger}ite, of which we "
        "have no samples."
    )
    table = "\n".join(
        ["\\begin{table}", "\\caption{Table 1: properties of our samples}",
         "\\begin{tabular}{llll}", "material & property & value & unit \\\\ \\hline", *rows,
         "\\end{tabular}", "\\end{table}"]
    )  # fmt: skip
    evidence = [*prose[: len(prose) // 2], *([table] if rows else []), *prose[len(prose) // 2 :]]
    return Made(f"Properties of {name(rng)} compounds", evidence, record)
