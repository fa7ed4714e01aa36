"""PointWorld, CIF-Repair, CIF-Gen and StructProp."""

import re
from dataclasses import replace

import numpy as np
import pytest

from experiments.benchmarks.atomworld import family, grade
from experiments.benchmarks.atomworld.benchmark import (
    GRADER,
    AtomWorldBenchmark,
    StructureScorer,
)
from experiments.benchmarks.atomworld.crystal import PROTOTYPES, Crystal
from experiments.scorers.base import ScoringContext
from sandbox.base import Execution, Outcome, SandboxConfig
from sandbox.factory import get_sandbox
from tests.support.crystals import ATOMWORLD, published, rows


def cif(given):
    return Crystal.of(given).to_cif()


def judged(asked, answer):
    rule = getattr(grade, family.DATA[asked.family]["rule"])
    if family.DATA[asked.family]["rule"] == "moved_points":
        return rule(asked.given, answer, "")
    return rule(asked.given, answer, f"<cif>{answer}</cif>")


def passed(said):
    return said["strict"]["passed"], said["published"]["passed"]


def scaled(given, factor):
    return {
        **given,
        "cell": [*(factor * np.array(given["cell"][:3])), *given["cell"][3:]],
    }


def test_points_move_as_the_sentence_says():
    asked = family.ask("pointworld", 3, 6)
    assert len(asked) == 24
    for one in asked:
        before, after = np.array(one.given["before"]), np.array(one.given["after"])
        assert passed(judged(one, one.given["after"])) == (True, True)
        assert passed(judged(one, tuple(after[::-1] + 0.01))) == (True, True)
        far = judged(one, (after + 0.5).tolist())
        assert passed(far) == (False, True)
        assert far["published"]["max_dist"] == pytest.approx(0.5 * 3**0.5)
        if one.labels["action"] == "rotate_around":
            same = [np.linalg.norm(points[0] - points[1]) for points in (before, after)]
            assert same[0] == pytest.approx(same[1])
        if one.labels["action"] == "insert_between":
            ways = [np.linalg.norm(after[2] - point) for point in before]
            assert sum(ways) == pytest.approx(np.linalg.norm(before[0] - before[1]))


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "x",
        [],
        [[1, 2, 3]],
        [[1, 2], [3]],
        [[1, 2, 3], ["1", "2", "3"]],
        [1, 2],
        [[1, 2, None], [1, 2, 3]],
        [[1, 2, 1e999], [1, 2, 3]],
        [[True, 2, 3], [1, 2, 3]],
        [[10**400, 1, 1], [1, 2, 3]],
        [[float("nan"), 1, 1], [1, 2, 3]],
    ],
)
def test_what_is_no_list_of_points_has_an_invalid_shape(answer):
    one = family.ask("pointworld", 3, 1)[0]
    said = judged(one, answer)
    assert passed(said) == (False, False)
    name = "OutputFormatError" if answer is None else "InvalidShape"
    assert said["strict"]["error"] == said["published"]["error"] == name


@published
def test_recorded_points_are_right_where_the_rotation_is_done_once():
    found = []
    for row in rows("pointworld_rotate_recorded_5.jsonl"):
        before, given = (
            np.array(row["before"]),
            {"one": row["center"], "axis": row["axis"]},
        )
        after = family.moved(
            "rotate_around", before, {**given, "angle": row["angle_deg"]}, before
        )
        twice = {**given, "angle": 2 * row["angle_deg"]}
        recorded = family.moved("rotate_around", before, twice, before)
        assert np.abs(recorded - row["recorded_target"]).max() < 0.011  # of the authors
        given = {"before": row["before"], "after": after.tolist()}
        found.append(grade.moved_points(given, row["recorded_answer"], "")["strict"])
    assert [round(one["worst"], 4) for one in found] == [
        0.0179,
        0.0004,
        0.0006,
        7.6645,
        0.0003,
    ]
    assert [one["passed"] for one in found] == [True, True, True, False, True]


def test_every_corruption_breaks_a_file_and_is_repaired_by_the_original():
    asked = family.ask("cif_repair", 2, len(family.CORRUPTIONS))
    assert len({one.labels["corruption"] for one in asked}) == 22
    for one in asked:
        assert passed(judged(one, one.given["original"])) == (True, True), one.labels
        echo = judged(one, one.given["corrupted"])
        assert passed(echo) == (False, False), one.labels
        assert echo["echo"]["published"]["passed"] is False


def test_the_removed_value_is_put_where_the_answer_wants_it():
    one = family.ask("cif_repair", 2, 1)[0]
    assert one.labels["corruption"] == "remove _cell_length_a"
    value = re.search(r"_cell_length_a +(\S+)", one.given["original"])[1]
    assert one.given["removed"] == value
    tagged = f"_cell_length_a {grade.REMOVED}\n_cell_length_b"
    answer = one.given["corrupted"].replace("_cell_length_b", tagged, 1)
    assert passed(judged(one, answer)) == (True, True)


