"""Electrochemical stability of a sulfide electrolyte against lithium."""

from pymatgen.analysis.phase_diagram import GrandPotentialPhaseDiagram, PhaseDiagram
from pymatgen.core import Composition, Element
from pymatgen.entries.computed_entries import ComputedEntry


def reference() -> dict:
    energies = {
        "Li": -1.904,
        "P": -5.413,
        "S": -4.127,
        "Li2S": -11.618,
        "Li3P": -13.712,
        "LiP": -8.021,
        "Li3P7": -46.41,
        "P2S5": -36.02,
        "P4S3": -35.12,
        "Li3PS4": -35.946,
        "Li7PS6": -59.03,
        "Li4P2S6": -53.38,
    }
    entries = {formula: ComputedEntry(formula, energy) for formula, energy in energies.items()}
    diagram = PhaseDiagram(entries.values())
    lithium = Element("Li")
    metal = diagram.el_refs[lithium].energy_per_atom
    low, high = diagram.get_chempot_range_stability_phase(Composition("Li3PS4"), lithium)[lithium]
    profile = diagram.get_element_profile(lithium, Composition("Li3PS4"))
    lithiated = [stage for stage in profile if stage["evolution"] > 0.01]
    pristine = [stage for stage in profile if abs(stage["evolution"]) < 0.01]
    steps = sorted(lithiated, key=evolution)
    onsets = [metal - stage["chempot"] for stage in pristine + steps[:-1]]
    grand = GrandPotentialPhaseDiagram(entries.values(), {lithium: metal - 1.1})
    electrolyte = [
        entry for entry in grand.all_entries if entry.original_entry is entries["Li3PS4"]
    ]
    products, instability = grand.get_decomp_and_e_above_hull(electrolyte[0])
    return {
        "stability_window": sorted([float(metal - low), float(metal - high)]),
        "reduction_voltages": sorted((float(value) for value in onsets), reverse=True),
        "lithium_uptake": [float(stage["evolution"]) for stage in steps],
        "driving_force": float(instability),
        "decomposition_fractions": {
            entry.original_entry.composition.reduced_formula: float(amount)
            for entry, amount in products.items()
        },
    }


def evolution(stage: dict) -> float:
    return stage["evolution"]
