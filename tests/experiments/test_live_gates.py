"""Each gate of ``live`` lets a good question pass and catches a bad one."""

from typing import Any

import pytest

from experiments.benchmarks import question_gates as gates
from experiments.benchmarks.question_format import (
    TaskSpec,
    build_prompt,
)

REFERENCE = """
import numpy as np
from pymatgen.core import Lattice
from pymatgen.core.surface import SlabGenerator

def reference():
    generator = SlabGenerator(Lattice.cubic(3), min_slab_size=np.ceil_of_it(8.1), seed=1)
    return {"n_slabs": len(generator.get_slabs()), "d": generator["hop_distance"], "Ti": 1}
"""


def make_spec(**changes):
    plain: dict[str, Any] = {
        "area": "surfaces",
        "properties": [
            {
                "name": "n_slabs",
                "description": "Number of distinct slabs of the crystal.",
                "format": "int",
                "compare": "equal",
            },
            {
                "name": "edge_lengths",
                "description": "Lengths of the edges in ascending order.",
                "format": "list[float]",
                "compare": "close",
            },
        ],
        "scaffold": "Cut it:\n```python\nfrom pymatgen.core.surface import [MASK_1]\n```\nGo on.",
        "goal": "Cut a crystal of simple cubic polonium, a = 3.359 angstroms, into slabs.",
    }
    return TaskSpec.model_validate(plain | changes)


GOLD = {"n_slabs": 4, "edge_lengths": [2.375, 4.75]}


MASKED = "Cut the crystal with the class [MASK] and count the slabs."


def _code(block):
    return f"Cut the crystal:\n  ```python\n  {block}\n  ```\nand count the slabs."


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"goal": "Cut the crystal of simple cubic polonium into slabs."}, ""),
        ({"goal": "Cut the crystal of polonium with SlabGenerator, please."}, "SlabGenerator"),
        ({"goal": "Cut the crystal of polonium with a min_slab_size of 8."}, "min_slab_size"),
        ({"goal": "Cut the crystal of polonium: get_slabs gives all of it."}, "get_slabs"),
        ({"goal": "Cut the crystal of polonium, whose hop_distance is asked."}, "hop_distance"),
        ({"goal": "Cut the crystal of polonium, and then call ceil_of_it."}, ""),
        ({"goal": "Cut the crystal of polonium with pymatgen.core in some way."}, "module"),
        ({"goal": "Cut the crystal of polonium:\n```python\nslab()\n```\nso."}, "contains code"),
        ({"scaffold": _code("slabs = [MASK_1](crystal")}, "does not parse"),
        ({"scaffold": _code("slabs = cut(crystal)")}, ""),
        ({"scaffold": _code("slabs = crystal.[MASK_1](8).[MASK]")}, ""),
        ({"scaffold": MASKED}, "no ```python block"),
        ({"scaffold": f"{MASKED}\n```python\nimport numpy\n```\n"}, "in no code"),
        ({"masks": {"MASK_1": "SlabGenerator"}}, ""),
        ({"masks": {"MASK_1": "surface"}}, "surface, which MASK_1 hides"),
        ({"masks": {"MASK_2": "SlabGenerator"}}, "the scaffold has MASK_1"),
    ],
)
def test_what_a_text_gives_away_or_lacks_is_caught(changes, told):
    spec = make_spec(**changes)
    findings = gates.check_goal(spec, REFERENCE) + gates.check_scaffold(spec)
    assert len(findings) == bool(told)
    assert told in "".join(findings)


def test_masks_are_announced_where_there_are_some_and_nowhere_else():
    masked = make_spec()
    bare = make_spec(scaffold=masked.scaffold.replace("[MASK_1]", "SlabGenerator"))
    for spec, count in ((masked, 1), (bare, 0)):
        assert build_prompt(spec, "scaffold").count("[MASK]") == count


