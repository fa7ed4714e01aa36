"""Structural features of an ilmenite."""

from matminer.featurizers.structure import DensityFeatures, EwaldEnergy, StructuralComplexity
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    crystal = Structure.from_spacegroup(
        "R-3",
        Lattice.hexagonal(5.048, 13.812),
        ["Ni", "Ti", "O"],
        [[0, 0, 0.3501], [0, 0, 0.1449], [0.3189, 0.0172, 0.2461]],
    )
    crystal.add_oxidation_state_by_element({"Ni": 2, "Ti": 4, "O": -2})
    _, volume, packing = DensityFeatures().featurize(crystal)
    _, per_cell = StructuralComplexity(symprec=0.05).featurize(crystal)
    return {
        "volume_per_atom": float(volume),
        "packing_fraction": float(packing),
        "complexity_per_cell": float(per_cell),
        "ewald_energy_per_atom": float(EwaldEnergy().featurize(crystal)[0]),
    }
