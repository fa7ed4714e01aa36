"""Generated problems: gates, and golds that another way of computing confirms."""

from collections import Counter

import numpy as np
import pytest
from pymatgen.symmetry.groups import SpaceGroup

from experiments.benchmarks.qmbench import crystals, generate, grade
from experiments.benchmarks.qmbench.benchmark import QMBenchmark, problem_of
from experiments.benchmarks.qmbench.generate import TEMPLATES

SEEDS = (1, 2, 3)


@pytest.fixture(scope="module")
def samples():
    return {seed: QMBenchmark(seed=seed, items=4, mix="even").load() for seed in SEEDS}


def test_every_template_once_and_a_seed_decides_everything(samples):
    everything = [sample for made in samples.values() for sample in made]
    for made in samples.values():
        assert (
            len(made)
            == 4 * len(TEMPLATES)
            == len({sample.question.id for sample in made})
        )
        assert {sample.labels["type"] for sample in made} == {
            "choice",
            "number",
            "text",
            "poscar",
        }
        assert {sample.labels["template"] for sample in made} == set(TEMPLATES)
    kinds = {sample.question.id.rpartition("-")[0] for sample in everything}
    assert len(kinds) == sum(map(len, TEMPLATES.values()))
    asked = {
        (s.question.prompt, *(p.key for p in s.question.attachments))
        for s in everything
    }
    assert len(asked) == len(everything)  # two seeds share nothing
    again = QMBenchmark(seed=1, items=4, mix="even").load()
    assert [(s.question, s.target) for s in again] == [
        (s.question, s.target) for s in samples[1]
    ]
    fewer = {s.question.prompt for s in QMBenchmark(seed=1, items=1, mix="even").load()}
    assert fewer < {s.question.prompt for s in samples[1]}


def test_guessing_a_number_gives_what_the_most_frequent_one_does(samples):
    integers = {"k_points", "chern_number", "winding_number", "crossing_bands"}
    for sample in (sample for made in samples.values() for sample in made):
        kind, problem = sample.question.id.rpartition("-")[0], problem_of(sample)
        if kind in integers:
            assert problem.guess == generate._frequent(kind) > 0
        elif not problem.choices:
            assert problem.guess == 0
    golds = [
        generate.winding_number(np.random.default_rng([0, n]))[1] for n in range(60)
    ]
    counts = Counter(gold["answer"]["value"] for gold in golds)
    assert generate._frequent("winding_number") == max(counts.values()) / 60 > 0.3


def test_the_mix_is_that_of_the_paper():
    assert generate.shares(103, generate.PAPER) == generate.PAPER
    few = {"choice": 12, "text": 7, "number": 4, "poscar": 1}
    assert generate.shares(24, generate.PAPER) == few
    made = QMBenchmark(items=3).load()
    found = Counter(sample.labels["type"] for sample in made)
    assert found == generate.shares(3 * len(TEMPLATES), generate.PAPER)
    assert len({sample.question.prompt for sample in made}) == len(made)
    assert len(QMBenchmark(items=2, templates=["gap", "structure"]).load()) == 4


def test_pictures_are_shown_and_in_the_arm_tool_mounted(samples):
    tool = QMBenchmark(seed=1, items=4, mix="even", arm="tool").load()
    for sample in (*samples[1], *tool):
        images, question = problem_of(sample).images, sample.question
        assert set(question.mounts) == (set(images) if sample in tool else set())
        assert len(question.attachments) == len(images)
        for part in question.attachments:
            assert part.key.startswith("qmbench-bands-")
            assert b"tEXt" not in part.data.replace(b"tEXtSoftware", b"")


# ---- golds by another way


def test_operations_are_those_of_pymatgen():
    for number in crystals.ORTHOGONAL:
        ours = {tuple(turn.ravel()) for turn in crystals.operations(number)[0]}
        group = SpaceGroup.from_int_number(number)
        theirs = {
            tuple(op.rotation_matrix.round().astype(int).ravel())
            for op in group.symmetry_ops
        }
        assert ours == theirs, number


#: Point groups of space groups, and how many components d_ijk has that are independent (Nye).
INDEPENDENT = {
    1: 18,
    3: 8,
    6: 10,
    16: 3,
    25: 5,
    75: 4,
    81: 4,
    89: 1,
    99: 3,
    111: 2,
    143: 6,
    149: 2,
    156: 4,
    168: 4,
    174: 2,
    177: 1,
    183: 3,
    187: 1,
    195: 1,
    207: 0,
    215: 1,
    2: 0,
    47: 0,
    221: 0,
}