def test_masks_are_filled_into_the_code():
    spec = make_spec(masks={"MASK_1": "SlabGenerator"})
    assert "from pymatgen.core.surface import SlabGenerator\n" in gates.scaffold_code(spec)
    assert "import mask_1" in gates.scaffold_code(make_spec())


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (REFERENCE, ""),
        ("def solution():\n    return {}\n", "no function"),
        ("def reference(:\n", "line 1"),
        ("def reference():\n    return getattr(1, 'real')\n", "getattr"),
        ("from math import *\ndef reference():\n    return {}\n", "star import"),
    ],
)
def test_references_are_plain(source, told):
    findings = gates.check_reference(source)
    assert bool(findings) == bool(told)
    assert told in "".join(findings)


@pytest.mark.parametrize(
    ("gold", "goal", "caught"),
    [
        (4, "Cut the crystal of polonium into 4 slabs or more than this.", False),
        (144, "Cut the crystal of polonium into 144 slabs or more than this.", True),
        (0.7215, "The result is near 0.722 eV for this crystal of polonium.", True),
        (0.7215, "The result is near 0.73 eV for this crystal of polonium.", False),
        ([2.375, 4.75], "The edges are 4.75 and 2.3751 angstroms in this crystal.", True),
        ([2.375, 4.75], "The edges are 4.75 and 2.5 angstroms in this crystal.", False),
        ([0.25, 0.5], "Atoms sit at 0.25 and 0.5 along each edge of this crystal.", False),
        ("Pm-3m", "The crystal of polonium has the space group Pm-3m of course.", True),
        ("Pm-3", "The crystal of polonium has the space group Pm-3m of course.", False),
        (["Po2", "PoO"], "The crystals of the system are named Po2, PoO and O2.", True),
        (["O2", "Po2"], "The crystals of the system are named Po2, PoO and O2.", False),
        ({"a": 2.375, "b": 9.1}, "One edge is 2.375 and the other is 9.1 angstroms.", True),
    ],
)
def test_answers_that_stand_in_a_prompt_are_caught(gold, goal, caught):
    kind = _format(gold)
    first = {
        "name": "asked",
        "description": "What is asked for in this question.",
        "format": kind,
        "compare": "close" if "float" in kind else "equal",
    }
    count = {**first, "name": "count", "format": "int", "compare": "equal"}
    spec = make_spec(properties=[first, count], goal=goal)
    findings = gates.check_answers_hidden(spec, {"asked": gold, "count": 7})
    assert len(findings) == (1 if caught else 0)
    assert all("asked" in finding for finding in findings)


def _format(gold):
    if isinstance(gold, list):
        return f"list[{type(gold[0]).__name__}]"
    return "dict[str, float]" if isinstance(gold, dict) else type(gold).__name__


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
    [None, [1.0, None], {"$": "scalar", "dtype": "<f8", "v": 1.0}, {"a": {"$": "tuple", "v": [1]}}],
)
def test_golds_are_plain_values(value):
    assert gates.check_plain({"fine": {"a": [1, 2.5, "x", True]}}) == []
    assert len(gates.check_plain({"fine": 1, "wrong": value})) == 1


@pytest.mark.parametrize("value", [7, -2.5, "Pm-3m", True, [0.0, 4.75], {"a": [1], "b": ["x"]}])
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


@pytest.mark.parametrize(
    ("gold", "told"),
    [
        ({"n_slabs": 0}, "'zero' passes"),
        ({"edge_lengths": []}, "'empty' passes"),
        ({"edge_lengths": [0.0, 0.0]}, "'zero' passes"),
        ({"n_slabs": 4.5}, "the reference itself fails"),
        ({"edge_lengths": "none"}, "the reference itself fails"),
    ],
)
def test_a_vacuous_or_wrongly_typed_gold_is_caught(gold, told):
    assert gates.check_verification(make_spec(), GOLD) == []
    findings = gates.check_verification(make_spec(), GOLD | gold)
    assert any(told in finding for finding in findings)
    assert all(finding.startswith(next(iter(gold))) for finding in findings)


def test_a_tolerance_that_lets_one_per_cent_pass_is_caught():
    spec = make_spec()
    loose = spec.properties[1].model_copy(update={"atol": 0.03})
    wide = spec.model_copy(update={"properties": [spec.properties[0], loose]})
    findings = gates.check_verification(wide, GOLD)
    assert findings == ["edge_lengths: vacuous, the answer 'perturbed[0]' passes"]
