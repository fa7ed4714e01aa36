"""Executed once in a worker: imports, then one call of each kind that builds tables lazily."""

import numpy as np
import pymatgen.analysis.defects.ccd
import pymatgen.analysis.defects.core
import pymatgen.analysis.defects.corrections.freysoldt
import pymatgen.analysis.defects.corrections.kumagai
import pymatgen.analysis.defects.finder
import pymatgen.analysis.defects.generators
import pymatgen.analysis.defects.plotting.optics
import pymatgen.analysis.defects.plotting.phases
import pymatgen.analysis.defects.plotting.thermo
import pymatgen.analysis.defects.recombination
import pymatgen.analysis.defects.thermo
import pymatgen.analysis.local_env
import pymatgen.analysis.phase_diagram
import pymatgen.analysis.structure_matcher
import pymatgen.electronic_structure.bandstructure
import pymatgen.entries.compatibility
import pymatgen.ext.matproj
import pymatgen.io.vasp
import pymatgen.symmetry.analyzer
import pymatgen.transformations.advanced_transformations
from pymatgen.analysis.defects.core import Vacancy
from pymatgen.core import Lattice, Species, Structure

rocksalt = Structure.from_spacegroup(
    "Fm-3m", Lattice.cubic(4.2), ["Mg", "O"], [[0, 0, 0], [0.5, 0.5, 0.5]]
)
pymatgen.symmetry.analyzer.SpacegroupAnalyzer(rocksalt).get_space_group_symbol()
vacancy = Vacancy(rocksalt, rocksalt[0])
vacancy.get_supercell_structure(sc_mat=np.eye(3, dtype=int) * 2)
assert vacancy.name == "v_Mg"
assert vacancy.as_dict()
assert pymatgen.analysis.structure_matcher.StructureMatcher().fit(rocksalt, rocksalt)
assert rocksalt.get_neighbors(rocksalt[0], 3.0)
assert Species("Fe", 2).ionic_radius
# Compiles for seconds at its first call, wherever that is.
pymatgen.analysis.defects.recombination.analytic_overlap_NM(1.0, 0.1, 0.2, 1, 1)
