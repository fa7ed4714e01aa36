"""Candidates for interstitial sites in a perovskite."""

import numpy as np
from pymatgen.analysis.defects.utils import cluster_nodes, remove_collisions
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    host = Structure.from_spacegroup(
        "P4/mmm",
        Lattice.tetragonal(3.917, 4.142),
        ["Pb", "Ti", "O", "O"],
        [[0, 0, 0], [0.5, 0.5, 0.5], [0.5, 0.5, 0], [0.5, 0, 0.5]],
    )
    candidates = np.random.default_rng(5077).random((60, 3))
    free = remove_collisions(candidates, host, min_dist=1.35)
    merged = cluster_nodes(free, host.lattice, tol=0.62)
    contacts = host.lattice.get_all_distances(merged, host.frac_coords).min(axis=1)
    return {
        "n_free_candidates": len(free),
        "n_merged_sites": len(merged),
        "most_distant_site": [float(x) for x in merged[int(np.argmax(contacts))]],
        "merged_site_contacts": sorted(float(contact) for contact in contacts),
    }
