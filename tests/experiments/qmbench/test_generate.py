"""Generated problems: gates, and golds that another way of computing confirms."""

from itertools import permutations

import numpy as np
import pytest
from pymatgen.core import Structure
from pymatgen.symmetry.groups import SpaceGroup

from agents.base import Image
from experiments.benchmarks.qmbench import crystals, drawn, grade, models, symmetry
from experiments.benchmarks.qmbench.__main__ import gold_reply, replied
from experiments.benchmarks.qmbench.benchmark import QMBenchmark
from experiments.benchmarks.qmbench.generate import TEMPLATES
from experiments.benchmarks.qmbench.problem import Interval, Problem, Rubric
from experiments.benchmarks.qmbench.scorer import ProblemScorer, problem_of
from experiments.scorers.base import Tools
from sandbox.base import Execution, Outcome, SandboxConfig
from sandbox.factory import get_sandbox
from tests.experiments.qmbench.test_grade import LIMITS

SEEDS = (1, 2, 3)


class Here:
    """Grades on the host, what our own code wrote."""

    async def run(self, code, entry, **_):
        space = {}
        exec(code, space)
        return Execution(Outcome.OK, result=space[entry]())


async def share(sample, text):
    score = await ProblemScorer().score(sample, replied(sample, text), Tools(None, Here()))
    return score.values["score"]


def judged(sample):
    return not isinstance(problem_of(sample).answer, Rubric)


@pytest.fixture(scope="module")
def samples():
    return {seed: QMBenchmark(seed=seed, items=4).load() for seed in SEEDS}


def test_eight_templates_and_the_four_types(samples):
    assert len(TEMPLATES) == 8
    for made in samples.values():
        assert len(made) == 32
        assert len({sample.question.id for sample in made}) == 32
        assert {sample.labels["type"] for sample in made} == {"choice", "number", "text", "poscar"}
        assert {sample.labels["template"] for sample in made} == set(TEMPLATES)
    kinds = {s.question.id.rpartition("-")[0] for made in samples.values() for s in made}
    assert len(kinds) == sum(map(len, TEMPLATES.values()))


def test_a_seed_decides_everything_and_two_share_nothing(samples):
    again = QMBenchmark(seed=1, items=4).load()
    assert [s.question for s in again] == [s.question for s in samples[1]]
    assert [s.target for s in again] == [s.target for s in samples[1]]
    asked = [
        (s.question.prompt, tuple(p.key for p in s.question.parts))
        for made in samples.values() for s in made
    ]  # fmt: skip
    assert len(set(asked)) == len(asked)
    fewer = {s.question.prompt for s in QMBenchmark(seed=1, items=1).load()}
    assert fewer < {s.question.prompt for s in samples[1]}


async def test_gold_passes_and_empty_echo_and_zero_fail(samples):
    free = 0
    for sample in filter(judged, (s for made in samples.values() for s in made)):
        problem = problem_of(sample)
        assert await share(sample, gold_reply(problem)) == 1.0, problem.id
        for text in ("", "<answer></answer>", "<file>\n</file>", problem.prompt,
                     f"<answer>{problem.prompt}</answer>", sample.question.prompt,
                     f"<file>\n{sample.question.prompt}\n</file>"):  # fmt: skip
            assert await share(sample, text) == 0.0, (problem.id, text)
        zero = await share(sample, "<answer>0</answer>")
        assert zero == float(getattr(problem.answer, "value", None) == 0)
        free += zero
    assert free < 8  # a Chern or winding number can be 0


async def test_answers_of_other_problems_fail(samples):
    """Numbers and letters of another problem can be right by chance; structures and gaps not."""
    lucky = []
    for made in samples.values():
        own = list(filter(judged, made))
        for one, other in permutations(own, 2):
            first, second = problem_of(one), problem_of(other)
            if first.type != second.type or one.labels["template"] != other.labels["template"]:
                continue
            found = await share(one, gold_reply(second))
            if isinstance(first.answer, str | Interval) or first.type == "poscar":
                assert found < 1.0 or first.type == "choice"
            if first.type == "choice":
                lucky.append(found)
    assert np.mean(lucky) < 0.4


