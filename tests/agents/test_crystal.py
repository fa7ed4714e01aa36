"""What is drawn of a crystal: cell, repeated atoms, bonds; and the files that are taken away."""

import hashlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymatgen.core import Lattice, Structure

from agents import crystal
from agents.crystal_files import cif, poscar


def cell_of(structure):
    species = [site.species_string for site in structure]
    return crystal.read_cell(
        structure.lattice.matrix, species, structure.frac_coords.tolist()
    )


NOTICE = Path(crystal.__file__).parent / "assistant/web/3Dmol-NOTICE.md"


def spacegroup(group, lattice, species, places):
    return Structure.from_spacegroup(group, lattice, species, places)


SALT = spacegroup(
    "Fm-3m", Lattice.cubic(5.64), ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]]
)
IRON = spacegroup("Im-3m", Lattice.cubic(2.866), ["Fe"], [[0, 0, 0]])
DIAMOND = spacegroup("Fd-3m", Lattice.cubic(3.567), ["C"], [[0, 0, 0]])
CAESIUM = spacegroup(
    "Pm-3m", Lattice.cubic(4.12), ["Cs", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]]
)
PEROVSKITE = spacegroup(
    "Pm-3m",
    Lattice.cubic(3.905),
    ["Sr", "Ti", "O"],
    [[0, 0, 0], [0.5, 0.5, 0.5], [0.5, 0.5, 0]],
)
MAGNESIUM = spacegroup(
    "P6_3/mmc", Lattice.hexagonal(3.21, 5.21), ["Mg"], [[1 / 3, 2 / 3, 1 / 4]]
)


def shown(structure):
    return crystal.drawing(crystal.conventional(cell_of(structure)))


def kinds(picture):
    return Counter(picture.cell.species[ball.row] for ball in picture.balls)


@pytest.mark.parametrize(
    ("structure", "sites", "balls"),
    [
        (SALT.get_primitive_structure(), 8, {"Na": 14, "Cl": 13}),
        (SALT, 8, {"Na": 14, "Cl": 13}),
        (IRON.get_primitive_structure(), 2, {"Fe": 9}),
        (DIAMOND.get_primitive_structure(), 8, {"C": 18}),
        (CAESIUM, 2, {"Cs": 8, "Cl": 1}),
        (PEROVSKITE, 5, {"Sr": 8, "Ti": 1, "O": 6}),
        (MAGNESIUM, 2, {"Mg": 2}),
    ],
)
def test_atoms_of_the_conventional_cell_are_repeated_on_its_faces(
    structure, sites, balls
):
    picture = shown(structure)
    assert picture.total == sites
    assert kinds(picture) == balls


@pytest.mark.parametrize(
    ("structure", "pairs"),
    [
        (SALT, {("Cl", "Na"): 54}),
        (IRON, {("Fe", "Fe"): 8}),
        (DIAMOND, {("C", "C"): 16}),
        (CAESIUM, {("Cl", "Cs"): 8}),
        (PEROVSKITE, {("O", "Ti"): 6}),
    ],
)
def test_bonds_are_those_of_the_first_shell(structure, pairs):
    picture = shown(structure)
    names = [picture.cell.species[ball.row] for ball in picture.balls]
    bonds = Counter(tuple(sorted((names[i], names[j]))) for i, j in picture.bonds)
    assert pairs.items() <= bonds.items()
    assert not any(set(pair) == {"Sr"} or pair == ("Na", "Na") for pair in bonds)


def test_a_bond_begins_on_its_ball():
    picture = shown(SALT)
    start, end = picture.sticks[0]
    first, second = picture.bonds[0]
    radii = [
        crystal.ball_radius(picture.cell.species[picture.balls[n].row])
        for n in (first, second)
    ]
    assert np.linalg.norm(start - picture.places[first]) == pytest.approx(radii[0])
    assert np.linalg.norm(end - picture.places[second]) == pytest.approx(radii[1])


