"""Features of the cation site of a fluoride."""

from matminer.featurizers.site import (
    AverageBondLength,
    BondOrientationalParameter,
    CrystalNNFingerprint,
)
from pymatgen.analysis.local_env import CrystalNN
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    fluoride = Structure.from_spacegroup(
        "P4_2/mnm", Lattice.tetragonal(4.713, 3.184), ["Co", "F"], [[0, 0, 0], [0.2937, 0.2937, 0]]
    )
    fingerprint = CrystalNNFingerprint.from_preset("ops")
    values = dict(zip(fingerprint.feature_labels(), fingerprint.featurize(fluoride, 0), strict=True))
    orientation = BondOrientationalParameter(max_l=6)
    orders = dict(zip(orientation.feature_labels(), orientation.featurize(fluoride, 0), strict=True))
    return {
        "octahedral_fingerprint": float(values["octahedral CN_6"]),
        "sixfold_weight": float(values["wt CN_6"]),
        "fourth_order_bond_parameter": float(orders["BOOP Q l=4"]),
        "average_bond_length": float(AverageBondLength(CrystalNN()).featurize(fluoride, 0)[0]),
    }
