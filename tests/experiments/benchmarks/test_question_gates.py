"""Each gate of questions lets a good one pass and catches a bad one; golds come from execution."""

import json

import pytest
import yaml

from experiments.benchmarks import question_gates as gates
from experiments.benchmarks.question_check import Checker
from experiments.benchmarks.question_format import (
    ENVIRONMENT,
    RECORDED,
    TaskSpec,
    build_prompt,
    question_folders,
)
from tests.support.paths import DATA
from tests.support.questions import write_question

TABLES = yaml.safe_load(DATA.joinpath("question_gates.yaml").read_text())
TASK, REFERENCE = TABLES["task"], TABLES["reference"]
GOLD = {"n_slabs": 4, "edge_lengths": [2.375, 4.75]}


def make_spec(**changes):
    return TaskSpec.model_validate(TASK | changes)


@pytest.mark.parametrize(("changes", "told"), TABLES["texts"])
def test_what_a_text_gives_away_or_lacks_is_caught(changes, told):
    spec = make_spec(**changes)
    findings = gates.check_goal(spec, REFERENCE) + gates.check_scaffold(spec)
    assert len(findings) == bool(told)
    assert told in "".join(findings)


@pytest.mark.parametrize(("source", "told"), [(REFERENCE, ""), *TABLES["references"]])
def test_references_are_plain(source, told):
    findings = gates.check_reference(source)
    assert bool(findings) == bool(told)
    assert told in "".join(findings)


def test_masks_are_announced_where_there_are_some_and_filled_into_the_code():
    masked = make_spec(masks={"MASK_1": "SlabGenerator"})
    bare = make_spec(scaffold=masked.scaffold.replace("[MASK_1]", "SlabGenerator"))
    for spec, count in ((masked, 1), (bare, 0)):
        assert build_prompt(spec, "scaffold").count("[MASK]") == count
    assert "from pymatgen.core.surface import SlabGenerator\n" in gates.scaffold_code(
        masked
    )
    assert "import mask_1" in gates.scaffold_code(make_spec())


@pytest.mark.parametrize(("gold", "goal", "caught"), TABLES["shown"])
def test_answers_that_stand_in_a_prompt_are_caught(gold, goal, caught):
    inner = type(gold[0]).__name__ if isinstance(gold, list) else ""
    kinds = {list: f"list[{inner}]", dict: "dict[str, float]"}
    first = {"name": "asked", "description": "What is asked for in this question."}
    first["format"] = kinds.get(type(gold), type(gold).__name__)
    spec = make_spec(
        properties=[first, {**first, "name": "count", "format": "int"}], goal=goal
    )
    findings = gates.check_answers_hidden(spec, {"asked": gold, "count": 7})
    assert [finding.split(" appears")[0] for finding in findings] == (
        ["goal: the value of asked"] if caught else []
    )


def test_choices_may_name_the_answer():
    choice = {
        "name": "ordering",
        "description": "How the magnetic moments are ordered.",
        "format": "str",
        "choices": ["FM", "AFM", "FiM"],
    }
    spec = make_spec(properties=[choice, {**choice, "name": "other"}])
    assert gates.check_answers_hidden(spec, {"ordering": "AFM", "other": "FiM"}) == []


@pytest.mark.parametrize(
    "value",
    [
        None,
        [1.0, None],
        {"$": "scalar", "dtype": "<f8", "v": 1.0},
        {"a": {"$": "tuple", "v": [1]}},
    ],
)
def test_golds_are_plain_values(value):
    assert gates.check_plain({"fine": {"a": [1, 2.5, "x", True]}}) == []
    assert len(gates.check_plain({"fine": 1, "wrong": value})) == 1


@pytest.mark.parametrize(
    "value", [7, -2.5, "Pm-3m", True, [0.0, 4.75], {"a": [1], "b": ["x"]}]
)
def test_every_wrong_answer_differs_from_the_gold_in_one_place(value):
    wrong = dict(gates.wrong_answers(value))
    assert {"None", "zero", "empty"} <= set(wrong)
    for what, answer in wrong.items():
        assert answer != value or type(answer) is not type(value)
        if what.startswith("perturbed"):
            pairs = zip(gates.walk(value), gates.walk(answer), strict=True)
            assert sum(old != new for old, new in pairs) == 1
    if isinstance(value, float):
        assert wrong["perturbed"] == pytest.approx(1.01 * value)


@pytest.mark.parametrize(("gold", "told"), TABLES["vacuous"])
def test_a_vacuous_or_wrongly_typed_gold_is_caught(gold, told):
    assert gates.check_verification(make_spec(), GOLD) == []
    findings = gates.check_verification(make_spec(), GOLD | gold)
    assert any(told in finding for finding in findings)
    assert all(finding.startswith(next(iter(gold))) for finding in findings)


def test_a_tolerance_that_lets_one_per_cent_pass_is_caught():
    loose = make_spec(
        properties=[TASK["properties"][0], TASK["properties"][1] | {"atol": 0.03}]
    )
    findings = gates.check_verification(loose, GOLD)
    assert findings == ["edge_lengths: vacuous, the answer 'perturbed[0]' passes"]


# --- in the sandbox ------------------------------------------------------------------------------


@pytest.mark.long
async def test_golds_come_from_execution_and_bad_questions_get_none(tmp_path):
    def question(name, source=TABLES["sound"], **changes):
        folder = write_question(tmp_path, name=name, **changes)
        (folder / "reference.py").write_text(source)
        return folder

    right = {"cell_volume": 3.61**3 / 4, "ordering": "FM"}
    drifted = question("drifted", gold={**right, "cell_volume": 1.02 * 3.61**3 / 4})
    good, masked = question("good"), question("masked", masks={"MASK": "Latice"})
    async with Checker(env=ENVIRONMENT, recorded=RECORDED) as checker:
        written = await checker.check(good, write=True)
        again = await checker.check(good)
        bad = {
            "the committed gold is no longer": await checker.check(drifted),
            "cannot import name 'Latice'": await checker.check(masked, write=True),
        }
        for number, (source, told) in enumerate(TABLES["unsound"]):
            bad[told] = await checker.check(
                question(f"bad_{number}", source), write=True
            )
    assert (written.findings, again.findings) == ((), ())
    assert (written.written, again.written) == (True, False)
    gold = json.loads((good / "gold.json").read_text())
    assert gold["properties"] == right
    assert gold["versions"]["pymatgen"].count(".") >= 1
    for told, report in bad.items():
        assert any(told in finding for finding in report.findings), report
        assert report.question_id == "drifted" or not list(
            tmp_path.glob("bad*/gold.json")
        )


@pytest.mark.long
async def test_every_reference_reproduces_its_gold_in_the_sandbox():
    async with Checker(env=ENVIRONMENT, recorded=RECORDED) as checker:
        reports = [await checker.check(folder) for folder in question_folders()]
    assert {
        report.question_id: report.findings for report in reports if report.findings
    } == {}
