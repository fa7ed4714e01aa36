"""Reference solution: symmetry of a disguised, slightly distorted anatase cell."""

from pymatgen.core import Lattice, Structure
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer


def reference() -> dict:
    """Compute the properties of the question."""
    structure = Structure.from_spacegroup(
        "I4_1/amd",
        Lattice.tetragonal(3.812, 9.587),
        ["Ti", "O"],
        [[0, 0, 0], [0, 0, 0.2097]],
    )
    structure.make_supercell([[1, 0, 1], [0, 1, 0], [0, 0, 1]])
    titanium = [i for i, site in enumerate(structure) if site.specie.symbol == "Ti"]
    structure.translate_sites(titanium, [0, 0, 0.035], frac_coords=False)
    tight = SpacegroupAnalyzer(structure, symprec=0.005)
    loose = SpacegroupAnalyzer(structure, symprec=0.15)
    primitive = loose.get_primitive_standard_structure()
    symmetrized = tight.get_symmetrized_structure()
    return {
        "space_group_symbol": tight.get_space_group_symbol(),
        "space_group_number_loose": loose.get_space_group_number(),
        "wyckoff_symbols": sorted(symmetrized.wyckoff_symbols),
        "primitive_lengths": [float(x) for x in primitive.lattice.abc],
        "primitive_angles": [float(x) for x in primitive.lattice.angles],
    }
