"""Conventions of a small library are changed: the code means the same, the old calls do not."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.benchmarks.live.loader import LiveBenchmark, LiveError, TaskSpec
from experiments.unseen.mutations import Material, Record, mutate, parse
from experiments.unseen.mutations_texts import reorder_parameters, shown_in_prose
from experiments.unseen.questions import Script, Source, scaffold_script
from experiments.unseen.source import Library, UnseenError, read_library

CELLS = '''"""Cells."""

from __future__ import annotations

import functools
from dataclasses import InitVar, dataclass

from .tools import area, scaled, volume


@dataclass
class Cell:
    """A cell.

    Attributes:
        edge: Edge in angstrom.
        angle: Angle in degrees.
        label: What it is called.
        charge: Its charge.
    """

    edge: float
    """As measured."""
    angle: float

    label: str = "cell"
    charge: int = 0

    def grown(self, factor: float, shift: float) -> Cell:
        return Cell(self.edge * factor + shift, self.angle, "grown")


@dataclass
class Started:
    low: int
    high: InitVar[int]

    def __post_init__(self, high: int) -> None:
        self.low += high


class Base:
    """A base.

    Args:
        first: the first.
        second: the second.
    """

    def __init__(self, first: str, second: str, sign: int = 1, step: int = 2) -> None:
        self.text = f"{first}-{second}-{sign}-{step}"

    def joined(self, left: str, right: str) -> str:
        return f"{left}|{self.text}|{right}"

    def apart(self, left: str, right: str) -> str:
        return left + right


class Maker:
    def __init__(self, first: str, second: str) -> None:
        self.text = first + second

    @classmethod
    def made(cls, text: str, mark: str) -> Maker:
        return cls(text, mark)


class Sub(Maker):
    def __init__(self, second: str, first: str) -> None:
        super().__init__(first, second)


class Derived(Base):
    def __init__(self, first: str, second: str, third: str) -> None:
        super().__init__(second, first, 5)
        self.third = third

    def joined(self, left: str, right: str) -> str:
        return super().joined(right, left) + self.third

    def apart(self, left: str, right: str, middle: str = "") -> str:
        return left + middle + right


class Nesting:
    def outer(self, log: list[str]) -> list[str]:
        def inner(left: str, right: str) -> None:
            log.append(left + right)

        inner("1", "2")
        self.inner("3", "4")
        return log

    def inner(self, left: str, right: str) -> str:
        return left * 2 + right


class Numbers(list):
    def __init__(self, low: int, high: int) -> None:
        super().__init__(range(low, high))


def by_hand(left: float, right: float) -> float:
    return left - right


def passed_on(left: float, right: float) -> float:
    return left * 10 - right


def compared(left: float, right: float) -> float:
    return left - 2 * right


def pass_on(*values: float) -> float:
    return passed_on(*values)


def largest(values: list[float]) -> float:
    return functools.reduce(compared, values)


def shown(left: float, right: float) -> str:
    """Like shown(2, 1)."""
    return f"{by_hand(left, right)} of {in_text(left, right)}"


def in_text(left: float, right: float) -> float:
    return left / right


def unknown(cell, factor):
    return cell.of_unknown(factor, 3.0)


class Own:
    def of_unknown(self, factor: float, shift: float) -> float:
        return factor - shift

    def keys(self, first: str, second: str) -> str:
        return first + second

    def called_like_others(self, first: str, second: str) -> str:
        return first + second


def guessed(value):
    return value.called_like_others("a", "b")


def calls(log: list[str]) -> list[str]:
    def say(text: str) -> float:
        log.append(text)
        return float(len(log))

    area(say("one"), say("two"))
    volume(say("three"), 2.0, depth=say("four"))
    return log


def all_of_it(cell: Cell) -> list[object]:
    return [
        area(2.0, 3.0),
        scaled(cell.edge, 2.0, 4.0),
        volume(1.0, 2.0, 3.0),
        cell.grown(2.0, 1.0).edge,
        unknown(Own(), 7.0),
        Own().keys("a", "b"),
        pass_on(2.0, 1.0),
        largest([3.0, 1.0, 0.5]),
        shown(4.0, 2.0),
        Maker.made("x", "y").text,
        Sub.made("x", "y").text,
        guessed(Own()),
        Derived("p", "q", "t").joined("l", "r"),
        Derived("p", "q", "t").apart("l", "r", "m"),
        len(Numbers(1, 4)),
        Started(1, 2).low,
        Nesting().outer([]),
        Nesting().inner("5", "6"),
        calls([]),
    ]
'''
TOOLS = '''"""Tools."""


def area(width: float, height: float) -> float:
    """Area of a triangle over a line.

    Parameters
    ----------
    width
        Of the line.
    height : float
        Above it.

    Returns
    -------
    float
    """
    return width * 100 + height


def scaled(value: float, factor: float, offset: float = 1.0, times: int = 3) -> float:
    """A scaled value.

    :param value: what is scaled
    :param factor: by what,
        exactly
    :returns: the value
    """
    return value * factor**times + offset


def volume(width: float, height: float, depth: float) -> float:
    return width + 10 * height + 100 * depth
'''
REFERENCE = """from toys.cells import Base, Cell, Derived, Own, all_of_it
from toys.tools import area, scaled


