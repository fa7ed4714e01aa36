"""Verdicts on structures, numbers and letters."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymatgen.core import Structure
from scipy.spatial.transform import Rotation

from agents.letters import listed
from experiments.benchmarks.qmbench import grade
from experiments.benchmarks.qmbench.benchmark import Stated, choice_share
from experiments.benchmarks.qmbench.crystals import Compound, poscar_of, slab, vacancy
from experiments.scorers.quantities import ReadingError, read_number, within
from foundation.configuration import data_of
from tests.support.paths import SHARED

PUBLISHED_CASES = SHARED / "qmbench"
published = pytest.mark.skipif(
    not PUBLISHED_CASES.is_dir(), reason=f"no published data at {PUBLISHED_CASES.name}"
)
LIMITS = {"length": 0.05, "angle": 1.0, "site": 0.10}
HERE = Path(__file__).parent
RUTILE = (HERE / "problems" / "rutile.vasp").read_text()
#: Lowest symmetry, so that only the identity maps it onto itself.
TRICLINIC = (HERE / "triclinic.vasp").read_text()
TABLES = data_of(__file__, "tables")
STRUCTURES = {
    "rutile": RUTILE,
    "triclinic": TRICLINIC,
    "vacancy": vacancy(np.random.default_rng(5))[1]["answer"]["poscar"],
    "slab": slab(np.random.default_rng(1))[1]["answer"]["poscar"],
    "slab of a metal": slab(np.random.default_rng(2))[1]["answer"]["poscar"],
}


def verdict(gold, answer):
    return grade.grade_poscar(gold, answer, LIMITS)["error"]


def text_of(crystal):
    return poscar_of(Structure(crystal.matrix, crystal.species, crystal.fractions))


@published
def test_published_structures():
    lines = (PUBLISHED_CASES / "poscar_grader_cases.jsonl").read_text().splitlines()
    cases = [json.loads(line) for line in lines]
    wrong = [
        case["id"]
        for case in cases
        if (verdict(case["ground_truth"], case["answer"]) is None)
        != bool(case["expected"])
    ]
    assert (len(cases), wrong) == (18, [])


@published
def test_published_scores():
    cases = json.loads((PUBLISHED_CASES / "scoring_cases.json").read_text())
    for case in cases["mcq"]:
        share = choice_share(listed(case["answer"], "ABCD"), case["truth"])
        found = share if case["answer"] else 0.0
        assert found == pytest.approx(case["score"]), case
    exact, whole, inside, end = cases["numeric"]
    assert read_number(exact["answer"], strict_integer=True) == exact["truth"]
    assert read_number(whole["answer"]) == whole["truth"]
    with pytest.raises(ReadingError, match="NotAnInteger"):
        read_number(whole["answer"], strict_integer=True)
    for case in (inside, end):
        assert within(read_number(case["answer"]), *case["truth"])


@pytest.mark.parametrize(
    ("reply", "value", "status"), [*TABLES["stated"], ("x" * 400 + " 9", None, None)]
)
def test_where_a_number_is_stated(reply, value, status):
    found = Stated().read(reply)
    assert (found and found.value, found and found.status) == (value, status)


def changed(text, *, scale=(1, 1, 1), gamma=0.0, moved=0.0, repeat=False):
    crystal = grade.read_poscar(text)
    matrix = crystal.matrix * np.array(scale)[:, None]
    a, b = np.linalg.norm(matrix[0]), np.linalg.norm(matrix[1])
    angle = np.arccos(matrix[0] @ matrix[1] / a / b) + np.radians(gamma)
    if gamma:
        matrix[:2] = [[a, 0, 0], [b * np.cos(angle), b * np.sin(angle), 0]]
    fractions = crystal.fractions.copy()
    fractions[-1, 2] += moved / np.linalg.norm(matrix[2])
    species = crystal.species
    if repeat:
        matrix[0] *= 2
        half = fractions / [2, 1, 1]
        fractions = np.concatenate([half, half + np.array([0.5, 0, 0])])
        species += species
    return poscar_of(Structure(matrix, species, fractions))


@pytest.mark.parametrize("name", ["rutile", "slab"])
@pytest.mark.parametrize(("change", "error"), TABLES["tolerances"])
def test_tolerances_are_absolute(name, change, error):
    assert verdict(STRUCTURES[name], changed(STRUCTURES[name], **change)) == error


BASES = [np.eye(3, dtype=int)]
for _step in (
    [[1, 1, 0], [0, 1, 0], [0, 0, 1]],
    [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
    [[1, 0, 0], [0, 1, 0], [0, -1, 1]],
    [[-1, 0, 0], [0, 1, 0], [2, 0, 1]],
):
    BASES += [np.array(_step) @ base for base in BASES]

numbers = st.floats(-1, 1)
turns = st.tuples(numbers, numbers, numbers, numbers).filter(
    lambda q: np.linalg.norm(q) > 0.1
)


def rotation(quaternion):
    return Rotation.from_quat(quaternion).as_matrix()


@st.composite
def views(draw, names):
    """The same crystal as somebody else may write it down, and its name."""
    name = draw(st.sampled_from(names))
    crystal = grade.read_poscar(STRUCTURES[name])
    basis = draw(st.sampled_from(BASES))
    matrix = (
        basis
        @ crystal.matrix
        @ rotation(draw(turns)).T
        * draw(st.sampled_from([1, -1]))
    )
    fractions = crystal.fractions @ np.linalg.inv(basis)
    fractions = fractions + draw(st.tuples(numbers, numbers, numbers))
    if draw(st.booleans()):
        fractions %= 1
    order = draw(st.permutations(range(len(fractions))))
    return name, grade.PoscarCrystal(
        matrix, tuple(crystal.species[i] for i in order), fractions[order]
    )


@settings(max_examples=60, deadline=None)
@given(views(list(STRUCTURES)))
def test_another_view_is_the_same_structure(view):
    name, crystal = view
    said = grade.grade_poscar(STRUCTURES[name], text_of(crystal), LIMITS)
    assert said["error"] is None
    assert said["worst"] < 1e-5


@settings(max_examples=60, deadline=None)
@given(views(["rutile", "triclinic"]), st.integers(0, 5), turns, st.floats(0.25, 1.0))
def test_a_moved_site_is_another_structure(view, index, direction, length):
    """Moved out of every place that symmetry knows, judged in every view."""
    name, crystal = view
    index %= len(crystal.species)
    step = rotation(direction) @ [length, 0, 0]
    crystal.fractions[index] += step @ np.linalg.inv(crystal.matrix)
    assert verdict(STRUCTURES[name], text_of(crystal)) == "SiteMismatch"


def test_exchanged_species_are_another_structure():
    assert verdict(TRICLINIC, TRICLINIC.replace("Al O", "O Al")) == "SiteMismatch"


def test_one_atom_in_its_cell_can_be_anywhere():
    gold = "x\n1.0\n3 0 0\n0 3 0\n0 0 3\nPo\n1\nDirect\n0 0 0\n"
    assert verdict(gold, gold.replace("\n0 0 0\n", "\n0.3 0.1 0.9\n")) is None


def altered(changes):
    text = RUTILE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("changes", TABLES["right"])
def test_notations_of_a_poscar(changes):
    assert verdict(RUTILE, altered(changes)) is None


def test_cartesian_positions_are_scaled_with_the_cell():
    crystal = grade.read_poscar(RUTILE)
    sites = "\n".join(
        " ".join(map(str, row)) for row in crystal.fractions @ crystal.matrix
    )
    plain = RUTILE.partition("Direct")[0]
    assert verdict(RUTILE, f"{plain}Cartesian\n{sites}\n") is None
    sites = "\n".join(
        " ".join(map(str, row / 2)) for row in crystal.fractions @ crystal.matrix
    )
    half = (
        f"x\n{{}}\n2.297 0 0\n0 2.297 0\n0 0 1.4795\nTi O\n2 4\nKartesisch\n{sites}\n"
    )
    for scale in ("2.0", "-62.449209724", "2 2 2"):
        assert verdict(RUTILE, half.format(scale)) is None
    assert verdict(RUTILE, half.format("1.0")) == "LatticeMismatch"


HOSTILE = [
    *((name, altered(changes)) for name, changes in TABLES["wrong"]),
    ("TooLarge", RUTILE + "# \n" * 300_000),
    ("Unreadable", ""),
    ("Unreadable", "[" * 100_000),
    ("Unreadable", RUTILE.replace("2 4", "2 " + "9" * 10_000)),
]


@pytest.mark.parametrize(("name", "text"), HOSTILE)
def test_hostile_structures_have_a_name(name, text):
    assert verdict(RUTILE, text) == name


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet="0123456789.-+eEdDTiOSCn \n!#/_", max_size=300), st.integers(0, 13)
)
def test_any_text_ends_with_a_verdict(junk, line):
    lines = RUTILE.splitlines()
    said = verdict(RUTILE, "\n".join([*lines[:line], junk, *lines[line + 1 :]]))
    assert said is None or said.isalpha()
    json.dumps(said, allow_nan=False)


def test_a_supercell_with_many_mappings_is_judged_soon():
    cell = Compound("rock salt", "NaCl", 5.64).cell()
    cell.make_supercell([2, 2, 2])
    gold = poscar_of(cell)
    cell.translate_sites(range(len(cell)), [0.11, 0.22, 0.33])
    cell.translate_sites([3], [0.03, 0, 0])
    moved = poscar_of(cell)
    assert verdict(gold, moved) == "SiteMismatch"
