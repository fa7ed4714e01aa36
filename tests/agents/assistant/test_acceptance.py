"""The acceptance questions, answered by a language model as recorded."""

from __future__ import annotations

from typing import Any

import pytest

from agents.assistant.answers import Answer, Value
from agents.models.recordings import SHIPPED, read_exchanges
from sandbox.factory import available
from tests.agents.assistant.acceptance import Case, cases, faults, main

RECORDED = SHIPPED / "acceptance.jsonl.gz"
pytestmark = pytest.mark.skipif(
    not available(), reason="no isolating sandbox on this machine"
)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_language_model_as_recorded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """Each reply was asked for, with its prompt, and every answer is as it has to be."""
    monkeypatch.setenv("COLUMNS", "160")
    exchanges = read_exchanges(RECORDED)
    code = main(
        [
            "model=recorded",
            f"model.name={exchanges[0].model}",
            f"model.recordings={RECORDED}",
            "model.strict=true",
            "sandbox=bubblewrap",
        ]
    )
    shown = capsys.readouterr().out
    assert code == 0, shown
    assert (
        f"{len(cases())} of {len(cases())} acceptable; 5 of 5 drafts repaired; "
        in shown
    )
    assert f" repaired; {len(exchanges)} calls, " in shown
    for said in (
        "Vasprun.final_energy",
        "read vasprun.xml",
        "structure of 15 sites: Na7 Cl8",
        "assumed by the model: ",
    ):
        assert said in shown


ANSWERED = Answer("q", "answered", values=(Value("v", {"inner": [2.01]}, "2.01"),))
WRONG: list[tuple[dict[str, Any], Answer, str]] = [
    ({}, Answer("q", "failed"), "failed instead of answered"),
    ({"file": ".png"}, ANSWERED, "no .png file"),
    ({"value": 225}, ANSWERED, "no value is 225"),
    ({"warned": True}, ANSWERED, "values without a warning"),
    ({"drafts": ("1",)}, ANSWERED, "the failed draft is not told"),
]


def test_what_is_wrong_is_said():
    for given, answer, wrong in WRONG:
        assert faults(Case(name="c", question="q", **given), answer) == [wrong]
