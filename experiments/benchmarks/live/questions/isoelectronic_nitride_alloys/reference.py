"""Isoelectronic alloys in a system of nitrides."""

from itertools import combinations

from pymatgen.analysis.alloys.core import AlloyPair, AlloySystem
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    members = {"Sc": (4.519, 0.91), "Y": (4.894, 0.85), "La": (5.305, 0.62), "Cr": (4.163, 0.31)}
    crystals, decorated = {}, {}
    for metal, (edge, _) in members.items():
        crystals[metal] = Structure.from_spacegroup(
            "Fm-3m", Lattice.cubic(edge), [metal, "N"], [[0, 0, 0], [0.5, 0.5, 0.5]]
        ).get_primitive_structure()
        decorated[metal] = crystals[metal].copy()
        decorated[metal].add_oxidation_state_by_element({metal: 3, "N": -3})
    pairs = [
        AlloyPair.from_structures(
            structures=(crystals[one], crystals[other]),
            structures_with_oxidation_states=(decorated[one], decorated[other]),
            ids=(one, other),
            properties=({"band_gap": members[one][1]}, {"band_gap": members[other][1]}),
        )
        for one, other in combinations(members, 2)
    ]
    system = AlloySystem(ids=set(members), alloy_pairs=pairs)
    kept = system.systems_from_filter(lambda pair: pair.isoelectronic, origin="Sc")
    return {
        "n_pairs": len(system.alloy_pairs),
        "isoelectronic_pairs": sorted(
            "-".join(sorted([pair.alloying_element_a, pair.alloying_element_b]))
            for pair in system.alloy_pairs
            if pair.isoelectronic
        ),
        "isoelectronic_members": sorted(kept.ids),
        "scandium_nitride_volume_root": float(system.get_property("Sc", "volume_cube_root")),
    }
