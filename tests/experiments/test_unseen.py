"""Renaming a small library: every kind of name, and nothing of others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from experiments.benchmarks.unseen import gates, wheel
from experiments.benchmarks.unseen.__main__ import main
from experiments.benchmarks.unseen.build import UnseenLibrary, without
from experiments.benchmarks.unseen.mapping import NameMap, make_map
from experiments.benchmarks.unseen.names import NameMaker, is_distinctive
from experiments.benchmarks.unseen.owners import analyse
from experiments.benchmarks.unseen.prose import translate
from experiments.benchmarks.unseen.questions import scaffold_script
from experiments.benchmarks.unseen.reorder import reorder
from experiments.benchmarks.unseen.rewrite import rewrite
from experiments.benchmarks.unseen.source import (
    PackageSource,
    UnseenError,
    Vocabulary,
    foreign_vocabulary,
    read_library,
)

CORE = '''"""Cells of crystals, after Rivetti (https://example.org/cells, doi:10.1000/182)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .tools import cell_volume  # a remark

__author__ = "A. Person"


@dataclass
class CrystalCell:
    """A cell.

    Attributes:
        edge_length: Edge in angstrom.
        name: What it is called.
    """

    edge_length: float
    name: str = "cell"

    @property
    def total_volume(self) -> float:
        """Volume; see `edge_length`."""
        return cell_volume(edge=self.edge_length)

    def scaled_by(self, factor: float, **kwargs: str) -> CrystalCell:
        """A larger CrystalCell."""
        if hasattr(self, "edge_length") and factor <= 0:
            raise ValueError(f"{self.name}: scaled_by needs a positive factor")
        return CrystalCell(edge_length=self.edge_length * factor, **kwargs)

    def summary_record(self) -> dict[str, float]:
        return {"cell_volume_sum": self.total_volume}


def read_cells(text: str) -> list[CrystalCell]:
    return [CrystalCell(**entry) for entry in json.loads(text)]
'''
TOOLS = '''"""Tools."""


def cell_volume(edge: float) -> float:
    """Volume of a cube by its edge."""
    return edge**3
'''
SCRIPT = """from toycells.core import CrystalCell


def reference():
    cell = CrystalCell(edge_length=2.0).scaled_by(1.5, name="big")
    total = cell.summary_record()["cell_volume_sum"]
    return {"total_volume": total, "name": cell.name, "same": cell.total_volume == total}
"""
WORDS = Vocabulary(
    words=frozenset({"name", "text", "edge", "factor"}),
    strings=frozenset({"name"}),
    members=frozenset({"name"}),
)


@pytest.fixture
def library(tmp_path: Path) -> PackageSource:
    package = tmp_path / "site" / "toycells"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "core.py").write_text(CORE)
    (package / "tools.py").write_text(TOOLS)
    return read_library("toycells", tmp_path / "site")


def _names(library: PackageSource, seed: int = 1) -> NameMap:
    return make_map([library], WORDS, seed=seed, overridden=(), proper=("Rivetti",))


def _renamed(library: PackageSource, names: NameMap, root: Path) -> tuple[UnseenLibrary, str]:
    """Write the renamed library; also returns the translated script."""
    texts = {name: module.text for name, module in library.modules.items()}
    found = analyse({**texts, "script": SCRIPT}, ["toycells"])
    for name, module in library.modules.items():
        done = rewrite(module.text, names, found[name], vocabulary=WORDS, modules=texts)
        path = (root / "source").joinpath(*(names.module(name) or "").split("."))
        path = path / "__init__.py" if module.is_package else path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(reorder(done.text, 1))
    (root / "private").mkdir()
    names.save(root / "private" / "mapping.json")
    script = rewrite(SCRIPT, names, found["script"], vocabulary=WORDS, modules=texts, script=True)
    return UnseenLibrary(root, tuple(names.packages.values())), script.text


@pytest.mark.parametrize("seed", [1, 2])
def test_a_translated_script_gives_the_same_values(
    library: PackageSource, tmp_path: Path, seed: int
) -> None:
    names = _names(library, seed)
    unseen, script = _renamed(library, names, tmp_path / "out")

    def run(code: str, folder: Path) -> str:
        done = subprocess.run(
            [sys.executable, "-c", f"{code}\nprint(list(reference().values()))"],
            capture_output=True, text=True, check=True, cwd=folder,
        )  # fmt: skip
        return done.stdout

    assert run(SCRIPT, library.folder) == "[27.0, 'big', True]\n"
    assert run(script, unseen.folder / "source") == "[27.0, 'big', True]\n"
    for old in ("CrystalCell", "scaled_by", "toycells", "summary_record", "cell_volume_sum"):
        assert old not in script
    assert gates.leak_scan(unseen, WORDS.words) == []


def test_the_leak_scan_finds_what_was_forgotten(library: PackageSource, tmp_path: Path) -> None:
    unseen, _ = _renamed(library, _names(library), tmp_path)
    path = max((tmp_path / "source").rglob("*.py"))
    clean = path.read_text()
    for forgotten in (
        "def read_cells(): ...",
        '"""Like scaled_by."""',
        "x = CrystalCell",
        '"after Rivetti"',
        "'https://example.org'",
        "import toycells",
    ):
        path.write_text(f"{clean}\n\n{forgotten}\n")
        assert gates.leak_scan(unseen, WORDS.words), forgotten


def test_texts_are_translated_and_origins_removed(library: PackageSource, tmp_path: Path) -> None:
    names = _names(library)
    unseen, _ = _renamed(library, names, tmp_path)
    text = "\n".join(unseen.modules.values())
    for gone in ("A. Person", "a remark", "example.org", "10.1000", "Rivetti"):
        assert gone not in text
    assert f"`{names.identifiers['edge_length']}`" in text
    assert f"{names.identifiers['scaled_by']} needs a positive" in text
    assert "Volume of a cube by its edge." in text  # words of the field stay


def test_another_seed_is_another_library_and_the_same_seed_the_same(library: PackageSource) -> None:
    assert _names(library, 3) == _names(library, 3)
    first, second = _names(library, 3), _names(library, 4)
    assert not set(first.identifiers.values()) & set(second.identifiers.values())


def test_one_old_name_is_one_new_name(library: PackageSource, tmp_path: Path) -> None:
    names = _names(library)
    new = list(names.identifiers.values())
    assert len(set(new)) == len(new)
    assert not set(new) & (WORDS.words | set(names.identifiers))
    names.save(tmp_path / "map.json")
    assert NameMap.load(tmp_path / "map.json") == names


@pytest.mark.parametrize(
    ("old", "pattern"),
    [
        ("get_cell", r"[a-z]+_[a-z]+"),
        ("CrystalCell", r"([A-Z][a-z]+){2}"),
        ("MAX_EDGE", r"[A-Z]+_[A-Z]+"),
        ("_hidden", r"_[a-z]+"),
        ("T", r"[A-Z][a-z]+"),
    ],
)
def test_new_names_keep_the_style(old: str, pattern: str) -> None:
    import re

    assert re.fullmatch(pattern, NameMaker(1).rename(old))


def test_only_names_that_are_no_words_are_distinctive() -> None:
    assert is_distinctive("edge_length")
    assert is_distinctive("CrystalCell")
    assert not is_distinctive("structure")
    assert not is_distinctive("Vacancy")


def test_plain_words_are_translated_only_where_they_are_marked(library: PackageSource) -> None:
    names = _names(library)
    new = names.identifiers["edge"]
    text = "The edge is `edge`.\n\nArgs:\n    edge: the edge\n    edge=2"
    assert (
        translate(text, names) == f"The edge is `{new}`.\n\nArgs:\n    {new}: the edge\n    {new}=2"
    )


def test_definitions_change_places_where_that_is_legal() -> None:
    text = "".join(f"def f{i}():\n    return {i}\n\n\n" for i in range(6))
    text += "class A:\n    pass\n\n\nclass B(A):\n    def one(self): ...\n    def two(self): ...\n"
    done = {reorder(text, seed) for seed in range(8)}
    assert len(done) > 1
    for shuffled in done:
        assert sorted(shuffled.split()) == sorted(text.split())
        assert shuffled.index("class A") < shuffled.index("class B(A)")
        exec(compile(shuffled, "shuffled", "exec"), {})


def test_the_words_of_others_do_not_hold_the_library_itself(library: PackageSource) -> None:
    found = foreign_vocabulary([library])
    assert "loads" in found.words  # json, which the library imports
    assert not {"CrystalCell", "scaled_by", "cell_volume_sum"} & (found.words | found.strings)


def test_masks_are_filled_and_their_places_remembered() -> None:
    from experiments.benchmarks.question_format import TaskSpec

    prop = {"name": "v", "description": "The volume of the cell.", "format": "float"}
    spec = TaskSpec.model_validate(
        {
            "area": "cells",
            "masks": {"MASK_1": "CrystalCell", "MASK_2": "edge_length"},
            "properties": [{**prop, "compare": "close"}, {**prop, "name": "w", "compare": "close"}],
            "scaffold": "Make it:\n```python\n"
            "x = 1\ncell = [MASK_1]([MASK_2]=2.0)\n```\nand so on.",
            "goal": "Make a cell whose edge is as long as two angstrom.",
        }
    )
    script = scaffold_script(spec)
    assert script.text == "x = 1\ncell = CrystalCell(edge_length=2.0)\n"
    assert script.masks == {(2, 7): "MASK_1", (2, 19): "MASK_2"}


def test_the_original_leaves_the_lock_file() -> None:
    kept = "a==1 \\\n    --hash=sha256:0\n"
    lock = f"{kept}    # via toy-cells\ntoy-cells==2 \\\n    --hash=sha256:1\n"
    assert without(lock, {"toy-cells"}) == kept
    with pytest.raises(UnseenError, match="does not pin other"):
        without(lock, {"other"})


def test_the_same_source_is_the_same_wheel(library: PackageSource, tmp_path: Path) -> None:
    package = library.folder / "toycells"
    (tmp_path / "again").mkdir()
    first = wheel.write(tmp_path, "toycells", package)
    assert first.read_bytes() == wheel.write(tmp_path / "again", "toycells", package).read_bytes()
    (package / "tools.py").write_text(TOOLS + "\n")
    assert wheel.write(tmp_path, "toycells", package).name != first.name


def test_a_package_that_is_not_there_is_a_clear_message(tmp_path: Path) -> None:
    with pytest.raises(UnseenError, match=r"no __init__\.py under"):
        read_library("nothing.here", tmp_path)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["seed=1"], "out=...: is required"),
        (["out=x", "seed=-1"], "seed=-1"),
        (["out=x", "colour=red"], "colour: no such key"),
        (["out=x", "questions=/no/such"], "does not point to a directory"),
    ],
)
def test_a_mistake_on_the_command_line_is_exit_code_2(
    words: list[str], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert shown in capsys.readouterr().err


def test_a_mistake_is_one_line_that_does_not_drive_the_terminal(capsys) -> None:
    assert main(["out=new", "seed=2\u202eJ[red]"]) == 2
    assert capsys.readouterr().err.startswith(r"error: seed=2\u202eJ[red]: Input should be")