def test_a_cell_without_more_symmetry_stays_as_it_is():
    triclinic = Structure(
        Lattice.from_parameters(4, 5, 6, 80, 95, 100),
        ["Na", "Cl"],
        [[0.1, 0.2, 0.3], [0.6, 0.7, 0.9]],
    )
    for structure in (triclinic, SALT):
        cell = cell_of(structure)
        assert crystal.conventional(cell) is cell


def test_atoms_that_round_to_a_face_stand_on_it():
    cell = crystal.read_cell(np.eye(3) * 4, ["Na"], [[0.9999999, 1e-9, 0.5]])
    assert len(crystal.drawing(cell).balls) == 4
    inside = crystal.read_cell(np.eye(3) * 4, ["Na"], [[0.1, 0.2, 0.5]])
    assert len(crystal.drawing(inside).balls) == 1


def test_overlapping_and_many_sites_are_drawn_as_given():
    twice = crystal.read_cell(np.eye(3) * 4, ["Na", "Na"], [[0, 0, 0], [0, 0, 0.01]])
    assert crystal.conventional(twice) is twice
    count = 1000
    places = np.random.default_rng(1).random((count, 3))
    many = crystal.drawing(crystal.read_cell(np.eye(3) * 30, ["Na"] * count, places))
    assert (len(many.balls), many.total) == (crystal.DRAWN_SITES, count)


def test_a_scene_holds_what_the_still_picture_shows():
    scene = crystal.scene(shown(SALT.get_primitive_structure()))
    assert len(scene["balls"]) == 27
    assert len(scene["bonds"]) == 54
    sites = {kind["name"]: kind["sites"] for kind in scene["kinds"]}
    assert sites == {"Na": 4, "Cl": 4}


@pytest.mark.parametrize("structure", [SALT, MAGNESIUM, PEROVSKITE])
def test_files_that_are_taken_away_are_the_structure(structure):
    cell = cell_of(structure)
    for text, kind in ((cif(cell), "cif"), (poscar(cell), "poscar")):
        read = Structure.from_str(text, fmt=kind)
        assert read.composition == structure.composition
        assert read.lattice.parameters == pytest.approx(structure.lattice.parameters)
        away = structure.lattice.get_all_distances(
            structure.frac_coords, read.frac_coords
        )
        assert away.min(axis=1).max() < 1e-5


def test_a_disordered_site_has_a_cif_and_no_poscar():
    alloy = Structure(Lattice.cubic(3), [{"Na": 0.25, "K": 0.75}], [[0, 0, 0]])
    cell = cell_of(alloy)
    assert poscar(cell) is None
    read = Structure.from_str(cif(cell), fmt="cif")
    assert read[0].species.as_dict() == {"Na": 0.25, "K": 0.75}


def test_a_site_that_is_no_element_has_neither():
    cell = crystal.read_cell(np.eye(3), ["<script>"], [[0, 0, 0]])
    assert (cif(cell), poscar(cell)) == (None, None)


@settings(deadline=None)  # the first cell imports spglib
@given(
    st.lists(st.floats(-1e5, 1e5), min_size=9, max_size=9),
    st.lists(st.sampled_from(["Na", "Cl", "?", "Fe3+"]), max_size=6),
    st.data(),
)
def test_any_cell_is_drawn_or_has_no_shape(numbers, species, data):
    places = [
        data.draw(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3))
        for _ in species
    ]
    cell = crystal.read_cell(numbers, species, places)
    if cell is None:
        return
    picture = crystal.drawing(crystal.conventional(cell))
    assert len(picture.balls) >= len(species) == cell.fractions.shape[0]
    assert np.isfinite(picture.places).all()
    assert np.isfinite(picture.sticks).all()


def test_the_viewer_is_the_one_that_its_notice_describes():
    viewer = NOTICE.with_name("3Dmol-min.js").read_bytes()
    notice = NOTICE.read_text("utf-8")
    assert hashlib.sha256(viewer).hexdigest() in notice
    assert f"{len(viewer)} bytes" in notice
