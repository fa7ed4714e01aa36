"""Alloy pairs, systems and members among cadmium and zinc chalcogenides."""

from itertools import combinations

from pymatgen.analysis.alloys.core import AlloyPair, AlloySystem, InvalidAlloy
from pymatgen.core import Lattice, Structure


def zincblende(edge: float, cation: str, anion: str) -> Structure:
    return Structure.from_spacegroup(
        "F-43m", Lattice.cubic(edge), [cation, anion], [[0, 0, 0], [0.25, 0.25, 0.25]]
    )


def wurtzite(a: float, c: float, u: float, cation: str, anion: str) -> Structure:
    return Structure.from_spacegroup(
        "P6_3mc",
        Lattice.hexagonal(a, c),
        [cation, anion],
        [[1 / 3, 2 / 3, 0], [1 / 3, 2 / 3, u]],
    )


def reference() -> dict:
    charges = {"Zn": 2, "Cd": 2, "Hg": 2, "S": -2, "Se": -2, "Te": -2}
    ends = {
        "zb-ZnS": zincblende(5.418, "Zn", "S"),
        "zb-ZnSe": zincblende(5.671, "Zn", "Se"),
        "zb-CdS": zincblende(5.834, "Cd", "S"),
        "zb-CdSe": zincblende(6.052, "Cd", "Se"),
        "wz-ZnS": wurtzite(3.823, 6.261, 0.3746, "Zn", "S"),
        "wz-CdS": wurtzite(4.137, 6.716, 0.3770, "Cd", "S"),
        "zb-HgTe": zincblende(6.461, "Hg", "Te"),
    }
    pairs = []
    for (id_1, end_1), (id_2, end_2) in combinations(ends.items(), 2):
        decorated = []
        for end in (end_1, end_2):
            copy = end.copy()
            copy.add_oxidation_state_by_element(
                {str(element): charges[str(element)] for element in copy.composition}
            )
            decorated.append(copy)
        try:
            pair = AlloyPair.from_structures((end_1, end_2), tuple(decorated), (id_1, id_2))
        except InvalidAlloy:
            continue
        pairs.append(pair)
    systems = AlloySystem.systems_from_pairs(pairs)

    ordered = zincblende(5.62, "Zn", "S")
    ordered.make_supercell([2, 1, 1])
    sulfur = [i for i, site in enumerate(ordered) if site.specie.symbol == "S"]
    for i in sulfur[:3]:
        ordered.replace(i, "Se")
    disordered = zincblende(5.97, "Cd", "Se")
    disordered.replace_species({"Cd": {"Cd": 0.7, "Zn": 0.3}})
    hexagonal = wurtzite(4.02, 6.53, 0.3755, "Zn", "S")
    hexagonal.make_supercell([2, 1, 1])
    hexagonal.replace(0, "Cd")
    rocksalt = Structure.from_spacegroup(
        "Fm-3m", Lattice.cubic(5.4), ["Cd", "Se"], [[0, 0, 0], [0.5, 0.5, 0.5]]
    )
    rocksalt.replace(0, "Zn")
    members = {}
    for name, candidate in [
        ("ordered", ordered),
        ("disordered", disordered),
        ("hexagonal", hexagonal),
        ("rocksalt", rocksalt),
    ]:
        for pair in pairs:
            if pair.is_member(candidate):
                members[name] = pair.pair_id

    largest = max(systems, key=len_of_ids)
    part = largest.systems_from_filter(cation_exchange, origin="zb-CdSe")
    return {
        "alloy_pairs": sorted(pair.pair_id for pair in pairs),
        "alloy_system_sizes": sorted((len(system.ids) for system in systems), reverse=True),
        "alloy_members": members,
        "cation_exchange_system": sorted(part.ids),
    }


def len_of_ids(system: AlloySystem) -> int:
    return len(system.ids)


def cation_exchange(pair: AlloyPair) -> bool:
    return pair.alloy_oxidation_state == 2
