"""Vacancy migration in an olivine: distinct hops and an improved initial path."""

from pymatgen.analysis.diffusion.neb.pathfinder import DistinctPathFinder
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    olivine = Structure.from_spacegroup(
        "Pnma",
        Lattice.orthorhombic(9.874, 5.718, 4.803),
        ["Li", "Co", "P", "O", "O", "O"],
        [
            [0, 0, 0],
            [0.277, 0.25, 0.979],
            [0.094, 0.25, 0.418],
            [0.098, 0.25, 0.743],
            [0.453, 0.25, 0.206],
            [0.166, 0.044, 0.283],
        ],
    )
    finder = DistinctPathFinder(olivine, "Li", max_path_length=5.6, symprec=0.05)
    paths = finder.get_paths()
    shortest = paths[0]
    linear = shortest.get_structures(nimages=5, vac_mode=True)
    improved = shortest.get_structures(
        nimages=5, vac_mode=True, idpp=True, species=["Li"], maxiter=4000, tol=1e-7, gtol=1e-4
    )
    contacts = []
    for image in (linear[3], improved[3]):
        contacts.append(min(image.get_distance(0, i) for i in range(1, len(image))))
    start, _, _ = shortest.get_sc_structures(
        vac_mode=True, min_atoms=100, max_atoms=300, min_length=9.0
    )
    return {
        "distinct_path_lengths": [float(path.length) for path in paths],
        "linear_midpoint_contact": float(contacts[0]),
        "improved_midpoint_contact": float(contacts[1]),
        "supercell_formula": start.formula,
    }
