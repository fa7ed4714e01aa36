"""Reference solution: default settings of calculations of a magnetic oxide fluoride."""

from pymatgen.core import Lattice, Structure
from pymatgen.io.vasp.inputs import Poscar
from pymatgen.io.vasp.sets import MPRelaxSet, MPStaticSet


def reference() -> dict:
    """Compute the properties of the question."""
    structure = Structure(
        Lattice.tetragonal(4.873, 3.312),
        ["O", "Co", "F", "Fe", "O", "F"],
        [
            [0.3061, 0.3061, 0.02],
            [0, 0, 0],
            [0.6939, 0.6939, 0.01],
            [0.5, 0.5, 0.5],
            [0.1939, 0.8061, 0.48],
            [0.8061, 0.1939, 0.51],
        ],
    )
    relax = MPRelaxSet(structure)
    static = MPStaticSet(structure, user_kpoints_settings={"reciprocal_density": 210})
    return {
        "site_symbols": list(Poscar(relax.structure).site_symbols),
        "hubbard_u_values": [float(u) for u in relax.incar["LDAUU"]],
        "initial_magnetic_moments": [float(m) for m in relax.incar["MAGMOM"]],
        "energy_convergence": float(relax.incar["EDIFF"]),
        "static_mesh": [int(n) for n in static.kpoints.kpts[0]],
    }
