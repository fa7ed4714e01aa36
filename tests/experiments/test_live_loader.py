"""The loader of ``live``: validation of task.yaml, prompts, the committed questions."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmarks.live.benchmark import LiveBenchmark
from experiments.benchmarks.question_format import (
    QUESTIONS,
    QuestionError,
    build_prompt,
    question_folders,
    read_spec,
)

SPEC: dict[str, Any] = {
    "area": "lattices",
    "packages": [],
    "properties": [
        {
            "name": "cell_volume",
            "description": "Volume of the primitive\ncell in cubic angstroms.",
            "format": "float",
            "compare": "close",
        },
        {
            "name": "ordering",
            "description": "How the magnetic moments are ordered.",
            "format": "str",
            "compare": "equal",
            "choices": ["FM", "AFM", "FiM"],
        },
    ],
    "scaffold": "Make it:\n```python\nfrom pymatgen.core import [MASK]\n```\nThat is all there is.",
    "goal": "A crystal of copper, face-centred cubic with a = 3.61 angstroms.",
}


def write_question(root, name="copper_cell", gold=None, **changes):
    folder = root / name
    folder.mkdir()
    (folder / "task.yaml").write_text(json.dumps(SPEC | changes))
    if gold is not None:
        (folder / "gold.json").write_text(json.dumps({"versions": {}, "properties": gold}))
    return folder


def test_a_task_carries_prompt_gold_labels_and_input_files(tmp_path):
    folder = write_question(
        tmp_path, gold={"cell_volume": 11.76, "ordering": "FM"}, packages=["add-on"]
    )
    (folder / "data").mkdir()
    (folder / "data" / "cell.json").write_text("{}")
    (task,) = LiveBenchmark(level="goal", root=tmp_path).load()
    assert task.question.id == "copper_cell"
    assert task.question.formats == {"cell_volume": "float", "ordering": "str"}
    assert task.question.mounts == {"data/cell.json": str(folder / "data" / "cell.json")}
    assert "`data/cell.json`" in task.question.prompt
    assert [prop.expected for prop in task.properties] == ["11.76", '"FM"']
    assert task.labels == {"area": "lattices", "level": "goal", "package": "add-on"}
    assert task.environment == "live"


def test_the_levels_share_everything_but_their_text(tmp_path):
    spec = read_spec(write_question(tmp_path))
    scaffold, goal = build_prompt(spec, "scaffold"), build_prompt(spec, "goal")
    line = "- `cell_volume`: Volume of the primitive cell in cubic angstroms. Format: `float`."
    assert line in scaffold
    assert line in goal
    assert "One of: FM, AFM, FiM." in goal
    assert "[MASK]" in scaffold
    assert "[MASK]" not in goal
    assert "3.61" not in scaffold


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"colour": "red"}, "colour"),
        ({"area": "Lattice theory"}, "area"),
        ({"goal": "short"}, "goal"),
        ({"properties": SPEC["properties"][:1]}, "properties"),
        ({"properties": [SPEC["properties"][0]] * 2}, "same name"),
        ({"properties": [SPEC["properties"][0] | {"name": "cellVolume"}] * 2}, "properties.0.name"),
        ({"properties": [SPEC["properties"][0] | {"format": "array"}] * 2}, "properties.0.format"),
        ({"properties": [SPEC["properties"][0] | {"compare": "equal"}] * 2}, "close"),
        ({"properties": [SPEC["properties"][0] | {"rtol": 0.1}] * 2}, "properties.0.rtol"),
        ({"properties": [SPEC["properties"][1] | {"choices": ["FM", "AFM"]}] * 2}, "choices"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_its_file(tmp_path, change, told):
    folder = write_question(tmp_path, **change)
    with pytest.raises(QuestionError) as caught:
        read_spec(folder)
    assert str(folder / "task.yaml") in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize("gold", [None, {"cell_volume": 11.76}])
def test_a_question_without_its_gold_says_what_to_run(tmp_path, gold):
    write_question(tmp_path, gold=gold)
    with pytest.raises(QuestionError, match="check ids=copper_cell write=true"):
        LiveBenchmark(root=tmp_path).load()


def test_an_unknown_level_and_an_empty_folder_are_errors(tmp_path):
    with pytest.raises(QuestionError, match="scaffold, goal"):
        LiveBenchmark(level="easy", root=tmp_path).load()
    with pytest.raises(QuestionError, match="no folder with a task"):
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
        labelled = [task.labels["api"] for task in tasks.values() if "api" in task.labels]
        assert len(labelled) > 30
        assert set(labelled) <= {"same", "signature", "absent", "unknown"}
        names.append(tasks["elastic_tensor_fit"].labels["names_given"])
    assert names[0] != names[1]
