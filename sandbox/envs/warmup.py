"""Executed in a worker, after the ``imports`` of its environment: what builds tables lazily."""

import sys

import numpy as np
from pymatgen.analysis.defects.core import Substitution, Vacancy
from pymatgen.analysis.diffraction.xrd import XRDCalculator
from pymatgen.analysis.structure_matcher import StructureMatcher
from pymatgen.core import Lattice, PeriodicSite, Species, Structure
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

rocksalt = Structure.from_spacegroup(
    "Fm-3m", Lattice.cubic(4.2), ["Mg", "O"], [[0, 0, 0], [0.5, 0.5, 0.5]]
)
SpacegroupAnalyzer(rocksalt).get_space_group_symbol()
vacancy = Vacancy(rocksalt, rocksalt[0])
vacancy.get_supercell_structure(sc_mat=np.eye(3, dtype=int) * 2)
assert vacancy.name == "v_Mg"
assert vacancy.as_dict()
calcium = PeriodicSite("Ca", rocksalt[0].frac_coords, rocksalt.lattice)
assert Substitution(rocksalt, calcium).name
assert StructureMatcher().fit(rocksalt, rocksalt)
assert rocksalt.get_neighbors(rocksalt[0], 3.0)
assert (
    Structure.from_str(rocksalt.to(fmt="cif"), fmt="cif").composition
    == rocksalt.composition
)
assert Species("Fe", 2).ionic_radius
assert np.linalg.inv(rocksalt.lattice.matrix).shape == (3, 3)
XRDCalculator().get_pattern(rocksalt)
recombination = sys.modules.get("pymatgen.analysis.defects.recombination")
if (
    recombination is not None
):  # compiles for seconds at its first call, wherever that is
    recombination.analytic_overlap_NM(1.0, 0.1, 0.2, 1, 1)
