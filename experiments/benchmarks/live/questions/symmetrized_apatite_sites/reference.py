"""Sites of an apatite."""

from pymatgen.core import Lattice, Structure
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer


def reference() -> dict:
    """Compute the properties of the question."""
    apatite = Structure.from_spacegroup(
        "P6_3/m",
        Lattice.hexagonal(9.437, 6.892),
        ["Ca", "Ca", "P", "O", "O", "O", "F"],
        [
            [1 / 3, 2 / 3, 0.0013],
            [0.9928, 0.2429, 0.25],
            [0.3687, 0.3985, 0.25],
            [0.4849, 0.3273, 0.25],
            [0.4667, 0.5875, 0.25],
            [0.2575, 0.3421, 0.0705],
            [0, 0, 0.25],
        ],
    )
    analyzer = SpacegroupAnalyzer(apatite, symprec=0.005)
    sites = analyzer.get_symmetrized_structure()
    return {
        "wyckoff_symbols": sorted(sites.wyckoff_symbols),
        "point_group_symbol": analyzer.get_point_group_symbol(),
        "n_symmetry_operations": len(analyzer.get_symmetry_operations()),
        "hall": analyzer.get_hall(),
    }
