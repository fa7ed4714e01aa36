"""An alloy of two halide perovskites."""

from pymatgen.analysis.alloys.core import AlloyPair
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    crystals, decorated = [], []
    for halide, edge in [("I", 6.231), ("Br", 5.816)]:
        crystal = Structure.from_spacegroup(
            "Pm-3m",
            Lattice.cubic(edge),
            ["Cs", "Sn", halide],
            [[0, 0, 0], [0.5, 0.5, 0.5], [0.5, 0.5, 0]],
        )
        with_charges = crystal.copy()
        with_charges.add_oxidation_state_by_element({"Cs": 1, "Sn": 2, halide: -1})
        crystals.append(crystal)
        decorated.append(with_charges)
    pair = AlloyPair.from_structures(
        structures=tuple(crystals),
        structures_with_oxidation_states=tuple(decorated),
        ids=("iodide", "bromide"),
        properties=({"m_n": 0.0713}, {"m_n": 0.1168}),
    )
    return {
        "alloying_elements": [pair.alloying_element_a, pair.alloying_element_b],
        "observer_elements": sorted(str(element) for element in pair.observer_elements),
        "alloying_oxidation_state": int(pair.alloy_oxidation_state),
        "space_group_numbers": [int(pair.spacegroup_intl_number_a), int(pair.spacegroup_intl_number_b)],
        "interpolated_electron_mass": float(pair.get_property_with_vegards_law(0.27, prop="m_n")),
    }
