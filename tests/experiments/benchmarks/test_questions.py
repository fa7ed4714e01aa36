"""Folders of questions: validation of task.yaml, prompts, ours and those that somebody wrote."""

import json
from pathlib import Path

import pytest
import yaml

from experiments.benchmarks.folder.benchmark import FolderBenchmark, main
from experiments.benchmarks.live.benchmark import LiveBenchmark
from experiments.benchmarks.question_format import (
    QUESTIONS,
    QuestionError,
    TaskSpec,
    build_prompt,
    question_folders,
    read_file,
)
from sandbox import bubblewrap
from tests.support.questions import TABLES, write_question

needs_sandbox = pytest.mark.skipif(
    bubblewrap.problem() is not None, reason=str(bubblewrap.problem())
)
REFERENCE = TABLES["reference"]


@pytest.fixture
def trees(tmp_path):
    """A hand-written folder with a question."""
    folder = write_question(tmp_path / "questions", "heights", **TABLES["trees"])
    (folder / "data").mkdir()
    (folder / "data" / "heights.txt").write_text("3.25\n4.5\n6.125\n")
    (folder / "reference.py").write_text(REFERENCE)
    (tmp_path / "benchmark.yaml").write_text("package: numpy\n")
    return folder


# --- loading -------------------------------------------------------------------------------------


def test_a_task_carries_prompt_gold_labels_and_input_files(tmp_path):
    folder = write_question(
        tmp_path, gold={"cell_volume": 11.76, "ordering": "FM"}, packages=["add-on"]
    )
    (folder / "data").mkdir()
    (folder / "data" / "cell.json").write_text("{}")
    (task,) = LiveBenchmark(level="goal", root=str(tmp_path)).load()
    assert task.question.id == "copper_cell"
    assert task.question.formats == {"cell_volume": "float", "ordering": "str"}
    assert task.question.mounts == {
        "data/cell.json": str(folder / "data" / "cell.json")
    }
    assert "`data/cell.json`" in task.question.prompt
    assert [prop.expected for prop in task.properties] == ["11.76", '"FM"']
    assert task.labels == {"area": "lattices", "level": "goal", "package": "add-on"}
    assert task.environment == "live"


def test_the_levels_share_everything_but_their_text(tmp_path):
    spec = read_file(write_question(tmp_path) / "task.yaml", TaskSpec)
    scaffold, goal = build_prompt(spec, "scaffold"), build_prompt(spec, "goal")
    line = "- `cell_volume`: Volume of the primitive cell in cubic angstroms. Format: `float`."
    assert line in scaffold
    assert line in goal
    assert "One of: FM, AFM, FiM." in goal
    assert ("[MASK]" in scaffold, "[MASK]" in goal) == (True, False)
    assert "3.61" not in scaffold


