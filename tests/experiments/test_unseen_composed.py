"""Names that code puts together at run time, and two packages that import each other."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from experiments.benchmarks.unseen import gates
from experiments.benchmarks.unseen.build import UnseenLibrary
from experiments.benchmarks.unseen.composed import Affix, affixes, texts_that_name
from experiments.benchmarks.unseen.mapping import make_map
from experiments.benchmarks.unseen.owners import analyse, count_errors
from experiments.benchmarks.unseen.prose import translate
from experiments.benchmarks.unseen.reorder import reorder
from experiments.benchmarks.unseen.rewrite import rewrite
from experiments.benchmarks.unseen.source import (
    PackageSource,
    UnseenError,
    Vocabulary,
    read_library,
)

PAIRS = '''"""Pairs of `CrystalEnds`, after Rivetti et al., J. Cell. Phys. 3, 14 (2001)."""

from dataclasses import dataclass

from toyhops.steps import HopStep


@dataclass
class CrystalEnds:
    """Two ends.

    If you use this class, please consider citing the following paper:

    Rivetti, A. and Pardo, B. "Cells and their ends".

    Attributes:
        volume_a: Volume of one end.
        volume_b: Volume of the other.
    """

    volume_a: float
    volume_b: float
    name_a: str
    name_b: str
    ids: set
    marks: set

    def mixed_value(self, prop: str = "volume") -> float:
        """Mean of a property."""
        return (getattr(self, f"{prop}_a") + getattr(self, prop + "_b")) / 2

    def as_rows(self) -> list[dict]:
        rows: list[dict] = [{}, {}]
        for attr in vars(self):
            if attr.endswith("_a"):
                rows[0][attr[:-2]] = getattr(self, attr)
            elif attr.endswith("_b"):
                rows[1][attr[:-2]] = getattr(self, attr)
            else:
                rows[0][attr] = getattr(self, attr)
        return rows

    def row_names(self) -> list[str]:
        return [row["name"] for row in self.as_rows()] + sorted(self.as_rows()[0]["ids"])

    def unique_marks(self) -> set:
        if isinstance(self.marks, list):
            self.marks = set(self.marks)
        return self.marks

    def first_hop(self) -> HopStep:
        return HopStep(hop_length=self.volume_a)

    def __eq__(self, other) -> bool:
        return self.volume_a == other.volume_a
'''
STEPS = '''"""Steps of hops."""

from collections import namedtuple
from dataclasses import dataclass
from functools import partial

__author__ = "Rivetti"
EdgeInfo = namedtuple("EdgeInfo", ["weight", "edge_kind"])


@dataclass
class HopStep:
    """A hop."""

    hop_length: float
    length: float = 1.0


def edge_data(step: HopStep) -> dict:
    found = {"hop": step}
    found.update(dict(hop_label=3))
    return found


def longest_edge(edges: list[dict]) -> float:
    return max(edge["hop"].length + edge["hop_label"] for edge in edges)


def edge_kind_of(weight: int) -> str:
    """Written by somebody."""
    make = partial(EdgeInfo, weight=weight)
    info = make(edge_kind="e" + __author__[:0])
    return info.edge_kind * info.weight


def shifted_step(**kwargs) -> HopStep:
    kwargs["length"] = kwargs.get("length", 2.0) + 1
    return HopStep(**kwargs)


def pairs_of(value: float):
    from toypairs.pairs import CrystalEnds

    return CrystalEnds(value, 3 * value, "one", "two", {"x"}, ["m", "m"])
'''
SCRIPT = """from toyhops.steps import edge_data, edge_kind_of, longest_edge, pairs_of, shifted_step


def reference():
    pair = pairs_of(2.0)
    step = shifted_step(hop_length=5.0, length=4.0)
    return {
        "mixed": pair.mixed_value(),
        "named": pair.mixed_value("volume"),
        "rows": pair.row_names(),
        "marks": sorted(pair.unique_marks()),
        "hop": pair.first_hop().hop_length,
        "longest": longest_edge([edge_data(step)]),
        "kind": edge_kind_of(weight=3),
        "equal": pair == pairs_of(2.0),
    }
