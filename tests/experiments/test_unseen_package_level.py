"""The level ``package``: shorter prompts, the same values, documentation for what is left out."""

from __future__ import annotations

import json

import pytest

from docgen.library import read_library
from experiments.benchmarks import question_gates as gates
from experiments.benchmarks.question_format import (
    PACKAGES,
    QUESTIONS,
    QuestionError,
    build_prompt,
    read_spec,
)
from experiments.benchmarks.unseen.package_level import edits, package_spec
from experiments.benchmarks.unseen.questions import read_questions
from experiments.benchmarks.unseen.ready import RENAMED
from sandbox import environments


def test_every_question_that_unseen_asks_has_a_wording() -> None:
    asked, _ = read_questions(QUESTIONS, RENAMED)
    assert set(edits()) == {source.folder.name for source in asked}
    assert "pymatgen" in PACKAGES


@pytest.mark.parametrize("question_id", sorted(edits()))
def test_a_wording_says_less_and_passes_the_gates_of_the_goal(question_id: str) -> None:
    folder = QUESTIONS / question_id
    spec = read_spec(folder)
    shorter = package_spec(question_id, spec)
    gold = json.loads((folder / "gold.json").read_text(encoding="utf-8"))["properties"]
    reference = (folder / "reference.py").read_text(encoding="utf-8")
    assert gates.check_goal(shorter, reference) == []
    assert gates.check_answers_hidden(shorter, gold) == []
    names = [(prop.name, prop.format, prop.rtol) for prop in spec.properties]
    assert [(prop.name, prop.format, prop.rtol) for prop in shorter.properties] == names
    if edits()[question_id]:
        assert len(build_prompt(shorter, "goal")) < len(build_prompt(spec, "goal"))


def test_what_is_left_out_has_documentation() -> None:
    """That it says enough is for people to check; that it is there, for this."""
    symbols = read_library(RENAMED, environments.site_packages("live")).symbols
    for question_id, changes in edits().items():
        for change in changes:
            assert change["says"] in symbols, (question_id, change["says"])
            assert symbols[change["says"]].docstring, change["says"]


def test_a_text_that_has_changed_is_noticed() -> None:
    spec = read_spec(QUESTIONS / "spinel_hop_search")
    changed = spec.model_copy(update={"goal": spec.goal.replace("library's rule", "rule")})
    with pytest.raises(QuestionError, match="spinel_hop_search: not once in its text"):
        package_spec("spinel_hop_search", changed)
    with pytest.raises(QuestionError, match="has no wording of rutile"):
        package_spec("rutile", spec)
