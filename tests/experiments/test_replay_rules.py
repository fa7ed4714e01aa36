"""The published rules on recorded functions of every kind, literally.

Each case says what the rules in `mattools.published` and `mattools.stdout_rules` demand.
"""

from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from agents.base import Trajectory, Usage
from experiments.benchmarks.mattools.benchmark import MatToolsBenchmark
from experiments.benchmarks.mattools.published import VERDICT, PrintedScorer
from experiments.scorers.base import Tools
from sandbox.base import SandboxConfig, SandboxError
from sandbox.factory import get_sandbox
from tests.experiments.checkouts import checkout

CASES = yaml.safe_load(Path(__file__).parents[1].joinpath("data/mattools_rules.yaml").read_text())
DEF = CASES["functions"]["right"]["code"]


@pytest.fixture
def bench_parts(tmp_path):
    checkout(tmp_path)
    return {task.question.id: task for task in MatToolsBenchmark(path=str(tmp_path)).load()}


async def graded(sample, tools, code, entry="f"):
    """Outcome and reason, the number of wrong properties, and what is said."""
    answer = Trajectory("q", 0, code, entry, "", (), Usage(), "answered", "strict")
    score = await PrintedScorer().score(sample, answer, tools)
    outcome, _, wrong = score.artefacts[VERDICT].partition(" ")
    reason = {"all_correct": "", "some_wrong": "wrong_value"}.get(outcome, score.outcome)
    return [outcome, reason, int(wrong) if wrong else None, score.reasons]


@asynccontextmanager
async def tools_of(seconds):
    config = SandboxConfig(env="mattools-2024", workers=1)
    async with get_sandbox(config) as sandbox, get_sandbox(config) as verifier:
        yield Tools(sandbox, verifier, seconds)


@pytest.mark.long
async def test_every_kind_of_function(bench_parts):
    methods = f"{DEF}\nclass C:\n    def m(self):\n        return f()\n"
    cases = [(case["code"], "f", case["expected"]) for case in CASES["functions"].values()]
    cases += [
        (methods, entry, ["not_runnable" if why else "all_correct", why])
        for entry, why in CASES["names"].items()
    ]
    wrong = []
    async with tools_of(8.0) as tools:
        for code, entry, expected in cases:
            *got, _, said = await graded(bench_parts["test_cell"], tools, code, entry)
            if got != expected:
                wrong.append((code, entry, expected, got, said))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.long
async def test_every_kind_of_unit_test(bench_parts):
    sample = bench_parts["test_cell"]
    wrong = []
    async with tools_of(10.0) as tools:
        for name, case in CASES["unit_tests"].items():
            *got, said = await graded(replace(sample, target=case["code"]), tools, DEF)
            if got != case["expected"]:
                wrong.append((name, case, got, said))
        # What cannot be loaded at all says nothing about the answer.
        broken = replace(sample, target="import absent_module")
        with pytest.raises(SandboxError, match="absent_module"):
            await graded(broken, tools, DEF)
    assert not wrong, "\n".join(map(str, wrong))