@published
def test_the_rebuilt_published_repairs():
    asked = family.read("cif_repair", ATOMWORLD / "cif_repair_rebuilt_22.jsonl")
    assert [passed(judged(one, one.given["original"])) for one in asked] == [
        (True, True)
    ] * 22
    unrepaired = [judged(one, one.given["corrupted"])["published"] for one in asked]
    assert not any(said["passed"] for said in unrepaired)
    errors = [said["error"] for said in unrepaired]
    assert errors.count("CIFParsingError") == 19
    assert errors.count("AtomCountMismatch") == 3
    # our corruptions are the published ones
    original = asked[0].given["original"]
    for one in asked:
        ours, removed = family.corrupted(original, one.labels["corruption"])
        assert ours.split() == one.given["corrupted"].split(), one.labels
        assert removed == one.given["removed"]


GENERATED = [
    (lambda: family.ask("cif_gen", 4, 13), 1.02, []),
    pytest.param(
        lambda: family.read("cif_gen", ATOMWORLD / "cif_gen.jsonl"),
        2.0,
        ["cifgen-01", "cifgen-07"],
        marks=published,
    ),
]


@pytest.mark.parametrize(("ask", "factor", "errata"), GENERATED)
def test_generated_and_published_prototypes_and_lattice_constants_that_count(
    ask, factor, errata
):
    asked = ask()
    assert [one.name for one in asked if "erratum" in one.labels] == errata
    assert len({one.labels["kind"] for one in asked}) >= 10
    for one in asked:
        target = one.given["target"]
        assert passed(judged(one, cif(target))) == (True, True), one.labels
        assert passed(judged(one, cif(scaled(target, factor)))) == (False, True), (
            one.labels
        )


def test_the_published_matcher_takes_diamond_for_simple_cubic():
    kinds = {prototype.name: prototype for prototype in PROTOTYPES}
    right, wrong = (kinds[name].crystal(("C",), 1.54) for name in ("diamond", "sc"))
    text = wrong.to_cif()
    said = grade.generated({"target": right.plain()}, text, f"<cif>{text}</cif>")
    assert passed(said) == (False, True)


def replaced(given, **changes):
    return {**given, "species": [changes.get(one, one) for one in given["species"]]}


@pytest.mark.parametrize("name", ["cif_repair", "cif_gen", "structprop", "pointworld"])
async def test_code_that_returns_something_else_is_wrong_and_no_fault_of_ours(name):
    class Here:
        async def judge(self, module, rule, given, **_):
            return Execution(Outcome.OK, getattr(grade, rule)(*given))

    target = AtomWorldBenchmark(family=name, arm="tool", items=1).load()[0].target
    said = await StructureScorer()._judged(
        target, [1, {}], "", ScoringContext(None, Here())
    )
    assert said["strict"]["error"] in {"OutputFormatError", "InvalidShape"}


async def test_the_bulk_modulus_of_an_answer_decides():
    (up, down) = family.ask("structprop", 1, 2)
    assert (up.labels["kind"], down.labels["kind"]) == ("increase", "decrease")
    limits = SandboxConfig(workers=1, options={"warmup": StructureScorer.warmup})
    async with get_sandbox(limits) as sandbox:

        async def said(asked, answer):
            ran = await sandbox.call(
                GRADER,
                family.DATA[asked.family]["rule"],
                [asked.given, answer, ""],
                timeout=60,
            )
            assert ran.outcome is Outcome.OK, ran.error
            return ran.result["strict"]

        before = up.given["before"]
        soft, hard = ({**before, "species": [metal] * 4} for metal in ("Al", "Pt"))
        for asked, right, wrong in ((up, hard, soft), (down, soft, hard)):
            start = {
                **asked.given,
                "before": replaced(scaled(before, 1.0), Pt="Cu", Al="Cu"),
            }
            one = replace(asked, given=start)
            good, bad = await said(one, cif(right)), await said(one, cif(wrong))
            assert good["passed"], good
            assert (bad["passed"], bad["error"]) == (False, "WrongSide")
            assert 20 < good["value"] < 400
            assert good["original"] == bad["original"]
        many = scaled(before, 10.0)
        apart = [
            [x / 10, y / 10, z / 10]
            for x in range(10)
            for y in range(10)
            for z in range(6)
        ]
        for name, answer in {
            "StructureSame": cif(before),
            "UnsupportedElement": cif({**before, "species": ["Fe"] * 4}),
            "AtomsTooClose": cif(
                {
                    **before,
                    "fractions": [
                        [0, 0, 0],
                        [0.01, 0, 0],
                        [0.5, 0, 0.5],
                        [0.5, 0.5, 0],
                    ],
                }
            ),
            "AtomsTooClose ": cif(scaled(before, 0.1)),
            "AtomsTooClose  ": cif(
                {**before, "cell": [4.0, 4.0, 4.0, 90.0, 90.0, 0.1]}
            ),
            "TooManySites": cif({**many, "species": ["Cu"] * 600, "fractions": apart}),
            "PartialOccupancy": cif(before).replace("  1.0\n", "  0.5\n"),
            "CIFParsingError": "no file",
            "OutputFormatError": None,
        }.items():
            found = await said(up, answer)
            names = (
                {name} if name == name.strip() else {name.strip(), "CIFParsingError"}
            )
            assert not found["passed"]
            assert found["error"] in names


@published
def test_recorded_properties_are_judged_as_published():
    found = rows("structprop_dft_200.jsonl")
    assert len(found) == 200
    for row in found:
        number = isinstance(row["value"], int | float)
        right = number and grade.moved(row["orig"], row["value"], row["trend"])
        assert right == row["success"], row
