"""Network of sodium hops in an olivine and the cheapest path through the crystal."""

import math

from pymatgen.analysis.diffusion.neb.full_path_mapper import MigrationGraph
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    olivine = Structure.from_spacegroup(
        "Pnma",
        Lattice.orthorhombic(10.271, 5.963, 4.682),
        ["Na", "Mn", "P", "O", "O", "O"],
        [
            [0, 0, 0],
            [0.279, 0.25, 0.978],
            [0.096, 0.25, 0.421],
            [0.1, 0.25, 0.742],
            [0.455, 0.25, 0.211],
            [0.163, 0.048, 0.279],
        ],
    )
    graph = MigrationGraph.with_distance(olivine, "Na", max_distance=6.0, symprec=0.05)
    lengths = []
    for label, hop in graph.unique_hops.items():
        lengths.append(float(hop["hop_distance"]))
        barrier = 0.21 * math.exp((hop["hop_distance"] - 3.0) / 0.9)
        graph.add_data_to_similar_edges(label, {"barrier": barrier})
    graph.assign_cost_to_graph(["hop_distance", "barrier"])
    _, path = next(graph.get_path())
    return {
        "distinct_hop_lengths": sorted(lengths),
        "n_hops_in_cell": graph.m_graph.graph.number_of_edges(),
        "host_formula": graph.host_structure.composition.reduced_formula,
        "n_path_hops": len(path),
        "path_cost": float(sum(hop["cost"] for hop in path)),
    }
