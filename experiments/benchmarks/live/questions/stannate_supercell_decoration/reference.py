"""Reference solution: charge-decorated, strained perovskite supercell with a substitution."""

from pymatgen.core import Lattice, Structure


def reference() -> dict:
    """Compute the properties of the question."""
    structure = Structure.from_spacegroup(
        "Pm-3m",
        Lattice.cubic(4.127),
        ["Ba", "Sn", "O"],
        [[0, 0, 0], [0.5, 0.5, 0.5], [0.5, 0.5, 0]],
    )
    structure.add_oxidation_state_by_element({"Ba": 2, "Sn": 4, "O": -2})
    structure.make_supercell([[1, 1, 0], [-1, 1, 0], [0, 0, 2]])
    structure.replace_species({"Sn4+": {"Sn4+": 0.85, "In3+": 0.15}})
    structure.apply_strain([0.013, -0.021, 0.037])
    barium = next(site for site in structure if "Ba2+" in site.species_string)
    shell = structure.get_neighbors(barium, 3.2)
    return {
        "density": float(structure.density),
        "charge": float(structure.charge),
        "formula": structure.formula,
        "primitive_site_count": len(structure.get_primitive_structure()),
        "barium_neighbor_distances": sorted(float(n.nn_distance) for n in shell),
    }
