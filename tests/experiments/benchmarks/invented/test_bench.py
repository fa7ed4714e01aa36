"""Worlds through the whole bench: oracle, baselines, and that no answer can look golds up."""

import io
import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import yaml
from rich.console import Console

from agents.answer import CodeAnswer
from agents.answer_formats import CODE
from agents.base import Question
from experiments.baselines import Baseline, written
from experiments.benchmarks.invented import benchmark as module
from experiments.benchmarks.invented.benchmark import READS, InventedBenchmark, make
from experiments.benchmarks.invented.graph import depth_of
from experiments.benchmarks.invented.lexicon import Knobs, WorldError
from experiments.benchmarks.invented.world import generate, program
from experiments.benchmarks.question_format import question_folders
from experiments.record import read_rows
from experiments.run.loop import execute
from sandbox.factory import available
from tests.support.paths import ROOT

KNOBS: Mapping[str, Any] = {"size": 60, "depth": 2, "breadth": 8, "questions": 3}
#: Question -> the code that is replied to it.
REPLIES: dict[str, str] = {}

TARGET = "experiments.benchmarks.invented.benchmark.InventedBenchmark"
SOURCES = yaml.safe_load(
    (ROOT / "tests" / "data" / "invented.yaml").read_text(encoding="utf-8")
)


class Replying(Baseline):
    """Replies with what `REPLIES` holds for a question."""

    def reply(self, question: Question) -> str:
        """See `Baseline`."""
        return written(CODE, CodeAnswer(REPLIES[question.id], "reference", "strict"))


@pytest.fixture
def ask(configure, tmp_path):
    """Rows of a run in which each question is answered with some code."""

    number = itertools.count()

    async def rows(code):
        REPLIES.clear()
        REPLIES.update(code)
        config = configure(
            system={"_target_": f"{__name__}.Replying", "name": "replying"},
            benchmark={"_target_": TARGET, "name": "invented", **KNOBS},
            sandbox={"backend": "auto", "timeout": 60, "workers": 1},
            out=str(tmp_path / f"run-{next(number)}"),
        )
        done = await execute(config, Console(file=io.StringIO()))
        return list(read_rows(done / "results.jsonl"))

    return rows


def _references():
    folders = question_folders(InventedBenchmark(**KNOBS).folder / "questions")
    return {folder.name: (folder / "reference.py").read_text() for folder in folders}


@pytest.mark.long
async def test_references_are_right_and_answers_that_hold_nothing_are_not(ask):
    rows = await ask(_references())
    assert [row.all_correct for row in rows] == [True] * 3
    assert sum(len(row.passed) for row in rows) >= 6
    assert {(row.labels["depth"], row.labels["gap"]) for row in rows} == {("2", "0")}
    assert [(row.values[READS], READS in row.artefacts) for row in rows] == [
        (0.0, False)
    ] * 3
    names = [f"value_{number}" for number in range(1, 6)]
    answers = zip(_references(), (None, "the crystal", 0), strict=True)
    code = "def reference():\n    return {!r}\n"
    rows = await ask(
        {name: code.format(dict.fromkeys(names, value)) for name, value in answers}
    )
    assert [row.outcome for row in rows] == ["ok"] * 3
    assert not any(passed for row in rows for passed in row.passed.values())


@pytest.mark.long
async def test_the_link_that_breaks_first_is_named(ask):
    made, code, expected = generate(Knobs(**KNOBS)), {}, {}
    for question, where in zip(
        made.questions, ("1 of 2", "2 of 2", "1 of 2"), strict=True
    ):
        plans = {one.name: one.plan for one in question.properties}
        leaf = where == "1 of 2"
        # One that takes numbers: three times a crystal has the same properties.
        deep = next(
            name
            for name, given in plans.items()
            if depth_of(given.call) == 2
            and all(
                one.call.entry.result in {"float", "int"} for one in given.call.inputs
            )
        )
        given = plans[deep]
        if leaf:  # the value that the function needs is computed wrongly: all but it are left out
            inner = next(
                one for one in given.call.inputs if one.call.entry.kind != "constant"
            )
            wrong = replace(given, call=replace(inner.call, settings=()), factor=2.0)
            plans = {deep: wrong} if inner.call.settings else {}
        else:
            plans[deep] = replace(
                given,
                call=replace(
                    given.call,
                    inputs=tuple(
                        replace(one, factor=one.factor * 3) for one in given.call.inputs
                    ),
                ),
            )
        code[question.id] = program(plans, question.crystal)
        expected[question.id] = where
    rows = await ask(code)
    assert {
        row.question_id: row.artefacts["first wrong link"] for row in rows
    } == expected


