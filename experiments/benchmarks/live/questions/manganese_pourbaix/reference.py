"""Aqueous stability of manganese oxides and of a zinc manganese spinel."""

from pymatgen.analysis.pourbaix_diagram import IonEntry, PourbaixDiagram, PourbaixEntry
from pymatgen.core import Composition
from pymatgen.core.ion import Ion
from pymatgen.entries.computed_entries import ComputedEntry


def reference() -> dict:
    solids = {
        "Mn": 0.0,
        "MnO": -3.79,
        "MnO2": -4.85,
        "Mn2O3": -9.17,
        "Mn3O4": -13.36,
        "Mn(OH)2": -6.43,
        "Zn": 0.0,
        "ZnO": -3.34,
        "ZnMn2O4": -12.98,
    }
    ions = {
        "Mn+2": -2.38,
        "Mn+3": -0.87,
        "MnO4-": -4.66,
        "MnO4-2": -5.22,
        "HMnO2-": -5.27,
        "Zn+2": -1.54,
        "ZnOH+": -3.44,
        "HZnO2-": -4.77,
        "ZnO2-2": -4.02,
    }
    entries = {}
    for formula, energy in solids.items():
        entries[formula] = PourbaixEntry(
            ComputedEntry(Composition(formula), energy), entry_id=formula
        )
    for formula, energy in ions.items():
        entries[formula] = PourbaixEntry(
            IonEntry(Ion.from_formula(formula), energy), entry_id=formula
        )
    manganese = PourbaixDiagram(
        [entry for formula, entry in entries.items() if "Zn" not in formula],
        conc_dict={"Mn": 1e-5},
    )
    both = PourbaixDiagram(
        list(entries.values()),
        comp_dict={"Mn": 2 / 3, "Zn": 1 / 3},
        conc_dict={"Mn": 1e-5, "Zn": 1e-4},
        filter_solids=True,
    )
    acidic = both.find_stable_entry(7.0, 1.1)
    return {
        "n_stable_domains": len(manganese.stable_entries),
        "hausmannite_instability": float(
            manganese.get_decomposition_energy(entries["Mn3O4"], 4.2, 0.6)
        ),
        "oxidized_mixture": sorted(acidic.entry_id),
        "spinel_instability": float(
            both.get_decomposition_energy(entries["ZnMn2O4"], 4.2, 0.6)
        ),
    }
