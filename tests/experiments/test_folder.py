"""Questions that somebody wrote by hand, as docs/questions.md says."""

import json

import pytest
import yaml

from experiments.benchmarks.folder.__main__ import main
from experiments.benchmarks.folder.benchmark import FolderBenchmark
from experiments.benchmarks.question_format import QuestionError
from sandbox import bubblewrap

REFERENCE = """
from pathlib import Path

def reference():
    numbers = [float(line) for line in Path("data/heights.txt").read_text().split()]
    return {"mean_height": sum(numbers) / len(numbers)}
"""
TASK = {
    "area": "orchards2",
    "properties": [
        {
            "name": "mean_height", "format": "float",
            "description": "Mean height of all trees in the file, in metres.",
        }
    ],
    "goal": "The file data/heights.txt has the height of a tree in every line, in metres.",
    "difficulty": 3,
}  # fmt: skip


def write(root, **changes):
    folder = root / "questions" / "heights"
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / "data" / "heights.txt").write_text("3.25\n4.5\n6.125\n")
    (folder / "reference.py").write_text(REFERENCE)
    task = {key: value for key, value in {**TASK, **changes}.items() if value is not None}
    (folder / "task.yaml").write_text(yaml.safe_dump(task))
    (root / "benchmark.yaml").write_text("package: numpy\n")
    return folder


@pytest.mark.skipif(bubblewrap.problem() is not None, reason=str(bubblewrap.problem()))
@pytest.mark.long
def test_from_a_hand_written_folder_to_samples(tmp_path, capsys):
    folder = write(tmp_path)
    with pytest.raises(QuestionError, match=rf"matsmith folder check {tmp_path} ids=heights"):
        FolderBenchmark(tmp_path, level="goal").load()
    assert main(["check", str(tmp_path)]) == 1
    assert "no gold yet; run: matsmith folder" in " ".join(capsys.readouterr().err.split())
    assert main(["check", str(tmp_path), "write=true"]) == 0
    gold = json.loads((folder / "gold.json").read_text())
    assert gold["properties"] == {"mean_height": pytest.approx(4.625)}
    assert "numpy" in gold["versions"]
    assert main(["check", str(tmp_path), "ids=heights"]) == 0
    (sample,) = FolderBenchmark(tmp_path, level="goal").load()
    assert sample.labels["difficulty"] == "3"
    assert sample.labels["area"] == "orchards2"
    assert list(sample.question.mounts) == ["data/heights.txt"]
    assert FolderBenchmark(tmp_path).packages == ("numpy",)
    with pytest.raises(
        QuestionError, match=r"no text of level scaffold; there is benchmark\.level=goal"
    ):
        FolderBenchmark(tmp_path, level="scaffold").load()
    assert FolderBenchmark(tmp_path).load()[0].labels["level"] == "goal"  # all that is there
    (folder / "reference.py").write_text(REFERENCE.replace("sum(numbers)", "1.1 * sum(numbers)"))
    assert main(["check", str(tmp_path)]) == 1
    assert "no longer what the reference returns" in capsys.readouterr().err


@pytest.mark.skipif(bubblewrap.problem() is not None, reason=str(bubblewrap.problem()))
@pytest.mark.parametrize("by_hand", [False, True])
def test_a_package_of_their_own_that_is_installed_nowhere(tmp_path, by_hand):
    folder = write(tmp_path, goal="The groff of the number seven, as the package zorbian has it.")
    own = tmp_path / "env" / "packages"
    (own / "zorbian").mkdir(parents=True)
    (own / "zorbian" / "__init__.py").write_text("def groff(x):\n    return 1.75 * x\n")
    (folder / "reference.py").write_text(
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


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"goal": None}, "write a scaffold or a goal"),
        ({"scafold": "x" * 50}, "scafold: no such key; did you mean scaffold?"),
        ({"area": "Orchards"}, "area: "),
        ({"properties": []}, "properties: "),
    ],
)
def test_a_wrong_task_says_what_and_where(changes, told, tmp_path):
    folder = write(tmp_path, **changes)
    with pytest.raises(QuestionError) as error:
        FolderBenchmark(tmp_path, level="goal").load()
    assert str(error.value).startswith(f"{folder / 'task.yaml'}: ")
    assert told in str(error.value)
    assert "\n" not in str(error.value)
