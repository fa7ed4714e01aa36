"""Terminations of low-index RuO2 surfaces."""

from pymatgen.core import Lattice, Structure
from pymatgen.core.surface import SlabGenerator


def reference() -> dict:
    bulk = Structure.from_spacegroup(
        "P4_2/mnm",
        Lattice.tetragonal(4.512, 2.987),
        ["Ru4+", "O2-"],
        [[0, 0, 0], [0.3058, 0.3058, 0]],
    )
    counts, formulas, dipoles, areas = {}, [], [], []
    for miller in [(1, 1, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)]:
        generator = SlabGenerator(
            bulk, miller, min_slab_size=9, min_vacuum_size=12, center_slab=True
        )
        for slab in generator.get_slabs():
            if slab.is_polar():
                dipoles.append(float(abs(slab.dipole @ slab.normal)))
        symmetric = generator.get_slabs(symmetrize=True)
        counts["".join(str(index) for index in miller)] = len(symmetric)
        areas.append(float(symmetric[0].surface_area))
        if miller == (1, 1, 0):
            formulas = sorted(
                slab.composition.element_composition.formula for slab in symmetric
            )
    return {
        "n_symmetric_terminations": counts,
        "symmetric_110_formulas": formulas,
        "polar_slab_dipoles": sorted(dipoles),
        "surface_areas": areas,
    }