async def test_a_rubric_gives_full_marks_only_by_a_judge(samples):
    (sample, *_) = [s for s in samples[1] if not judged(s)]
    assert await share(sample, gold_reply(problem_of(sample))) is None
    assert await share(sample, "") == 0.0


@pytest.mark.parametrize("arm", ["direct", "tool"])
def test_golds_are_neither_prompted_nor_mounted(arm, samples):
    for made in (QMBenchmark(seed=seed, items=4, arm=arm).load() for seed in SEEDS):
        for sample in made:
            problem, question = problem_of(sample), sample.question
            shown = question.prompt + question.answer.instruction + str(question.search)
            assert set(question.mounts) == (set(problem.images) if arm == "tool" else set())
            assert len(question.parts) == len(problem.images)
            for part in question.parts:
                assert isinstance(part, Image)
                assert part.key.startswith("qmbench-bands-")
                assert b"tEXt" not in part.data.replace(b"tEXtSoftware", b"")
            if isinstance(problem.answer, Rubric):
                assert not any(point.text in shown for point in problem.answer.rubric)
            elif isinstance(problem.answer, Interval):
                assert f"{(problem.answer.low + problem.answer.high) / 2:.3f}" not in shown
            elif problem.type == "poscar":
                assert problem.answer.poscar.splitlines()[2] not in shown


