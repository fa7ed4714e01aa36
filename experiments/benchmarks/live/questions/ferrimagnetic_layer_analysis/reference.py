"""Magnetic order of a made-up layered fluoride."""

from pymatgen.analysis.magnetism.analyzer import CollinearMagneticStructureAnalyzer
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    layers = Structure(
        Lattice.tetragonal(3.917, 7.684),
        ["Mn", "Mn", "Ni", "F", "F"],
        [[0, 0, 0], [0, 0, 0.5], [0.5, 0.5, 0.27], [0.5, 0.5, 0.02], [0.5, 0.5, 0.52]],
        site_properties={"magmom": [4.63, -4.41, 1.72, 0.06, 0.11]},
    )
    analyzer = CollinearMagneticStructureAnalyzer(layers, make_primitive=False, threshold_nonmag=0.08)
    aligned = analyzer.get_ferromagnetic_structure(make_primitive=False)
    plain = layers.copy()
    plain.remove_site_property("magmom")
    return {
        "ordering": analyzer.ordering.value,
        "number_of_magnetic_sites": int(analyzer.number_of_magnetic_sites),
        "nonmagnetic_space_group": plain.get_space_group_info(symprec=0.01)[0],
        "ferromagnetic_moment": float(sum(aligned.site_properties["magmom"])),
    }
