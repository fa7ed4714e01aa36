"""A dopant-vacancy complex in rutile SnO2: from the unit cell to a supercell and back."""

from pymatgen.analysis.defects.core import DefectComplex, NamedDefect, Substitution, Vacancy
from pymatgen.analysis.defects.supercells import get_sc_fromstruct
from pymatgen.core import Lattice, PeriodicSite, Species, Structure


def reference() -> dict:
    host = Structure.from_spacegroup(
        "P4_2/mnm",
        Lattice.tetragonal(4.753, 3.201),
        ["Sn", "O"],
        [[0, 0, 0], [0.3069, 0.3069, 0]],
    )
    dopant = Substitution(
        host.copy(), PeriodicSite(Species("Nb"), host[0].frac_coords, host.lattice)
    )
    vacancy = Vacancy(host.copy(), host[2])
    pair = DefectComplex([dopant, vacancy])
    matrix = get_sc_fromstruct(host, min_atoms=100, max_atoms=250, min_length=11.0)
    cell = pair.get_supercell_structure(sc_mat=matrix, relax_radius=4.3)
    free = [site for site in cell if all(site.properties["selective_dynamics"])]
    named = NamedDefect.from_structures(cell, host * matrix)
    return {
        "complex_oxidation_state": int(pair.oxi_state),
        "supercell_formula": cell.formula,
        "supercell_edge_lengths": sorted(cell.lattice.abc),
        "n_relaxed_atoms": len(free),
        "defect_label": repr(named),
    }
