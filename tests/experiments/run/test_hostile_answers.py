"""Answers that no part of ours can print, hash, encode or end: each costs its own question only."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
import yaml
from rich.console import Console

from agents.base import Agent, Question, Trajectory
from agents.episode import Context
from agents.systems.reflect import Resample
from experiments.benchmarks.own import Task
from experiments.record import Row, read_rows
from experiments.report import show
from experiments.report.page import write_report
from experiments.run.loop import execute
from experiments.samples import Property, Sample
from experiments.scorers.properties import PropertyScorer
from sandbox.inside.tagged import dumps
from tests.support.paths import DATA
from tests.support.scripted import client, code_reply

ANSWERS: Mapping[str, str] = yaml.safe_load(
    (DATA / "of_runs" / "hostile_answers.yaml").read_text()
)


def hostile() -> Task:
    """One question per answer; only the honest one is right."""
    wanted = (Property("a", "What a is.", "int", dumps(1)),)
    return Task(
        [Sample(Question(n, f"What is a? {n}", {"a": "int"}), wanted) for n in ANSWERS],
        PropertyScorer(),
    )


class Replier(Agent):
    """Drafts each answer, executes and checks it."""

    name = "replier"
    uses_retrieval = False

    def __init__(self, parts: Context) -> None:
        self.context = parts

    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """See :class:`agents.base.Agent`."""
        model, _ = client(code_reply(ANSWERS[question.id]))
        drafting = Resample(replace(self.context, model=model), max_iterations=2)
        return await drafting.solve(question, seed=seed)


@pytest.mark.long
async def test_each_costs_its_own_question_only(configure, tmp_path, capsys):
    config = configure(
        system={"_target_": f"{__name__}.Replier", "name": "replier"},
        benchmark={"_target_": f"{__name__}.hostile", "name": "hostile"},
        sandbox={"backend": "auto", "timeout": 20},
    )
    for _ in range(2):  # and nothing stands in the way of resuming
        folder = await execute(config, Console(quiet=True))
    rows: dict[str, Row] = {
        row.question_id: row for row in read_rows(folder / "results.jsonl")
    }
    assert len(list(read_rows(folder / "results.jsonl"))) == len(ANSWERS) == len(rows)
    assert {
        name: row.error for name, row in rows.items() if row.infra or not row.scored
    } == {}
    assert [name for name, row in rows.items() if row.all_correct] == ["honest"]
    for name in ("huge", "surrogate-value", "equal-hashes"):
        assert rows[name].values["runnable"] == 1, name
        assert rows[name].reasons["a"]
    write_report([folder], tmp_path / "report.html")
    for name in ANSWERS:
        assert show.main([str(folder), name]) == 0
        trajectory = folder / "trajectories" / f"{name}-0.json"
        assert json.loads(trajectory.read_bytes())["steps"]
    capsys.readouterr()
    assert show.main([str(folder), "escapes", "full=true"]) == 0
    shown = capsys.readouterr().out
    assert "x1b[2J" in shown
    assert "\x1b" not in shown
