"""docs/your-own-library.md, followed literally, and what its build must catch."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.benchmarks import question_gates as gates
from experiments.benchmarks.folder.benchmark import FolderBenchmark
from experiments.benchmarks.question_format import QuestionError
from sandbox import environments

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "your-own-library.md"

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every command of the guide, run as it stands; ``mine/`` is a temporary folder."""
    folder = tmp_path_factory.mktemp("mine")
    blocks = re.findall(r"```bash\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    commands = "".join(blocks).splitlines()
    assert len(commands) >= 6
    variables = {**os.environ, "MATSMITH_CACHE": str(environments.cache_folder())}
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        variables.pop(name, None)
    for command in commands:
        words = command.replace("mine/", f"{folder}/").split()
        assert words[0] in {"python", "matsmith"}
        done = subprocess.run(
            [sys.executable, *(words[1:] if words[0] == "python" else ["-m", *words])],
            cwd=ROOT,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return folder


def rejected(folder: Path) -> dict[str, str]:
    lines = (folder / "rejected.jsonl").read_text(encoding="utf-8").splitlines()
    reasons: dict[str, str] = {}
    for row in map(json.loads, lines):
        name = row["test"].rpartition(":")[2]
        reasons[name] = f"{reasons.get(name, '')}{row['reason']}\n"
    return reasons


def test_each_kind_of_bad_test_is_caught(mine: Path) -> None:
    reasons = rejected(mine / "tasks")
    assert "the test is wrong: it expects 0.6778" in reasons["test_wrong_gold"]
    assert "vacuous, the answer 'zero' passes" in reasons["test_nothing_is_lost"]
    assert "it differs between hash seeds" in reasons["test_varieties_present"]
    assert "appears in the text" in reasons["test_height_is_kept"]
    assert "inside a block (for)" in reasons["test_every_variety_bears"]
    assert set(reasons) == {
        "test_wrong_gold", "test_nothing_is_lost", "test_varieties_present", "test_height_is_kept",
        "test_every_variety_bears",
    }  # fmt: skip


def test_every_sound_test_is_a_question_with_a_proved_gold(mine: Path) -> None:
    tasks = FolderBenchmark(mine / "tasks").load()
    assert {task.question.id for task in tasks} == {
        "picking_picking_days", "trees_annual_yield", "trees_annual_yield_2",
        "trees_crown_volume", "trees_pollination_gaps", "trees_positions", "trees_total",
        "trees_unknown_variety", "trees_yields_by_variety",
    }  # fmt: skip
    assert sum(len(task.properties) for task in tasks) == 13
    gold = {
        (task.question.id, prop.name): json.loads(prop.expected)
        for task in tasks
        for prop in task.properties
    }
    assert gold["picking_picking_days", "working_days_until"] == pytest.approx(0.76671, abs=1e-5)
    prompts = {task.question.id: task.question.prompt for task in tasks}
    described = "Number of trees without another variety within reach"
    assert described in prompts["trees_pollination_gaps"]  # by the documentation
    # The name that gives a value is masked; a fixture and a `setUp` stand in the code.
    assert "hillside.[MASK_1](lost=0.1)" in prompts["trees_yields_by_variety"]
    assert "[MASK_1](hillside, pickers=2)" in prompts["picking_picking_days"]
    assert "orchard = Orchard(trees" in prompts["trees_pollination_gaps"]
    for task in tasks:
        assert "[MASK_1]" in task.question.prompt
        for prop in task.properties:
            value = json.loads(prop.expected)
            assert all(wrong != value for _, wrong in gates.wrong_answers(value))


def test_a_run_answers_them_in_the_own_environment(mine: Path) -> None:
    summary = json.loads((mine / "run" / "summary.json").read_text())
    assert (summary["questions"], summary["metrics"][0]["total"]) == (9, 13)
    assert summary["metrics"][0]["sum"] >= 9
    assert summary["complete"]
    assert "orchard" in json.dumps(summary)


def test_levels_that_were_not_written_are_refused(mine: Path) -> None:
    with pytest.raises(QuestionError, match="no text of level goal"):
        FolderBenchmark(mine / "tasks", level="goal").load()
    with pytest.raises(QuestionError, match=r"benchmark\.yaml: not found"):
        FolderBenchmark(mine)
