"""Equilibrium shape of an anatase crystal."""

from pymatgen.analysis.wulff import WulffShape
from pymatgen.core import Lattice, Structure
from pymatgen.core.surface import get_symmetrically_distinct_miller_indices


def reference() -> dict:
    anatase = Structure.from_spacegroup(
        "I4_1/amd",
        Lattice.tetragonal(3.804, 9.614),
        ["Ti", "O"],
        [[0, 0, 0], [0, 0, 0.2081]],
    )
    energies = {(1, 0, 1): 0.514, (0, 0, 1): 0.903, (1, 0, 0): 0.527, (1, 1, 0): 0.596}
    shape = WulffShape(anatase.lattice, list(energies), list(energies.values()))
    fractions = {}
    for miller, fraction in shape.area_fraction_dict.items():
        fractions["".join(str(index) for index in miller)] = float(fraction)
    return {
        "facet_area_fractions": fractions,
        "weighted_surface_energy": float(shape.weighted_surface_energy),
        "surface_energy_anisotropy": float(shape.anisotropy),
        "shape_factor": float(shape.shape_factor),
        "n_distinct_facets": len(get_symmetrically_distinct_miller_indices(anatase, 2)),
    }
