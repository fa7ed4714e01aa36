"""Lithium hops in a spinel."""

from pymatgen.analysis.diffusion.neb.pathfinder import DistinctPathFinder
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    spinel = Structure.from_spacegroup(
        "Fd-3m:2",
        Lattice.cubic(8.374),
        ["Li", "Ti", "O"],
        [[0.125, 0.125, 0.125], [0.5, 0.5, 0.5], [0.2627, 0.2627, 0.2627]],
    ).get_primitive_structure()
    automatic = DistinctPathFinder(spinel, "Li", symprec=0.05)
    limited = DistinctPathFinder(spinel, "Li", max_path_length=6.2, symprec=0.05)
    hops = limited.get_paths()
    images = hops[0].get_structures(nimages=3, vac_mode=False)
    return {
        "max_path_length": float(automatic.max_path_length),
        "n_distinct_hops": len(hops),
        "hop_lengths": [float(hop.length) for hop in hops],
        "interstitial_formula": images[1].composition.reduced_formula,
    }
