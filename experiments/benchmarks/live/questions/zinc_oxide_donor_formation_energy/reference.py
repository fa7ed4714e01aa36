"""Formation energy diagram of Al on Zn in wurtzite ZnO with competing phases."""

from pymatgen.analysis.defects.core import Substitution
from pymatgen.analysis.defects.thermo import DefectEntry, FormationEnergyDiagram
from pymatgen.core import Lattice, PeriodicSite, Species, Structure
from pymatgen.entries.computed_entries import ComputedEntry, ComputedStructureEntry


def reference() -> dict:
    host = Structure.from_spacegroup(
        "P6_3mc",
        Lattice.hexagonal(3.268, 5.231),
        ["Zn", "O"],
        [[1 / 3, 2 / 3, 0], [1 / 3, 2 / 3, 0.3817]],
    )
    defect = Substitution(
        host.copy(), PeriodicSite(Species("Al"), host[0].frac_coords, host.lattice)
    )
    matrix = [[4, 0, 0], [0, 4, 0], [0, 0, 3]]
    bulk_entry = ComputedStructureEntry(host * matrix, -889.142)
    supercell = defect.get_supercell_structure(sc_mat=matrix)
    defect_entries = []
    for charge, energy, correction in [
        (1, -896.310, 0.142),
        (0, -893.412, 0.0),
        (-1, -889.005, 0.167),
    ]:
        defect_entries.append(
            DefectEntry(
                defect=defect,
                charge_state=charge,
                sc_entry=ComputedStructureEntry(supercell, energy),
                corrections={"finite size": correction},
            )
        )
    phases = {
        "Zn": -1.284,
        "O2": -9.731,
        "Al": -3.702,
        "ZnO": -9.246,
        "Al2O3": -38.093,
        "ZnAl2O4": -47.905,
        "ZnO2": -12.9,
    }
    diagram = FormationEnergyDiagram(
        defect_entries=defect_entries,
        pd_entries=[ComputedEntry(formula, energy) for formula, energy in phases.items()],
        vbm=1.873,
        band_gap=3.41,
        bulk_entry=bulk_entry,
    )
    poor = diagram.get_chempots("Zn")
    rich = diagram.get_chempots("O")
    chosen = min(
        range(len(diagram.chempot_limits)),
        key=lambda i: sum(
            abs(diagram.chempot_limits[i][element] - poor[element]) for element in poor
        ),
    )
    levels = diagram.get_transitions(rich, x_min=0, x_max=3.41)
    return {
        "oxygen_poor_chemical_potentials": {
            str(element): float(value) for element, value in poor.items() if str(element) != "Zn"
        },
        "oxygen_poor_competing_phases": sorted(diagram.competing_phases[chosen]),
        "charge_transition_levels": [float(level) for level, _ in levels[1:-1]],
        "oxygen_rich_formation_energy": float(diagram.get_formation_energy(1.3, rich)),
        "oxygen_poor_defects_per_cell": float(diagram.get_concentration(0.35, poor, 1150.0)),
    }
