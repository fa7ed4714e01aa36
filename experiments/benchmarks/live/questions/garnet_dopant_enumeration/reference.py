"""Dopants and vacancies in a garnet."""

from pymatgen.analysis.defects.generators import SubstitutionGenerator, VacancyGenerator
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    garnet = Structure.from_spacegroup(
        "Ia-3d",
        Lattice.cubic(11.873),
        ["Ca", "Al", "Si", "O"],
        [[0, 0.25, 0.125], [0, 0, 0], [0, 0.25, 0.375], [0.0381, 0.0452, 0.6513]],
    ).get_primitive_structure()
    garnet.add_oxidation_state_by_element({"Ca": 2, "Al": 3, "Si": 4, "O": -2})
    exchanges = {"Ca": ["Y", "Na"], "Al": ["Zr"], "Si": ["Fe"], "O": ["N"]}
    substitutions = list(SubstitutionGenerator().generate(garnet, substitution=exchanges))
    vacancies = list(VacancyGenerator().generate(garnet, rm_species=["Ca", "O"]))
    return {
        "n_distinct_substitutions": len(substitutions),
        "substitution_multiplicities": {d.name: int(d.multiplicity) for d in substitutions},
        "substitution_oxidation_states": {d.name: int(d.oxi_state) for d in substitutions},
        "vacancy_multiplicities": {
            d.name.removeprefix("v_"): int(d.multiplicity) for d in vacancies
        },
    }
