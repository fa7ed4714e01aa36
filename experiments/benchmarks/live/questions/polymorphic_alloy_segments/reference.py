"""Structure types along an alloy of two oxides."""

import numpy as np
from pymatgen.analysis.alloys.core import AlloyPair, FormulaAlloyPair
from pymatgen.core import Lattice, Structure


def crystals_of(metal: str, cubic: float, blende: float, wurtzite: tuple[float, float]) -> dict:
    """Primitive cells of the oxide of a metal in three structure types."""
    face_centred = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    return {
        "rocksalt": Structure(cubic * face_centred, [metal, "O"], [[0, 0, 0], [0.5, 0.5, 0.5]]),
        "zincblende": Structure(blende * face_centred, [metal, "O"], [[0, 0, 0], [0.25, 0.25, 0.25]]),
        "wurtzite": Structure(
            Lattice.hexagonal(*wurtzite),
            [metal, metal, "O", "O"],
            [[1 / 3, 2 / 3, 0], [2 / 3, 1 / 3, 0.5], [1 / 3, 2 / 3, 0.3819], [2 / 3, 1 / 3, 0.8819]],
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
