"""Executed once in a worker: imports, then one call of each kind that builds tables lazily."""

import numpy as np
import pymatgen.analysis.defects.core
import pymatgen.analysis.defects.generators
import pymatgen.analysis.defects.thermo
import pymatgen.analysis.diffraction.xrd
import pymatgen.analysis.local_env
import pymatgen.analysis.phase_diagram
import pymatgen.analysis.structure_matcher
import pymatgen.core.surface
import pymatgen.electronic_structure.bandstructure
import pymatgen.electronic_structure.dos
import pymatgen.io.cif
import pymatgen.io.vasp
import pymatgen.symmetry.analyzer
import pymatgen.transformations.standard_transformations
from pymatgen.analysis.defects.core import Substitution, Vacancy
from pymatgen.core import Lattice, PeriodicSite, Species, Structure

rocksalt = Structure.from_spacegroup(
    "Fm-3m", Lattice.cubic(4.2), ["Mg", "O"], [[0, 0, 0], [0.5, 0.5, 0.5]]
)
pymatgen.symmetry.analyzer.SpacegroupAnalyzer(rocksalt).get_space_group_symbol()
vacancy = Vacancy(rocksalt, rocksalt[0])
vacancy.get_supercell_structure(sc_mat=np.eye(3, dtype=int) * 2)
assert vacancy.name == "v_Mg"
assert vacancy.as_dict()
calcium = PeriodicSite("Ca", rocksalt[0].frac_coords, rocksalt.lattice)
assert Substitution(rocksalt, calcium).name
assert pymatgen.analysis.structure_matcher.StructureMatcher().fit(rocksalt, rocksalt)
assert rocksalt.get_neighbors(rocksalt[0], 3.0)
assert Structure.from_str(rocksalt.to(fmt="cif"), fmt="cif").composition == rocksalt.composition
assert Species("Fe", 2).ionic_radius
assert np.linalg.inv(rocksalt.lattice.matrix).shape == (3, 3)
pymatgen.analysis.diffraction.xrd.XRDCalculator().get_pattern(rocksalt)