def reference():
    cell = Cell(2.0, 90.0)
    other = Cell(3.0, label="b", angle=80.0)
    arguments = {"right": "R"}
    return [
        area(cell.edge, other.edge),
        scaled(area(1, 2), 2.0),
        Base("a", "b", 3).joined("c", **arguments),
        cell,
        other.grown(2.0, 0.5).edge,
        Derived("1", "2", "3").text,
        all_of_it(cell),
    ]
"""
FIELDS = ("Cell(edge=", "angle=", "label=", "charge=")


def _library(root: Path, **modules: str) -> Library:
    package = root / "toys"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    for name, text in modules.items():
        (package / f"{name}.py").write_text(text)
    return read_library("toys", root)


def _source(reference: str = REFERENCE) -> Source:
    prop = {"name": "v", "description": "The area under the line.", "format": "float"}
    spec = TaskSpec.model_validate(
        {
            "area": "cells",
            "masks": {"MASK_1": "area", "MASK_2": "edge", "MASK_3": "scaled"},
            "properties": [{**prop, "compare": "close"}, {**prop, "name": "w", "compare": "close"}],
            "scaffold": "Make it:\n```python\nfrom toys.cells import Cell\n"
            "from toys.tools import [MASK_1], [MASK_3]\n"
            "cell = Cell([MASK_2]=2.0, angle=90.0)\n"
            "found = [MASK_3]([MASK_1](cell.[MASK_2], 3.0), cell.[MASK_2])\n```\nas said.",
            "goal": "Make a cell whose edge is as long as two angstrom.",
        }
    )
    return Source(Path("toy"), spec, Script(reference, {}), scaffold_script(spec))


def _mutated(root: Path, seed: int = 1) -> tuple[Material, Material, Record]:
    library = _library(root, cells=CELLS, tools=TOOLS)
    material = Material((library,), (_source(),), "from toys.tools import area\narea(1, 2)\n")
    words = {"called_like_others", "append"}
    done, record = mutate(material, ("order",), seed=seed, overridden=(), words=words)
    return material, done, record


def _run(material: Material, folder: Path) -> str:
    (folder / "toys").mkdir(parents=True)
    for name, text in material.modules.items():
        path = folder.joinpath(*name.split("."))
        path = path / "__init__.py" if name == "toys" else path.with_suffix(".py")
        path.write_text(text)
    code = (
        f"{material.sources[0].reference.text}\n"
        "def plain(x):\n"
        "    return sorted(vars(x).items()) if hasattr(x, 'edge') else x\n"
        "print([plain(x) for x in reference()])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_code_gives_the_same_values(tmp_path: Path, seed: int) -> None:
    before, after, record = _mutated(tmp_path / "site", seed)
    assert _run(after, tmp_path / "after") == _run(before, tmp_path / "before")
    assert len(record.permuted) >= 8


def test_what_can_be_followed_changes_and_the_rest_does_not(tmp_path: Path) -> None:
    _, _, record = _mutated(tmp_path)
    changed = {entry.qualname for entry in record.permuted}
    assert changed == {
        "area",
        "scaled",
        "volume",
        "unknown",
        "Cell.__init__",  # a dataclass
        "Cell.grown",
        "Base.__init__",  # reached by super().__init__
        "Derived.__init__",
        "Base.joined",  # overridden: both in the same way
        "Derived.joined",
        "Own.of_unknown",  # called on a value of unknown type, but nobody else has this name
        "Own.keys",
        "Maker.made",
        "Nesting.inner",  # not the function inside of its neighbour
    }
    assert record.kept == {
        "overridden with other parameters": 2,  # apart
        "called where types are not known": 2,  # by_hand, in_text: called in an f-string
        "one call may reach several functions": 2,  # Maker, Sub: by cls(...)
        "called with *arguments": 1,  # passed_on
        "used as a value": 1,  # compared
        "a text shows how it is called": 1,  # shown
        "called on a value of unknown type": 1,  # called_like_others
        "Numbers is a subclass of builtins.list": 1,
        "a dataclass with an order of its own": 1,  # Started
    }


def test_the_old_positional_call_means_something_else(tmp_path: Path) -> None:
    _, after, record = _mutated(tmp_path)
    trees = {name: ast.parse(text) for name, text in after.modules.items()}
    for entry in record.permuted:
        assert sorted(entry.before) == sorted(entry.after)
        assert entry.before != entry.after
        found = [n for n in ast.walk(trees[entry.module]) if isinstance(n, ast.FunctionDef)]
        name = entry.qualname.rpartition(".")[2]
        orders = [tuple(a.arg for a in n.args.args if a.arg not in ("self", "cls"))
                  for n in found if n.name == name]  # fmt: skip
        if entry.qualname != "Cell.__init__":
            assert entry.after in orders
    defaults = {e.qualname: e.after for e in record.permuted}
    assert set(defaults["scaled"][:2]) == {"value", "factor"}  # what must be given comes first


def test_texts_tell_the_new_order(tmp_path: Path) -> None:
    _, after, record = _mutated(tmp_path)
    orders = {entry.qualname: entry.after for entry in record.permuted}
    tools, cells = after.modules["toys.tools"], after.modules["toys.cells"]
    documents = {
        "area": ast.get_docstring(_definition(tools, "area")),
        "scaled": ast.get_docstring(_definition(tools, "scaled")),
        "Cell.__init__": ast.get_docstring(_definition(cells, "Cell")),
        "Base.__init__": ast.get_docstring(_definition(cells, "Base")),
    }
    for name, text in documents.items():
        assert text is not None
        places = {
            p: text.find(f"\n{p}") if name == "area" else text.find(f"{p}:") for p in orders[name]
        }
        told = [p for p in orders[name] if places[p] >= 0]
        assert len(told) >= 2
        assert told == sorted(told, key=places.__getitem__), name


def _definition(text: str, name: str) -> ast.FunctionDef | ast.ClassDef:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return node
    raise AssertionError(name)


def test_masks_stay_with_their_names(tmp_path: Path) -> None:
    before, after, record = _mutated(tmp_path)
    scaffold = after.sources[0].scaffold
    lines = scaffold.text.splitlines()
    named = {
        mask: {lines[line - 1][column:].partition(word)[0] == "" for (line, column), other
               in scaffold.masks.items() if other == mask}
        for mask, word in (("MASK_1", "area"), ("MASK_2", "edge"), ("MASK_3", "scaled"))
    }  # fmt: skip
    assert named == {mask: {True} for mask in named}
    assert len(scaffold.masks) == len(before.sources[0].scaffold.masks) == 7
    assert {"area", "scaled"} <= {entry.qualname for entry in record.permuted}
    assert "area(3.0, cell.edge)" in scaffold.text


def test_effects_keep_their_order(tmp_path: Path) -> None:
    _, after, _ = _mutated(tmp_path)
    assert 'area(width=say("one"), height=say("two"))' in after.modules["toys.cells"]


def test_the_same_seed_is_the_same_change_and_another_another(tmp_path: Path) -> None:
    one, again, other = (
        _mutated(tmp_path / name, seed)[1:] for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert one[1] == again[1]
    assert one[0].texts == again[0].texts
    assert one[1] != other[1]


def test_nothing_is_changed_when_nothing_is_asked_for(tmp_path: Path) -> None:
    material = Material((_library(tmp_path, tools=TOOLS),), (), "")
    assert mutate(material, (), seed=1, overridden=(), words=()) == (material, Record())


def test_members_that_others_call_keep_their_order(tmp_path: Path) -> None:
    library = _library(tmp_path, tools="class A:\n    def of(self, x, y):\n        return x\n")
    for overridden, expected in ((("of",), 0), ((), 1)):
        done = mutate(
            Material((library,), (), ""), ("order",), seed=1, overridden=overridden, words=()
        )
        assert len(done[1].permuted) == expected


def test_lists_of_parameters_change_places_with_what_belongs_to_them() -> None:
    one, two = "    a (int): one,\n        more\n", "    b: two\n"
    google = "Do.\n\nArgs:\n{}    *rest: left\n{}\nReturns:\n    a: x"
    assert reorder_parameters(google.format(one, two), ("b", "a")) == google.format(two, one)
    numpy = (
        "Do.\n\nParameters\n----------\na\n    One.\n\nb : int\n    Two.\n\nReturns\n-------\na\n"
    )
    assert reorder_parameters(numpy, ("b", "a")) == (
        "Do.\n\nParameters\n----------\nb : int\n    Two.\n\na\n    One.\n\nReturns\n-------\na\n"
    )
    rest = ":param int a: one\n    more\n:param b: two\n:return: a"
    assert reorder_parameters(rest, ("b", "a")) == (
        ":param b: two\n:param int a: one\n    more\n:return: a"
    )
    assert (
        reorder_parameters("No list of a: or b: here.", ("b", "a")) == "No list of a: or b: here."
    )


def test_calls_in_texts_are_found() -> None:
    text = "Use one(2), two(x=2), three(), four(...) and `five(a, b)` or six(a[1])."
    assert set(shown_in_prose(text)) == {"one", "five", "six"}


def test_only_known_mutations_are_accepted() -> None:
    assert parse("none") == ()
    assert parse("order") == ("order",)
    assert parse("order,defaults") == parse("order+defaults") == ("defaults", "order")
    for wrong in ("", "colour", "order,order", "none+order"):
        with pytest.raises(UnseenError, match="mutate="):
            parse(wrong)


def test_only_an_unseen_library_can_be_changed() -> None:
    with pytest.raises(LiveError, match=r"give benchmark\.library=unseen too"):
        LiveBenchmark(mutate="order").load()
