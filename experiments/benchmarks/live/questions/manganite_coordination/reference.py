"""Reference solution: coordination in a Jahn-Teller distorted manganite."""

from pymatgen.core import Lattice, Structure
from pymatgen.core.local_env import CrystalNN, VoronoiNN


def reference() -> dict:
    """Compute the properties of the question."""
    structure = Structure.from_spacegroup(
        "Pnma",
        Lattice.orthorhombic(5.842, 7.481, 5.364),
        ["Sm", "Mn", "O", "O"],
        [[0.0763, 0.25, 0.9854], [0, 0, 0.5], [0.4710, 0.25, 0.1071], [0.3246, 0.0545, 0.7024]],
    )
    symbols = [site.specie.symbol for site in structure]
    samarium, manganese = symbols.index("Sm"), symbols.index("Mn")
    crystal = CrystalNN(weighted_cn=True)
    shape = CrystalNN().get_local_order_parameters(structure, manganese)
    polyhedra = VoronoiNN().get_voronoi_polyhedra(structure, manganese)
    largest = max(polyhedra.values(), key=lambda face: face["solid_angle"])
    return {
        "samarium_coordination_number": float(crystal.get_cn(structure, samarium, use_weights=True)),
        "samarium_voronoi_coordination_number": float(
            VoronoiNN(tol=0.15).get_cn(structure, samarium, use_weights=True)
        ),
        "manganese_octahedral_order_parameter": float(shape["octahedral"]),
        "largest_solid_angle": float(largest["solid_angle"]),
    }
