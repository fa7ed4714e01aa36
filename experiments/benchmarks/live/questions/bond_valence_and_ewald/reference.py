"""Reference solution: bond valences and electrostatic energies of a zircon-type vanadate."""

import math

from pymatgen.core import Lattice, Structure
from pymatgen.core.bond_valence import BVAnalyzer, calculate_bv_sum
from pymatgen.core.ewald import EwaldSummation


def reference() -> dict:
    """Compute the properties of the question."""
    structure = Structure.from_spacegroup(
        "I4_1/amd",
        Lattice.tetragonal(7.163, 6.318),
        ["Y", "V", "O"],
        [[0, 0, 0], [0, 0, 0.5], [0, 0.1867, 0.3267]],
    )
    decorated = BVAnalyzer().get_oxi_state_decorated_structure(structure)
    sums = [calculate_bv_sum(site, decorated.get_neighbors(site, 3.0)) for site in decorated]
    deviations = [total - site.specie.oxi_state for total, site in zip(sums, decorated, strict=True)]
    ewald = EwaldSummation(decorated)
    vanadium = [site.specie.symbol for site in decorated].index("V")
    return {
        "oxidation_states": {site.specie.symbol: int(site.specie.oxi_state) for site in decorated},
        "bond_valence_sums": {
            site.specie.symbol: float(total) for total, site in zip(sums, decorated, strict=True)
        },
        "global_instability_index": math.sqrt(sum(d * d for d in deviations) / len(deviations)),
        "ewald_energy": float(ewald.total_energy),
        "vanadium_site_potential": float(
            2 * ewald.get_site_energy(vanadium) / decorated[vanadium].specie.oxi_state
        ),
    }
