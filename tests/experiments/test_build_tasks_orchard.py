"""docs/your-own-library.md, followed literally, and what its build must catch."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from werkzeug import Response

from experiments.benchmarks import question_gates as gates
from experiments.benchmarks.folder.benchmark import FolderBenchmark
from experiments.benchmarks.folder.build.__main__ import main
from experiments.benchmarks.question_format import QuestionError
from sandbox import environments
from tests.endpoint import Body, Endpoint, text

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "your-own-library.md"
TESTS = ROOT / "tests" / "data" / "orchard" / "tests"

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
        assert words[:2] == ["python", "-m"]
        done = subprocess.run(
            [sys.executable, *words[1:]],
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
    rows = map(json.loads, lines)
    return {row["test"].rpartition(":")[2]: row["reason"] for row in rows}


def test_each_kind_of_bad_test_is_caught(mine: Path) -> None:
    reasons = rejected(mine / "tasks")
    assert "the test is wrong: it expects 0.6778" in reasons["test_wrong_gold"]
    assert "vacuous, the answer 'zero' passes" in reasons["test_nothing_is_lost"]
    assert "the same items in another order" in reasons["test_varieties_present"]
    assert "appears in the text" in reasons["test_height_is_kept"]
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


def test_a_second_version_and_an_endpoint(
    mine: Path, tmp_path: Path, httpserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model writes one question well, leaks in another, and babbles about the rest."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("MATSMITH_CACHE", str(environments.cache_folder()))
    secret = "0.7667136277435427"

    def answer(body: Body) -> Response:
        asked = body["messages"][-1]["content"]
        good, leaking = "picking_days" in asked or "[MASK_1]" in asked, "height=3.1" in asked
        if "Write two texts" in asked and ("pickers" in asked or leaking):
            goal = "Six trees stand in two rows of three; two people pick them. "
            told = f"By the way, it is {secret}." if "pickers" in asked else "It is tall."
            return text(json.dumps({"introduction": f"An orchard. {told}", "goal": goal}))
        if "verified by comparing" in asked:
            rule = {"number": 0, "compare": "close", "rtol": 1e-3, "atol": 0.0}
            return text(json.dumps({"verification": [rule]}))
        if good or "crown_volume" in asked:
            described = "A quantity of the orchard in its usual unit."
            row = {"number": 0, "name": "wanted_quantity", "description": described}
            return text(json.dumps({"properties": [row]}))
        return text("I would rather talk about apples.")

    endpoint = Endpoint(httpserver).play(answer)
    second = tmp_path / "second"
    project = tmp_path / "orchard"
    source = ROOT / "tests" / "data" / "orchard"
    for file in (
        "pyproject.toml",
        *(f"src/orchard/{n}.py" for n in ("__init__", "trees", "picking")),
    ):
        target = project / file
        target.parent.mkdir(parents=True, exist_ok=True)
        old = (source / file).read_text().replace("0.25 * (len", "0.5 * (len")
        target.write_text(old.replace('version = "1.2.0"', 'version = "1.3.0"'))
    assert environments_own([f"project={project}", f"out={second}"]) == 0
    out = tmp_path / "tasks"
    code = main(
        [
            f"tests={TESTS}", "package=orchard", f"env={mine / 'env'}", f"second_env={second}",
            f"out={out}", "model=openai", f"model.base_url={endpoint.url}",
            "model.name=m", "model.cache=false",
        ]
    )  # fmt: skip
    assert code == 0
    (task,) = FolderBenchmark(out, level="goal").load()
    assert task.question.id == "trees_crown_volume"
    assert "Six trees stand in two rows" in task.question.prompt
    reasons = rejected(out)
    assert "appears in the text" in reasons["test_picking_days"]
    assert "the model's properties cannot be used" in reasons["test_annual_yield"]


def environments_own(words: list[str]) -> int:
    from sandbox.own import main as make

    return make(words)
