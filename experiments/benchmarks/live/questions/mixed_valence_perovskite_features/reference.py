"""Ionic features of a mixed-valence perovskite."""

from matminer.featurizers.composition import AtomicOrbitals, ElectronegativityDiff, OxidationStates
from pymatgen.core import Composition


def reference() -> dict:
    """Compute the properties of the question."""
    ions = Composition(
        {"Sr2+": 0.83, "La3+": 0.17, "Fe4+": 0.44, "Fe3+": 0.17, "Ti4+": 0.39, "O2-": 3}
    )
    mean, largest = ElectronegativityDiff(stats=["mean", "maximum"]).featurize(ions)
    orbitals = AtomicOrbitals()
    levels = dict(
        zip(orbitals.feature_labels(), orbitals.featurize(Composition("SrFeO3")), strict=True)
    )
    return {
        "oxidation_state_deviation": float(OxidationStates(stats=["avg_dev"]).featurize(ions)[0]),
        "mean_electronegativity_difference": float(mean),
        "largest_electronegativity_difference": float(largest),
        "highest_occupied_orbital": f"{levels['HOMO_element']} {levels['HOMO_character']}",
        "highest_occupied_energy": float(levels["HOMO_energy"]),
    }
