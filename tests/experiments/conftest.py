"""Shared parts: one environment and one cache for all tests of this folder."""

import json
from typing import Any

import pytest

from experiments.files import write_json
from experiments.run.config import validate
from experiments.run.store import Store
from experiments.run.summary import summarise
from experiments.scorers.properties import PropertyScorer
from tests.support.tiny import TinyBenchmark


@pytest.fixture
def configure(tmp_path):
    """A configuration of the tiny benchmark and the scripted agent, with changes."""

    def make(**changes):
        system = {"_target_": "tests.support.tiny.Scripted", "name": "scripted"}
        benchmark = {"_target_": "tests.support.tiny.TinyBenchmark", "name": "tiny"}
        plain: dict[str, Any] = {
            "system": system | changes.pop("system", {}),
            "benchmark": benchmark | changes.pop("benchmark", {}),
            "retrieval": {"name": "none"},
            "model": {"provider": "none", "name": "none"},
            "embedding": {"name": "none"},
            "sandbox": {"backend": "auto", "timeout": 3} | changes.pop("sandbox", {}),
            "out": str(tmp_path / "run"),
        }
        return validate(plain | changes)

    return make


@pytest.fixture
def make_run(tmp_path, configure):
    """Makes run folders of given rows."""
    from tests.support.rows import trajectory

    def make(name, rows, **changes):
        config = configure(out=str(tmp_path / name), **changes)
        questions = {r.question_id for r in rows}
        tasks = [
            task for task in TinyBenchmark().load() if task.question.id in questions
        ]
        with Store(tmp_path / name, "h", config.plain()) as store:
            for one in rows:
                store.append(one, json.dumps(trajectory()))
            summary = summarise(
                config,
                config_hash="h",
                llm=True,
                metrics=PropertyScorer().metrics,
                samples=tasks,
                rows=store.lines(),
                packages={},
                outside={},
            )
        write_json(tmp_path / name / "summary.json", summary)
        return tmp_path / name

    return make
