"""Point defects in a spinel."""

from pymatgen.analysis.defects.core import Substitution, Vacancy
from pymatgen.core import Lattice, PeriodicSite, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    host = Structure.from_spacegroup(
        "Fd-3m:2",
        Lattice.cubic(8.142),
        ["Mg", "Al", "O"],
        [[0.125, 0.125, 0.125], [0.5, 0.5, 0.5], [0.2628, 0.2628, 0.2628]],
    )
    host.add_oxidation_state_by_element({"Mg": 2, "Al": 3, "O": -2})
    vacancy = Vacancy(host, host[8])
    substitution = Substitution(host, PeriodicSite("Ti", host[0].frac_coords, host.lattice))
    return {
        "vacancy_multiplicity": int(vacancy.multiplicity),
        "vacancy_charge_states": [int(charge) for charge in vacancy.get_charge_states(padding=1)],
        "substitution_name": substitution.name,
        "substitution_element_changes": {
            element.symbol: int(change) for element, change in substitution.element_changes.items()
        },
        "substitution_oxidation_state": int(substitution.oxi_state),
    }
