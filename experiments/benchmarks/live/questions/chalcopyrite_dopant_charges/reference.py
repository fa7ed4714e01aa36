"""Charge states and multiplicities of point defects in chalcopyrite CuGaSe2."""

from pymatgen.analysis.defects.core import Interstitial, Substitution, Vacancy
from pymatgen.core import Lattice, PeriodicSite, Species, Structure


def reference() -> dict:
    host = Structure.from_spacegroup(
        "I-42d",
        Lattice.tetragonal(5.614, 11.037),
        ["Cu", "Ga", "Se"],
        [[0, 0, 0], [0, 0, 0.5], [0.2594, 0.25, 0.125]],
    )
    selenium = [site for site in host if site.specie.symbol == "Se"]
    gallium = [site for site in host if site.specie.symbol == "Ga"]
    vacancy = Vacancy(host.copy(), selenium[0])
    substitutions = []
    for element, site in [
        ("Zr", gallium[0]),
        ("Cu", gallium[0]),
        ("Sb", selenium[0]),
        ("F", selenium[0]),
    ]:
        new_site = PeriodicSite(Species(element), site.frac_coords, host.lattice)
        substitutions.append(Substitution(host.copy(), new_site))
    phosphorus = PeriodicSite(Species("P"), [0.5, 0.25, 0.0], host.lattice)
    interstitial = Interstitial(host.copy(), phosphorus, multiplicity=8)
    multiplicities = {vacancy.name: vacancy.multiplicity}
    for substitution in substitutions:
        multiplicities[substitution.name] = substitution.multiplicity
    return {
        "selenium_vacancy_charge_states": vacancy.get_charge_states(),
        "phosphorus_interstitial_charge_states": interstitial.get_charge_states(padding=2),
        "substitution_oxidation_states": {
            substitution.name: int(substitution.oxi_state) for substitution in substitutions
        },
        "defect_multiplicities": multiplicities,
    }
