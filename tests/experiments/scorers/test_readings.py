"""What the authors' scripts read, beside what a fair person reads."""

import pytest

from agents.answer_formats import Letters
from agents.base import Step, Trajectory, Usage
from agents.letters import chosen_letters
from experiments.benchmarks.omnimatbench.slots import BARE_BOX, Slots
from experiments.benchmarks.qmbench.benchmark import Stated
from experiments.scorers.grading import published_letter, reading_rule
from experiments.scorers.quantities import read_uncertainty


@pytest.mark.parametrize(
    ("reply", "published", "fair"),
    [
        ("<answer>B</answer>", "B", "B"),
        ("B", "B", "B"),
        (" <answer> B\n</answer>\n", "B", "B"),
        ("<answer>B", "B", "B"),
        ("**B**", "**B**", "B"),
        ("The answer is B.", "The answer is B.", "B"),
        ("<answer>b</answer>", "b", "B"),
        ("It is not B.", "It is not B.", None),
    ],
)
def test_letters(reply, published, fair):
    reading = Letters().read(reply)
    assert published_letter(reply) == published
    assert (None if reading is None else reading.value) == fair


@pytest.mark.parametrize(
    ("reply", "rule"),
    [
        ('<answer>["1.2"]</answer>', "tags"),
        ("<answer>1.2", "tags"),
        ('["1.2"]', "json"),
        ("It is \\boxed{1.2}.", BARE_BOX),
    ],
)
def test_slots_say_what_was_read(reply, rule):
    reading = Slots([""]).read(reply)
    assert (reading.value, reading.rule) == (["1.2"], rule)


def test_the_last_rule_is_that_of_the_answer():
    steps = [
        Step("parse", {"status": "error"}),
        Step("model", {"reply": "x"}),
        Step("parse", {"status": "repaired", "rule": "box"}),
    ]
    trajectory = Trajectory(
        "q", 0, None, None, "", steps, Usage(), "answered", "repaired"
    )
    assert reading_rule(trajectory) == "box"


@pytest.mark.parametrize(
    ("text", "unit", "uncertainty"),
    [
        ("1.1 ± 5 eV", "eV", 5.0),
        ("1.1 ± 0.05 eV", "meV", 50.0),
        ("(3.0 ± 0.1) Å", "Å", 0.1),
        ("1.1 eV", "eV", 0.0),
        (7, "", 0.0),
    ],
)
def test_uncertainties(text, unit, uncertainty):
    assert read_uncertainty(text, unit) == pytest.approx(uncertainty)


@pytest.mark.parametrize(
    ("reply", "text", "rule"),
    [
        ("<answer>1.1 eV</answer>", "1.1 eV", "tags"),
        ("So:\n<answer>1.1 eV", "1.1 eV", "open tag"),
        ('```json\n{"answer": "1.1 eV"}\n```', '{"answer": "1.1 eV"}', "fence"),
        ('I get {"answer": "1.1 eV"}', "1.1 eV", "json"),
        ("A first step gives 3.\nThe gap is 1.1 eV", "The gap is 1.1 eV", "final line"),
        ("About 1.1 eV", "About 1.1 eV", "short reply"),
    ],
)
def test_a_number_with_its_unit(reply, text, rule):
    reading = Stated().read(reply)
    assert (reading.value, reading.rule) == (text, rule)


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("Which hold?\n\nA. cubic\nB. polar\nC. chiral", None),  # the question again
        ("It has an inversion centre.\n\nA. cubic\nC. centric", "AC"),
        ("A screw axis is enough.\n\nC. chiral", "C"),
    ],
)
def test_choices_that_a_reply_ends_with(reply, chosen):
    reading = chosen_letters(reply, "ABC")
    assert (reading and reading[0]) == chosen
