"""Reference solution: gaps and band edges of a two-band model on a path."""

import numpy as np
from pymatgen.core import Lattice
from pymatgen.electronic_structure.bandstructure import BandStructureSymmLine
from pymatgen.electronic_structure.core import Spin


def reference() -> dict:
    """Compute the properties of the question."""
    lattice = Lattice.tetragonal(3.871, 6.124)
    labels = {"\\Gamma": [0, 0, 0], "X": [0.5, 0, 0], "M": [0.5, 0.5, 0], "Z": [0, 0, 0.5]}
    path = [("Z", "\\Gamma"), ("\\Gamma", "X"), ("X", "M"), ("M", "\\Gamma")]
    kpoints = np.concatenate([np.linspace(labels[a], labels[b], 41) for a, b in path])
    x, y, z = (2 * np.pi * kpoints).T
    valence = -1.3 + 0.42 * (np.cos(x) + np.cos(y)) - 0.31 * np.cos(x) * np.cos(y) + 0.18 * np.cos(z)
    conduction = 2.1 + 0.55 * (np.cos(x) + np.cos(y)) + 0.64 * np.cos(x) * np.cos(y) - 0.22 * np.cos(z)
    bands = BandStructureSymmLine(
        kpoints,
        {Spin.up: np.array([valence, conduction])},
        lattice.reciprocal_lattice,
        efermi=0.2,
        labels_dict=labels,
    )
    gap = bands.get_band_gap()
    scissored = bands.apply_scissor(2.47)
    return {
        "band_gap": float(gap["energy"]),
        "transition": gap["transition"],
        "direct_band_gap": float(bands.get_direct_band_gap()),
        "path_length": float(bands.distance[-1]),
        "scissored_direct_band_gap": float(scissored.get_direct_band_gap()),
    }
