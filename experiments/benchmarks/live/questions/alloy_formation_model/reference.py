"""Semi-empirical features of a ternary alloy."""

from matminer.featurizers.composition import Miedema, YangSolidSolution
from pymatgen.core import Composition


def reference() -> dict:
    """Compute the properties of the question."""
    alloy = Composition("Ti0.37Ni0.42Zr0.21")
    formation = Miedema(struct_types="all", ss_types="min")
    inter, amorphous, solution = formation.featurize(alloy)
    return {
        "intermetallic_enthalpy": float(inter),
        "amorphous_enthalpy": float(amorphous),
        "solid_solution_enthalpy": float(solution),
        "size_mismatch": float(YangSolidSolution().compute_delta(alloy)),
    }
