"""The record of an answer: what follows from it, what may be kept of it, what is noticed later."""

import json
from dataclasses import replace

import pytest

from agents.base import Question, Step, Trajectory, Usage
from experiments.files import read_json, write_json
from experiments.record import Ending, Record, Row, mismatch, read_record, read_rows
from experiments.run.recording import make_record
from experiments.samples import Sample
from experiments.scorers.base import Score
from foundation.errors import UsageError
from sandbox.base import Execution, Outcome

SAMPLE = Sample(Question("q", "How wide?", {"x": "float"}), labels={"area": "slabs"})
STEPS = (
    Step("model", {"purpose": "generate", "fault": "empty", "recorded": []}),
    Step("execute", {"outcome": "exception", "tier": "docker"}),
    Step("tool", {"name": "run", "executions": 2}),
)
TRAJECTORY = Trajectory(
    question_id="q",
    seed=1,
    code="def f(): ...",
    entry="f",
    answer="reply \ud800",
    steps=STEPS,
    usage=Usage(calls=2, prompt_tokens=5, completion_tokens=3),
    stop_reason="answered",
    format_status="strict",
    sandbox_seconds=1.0,
    seconds=2.0,
)
SCORE = Score(
    "ok",
    {"runnable": 1.0},
    {"x": False, "y": True},
    reasons={"x": "1.0 is not 2.0"},
    execution=Execution(
        Outcome.OK, {"x": 1.0}, "{}", stdout="said", confinement="bubblewrap"
    ),
)


def made(sample=SAMPLE, ending=None, score=SCORE, **changes):
    trajectory = replace(TRAJECTORY, **changes)
    return make_record(
        "h", sample, trajectory, ending or Ending.of("answered"), score, criteria=2
    )


def stored(tmp_path, record):
    path = tmp_path / "q-1.json"
    path.write_text(record.line())
    return path, Row.of(record, record.line())


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("answered", "completed"),
        ("format_error", "completed"),
        ("context", "completed"),
        ("budget", "limit"),
        ("model_error", "infrastructure"),
        ("agent_error", "infrastructure"),
    ],
)
def test_an_ending_is_one_of_three(reason, kind):
    assert Ending.of(reason).kind == kind


def test_a_row_is_a_function_of_the_record_that_is_read_back(tmp_path):
    record = made()
    path, row = stored(tmp_path, record)
    again = read_record(path)
    assert again.answer == TRAJECTORY.answer
    assert Row.of(again, record.line()) == row
    assert row.executions == 1 + 2
    assert (row.reply_faults, row.recorded) == (
        {"empty": 1},
        {"prompts": 1, "changed": 0},
    )
    assert (row.tier, row.tokens, row.criteria, row.passed_count) == (
        "bubblewrap",
        8,
        2,
        1,
    )
    assert mismatch(row, path) is None


def test_of_a_private_question_only_verdicts_and_counts_are_kept(tmp_path):
    record = made(replace(SAMPLE, private=True), Ending.of("answered", "secret words"))
    kept = record.line()
    for text in (
        "How wide",
        "def f",
        "reply \\\\ud800",
        "1.0 is not",
        "said",
        "secret words",
    ):
        assert text not in kept
    open_row, private_row = (Row.of(each, each.line()) for each in (made(), record))
    for field in ("executions", "reply_faults", "recorded", "passed", "tier", "calls"):
        assert getattr(private_row, field) == getattr(open_row, field)


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        (("score", "passed", "x"), True, "changed after the run"),
        (("code",), "def g(): ...", "changed after the run"),
        (("usage", "calls"), 0, "changed after the run"),
    ],
)
def test_a_record_that_was_changed_is_noticed(tmp_path, part, value, said):
    path, row = stored(tmp_path, made())
    plain = read_json(path)
    *outer, last = part
    place = plain
    for name in outer:
        place = place[name]
    place[last] = value
    write_json(path, plain)
    assert said in mismatch(row, path)


def test_a_row_that_was_changed_is_noticed(tmp_path):
    path, row = stored(tmp_path, made())
    better = row.model_copy(update={"passed": {"x": True, "y": True}})
    assert "passed" in mismatch(better, path)
    undated = better.model_copy(update={"digest": ""})  # as if it were an old one
    assert "passed" in mismatch(undated, path)
    assert mismatch(row.model_copy(update={"digest": ""}), path) is None
    path.unlink()
    assert "cannot be read" in mismatch(row, path)


def test_files_of_earlier_versions_are_read(tmp_path):
    """As form 2 wrote them: `stop_reason`, `error` and `verdict` in place of an ending."""
    record = json.loads(made().line())
    ending, score = record.pop("ending"), record.pop("score")
    effort = record.pop("effort")
    for name in ("config_hash", "judge_usage"):
        record.pop(name)
    del score["criteria"], score["artefacts"]
    record |= {"stop_reason": ending["reason"], "error": None, "verdict": score}
    path = tmp_path / "old.json"
    write_json(path, record | {"seconds": effort["seconds"]})
    again = read_record(path)
    assert isinstance(again, Record)
    assert (again.ending.kind, again.score.passed) == ("completed", SCORE.passed)
    row = json.loads(Row.of(made(), "").model_dump_json())
    del row["ending"], row["digest"]
    row |= {"stop_reason": "answered", "error": "scoring failed", "outcome": "infra"}
    row["parts"] = row.pop("criteria")
    results = tmp_path / "results.jsonl"
    results.write_text(json.dumps(row) + "\n")
    (old,) = read_rows(results)
    assert (old.infra, old.error, old.criteria) == (True, "scoring failed", 2)
    assert mismatch(old, tmp_path / "absent.json") is None


@pytest.mark.parametrize("text", ["{}", "[]", "{", '{"verdict": 1, "steps": []}'])
def test_what_is_no_record_is_one_line_that_says_what_to_do(tmp_path, text):
    path = tmp_path / "q.json"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        read_record(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
