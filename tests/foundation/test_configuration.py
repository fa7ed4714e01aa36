"""YAML of others: whatever is in it, a mapping or one line with file and line."""

import pytest

from experiments.benchmarks.folder.benchmark import MANIFEST, read_manifest
from experiments.benchmarks.question_format import QuestionError, TaskSpec, read_file
from foundation.configuration import load, read_yaml
from foundation.errors import UsageError

LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
HOSTILE = {
    "aliases": (LAUGHS, ":2: has an alias"),
    "depth": ("a: " + "[" * 5000 + "]" * 5000, ":1: is nested deeper"),
    "no YAML": ("a: 1\nb: [1, 2\nc: 3\n", ":3: "),
    "a class": (
        "a: 1\nb: !!python/object/apply:os.system [id]\n",
        ":2: could not determine",
    ),
    "size": ("a: " + "x" * (5 << 20), "larger than 4 MB"),
}
LOADERS = {
    "spec": lambda path: read_file(path, TaskSpec),
    "manifest": lambda path: read_manifest(path.parent),
    "configuration": load,
}
NAMES = {"spec": "task.yaml", "manifest": MANIFEST}


@pytest.mark.parametrize(("text", "said"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("loader", LOADERS)
def test_hostile_yaml_is_one_line(tmp_path, loader, text, said):
    path = tmp_path / NAMES.get(loader, "file.yaml")
    path.write_text(text)
    with pytest.raises((UsageError, QuestionError)) as refused:
        LOADERS[loader](path)
    message = str(refused.value)
    assert message.startswith(f"{path}")
    assert said in message
    assert "\n" not in message


def test_an_ordinary_file(tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text("a: [1, {b: null}]\n")
    assert read_yaml(path) == {"a": [1, {"b": None}]}