"""
VALUES = [4.0, 4.0, ["one", "two", "x"], ["m"], 2.0, 8.0, "eee", True]
#: Five names are others' too, and two of them are keys of others.
WORDS = Vocabulary(
    words=frozenset({"length", "name", "ids", "marks", "value", "weight"}),
    strings=frozenset({"name", "ids"}),
    members=frozenset({"length", "name", "ids", "marks", "weight"}),
)


@pytest.fixture
def libraries(tmp_path: Path) -> list[PackageSource]:
    for package, module, text in (("toypairs", "pairs", PAIRS), ("toyhops", "steps", STEPS)):
        folder = tmp_path / "site" / package
        (folder / "tests").mkdir(parents=True)
        (folder / "__init__.py").write_text("")
        (folder / f"{module}.py").write_text(text)
        (folder / "tests" / "__init__.py").write_text("")
    return [read_library(package, tmp_path / "site") for package in ("toypairs", "toyhops")]


def _renamed(libraries: list[PackageSource], seed: int, root: Path) -> tuple[UnseenLibrary, str]:
    names = make_map(libraries, WORDS, seed=seed, overridden=(), proper=("Rivetti",))
    texts = {name: m.text for library in libraries for name, m in library.modules.items()}
    owners = analyse({**texts, "script": SCRIPT}, ["toypairs", "toyhops"])
    for library in libraries:
        for name, module in library.modules.items():
            done = rewrite(module.text, names, owners[name], vocabulary=WORDS, modules=texts)
            path = (root / "source").joinpath(*(names.module(name) or "").split("."))
            path = path / "__init__.py" if module.is_package else path.with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(reorder(done.text, seed))
    (root / "private").mkdir()
    names.save(root / "private" / "mapping.json")
    script = rewrite(SCRIPT, names, owners["script"], vocabulary=WORDS, modules=texts, script=True)
    return UnseenLibrary(root, tuple(names.packages.values())), script.text


@pytest.mark.parametrize("seed", [1, 2])
def test_two_packages_that_import_each_other_give_the_same_values(
    libraries: list[PackageSource], tmp_path: Path, seed: int
) -> None:
    unseen, script = _renamed(libraries, seed, tmp_path / "out")

    def run(code: str, folder: Path) -> object:
        done = subprocess.run(
            [sys.executable, "-c", f"{code}\nimport json; print(json.dumps(reference()))"],
            capture_output=True, text=True, check=True, cwd=folder,
        )  # fmt: skip
        return list(json.loads(done.stdout).values())

    assert run(SCRIPT, libraries[0].folder) == VALUES
    assert run(script, unseen.folder / "source") == VALUES
    for old in ("toypairs", "toyhops", "CrystalEnds", "mixed_value", "hop_label", '"volume"'):
        assert old not in script
    assert gates.leak_scan(unseen, WORDS.words) == []


def test_a_name_that_is_put_together_is_renamed_like_its_parts(
    libraries: list[PackageSource],
) -> None:
    names = make_map(libraries, WORDS, seed=1, overridden=())
    stem = names.keys["volume"]
    assert names.identifiers["volume_a"] == f"{stem}_a"
    assert names.identifiers["volume_b"] == f"{stem}_b"
    assert stem != "volume"


def test_a_name_stays_when_the_text_it_is_made_from_may_be_anothers(
    libraries: list[PackageSource],
) -> None:
    names = make_map(libraries, WORDS, seed=1, overridden=())
    assert {"name_a", "name_b", "ids"} <= set(names.kept)
    assert not {"name_a", "name_b", "ids"} & set(names.identifiers)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('getattr(x, f"{name}_a")', {Affix("", "_a")}),
        ('hasattr(x, "min_" + name)', {Affix("min_", "")}),
        ('setattr(x, f"get_{name}_of", 1)', {Affix("get_", "_of")}),
        ('make(**{f"{name}_b": 1})', {Affix("", "_b")}),
        ('make(**{f"{k}_b": v for k, v in d})', {Affix("", "_b")}),
        ('getattr(x, f"{name}s")', set()),  # the plural of anything
        ('getattr(x, f"{name}_{other}")', set()),
        ('print(f"{name}_a")', set()),
    ],
)
def test_fixed_parts_are_found_where_names_are_put_together(code: str, found: set[Affix]) -> None:
    class Module:
        tree = ast.parse(code)

    assert affixes(Module()) == found  # type: ignore[arg-type]


def test_keywords_that_only_others_are_given_are_theirs() -> None:
    text = """
