"""Stabilities on a ternary convex hull and along a section between two compounds."""

from pymatgen.analysis.phase_diagram import CompoundPhaseDiagram, PhaseDiagram
from pymatgen.core import Composition
from pymatgen.entries.computed_entries import ComputedEntry


def reference() -> dict:
    energies = {
        "Li": -1.913,
        "Ti": -7.841,
        "O2": -9.862,
        "Li2O": -14.612,
        "Li2O2": -19.301,
        "TiO2": -27.313,
        "Ti2O3": -45.57,
        "Ti3O5": -72.95,
        "LiTiO2": -30.961,
        "LiTi2O4": -57.964,
        "Li2TiO3": -43.382,
        "Li4Ti5O12": -168.937,
    }
    entries = {formula: ComputedEntry(formula, energy) for formula, energy in energies.items()}
    diagram = PhaseDiagram(entries.values())
    decomposition = diagram.get_decomposition(Composition("Li3Ti4O9"))
    _, separation = diagram.get_decomp_and_phase_separation_energy(entries["LiTiO2"])
    section = CompoundPhaseDiagram(
        entries.values(),
        [Composition("Li2O"), Composition("TiO2")],
        normalize_terminal_compositions=True,
    )
    on_section = [
        entry for entry in section.all_entries if entry.original_entry is entries["Li4Ti5O12"]
    ]
    return {
        "energy_above_hull": float(diagram.get_e_above_hull(entries["LiTi2O4"])),
        "decomposition_fractions": {
            entry.composition.reduced_formula: float(amount)
            for entry, amount in decomposition.items()
        },
        "reaction_energy_from_neighbors": float(
            diagram.get_equilibrium_reaction_energy(entries["Li2TiO3"])
        ),
        "phase_separation_energy": float(separation),
        "section_formation_energy": float(section.get_form_energy_per_atom(on_section[0])),
    }
