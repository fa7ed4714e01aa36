"""Reference solution: finite strain of a tetragonal crystal and its set of deformations."""

from pymatgen.core import Lattice, Structure
from pymatgen.core.elasticity.strain import DeformedStructureSet, Deformation
from pymatgen.transformations.standard_transformations import DeformStructureTransformation


def reference() -> dict:
    """Compute the properties of the question."""
    structure = Structure.from_spacegroup(
        "P4_2/mnm", Lattice.tetragonal(4.657, 3.084), ["Mg", "F"], [[0, 0, 0], [0.3029, 0.3029, 0]]
    )
    gradient = [[1.021, 0.013, 0.0], [0.0, 0.987, -0.024], [0.008, 0.0, 1.034]]
    deformed = DeformStructureTransformation(gradient).apply_transformation(structure)
    strain = Deformation(gradient).green_lagrange_strain
    upper = strain.get_deformation_matrix("upper")
    reduced = DeformedStructureSet(
        structure, norm_strains=[-0.012, 0.007], shear_strains=[-0.05, 0.05], symmetry=True
    )
    return {
        "green_lagrange_strain": [float(x) for x in strain.voigt],
        "von_mises_strain": float(strain.von_mises_strain),
        "deformed_angles": [float(x) for x in deformed.lattice.angles],
        "upper_triangular_deformation": [float(upper[i][j]) for i in range(3) for j in range(i, 3)],
        "symmetry_distinct_deformations": len(reduced),
    }
