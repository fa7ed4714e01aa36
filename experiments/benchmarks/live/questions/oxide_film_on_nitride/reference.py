"""Coherent interfaces of a calcium oxide film on gallium nitride."""

from pymatgen.analysis.interfaces.coherent_interfaces import CoherentInterfaceBuilder
from pymatgen.analysis.interfaces.zsl import ZSLGenerator
from pymatgen.core import Lattice, Structure


def reference() -> dict:
    film = Structure.from_spacegroup(
        "Fm-3m", Lattice.cubic(4.653), ["Ca", "O"], [[0, 0, 0], [0.5, 0.5, 0.5]]
    )
    substrate = Structure.from_spacegroup(
        "P6_3mc",
        Lattice.hexagonal(3.203, 5.219),
        ["Ga", "N"],
        [[1 / 3, 2 / 3, 0], [1 / 3, 2 / 3, 0.3768]],
    )
    matcher = ZSLGenerator(
        max_area=30, max_area_ratio_tol=0.06, max_length_tol=0.03, max_angle_tol=0.01
    )
    builder = CoherentInterfaceBuilder(
        substrate,
        film,
        film_miller=(1, 1, 1),
        substrate_miller=(0, 0, 1),
        zslgen=matcher,
    )
    smallest = min(builder.zsl_matches, key=area_of)
    interfaces = []
    for termination in builder.terminations:
        for interface in builder.get_interfaces(
            termination=termination,
            gap=2.15,
            vacuum_over_film=13.0,
            film_thickness=3,
            substrate_thickness=4,
            in_layers=True,
        ):
            interfaces.append(interface)
    tightest = min(interfaces, key=len)
    heights = [float(i.lattice.c) for i in interfaces if len(i) == len(tightest)]
    return {
        "n_terminations": len(builder.terminations),
        "coincidence_area": float(smallest.match_area),
        "interface_formula": tightest.composition.formula,
        "von_mises_strain": float(tightest.interface_properties["von_mises_strain"]),
        "interface_cell_heights": sorted(heights),
    }


def area_of(match) -> float:
    return match.match_area
