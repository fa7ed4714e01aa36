"""The alloy between two zincblende selenides."""

from pymatgen.analysis.alloys.core import AlloyPair
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    crystals, decorated = [], []
    for cation, edge in [("Zn", 5.671), ("Cd", 6.063)]:
        crystal = Structure.from_spacegroup(
            "F-43m", Lattice.cubic(edge), [cation, "Se"], [[0, 0, 0], [0.25, 0.25, 0.25]]
        )
        with_charges = crystal.copy()
        with_charges.add_oxidation_state_by_element({cation: 2, "Se": -2})
        crystals.append(crystal)
        decorated.append(with_charges)
    pair = AlloyPair.from_structures(
        structures=tuple(crystals),
        structures_with_oxidation_states=tuple(decorated),
        ids=("zinc", "cadmium"),
        properties=({"band_gap": 2.694, "m_n": 0.137}, {"band_gap": 1.663, "m_n": 0.112}),
    )
    return {
        "alloying_species": [pair.alloying_species_a, pair.alloying_species_b],
        "volume_cube_roots": [float(pair.volume_cube_root_a), float(pair.volume_cube_root_b)],
        "vegard_band_gap": float(pair.get_property_with_vegards_law(0.37, "band_gap")),
        "alloy_formula": pair.alloy_formula,
    }
