"""Reactions at the interface of a cathode with lithium sulfide, closed and open to lithium."""

from pymatgen.analysis.interface_reactions import (
    GrandPotentialInterfacialReactivity,
    InterfacialReactivity,
)
from pymatgen.analysis.phase_diagram import GrandPotentialPhaseDiagram, PhaseDiagram
from pymatgen.core import Composition, Element
from pymatgen.entries.computed_entries import ComputedEntry


def reference() -> dict:
    energies = {
        "Li": -1.908,
        "Co": -7.094,
        "S": -4.121,
        "O2": -9.874,
        "Li2O": -14.41,
        "Li2O2": -19.2,
        "Li2S": -11.94,
        "CoO": -14.43,
        "Co3O4": -50.13,
        "CoO2": -19.67,
        "LiCoO2": -25.83,
        "CoS": -12.31,
        "CoS2": -16.72,
        "Co9S8": -105.6,
        "SO2": -17.43,
        "SO3": -23.3,
        "Li2SO3": -33.9,
        "Li2SO4": -42.47,
        "CoSO4": -39.42,
    }
    entries = [ComputedEntry(formula, energy) for formula, energy in energies.items()]
    diagram = PhaseDiagram(entries)
    charged = InterfacialReactivity(
        Composition("CoO2"),
        Composition("Li2S"),
        diagram,
        norm=True,
        use_hull_energy=False,
    )
    kinks = charged.get_kinks()
    fraction, energy = charged.minimum
    strongest = min(kinks, key=kink_energy)
    products = [composition.reduced_formula for composition in strongest[3].products]

    lithium = Element("Li")
    metal = diagram.el_refs[lithium].energy_per_atom
    grand = GrandPotentialPhaseDiagram(entries, {lithium: metal - 2.05})
    opened = GrandPotentialInterfacialReactivity(
        Composition("LiCoO2"),
        Composition("Li2S"),
        grand,
        pd_non_grand=diagram,
        include_no_mixing_energy=True,
        norm=True,
        use_hull_energy=False,
    )
    no_mixing = {}
    for label, value in opened.get_no_mixing_energy():
        no_mixing[label.split()[0]] = float(value)
    return {
        "n_kinks": len(kinks),
        "strongest_mixing_fraction": float(fraction),
        "strongest_reaction_energy": float(energy),
        "strongest_reaction_products": sorted(products),
        "open_reaction_energies": [float(opened.minimum[1]), no_mixing["Li2S"]],
    }


def kink_energy(kink: tuple) -> float:
    return kink[2]