@pytest.mark.parametrize("number", INDEPENDENT)
def test_tensors_have_as_many_components_as_the_tables_say(number):
    rng = np.random.default_rng(0)
    found = np.array([crystals.invariant(number, rng).ravel() for _ in range(40)])
    assert np.linalg.matrix_rank(found, tol=1e-8) == INDEPENDENT[number]


def test_chern_numbers_follow_from_the_curvature():
    """Of h(k), by the solid angle that it covers."""
    rng = np.random.default_rng(5)
    n = 400
    k = 2 * np.pi * np.arange(n) / n
    kx, ky = np.meshgrid(k, k, indexing="ij")
    for _ in range(12):
        p, q = (int(x) for x in rng.integers(1, 3, size=2))
        v, t = rng.uniform(0.5, 1.5, size=2)
        m = t * rng.choice([-2.6, -1.4, -0.6, 0.5, 1.5, 2.5])
        h = np.array(
            [
                v * np.sin(p * kx),
                v * np.sin(q * ky),
                m + t * (np.cos(p * kx) + np.cos(q * ky)),
            ]
        )
        dx = (np.roll(h, -1, 1) - np.roll(h, 1, 1)) / 2
        dy = (np.roll(h, -1, 2) - np.roll(h, 1, 2)) / 2
        angle = (h * np.cross(dx, dy, axis=0)).sum(0) / np.linalg.norm(h, axis=0) ** 3
        found = generate.chern(p, q, t, m)
        assert found == round(angle.sum() / (4 * np.pi))


def test_winding_numbers_count_roots_within_the_circle():
    rng = np.random.default_rng(6)
    for _ in range(30):
        given = {
            n: float(x)
            for n, x in zip((-1, 0, 1, 2), rng.uniform(-1.5, 1.5, 4), strict=True)
        }
        number, nearest = generate.winding(given)
        if nearest > 0.05:
            roots = np.roots([given[2], given[1], given[0], given[-1]])
            assert number == (np.abs(roots) < 1).sum() - 1


def test_gaps_follow_from_formulas():
    for one, two, delta in ((1.0, 1.5, 0.0), (0.7, 0.7, 0.4), (2.0, 0.5, 0.3)):
        gap = generate.chain_gap([delta, -delta], [one, two], 1)
        assert gap == pytest.approx(2 * np.hypot(delta, one - two))
    turns = np.exp(2j * np.pi * np.arange(600) / 600)
    for hoppings in ([1, 1, 1], [1, 1.5, 1.2], [1, 2.5, 1.2]):
        size = np.abs(
            hoppings[0] + hoppings[1] * turns[:, None] + hoppings[2] * turns
        ).min()
        assert generate.honeycomb_gap(0.3, hoppings) == pytest.approx(
            2 * np.hypot(0.3, size), 1e-3
        )


def test_a_drawn_gap_is_where_the_statements_say():
    for seed in range(12):
        problem, images = generate.make("kind_of_gap", np.random.default_rng(seed))
        right = {problem.choices[letter] for letter in problem.letters}
        top, bottom = (
            next(s for s in right if s.startswith(f"the {which}"))[-1]
            for which in ("highest", "lowest")
        )
        assert f"the gap is {'direct' if top == bottom else 'indirect'}" in right
        assert (len(right), len(images)) == (3, 1)


def drawn_poscar(kind, seed):
    problem, _ = generate.make(kind, np.random.default_rng(seed))
    return problem.answer.poscar


def error_of(gold, answer):
    limits = {"length": 0.05, "angle": 1.0, "site": 0.10}
    return grade.grade_poscar(gold, answer, limits)["error"]


@pytest.mark.parametrize("seed", range(6))
def test_every_choice_of_the_removed_atom_is_the_same_structure(seed):
    """Else the gold would be one of several right answers."""
    rng = np.random.default_rng(seed)
    one = crystals.compound(rng)
    counts = [int(n) for n in rng.permutation([1, int(rng.integers(1, 3)), 2])]
    removed = one.elements[int(rng.integers(2))]
    whole = one.cell()
    whole.make_supercell(counts)
    for index in [i for i, site in enumerate(whole) if site.specie.symbol == removed]:
        left = whole.copy()
        left.remove_sites([index])
        text = crystals.poscar_of(left)
        assert error_of(drawn_poscar("vacancy", seed), text) is None


@pytest.mark.parametrize("seed", range(8))
def test_the_unstrained_cell_is_not_the_strained_one(seed):
    text = crystals.poscar_of(crystals.compound(np.random.default_rng(seed)).cell())
    assert error_of(drawn_poscar("strained_cell", seed), text) == "LatticeMismatch"