def test_a_picture_is_told_by_what_it_shows_not_by_its_pixels():
    bands = [[-1.0, 0.5, 1.0], [0.2, 0.6, 1.4]]
    one, same = drawn.picture(bands), drawn.picture(bands)
    assert one.key == same.key
    assert one.data[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(one.data) < 100_000
    assert drawn.picture([[-1.0, 0.5, 1.1], bands[1]]).key != one.key


# ---- golds by another way


def test_operations_are_those_of_pymatgen():
    for number in symmetry.ORTHOGONAL:
        ours = {tuple(turn.ravel()) for turn in symmetry.operations(number)[0]}
        group = SpaceGroup.from_int_number(number)
        theirs = {
            tuple(op.rotation_matrix.round().astype(int).ravel()) for op in group.symmetry_ops
        }
        assert ours == theirs, number


#: Point groups of space groups, and how many components d_ijk has that are independent (Nye).
INDEPENDENT = {1: 18, 3: 8, 6: 10, 16: 3, 25: 5, 75: 4, 81: 4, 89: 1, 99: 3, 111: 2, 143: 6,
               149: 2, 156: 4, 168: 4, 174: 2, 177: 1, 183: 3, 187: 1, 195: 1, 207: 0, 215: 1,
               2: 0, 47: 0, 221: 0}  # fmt: skip


@pytest.mark.parametrize("number", INDEPENDENT)
def test_tensors_have_as_many_components_as_the_tables_say(number):
    rng = np.random.default_rng(0)
    found = np.array([symmetry.invariant(number, rng).ravel() for _ in range(40)])
    assert np.linalg.matrix_rank(found, tol=1e-8) == INDEPENDENT[number]


def test_chern_numbers_follow_from_the_curvature():
    """Of h(k), by the solid angle that it covers; and the phases of the model are known."""
    rng = np.random.default_rng(5)
    n = 400
    k = 2 * np.pi * np.arange(n) / n
    kx, ky = np.meshgrid(k, k, indexing="ij")
    for _ in range(12):
        p, q = (int(x) for x in rng.integers(1, 3, size=2))
        v, t = rng.uniform(0.5, 1.5, size=2)
        m = t * rng.choice([-2.6, -1.4, -0.6, 0.5, 1.5, 2.5])
        h = np.array([v * np.sin(p * kx), v * np.sin(q * ky),
                      m + t * (np.cos(p * kx) + np.cos(q * ky))])  # fmt: skip
        dx = (np.roll(h, -1, 1) - np.roll(h, 1, 1)) / 2
        dy = (np.roll(h, -1, 2) - np.roll(h, 1, 2)) / 2
        angle = (h * np.cross(dx, dy, axis=0)).sum(0) / np.linalg.norm(h, axis=0) ** 3
        found = models.chern(p, q, v, t, m)
        assert found == round(angle.sum() / (4 * np.pi))
        assert abs(found) == (p * q if abs(m) < 2 * t else 0)


def test_winding_numbers_count_roots_within_the_circle():
    rng = np.random.default_rng(6)
    for _ in range(30):
        given = {n: float(x) for n, x in zip((-1, 0, 1, 2), rng.uniform(-1.5, 1.5, 4), strict=True)}
        number, nearest = models.winding(given)
        if nearest > 0.05:
            roots = np.roots([given[2], given[1], given[0], given[-1]])
            assert number == (np.abs(roots) < 1).sum() - 1


def test_gaps_follow_from_formulas():
    for one, two, delta in ((1.0, 1.5, 0.0), (0.7, 0.7, 0.4), (2.0, 0.5, 0.3)):
        gap = models.chain_gap([delta, -delta], [one, two], 1)
        assert gap == pytest.approx(2 * np.hypot(delta, one - two))
    assert models.honeycomb_gap(0.3, [1, 1, 1]) == pytest.approx(0.6, rel=1e-6)
    assert models.honeycomb_gap(0.3, [1, 1.5, 1.2]) == pytest.approx(0.6, rel=1e-6)
    assert models.honeycomb_gap(0.3, [1, 2.5, 1.2]) == pytest.approx(2 * np.hypot(0.3, 0.3))


def test_a_drawn_gap_is_where_the_statements_say():
    for seed in range(12):
        problem, images = drawn.kind_of_gap(np.random.default_rng(seed))
        right = {problem.choices[letter] for letter in problem.letters}
        top, bottom = (next(s for s in right if s.startswith(f"the {which}"))[-1]
                       for which in ("highest", "lowest"))  # fmt: skip
        assert f"the gap is {'direct' if top == bottom else 'indirect'}" in right
        assert len(right) == 3
        assert set(images) == {"bands.png"}


@pytest.mark.parametrize("seed", range(6))
def test_every_choice_of_the_removed_atom_is_the_same_structure(seed):
    """Else the gold would be one of several right answers."""
    rng = np.random.default_rng(seed)
    problem = crystals.vacancy(rng)
    rng = np.random.default_rng(seed)
    one = crystals.compound(rng)
    counts = [int(n) for n in rng.permutation([1, int(rng.integers(1, 3)), 2])]
    removed = one.elements[int(rng.integers(2))]
    whole = one.cell()
    whole.make_supercell(counts)
    for index in [i for i, site in enumerate(whole) if site.specie.symbol == removed]:
        left: Structure = whole.copy()
        left.remove_sites([index])
        symbols = [site.specie.symbol for site in left]
        text = crystals.poscar_text(left.lattice.matrix, symbols, left.frac_coords)
        assert grade.grade_poscar(problem.answer.poscar, text, LIMITS)["passed"]


@pytest.mark.parametrize("seed", range(8))
def test_the_unstrained_cell_is_not_the_strained_one(seed):
    problem: Problem = crystals.strained_cell(np.random.default_rng(seed))
    cell = crystals.compound(np.random.default_rng(seed)).cell()
    symbols = [site.specie.symbol for site in cell]
    text = crystals.poscar_text(cell.lattice.matrix, symbols, cell.frac_coords)
    said = grade.grade_poscar(problem.answer.poscar, text, LIMITS)
    assert said["error"] == "LatticeMismatch"


async def test_the_sandbox_says_the_same(samples):
    limits = SandboxConfig(workers=1, options={"warmup": ProblemScorer.warmup})
    async with get_sandbox(limits) as verifier:
        for sample in (s for s in samples[1] if s.labels["type"] == "poscar"):
            answer = replied(sample, gold_reply(problem_of(sample)))
            score = await ProblemScorer().score(sample, answer, Tools(None, verifier))
            assert score.values["score"] == 1.0
            assert list(score.figures) == ["gold", "answer, mapped onto the gold's cell"]
            assert all(figure.startswith("<svg ") for figure in score.figures.values())