def ours(**kwargs):
    kwargs["one"] = 1
    if "two" in kwargs:
        make(**kwargs)


def theirs(**kwargs):
    kwargs["three"] = 3
    plot(**kwargs)
"""
    lines = text.splitlines()
    plot = (len(lines), len(lines[-1]))
    found = texts_that_name(text, {plot: False})
    assert {lines[line - 1][:column].split('"')[1] for line, column in found} == {"one", "two"}


def test_types_in_comments_do_not_count_as_errors_found() -> None:
    with_type = "x = []  # type: list[int]\n"
    assert count_errors({"m": with_type}) == count_errors({"m": "x = []\n"})
    assert count_errors({"m": with_type})["m", "var-annotated"] == 1


def test_without_mypy_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mypy", None)
    with pytest.raises(UnseenError, match=r"pip install matsmith\[unseen\]"):
        analyse({"m": "x = 1\n"}, ["m"])


def test_a_text_that_ends_mypy_does_not_end_us() -> None:
    with pytest.raises(UnseenError, match="mypy ended with status -"):
        analyse({"m": f"x = {' + '.join(['1'] * 20_000)}\n"}, ["m"])


def test_members_of_a_class_and_attribute_directives_follow(libraries: list[PackageSource]) -> None:
    names = make_map(libraries, WORDS, seed=1, overridden=())
    step, plain = names.identifiers["HopStep"], "marks"
    new = names.identifiers[plain]
    text = f"See HopStep.{plain}.\n\n.. attribute:: {plain}\n\n    The {plain}."
    assert (
        translate(text, names) == f"See {step}.{new}.\n\n.. attribute:: {new}\n\n    The {plain}."
    )


def test_citations_go_and_plurals_follow(libraries: list[PackageSource]) -> None:
    names = make_map(libraries, WORDS, seed=1, overridden=())
    new = names.identifiers["HopStep"]
    assert translate("Many HopSteps of one HopStep.", names) == f"Many {new}s of one {new}."
    text = (
        "Ends of cells. If you use this, please cite\n  the following work::\n\n    Rivetti, A.\n\n"
        "Args:\n    x: see Rivetti et al., J. Cell. Phys. 3, 14 (2001).\n    y: another"
    )
    done = translate(text, names)
    assert not {"Rivetti", "cite", "Phys"} & set(done.replace(",", " ").split())
    assert done.startswith("Ends of cells.")
    assert "Args:\n    x:" in done
    assert done.endswith("y: another")


@pytest.mark.parametrize(
    "text",
    [
        "Use pymatgen's\nalloy add-on for it.",
        "Use pymatgen\u2019s defect add-on package for it.",
        "Use the alloy add-on of\npymatgen for it.",
        "Use the featurizer add-on for it.",
    ],
)
def test_prompts_name_the_packages_of_their_question(
    libraries: list[PackageSource], text: str
) -> None:
    from experiments.benchmarks.unseen.questions import _prose

    names = make_map(libraries, WORDS, seed=1, overridden=())
    assert _prose(text, names, ["one"]) == "Use the package one for it."
    assert _prose(text, names, ["one", "two"]) == "Use the packages one and two for it."


def test_a_second_process_waits_for_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from experiments.benchmarks.unseen import ready as module

    made: list[Path] = []

    def slow(packages: object, *, out: Path, **_: object) -> UnseenLibrary:
        time.sleep(0.3)
        made.append(out)
        (out / "private").mkdir(parents=True)
        (out / "private" / module.REPORT).write_text("{}")
        (out / "library.json").write_text('{"packages": ["new"]}')
        return UnseenLibrary(out, ("new",))

    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "make", slow)
    found: list[UnseenLibrary] = []

    def build() -> None:
        found.append(module.ready(["toy"], seed=1))

    threads = [threading.Thread(target=build) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert found == [UnseenLibrary(made[0], ("new",))] * 3