@pytest.mark.long
def test_a_world_whose_references_fail_is_not_handed_out(tmp_path, monkeypatch):
    def spoilt(knobs):
        made = generate(knobs)
        texts = {
            name: text.replace("    value = ", "    value = 2 * ")
            for name, text in made.bare.items()
        }
        return replace(made, bare=texts)

    monkeypatch.setattr("experiments.benchmarks.invented.benchmark.generate", spoilt)
    with pytest.raises(WorldError, match="but the graph gives"):
        make(Knobs(**KNOBS), tmp_path / "world")


async def test_who_reads_documentation_while_running_finds_none_and_is_counted(ask):
    """The program that beat the yardstick collects what the package says of itself."""
    package = InventedBenchmark(**KNOBS).packages[0]
    code = SOURCES["reads"].format(package=package)
    rows = await ask(dict.fromkeys(_references(), code))
    assert [(row.outcome, row.reasons["value_1"][:5] != "") for row in rows] == [
        ("ok", True)
    ] * 3
    assert [row.values[READS] for row in rows] == [1.0] * 3
    assert "inspect" in rows[0].artefacts[READS]


@pytest.mark.long
async def test_answers_of_one_world_are_worth_nothing_in_another(ask):
    """A blind replay: the references of another seed, asked for in the same places."""
    other = generate(Knobs(**{**KNOBS, "seed": 2}))
    rows = await ask(
        dict(zip(_references(), [q.reference for q in other.questions], strict=True))
    )
    assert len(rows) == 3
    assert not any(passed for row in rows for passed in row.passed.values())
    assert {row.values["runnable"] for row in rows} == {0.0}


@pytest.mark.parametrize(("code", "found"), SOURCES["read by"].items())
def test_what_counts_as_reading_documentation(code, found):
    assert module.documentation_reads(code) == found
    assert module.documentation_reads("(" * 10_000) == []


def test_a_property_says_where_its_way_was_left():
    links = [
        {"property": "v", "symbol": "p.m.leaf", "value": 2.0, "depth": 1},
        {
            "property": "v",
            "symbol": "p.m.top",
            "value": 5.0,
            "depth": 2,
            "gold": 5000.0,
        },
        {"property": "w", "symbol": "p.m.else", "value": 1.0, "depth": 1, "gold": 1.0},
    ]
    right = {"p.m.leaf": [2.0], "p.m.top": [5.0]}
    calls = [{}, {"p.m.else": [1.0]}, {"p.m.other": [3.0]}, {**right, "p.m.top": [4.0]}]
    values = [5.0, -5000.0, 31.0, "a label", 10**400]
    cases = [*((made, None) for made in calls), *((right, value) for value in values)]
    assert [module.what_failed(links, "v", *case) for case in cases] == [
        *["missing call (p.m.leaf)"] * 2,
        "wrong symbol (p.m.leaf)",
        "argument of p.m.top",
        *["unit or sign"] * 2,
        *["logic"] * 3,
    ]


@pytest.mark.long
@pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")
async def test_no_answer_finds_golds_references_or_questions(ask):
    benchmark = InventedBenchmark(**KNOBS)
    wanted = []
    for folder in question_folders(benchmark.folder / "questions"):
        gold = json.loads((folder / "gold.json").read_text())["properties"]
        wanted += [repr(value) for value in gold.values() if isinstance(value, float)]
        wanted += [
            line
            for line in (folder / "reference.py").read_text().splitlines()
            if line.startswith("from ") and "pymatgen" not in line
        ]
    assert len(wanted) > 10
    code = {}
    for sample in benchmark.load():
        code[sample.question.id] = SOURCES["hunt"].format(
            wanted=[
                one[::-1] for one in wanted
            ],  # so that the hunt does not find itself
            package=benchmark.packages[0],
            names=list(sample.question.formats),
        )
    rows = await ask(code)
    # It ran to the end: it did see the package, and found nothing of what it looked for.
    assert [row.outcome for row in rows] == ["ok"] * 3
    assert all(row.reasons["value_1"].endswith("): None") for row in rows)
