"""Jahn-Teller effect in a tetragonal perovskite."""

from pymatgen.analysis.magnetism.jahnteller import JahnTellerAnalyzer
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    fluoride = Structure.from_spacegroup(
        "P4/mbm",
        Lattice.tetragonal(5.842, 3.917),
        ["K", "Cu", "F", "F"],
        [[0, 0.5, 0.5], [0, 0, 0], [0, 0, 0.5], [0.2286, 0.7286, 0]],
    )
    fluoride.add_oxidation_state_by_element({"K": 1, "Cu": 2, "F": -1})
    analyzer = JahnTellerAnalyzer()
    analysis = analyzer.get_analysis(fluoride, calculate_valences=False, op_threshold=0.1)
    site = analysis["sites"][0]
    return {
        "strength": analysis["strength"],
        "n_ligands": len(site["ligand_bond_lengths"]),
        "bond_length_spread": float(site["ligand_bond_length_spread"]),
        "high_spin_moment": float(analyzer.mu_so("Fe3+", "oct", "high")),
    }
