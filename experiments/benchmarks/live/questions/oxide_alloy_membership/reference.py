"""What belongs to the alloy of two rutile oxides."""

from pymatgen.analysis.alloys.core import AlloyPair
from pymatgen.core import Composition, Lattice, Structure


def rutile(metal: str, a: float, c: float, u: float) -> Structure:
    """A rutile oxide."""
    return Structure.from_spacegroup(
        "P4_2/mnm", Lattice.tetragonal(a, c), [metal, "O"], [[0, 0, 0], [u, u, 0]]
    )


def reference() -> dict:
    """Compute the properties of the question."""
    ends = [rutile("Sn", 4.741, 3.193, 0.3067), rutile("Ti", 4.602, 2.963, 0.3052)]
    decorated = [crystal.copy() for crystal in ends]
    for crystal in decorated:
        crystal.add_oxidation_state_by_element({"Sn": 4, "Ti": 4, "O": -2})
    pair = AlloyPair.from_structures(tuple(ends), tuple(decorated), ("tin", "titanium"))
    compositions = ["Sn3Ti5O16", "SnTi2O5", "Sn7TiO16", "SnTiO3"]
    mixed = rutile("Sn", 4.683, 3.071, 0.3061)
    mixed.make_supercell([1, 1, 2])
    mixed.replace(0, "Ti")
    fluorite = Structure.from_spacegroup(
        "Fm-3m", Lattice.cubic(4.987), ["Sn", "O"], [[0, 0, 0], [0.25, 0.25, 0.25]]
    )
    fluorite.replace(0, "Ti")
    anatase = Structure.from_spacegroup(
        "I4_1/amd", Lattice.tetragonal(3.871, 9.612), ["Sn", "O"], [[0, 0, 0], [0, 0, 0.2085]]
    )
    anatase.replace(0, "Ti")
    candidates = {"rutile": mixed, "fluorite": fluorite, "bct": anatase}
    return {
        "compatible_compositions": sorted(
            formula for formula in compositions if pair.is_compatible(Composition(formula))
        ),
        "member_structures": sorted(
            name for name, structure in candidates.items() if pair.is_member(structure)
        ),
        "volume_cube_roots": [float(pair.volume_cube_root_a), float(pair.volume_cube_root_b)],
    }
