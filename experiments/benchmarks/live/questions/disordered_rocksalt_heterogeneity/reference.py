"""Disorder of a distorted crystal."""

import numpy as np
from matminer.featurizers.structure import ChemicalOrdering, StructuralHeterogeneity
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    shift = np.random.default_rng(424).normal(0.0, 0.013, (8, 3))
    crystal = Structure.from_spacegroup(
        "Fm-3m", Lattice.cubic(4.391), ["Fe", "N"], [[0, 0, 0], [0.5, 0.5, 0.5]]
    )
    crystal = Structure(
        Lattice.orthorhombic(4.391, 4.467, 4.302),
        crystal.species,
        crystal.frac_coords + shift,
        to_unit_cell=True,
    )
    crystal.replace(0, "Cr")
    heterogeneity = StructuralHeterogeneity()
    values = dict(
        zip(heterogeneity.feature_labels(), heterogeneity.featurize(crystal), strict=True)
    )
    return {
        "bond_length_deviation": float(values["mean absolute deviation in relative bond length"]),
        "cell_size_deviation": float(values["mean absolute deviation in relative cell size"]),
        "first_shell_ordering": float(ChemicalOrdering(shells=(1,)).featurize(crystal)[0]),
        "largest_bond_length_ratio": float(values["max relative bond length"]),
    }
