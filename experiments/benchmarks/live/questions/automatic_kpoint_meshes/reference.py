"""Reference solution: k-point meshes for a hexagonal and a monoclinic cell, and a path."""

from pymatgen.core import Lattice, Structure
from pymatgen.io.vasp.inputs import Kpoints
from pymatgen.symmetry.bandstructure import HighSymmKpath


def reference() -> dict:
    """Compute the properties of the question."""
    hexagonal = Structure.from_spacegroup(
        "P6_3/mmc",
        Lattice.hexagonal(3.217, 12.604),
        ["Mo", "S"],
        [[1 / 3, 2 / 3, 0.25], [1 / 3, 2 / 3, 0.6207]],
    )
    monoclinic = Structure(
        Lattice.monoclinic(5.172, 3.684, 7.953, 102.4),
        ["V", "V", "O", "O", "O", "O"],
        [
            [0.239, 0.478, 0.027],
            [0.761, 0.522, 0.973],
            [0.103, 0.212, 0.204],
            [0.897, 0.788, 0.796],
            [0.392, 0.703, 0.297],
            [0.608, 0.297, 0.703],
        ],
    )
    by_density = Kpoints.automatic_density(hexagonal, 2750)
    by_volume = Kpoints.automatic_density_by_vol(monoclinic, 130)
    by_lengths = Kpoints.automatic_density_by_lengths(monoclinic, [37, 26, 44])
    path = HighSymmKpath(hexagonal)
    return {
        "density_mesh": [int(n) for n in by_density.kpts[0]],
        "volume_mesh": [int(n) for n in by_volume.kpts[0]],
        "length_mesh": [int(n) for n in by_lengths.kpts[0]],
        "mesh_styles": [mesh.style.name for mesh in (by_density, by_volume, by_lengths)],
        "high_symmetry_path": [list(segment) for segment in path.kpath["path"]],
    }
