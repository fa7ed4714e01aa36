"""Reference solution: superposition of two conformers with unknown atom order."""

from pymatgen.core import Molecule
from pymatgen.core.molecule_matcher import BruteForceOrderMatcher, KabschMatcher


def reference() -> dict:
    """Compute the properties of the question."""
    target = Molecule(
        ["C", "O", "N", "H", "H", "H"],
        [
            [0.103, 0.421, -0.052],
            [-0.114, 1.617, 0.143],
            [1.312, -0.118, 0.087],
            [-0.761, -0.217, -0.311],
            [1.417, -1.093, -0.184],
            [2.094, 0.478, 0.352],
        ],
    )
    sample = Molecule(
        ["H", "N", "C", "H", "O", "H"],
        [
            [3.12, -2.55, 1.87],
            [2.41, -3.17, 1.53],
            [1.71, -2.73, 0.46],
            [2.28, -4.09, 1.92],
            [1.93, -1.68, -0.12],
            [0.87, -3.38, 0.21],
        ],
    )
    matcher = BruteForceOrderMatcher(target)
    order, _, translation, rmsd = matcher.match(sample)
    aligned, _ = matcher.fit(sample)
    mirrored = Molecule(
        [sample[int(i)].specie for i in order],
        [[-x, y, z] for x, y, z in (sample[int(i)].coords for i in order)],
    )
    mirror_rmsd = KabschMatcher(target).match(mirrored)[2]
    return {
        "atom_order": [int(i) for i in order],
        "rmsd": float(rmsd),
        "translation_vector": [float(x) for x in translation],
        "aligned_oxygen_position": [float(x) for x in aligned[1].coords],
        "mirror_image_rmsd": float(mirror_rmsd),
    }
