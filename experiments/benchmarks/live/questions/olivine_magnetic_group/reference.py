"""Reference solution: collinear two-sublattice magnet from a magnetic space group."""

from pymatgen.analysis.magnetism.analyzer import CollinearMagneticStructureAnalyzer
from pymatgen.core import Lattice, Structure
from pymatgen.symmetry.maggroups import MagneticSpaceGroup


def reference() -> dict:
    """Compute the properties of the question."""
    group = MagneticSpaceGroup([62, 446])
    structure = Structure.from_magnetic_spacegroup(
        group.sg_symbol,
        Lattice.orthorhombic(10.438, 6.071, 4.763),
        ["Mn", "Fe", "Si"],
        [[0, 0, 0], [0.2779, 0.25, 0.9861], [0.0943, 0.25, 0.4257]],
        {"magmom": [[4.41, 0, 0], [3.62, 0, 0], [0, 0, 0]]},
    )
    orbit, moments = group.get_orbit([0.13, 0.29, 0.41], [0.4, -0.9, 1.7])
    by_position = sorted(zip(orbit, moments, strict=True), key=lambda pair: tuple(pair[0]))
    analyzer = CollinearMagneticStructureAnalyzer(structure)
    return {
        "magnetic_group_symbol": group.sg_symbol,
        "orbit_moments_along_b": [float(moment.global_moment[1]) for _, moment in by_position],
        "number_of_magnetic_sites": analyzer.number_of_magnetic_sites,
        "ordering": analyzer.ordering.value,
        "exchange_group_symbol": analyzer.get_exchange_group_info()[0],
    }
