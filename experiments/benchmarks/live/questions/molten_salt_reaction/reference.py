"""A reaction of fuel chemistry."""

from pymatgen.analysis.reaction_calculator import Reaction
from pymatgen.core import Composition, Element


def reference() -> dict:
    """Compute the properties of the question."""
    energies = {"U3O8": -103.27, "NH3": -19.41, "HF": -7.83, "UF4": -32.96, "N2": -16.61, "H2O": -14.88}
    compositions = {formula: Composition(formula) for formula in energies}
    reaction = Reaction(
        [compositions[formula] for formula in ("U3O8", "NH3", "HF")],
        [compositions[formula] for formula in ("UF4", "N2", "H2O")],
    )
    reaction.normalize_to(compositions["UF4"], 1)
    energy = reaction.calculate_energy(
        {compositions[formula]: value for formula, value in energies.items()}
    )
    return {
        "normalized_repr": reaction.normalized_repr,
        "hydrogen_fluoride_coefficient": float(abs(reaction.get_coeff(compositions["HF"]))),
        "fluorine_amount": float(reaction.get_el_amount(Element("F"))),
        "reaction_energy": float(energy),
    }
