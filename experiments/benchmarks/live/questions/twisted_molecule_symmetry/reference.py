"""Reference solution: symmetry and bonds of a twisted molecule."""

import numpy as np
from pymatgen.core import Molecule
from pymatgen.symmetry.analyzer import PointGroupAnalyzer


def reference() -> dict:
    """Compute the properties of the question."""
    coords = [[0, 0, 0.671], [0, 0, -0.671]]
    for end, angle in ((1, 17.5), (-1, -17.5)):
        phi = np.radians(angle)
        for side in (1, -1):
            coords.append([side * 1.107 * np.cos(phi), side * 1.107 * np.sin(phi), end * 1.379])
    molecule = Molecule(["C", "C", "F", "F", "F", "F"], coords)
    analyzer = PointGroupAnalyzer(molecule, tolerance=0.1)
    bonds = molecule.get_covalent_bonds()
    return {
        "point_group_symbol": analyzer.sch_symbol,
        "rotational_symmetry_number": int(analyzer.get_rotational_symmetry_number()),
        "number_of_symmetry_operations": len(analyzer.get_symmetry_operations()),
        "bond_lengths": sorted(float(bond.length) for bond in bonds),
        "fluorine_carbon_fluorine_angle": float(molecule.get_angle(2, 0, 3)),
    }
