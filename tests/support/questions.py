"""Folders of questions, written for a test."""

import json

import yaml

from tests.support.paths import DATA

TABLES = yaml.safe_load(DATA.joinpath("questions.yaml").read_text())


def write_question(root, name="copper_cell", gold=None, **changes):
    folder = root / name
    folder.mkdir(parents=True)
    task = {
        key: value
        for key, value in {**TABLES["spec"], **changes}.items()
        if value is not None
    }
    (folder / "task.yaml").write_text(json.dumps(task))
    if gold is not None:
        (folder / "gold.json").write_text(
            json.dumps({"versions": {}, "properties": gold})
        )
    return folder
