"""Answers that no part of ours can print, hash, encode or end: each costs its own question only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from rich.console import Console

from agents.base import Question, StopReason, Trajectory
from agents.drafts import Drafts
from agents.episode import Episode, Parts, run_episode
from experiments import show
from experiments.job import execute
from experiments.report import write_report
from experiments.rows import Row, read_rows
from experiments.samples import Property, Sample
from experiments.scorers.properties import PropertyScorer
from sandbox.runner import dumps
from tests.agents.scripted import client, code_reply
from tests.experiments.conftest import Configure

HUGE = "10 ** 5000"
FORGED = (
    "import os\n"
    "text = {text}\n"
    "os.write(3, b'ok\\n' + text.encode('utf-8', 'surrogatepass'))\n"
    "os._exit(0)"
)
ANSWERS: Mapping[str, str] = {
    "honest": "return {'a': 1}",
    "huge": f"return {{'a': {HUGE}}}",
    "huge-key": f"return {{{HUGE}: 1, 'a': [{HUGE}]}}",
    "points": FORGED.format(
        text='\'{"a": {"$": "array", "dtype": "<U1", "shape": [1], "raw": "AAARAA=="}}\''
    ),
    "deep-enum": FORGED.format(
        text='\'{"a": \' + \'{"$":"enum","class":"c","name":"n","v":\' * 190 + \'1\' + \'}\' * 191'
    ),
    "class-name": FORGED.format(
        text='\'{"a": {"$": "opaque", "class": "\' + \'x\' * 9000000 + \'", "v": ""}}\''
    ),
    "surrogate-value": "return {'a': '\\ud800', '\\udfff': 1}",
    "surrogate-reply": "return {'a': '\ud800'}",
    "surrogate-error": "raise ValueError('\\ud800' * 3)",
    "long-error": "raise ValueError('x' * 10 ** 7)",
    "equal-hashes": "return {'a': {i * (2 ** 61 - 1) for i in range(16)}, 'b': {(1, 2): 3}}",
    "escapes": "return {'a': '\\x1b[2J', '\\x1b[31m': 1}",
    "formula": "return {'=cmd': 1, 'a': '=1+1'}",
}


@dataclass(frozen=True)
class HostileBenchmark:
    """One question per answer; only the honest one is right."""

    name: str = "hostile"
    packages: Sequence[str] = ()
    scorer = PropertyScorer()

    def load(self) -> list[Sample]:
        """All tasks."""
        return [
            Sample(
                Question(name, f"What is a? {name}", {"a": "int"}),
                (Property("a", "What a is.", "int", dumps(1)),),
                "live",
            )
            for name in ANSWERS
        ]


class Replier:
    """Drafts each answer twice, executes and compares the drafts."""

    name = "replier"
    uses_retrieval = False

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """See :class:`agents.base.Agent`."""
        model, _ = client(code_reply(ANSWERS[question.id]))

        async def architecture(episode: Episode) -> StopReason:
            drafts = Drafts(episode, select="agreement", formats={})
            for _ in range(2):
                await drafts.attempt([HumanMessage(question.prompt)])
            return "answered"

        return await run_episode(replace(self.parts, model=model), question, seed, architecture)


@pytest.mark.long
async def test_each_costs_its_own_question_only(configure: Configure, tmp_path: Path) -> None:
    config = configure(
        system={"_target_": f"{__name__}.Replier", "name": "replier"},
        benchmark={"_target_": f"{__name__}.HostileBenchmark", "name": "hostile"},
        sandbox={"backend": "auto", "timeout": 20},
    )
    for _ in range(2):  # and nothing stands in the way of resuming
        folder = await execute(config, Console(quiet=True))
    rows: dict[str, Row] = {row.question_id: row for row in read_rows(folder / "results.jsonl")}
    assert len(list(read_rows(folder / "results.jsonl"))) == len(ANSWERS) == len(rows)
    assert {name: row.error for name, row in rows.items() if row.infra or not row.scored} == {}
    assert [name for name, row in rows.items() if row.all_correct] == ["honest"]
    for name in ("huge", "surrogate-value", "equal-hashes"):
        assert rows[name].values["runnable"] == 1, name
        assert rows[name].reasons["a"]
    write_report([folder], tmp_path / "report.html")
    for name in ANSWERS:
        assert show.main([str(folder), name]) == 0
        trajectory = folder / "trajectories" / f"{name}-0.json"
        assert json.loads(trajectory.read_bytes())["steps"]


@pytest.mark.long
async def test_nothing_of_an_answer_drives_the_terminal(
    configure: Configure, capsys: pytest.CaptureFixture[str]
) -> None:
    config = configure(
        system={"_target_": f"{__name__}.Replier", "name": "replier"},
        benchmark={"_target_": f"{__name__}.HostileBenchmark", "name": "hostile"},
        sandbox={"backend": "auto", "timeout": 20},
        ids=["escapes"],
    )
    folder = await execute(config, Console(quiet=True))
    assert show.main([str(folder), "escapes", "full=true"]) == 0
    shown = capsys.readouterr().out
    assert "x1b[2J" in shown
    assert "\x1b" not in shown