@pytest.mark.parametrize(("changes", "told"), TABLES["wrong"])
def test_a_wrong_key_or_value_is_named_with_its_file(tmp_path, changes, told):
    folder = write_question(tmp_path, **changes)
    with pytest.raises(QuestionError) as caught:
        LiveBenchmark(level="goal", root=tmp_path).load()
    assert str(caught.value).startswith(f"{folder / 'task.yaml'}: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("gold", [None, {"cell_volume": 11.76}])
def test_what_is_missing_is_said(tmp_path, gold):
    with pytest.raises(QuestionError, match="scaffold, goal"):
        LiveBenchmark(level="easy", root=tmp_path).load()
    with pytest.raises(QuestionError, match="no folder with a task"):
        LiveBenchmark(root=tmp_path).load()
    write_question(tmp_path, gold=gold)
    with pytest.raises(QuestionError, match="check ids=copper_cell write=true"):
        LiveBenchmark(root=tmp_path).load()


def test_every_committed_question_loads_and_only_its_data_are_shown():
    names = []
    for level in ("scaffold", "goal"):
        tasks = {task.question.id: task for task in LiveBenchmark(level=level).load()}
        assert list(tasks) == [path.name for path in question_folders()]
        assert len(tasks) >= 30
        assert len({task.labels["area"] for task in tasks.values()}) >= 8
        for task in tasks.values():
            assert set(task.question.formats) == {prop.name for prop in task.properties}
            for path in task.question.mounts.values():
                assert Path(path).relative_to(QUESTIONS).parts[1] == "data"
        labelled = [
            task.labels["api"] for task in tasks.values() if "api" in task.labels
        ]
        assert len(labelled) > 30
        assert set(labelled) <= {"same", "signature", "absent", "unknown"}
        names.append(tasks["elastic_tensor_fit"].labels["names_given"])
    assert names[0] != names[1]
    for folder in question_folders():
        spec = read_file(folder / "task.yaml", TaskSpec)
        assert 2 <= len(spec.properties) <= 8
        assert min(len(spec.scaffold), len(spec.goal)) >= 40
        assert set(spec.model_extra or {}) <= {"calls", "names_given", "api"}


# --- a folder of somebody's own, as docs/questions.md says ---------------------------------------


@needs_sandbox
@pytest.mark.long
def test_from_a_hand_written_folder_to_samples(trees, tmp_path, capsys):
    with pytest.raises(
        QuestionError, match=rf"matsmith folder check {tmp_path} ids=heights"
    ):
        FolderBenchmark(tmp_path, level="goal").load()
    assert main(["check", str(tmp_path)]) == 1
    assert "no gold yet; run: matsmith folder" in " ".join(
        capsys.readouterr().err.split()
    )
    assert main(["check", str(tmp_path), "write=true"]) == 0
    gold = json.loads((trees / "gold.json").read_text())
    assert gold["properties"] == {"mean_height": pytest.approx(4.625)}
    assert "numpy" in gold["versions"]
    assert main(["check", str(tmp_path), "ids=heights"]) == 0
    benchmark = FolderBenchmark(tmp_path)
    (sample,) = benchmark.load()
    found = {
        "area": "orchards2",
        "difficulty": "3",
        "level": "goal",
        "package": "numpy",
    }
    assert sample.labels == found  # the level that is there
    assert list(sample.question.mounts) == ["data/heights.txt"]
    assert benchmark.packages == ("numpy",)
    with pytest.raises(
        QuestionError,
        match=r"no text of level scaffold; there is benchmark\.level=goal",
    ):
        FolderBenchmark(tmp_path, level="scaffold").load()
    (trees / "reference.py").write_text(
        REFERENCE.replace("sum(numbers)", "1.1 * sum(numbers)")
    )
    assert main(["check", str(tmp_path)]) == 1
    assert "no longer what the reference returns" in capsys.readouterr().err


@needs_sandbox
@pytest.mark.parametrize("by_hand", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_package_of_their_own_that_is_installed_nowhere(trees, tmp_path, by_hand):
    own = tmp_path / "env" / "packages"
    (own / "zorbian").mkdir(parents=True)
    (own / "zorbian" / "__init__.py").write_text("def groff(x):\n    return 1.75 * x\n")
    (trees / "reference.py").write_text(
        "from zorbian import groff\n\ndef reference():\n    return {'mean_height': groff(7)}\n"
    )
    manifest = {"package": "zorbian", "overlay": "env/packages"}
    if by_hand:  # an environment that no command of matsmith made
        (tmp_path / "env" / "overlay.json").write_text('{"base": "live"}')
        manifest = {"package": "zorbian", "environment": "./env"}
    (tmp_path / "benchmark.yaml").write_text(yaml.safe_dump(manifest))
    assert main(["check", str(tmp_path), "write=true"]) == 0
    (sample,) = FolderBenchmark(tmp_path, level="goal").load()
    assert [json.loads(prop.expected) for prop in sample.properties] == [12.25]
