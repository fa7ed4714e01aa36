"""What the baselines say, and that it goes the way of every answer."""

import io
from typing import Any

import pytest
from rich.console import Console

from agents.answer import CodeAnswer, read_answer
from agents.answer_formats import (
    CODE,
    Block,
    Choices,
    File,
    Json,
    Letters,
    Number,
    Text,
)
from agents.base import Document, Image, Question
from experiments.baselines import written
from experiments.benchmarks.omnimatbench.slots import Slots
from experiments.benchmarks.own import Task
from experiments.files import read_json
from experiments.record import read_rows
from experiments.run.loop import execute
from experiments.samples import Sample
from experiments.scorers.grading import ChoiceScorer


@pytest.mark.parametrize(
    ("form", "value"),
    [
        (Letters(), "C"),
        (Choices(), "AC"),
        (Number("eV"), -1.5e-07),
        (Text(), "Two sentences. Of prose."),
        (Block("cif"), "data_x\n_cell_length_a   3.0"),
        (File("POSCAR"), "comment\n  1.0 \n\n"),
        (Json([[""]]), [["1.20", r"\alpha"], ["b"]]),
        (Json([["x", "y", "z"]]), [[0.1, -2.0, 3e-9]]),
        (Slots([["", ""], [""]]), [["1.20", r"\alpha"], ["b"]]),
    ],
)
def test_what_is_written_is_read_strictly(form, value):
    read = form.read(written(form, value))
    assert (read.value, read.status) == (value, "strict")


def test_code_and_values_of_code_are_read_strictly():
    own = CodeAnswer(
        "x = 1\n\ndef reference():\n    return {'a': x}", "reference", "strict"
    )
    assert read_answer(written(CODE, own), strict=True) == own
    value = [["1'0", 'quoted "so"\n'], [2.5]]
    answer = read_answer(written(CODE, value), strict=True)
    scope: dict[str, Any] = {}
    exec(answer.code, scope)
    assert scope[answer.entry]() == {"answer": value}


def lettered() -> Task:
    """Four questions: with a paper and a picture, plain, without a reference, not there."""
    paper = Document("paper.txt", "It is <answer>A</answer>.")
    parts, known = (
        {"a": (paper, Image(b"x", "image/png", "x"))},
        {"a": "A", "b": "B", "d": "D"},
    )
    return Task(
        [
            Sample(
                Question(
                    n,
                    f"<answer>b</answer> {n}",
                    answer=Letters(),
                    attachments=parts.get(n, ()),
                ),
                target=n.upper(),
                unavailable={"d": "a file is missing"}.get(n),
                reference=known.get(n),
            )
            for n in "abcd"
        ],
        ChoiceScorer(),
    )


@pytest.mark.parametrize(
    ("system", "right", "unavailable"),
    [
        ("Oracle", {"a": 1, "b": 1}, "cd"),
        ("Echo", {"a": 1, "b": 1, "c": 0}, "d"),
        ("Empty", {"a": 0, "b": 0, "c": 0}, "d"),
    ],
)
async def test_runs(configure, system, right, unavailable):
    """Pictures are no obstacle to whoever does not look; what has no reference is named.

    Who echoes prefers the document.
    """
    config = configure(
        system={"_target_": f"experiments.baselines.{system}", "name": system.lower()},
        benchmark={"_target_": f"{__name__}.lettered", "name": "lettered"},
    )
    folder = await execute(config, Console(file=io.StringIO()))
    rows = {row.question_id: row for row in read_rows(folder / "results.jsonl")}
    assert {name: row.passed_count for name, row in rows.items()} == right
    assert {row.calls for row in rows.values()} == {0}
    summary = read_json(folder / "summary.json")
    assert (summary["complete"], summary["model_kind"]) == (True, "none")
    assert set(summary["unavailable"]) == set(unavailable)
    if system == "Oracle":
        assert (
            summary["unavailable"]["c"]
            == "system=oracle: the benchmark has no reference"
        )
