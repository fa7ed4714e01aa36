"""Structure types along an alloy of two oxides."""

from pymatgen.analysis.alloys.core import AlloyPair, FormulaAlloyPair
from pymatgen.core import Lattice, Structure


def crystals_of(metal: str, cubic: float, blende: float, wurtzite: tuple[float, float]) -> dict:
    """The oxide of a metal in three structure types."""
    half, quarter = [0.5, 0.5, 0.5], [0.25, 0.25, 0.25]
    return {
        "rocksalt": Structure.from_spacegroup("Fm-3m", Lattice.cubic(cubic), [metal, "O"], [[0, 0, 0], half]),
        "zincblende": Structure.from_spacegroup(
            "F-43m", Lattice.cubic(blende), [metal, "O"], [[0, 0, 0], quarter]
        ),
        "wurtzite": Structure.from_spacegroup(
            "P6_3mc",
            Lattice.hexagonal(*wurtzite),
            [metal, "O"],
            [[1 / 3, 2 / 3, 0], [1 / 3, 2 / 3, 0.3819]],
        ),
    }


def reference() -> dict:
    """Compute the properties of the question."""
    oxides = {
        "Mg": crystals_of("Mg", 4.227, 4.592, (3.291, 5.071)),
        "Zn": crystals_of("Zn", 4.311, 4.618, (3.267, 5.229)),
    }
    above_hull = {
        "Mg": {"rocksalt": 0.0, "zincblende": 0.121, "wurtzite": 0.097},
        "Zn": {"rocksalt": 0.152, "zincblende": 0.008, "wurtzite": 0.017},
    }
    kinds = {}
    pairs = []
    for kind in ("rocksalt", "zincblende", "wurtzite"):
        ends = [oxides[metal][kind] for metal in ("Mg", "Zn")]
        decorated = [crystal.copy() for crystal in ends]
        for crystal in decorated:
            crystal.add_oxidation_state_by_element({"Mg": 2, "Zn": 2, "O": -2})
        energies = [{"energy_above_hull": above_hull[metal][kind]} for metal in ("Mg", "Zn")]
        pair = AlloyPair.from_structures(
            tuple(ends), tuple(decorated), (f"Mg-{kind}", f"Zn-{kind}"), tuple(energies)
        )
        kinds[pair.pair_id] = kind
        pairs.append(pair)
    alloy = FormulaAlloyPair.from_pairs(pairs)[0]
    wurtzite = pairs[2]
    return {
        "segment_pairs": [kinds[segment.pair_id] for segment in alloy.segments],
        "segment_boundaries": [float(segment.x_segment_start) for segment in alloy.segments[1:]],
        "wurtzite_volume_roots": [float(wurtzite.volume_cube_root_a), float(wurtzite.volume_cube_root_b)],
    }
