import json
import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.lexical import TfidfIndex
from indexes.store import indexed_texts, lexical_index
from indexes.tokens import tokens

TEXTS = [
    "Vacancy.get_charge_states returns the charge states of a vacancy",
    "StructureMatcher compares two structures",
    "get_primitive_structure of a Structure",
    "nothing in common at all",
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getSupercellStructure", ["getsupercellstructure", "supercell", "structure"]),
        ("get_charge_states", ["get_charge_states", "charge", "state"]),
        (
            "core.XRDCalculator",
            ["core.xrdcalculator", "core", "xrdcalculator", "xrd", "calculator"],
        ),
        ("vacancies", ["vacancy"]),
        ("the of and", []),
        ("Fe2O3", ["fe2o3", "fe"]),
        ("basis axis", ["basis", "axis"]),
        ("R-3m 225", ["225"]),
    ],
)
def test_tokens(text, expected):
    found = tokens(text)
    assert [t for t in expected if t not in found] == []
    if not expected:
        assert found == []


@given(st.text())
def test_tokens_never_fail_and_are_lower_case(text):
    for token in tokens(text):
        assert token
        assert token == token.lower()


def test_the_right_text_scores_highest():
    index = TfidfIndex.build(TEXTS)
    assert int(np.argmax(index.scores("charge state of vacancies"))) == 0
    assert int(np.argmax(index.scores("structure matcher"))) == 1
    scores = index.scores("zirconium")
    assert scores.shape == (4,)
    assert not scores.any()


def test_a_saved_index_gives_the_same_scores(tmp_path):
    index = TfidfIndex.build(TEXTS)
    index.save(tmp_path)
    for query in ("charge states", "matcher of structures", "zirconium", ""):
        np.testing.assert_array_equal(TfidfIndex.load(tmp_path).scores(query), index.scores(query))
    assert not [p for p in tmp_path.rglob("*") if p.suffix in {".pkl", ".pickle", ".joblib"}]


def test_relations_are_not_indexed(corpus):
    pairs = list(
        zip((d.page_content for d in corpus.documents), indexed_texts(corpus), strict=True)
    )
    assert any("## Relations" in content for content, _ in pairs)
    assert not any("## Relations" in text for _, text in pairs)
    assert all("## Example" in text for content, text in pairs if "## Example" in content)


@pytest.mark.parametrize("damage", ["stamp", "file", "none"])
def test_an_index_that_does_not_fit_is_named_and_rebuilt(corpus, cache, damage, caplog):
    before = lexical_index(corpus).scores("wall of bricks")
    (folder,) = (p for p in (cache / "indexes").iterdir() if p.is_dir())
    if damage == "stamp":
        (folder / "stamp.json").write_text(json.dumps({"format": 0, "documents": ""}))
    elif damage == "file":
        (folder / "tfidf-matrix.npz").write_bytes(b"rubbish")
    built = (folder / "stamp.json").stat().st_ino
    with caplog.at_level(logging.WARNING):
        after = lexical_index(corpus).scores("wall of bricks")
    np.testing.assert_array_equal(before, after)
    rebuilt = (folder / "stamp.json").stat().st_ino != built
    assert rebuilt is (damage != "none")
    assert (str(folder) in caplog.text) is rebuilt
