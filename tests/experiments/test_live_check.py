"""The checker of ``live`` runs references in the real sandbox."""

import json

import pytest

from experiments.benchmarks.live.__main__ import RECORDED
from experiments.benchmarks.question_check import Checker
from experiments.benchmarks.question_format import ENVIRONMENT, question_folders
from tests.experiments.test_live_loader import write_question

GOOD = "def reference():\n    return {'cell_volume': 3.61**3 / 4, 'ordering': 'FM'}\n"
BAD = {
    "order_of_a_set": (
        (
            "def reference():\n    words = list({'FM', 'AFM', 'FiM', 'a', 'b', 'c', 'd', 'e'})\n"
            "    return {'cell_volume': 3.61**3 / 4, 'ordering': ' '.join(words)}\n"
        ),
        "differs between hash seeds",
    ),
    "vacuous": (
        "def reference():\n    return {'cell_volume': 0.0, 'ordering': 'FM'}\n",
        "'zero' passes",
    ),
    "numpy": (
        (
            "import numpy as np\n"
            "def reference():\n    return {'cell_volume': np.float64(2.5), 'ordering': 'FM'}\n"
        ),
        "not a plain bool",
    ),
    "raises": ("def reference():\n    return 1 / 0\n", "ZeroDivisionError"),
    "key": ("def reference():\n    return {'cell_volume': 2.5}\n", "does not return exactly"),
}


def make_question(root, source, **changes):
    folder = write_question(root, **changes)
    (folder / "reference.py").write_text(source)
    return folder


@pytest.mark.long
async def test_golds_come_from_execution_and_bad_questions_get_none(tmp_path):
    good = make_question(tmp_path, GOOD)
    wrong = {"cell_volume": 1.02 * 3.61**3 / 4, "ordering": "FM"}
    drifted = make_question(tmp_path, GOOD, name="drifted_gold", gold=wrong)
    masked = make_question(tmp_path, GOOD, name="wrong_mask", masks={"MASK": "Latice"})
    async with Checker(env=ENVIRONMENT, recorded=RECORDED) as checker:
        unknown = await checker.check(masked, write=True)
        written = await checker.check(good, write=True)
        confirmed = await checker.check(good)
        drift = await checker.check(drifted)
        bad = {
            name: await checker.check(make_question(tmp_path, source, name=name), write=True)
            for name, (source, _) in BAD.items()
        }
    assert written.findings == ()
    assert written.written
    gold = json.loads((good / "gold.json").read_text())
    assert gold["properties"] == {"cell_volume": 3.61**3 / 4, "ordering": "FM"}
    assert gold["versions"]["pymatgen"].count(".") >= 1
    assert confirmed.findings == ()
    assert not confirmed.written
    assert len(drift.findings) == 1
    assert "cell_volume: the committed gold is no longer" in drift.findings[0]
    assert len(unknown.findings) == 1
    assert "cannot import name 'Latice'" in unknown.findings[0]
    for name, (_, told) in BAD.items():
        assert any(told in finding for finding in bad[name].findings), bad[name]
        assert not (tmp_path / name / "gold.json").exists()


@pytest.mark.long
async def test_every_reference_reproduces_its_gold_in_the_sandbox():
    folders = question_folders()
    async with Checker(env=ENVIRONMENT, recorded=RECORDED) as checker:
        reports = [await checker.check(folder) for folder in folders]
    assert {report.question_id: report.findings for report in reports if report.findings} == {}
