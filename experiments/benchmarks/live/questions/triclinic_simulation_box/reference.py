"""The simulation box of a triclinic crystal."""

from pymatgen.core import Lattice
from pymatgen.io.lammps.data import lattice_2_lmpbox


def reference() -> dict:
    """Compute the properties of the question."""
    lattice = Lattice([[6.13, 0.42, -0.35], [-1.87, 7.24, 0.61], [0.93, -2.16, 8.47]])
    box, rotation = lattice_2_lmpbox(lattice)
    position = rotation.operate(lattice.get_cartesian_coords([0.31, 0.62, 0.17]))
    return {
        "box_bounds": [float(upper) for _, upper in box.bounds],
        "tilt_factors": [float(tilt) for tilt in box.tilt],
        "rotated_position": [float(x) for x in position],
    }
