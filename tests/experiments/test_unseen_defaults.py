"""Default values of a small library are changed: its own code and the references mean the same."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.benchmarks.live.loader import TaskSpec
from experiments.unseen.mapping import NameMap
from experiments.unseen.mutations import Material, Record, mutate
from experiments.unseen.mutations_gate import judge
from experiments.unseen.mutations_texts import change_default
from experiments.unseen.questions import Script, Source, scaffold_script
from experiments.unseen.source import read_library

WAVES = '''"""Waves."""


def damped(height: float, factor: float = 0.5, steps: int = 3, *, exact: bool = False) -> float:
    """A damped wave.

    Args:
        height: Of the wave.
        factor: By which it is damped. Defaults to 0.5.
        steps: How often (default: 3).
        exact: Whether to round.
    """
    value = height * factor**steps
    return value if exact else round(value, 3)


def both(height: float) -> tuple[float, float]:
    return damped(height), damped(
        height,
        0.4,
    )


def summed(values, start: float = 2.0) -> float:
    return sum(values, start)


def sum_of_squares(count: int) -> float:
    return summed(x * x for x in range(count))


class Basin:
    """A basin.

    Args:
        length: Its length.
        depth: Its depth, 7.5 by default.
        quiet: Whether it is quiet.
    """

    def __init__(self, length: float, depth: float = 7.5, quiet: bool = True) -> None:
        self.text = f"{length} {depth} {quiet}"

    def level(self, add: float = 1.5) -> float:
        return add

    def shared(self, add: float = 1.5) -> float:
        return add


class Sea(Basin):
    def __init__(self) -> None:
        super().__init__(100.0)

    def shared(self, add: float = 2.5) -> float:
        return add


def passing(**options: float) -> float:
    return taking(1.0, **options)


def taking(one: float, two: float = 2.5) -> float:
    return one + two


def relied_on(one: float = 1.25, two: float = 2.25) -> float:
    return one + two


def spoken_of(share: float = 0.25) -> float:
    return share


def left_alone(a=None, b: int = 0, c: float = -1.0, d: str = "x", e: float = 0.0):
    return [a, b, c, d, e]


def _private(value: float = 3.5) -> float:
    return value


def all_of_it() -> list[object]:
    return [
        both(8.0),
        sum_of_squares(4),
        Basin(1.0).text,
        Sea().text,
        Sea().level(),
        Sea().shared(),
        passing(),
        passing(two=1.0),
        relied_on(),
        spoken_of(),
        left_alone(),
        _private(),
    ]
'''
REFERENCE = """from toywaves.waves import all_of_it, damped, relied_on, summed


def reference():
    return [all_of_it(), damped(16.0, factor=0.5, steps=3, exact=True), relied_on(one=3.0),
            summed([1.0], start=2.0)]
"""


def _material(root: Path) -> Material:
    package = root / "toywaves"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "waves.py").write_text(WAVES)
    prop = {"name": "v", "description": "The height of the wave.", "format": "float"}
    spec = TaskSpec.model_validate(
        {
            "area": "waves",
            "properties": [{**prop, "compare": "close"}, {**prop, "name": "w", "compare": "close"}],
            "scaffold": "A wave, whose argument `share` is 0.25 by default. Take 3 steps with\n\n"
            "```python\nheight = 16.0\n```\nand so on.",
            "goal": "Damp a wave of height 16 in three steps by one half each.",
        }
    )
    source = Source(Path("toy"), spec, Script(REFERENCE, {}), scaffold_script(spec))
    return Material((read_library("toywaves", root),), (source,), "")


def _changed(material: Material, *kinds: str, seed: int = 1) -> tuple[Material, Record]:
    return mutate(material, kinds, seed=seed, overridden=(), words=())


def _run(material: Material, folder: Path, code: str) -> str:
    (folder / "toywaves").mkdir(parents=True)
    (folder / "toywaves" / "__init__.py").write_text("")
    (folder / "toywaves" / "waves.py").write_text(material.modules["toywaves.waves"])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kinds", [("defaults",), ("order", "defaults")])
def test_the_references_give_the_same_values(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    material = _material(tmp_path / "site")
    after, record = _changed(material, *kinds)
    assert record.defaults
    for name, one in (("before", material), ("after", after)):
        code = f"{one.sources[0].reference.text}\nprint(reference())"
        (tmp_path / f"{name}.txt").write_text(_run(one, tmp_path / name, code))
    assert (tmp_path / "before.txt").read_text() == (tmp_path / "after.txt").read_text()


def test_only_what_can_be_followed_changes(tmp_path: Path) -> None:
    after, record = _changed(_material(tmp_path))
    assert record == Record()
    after, record = _changed(_material(tmp_path / "again"), "defaults")
    assert {(entry.qualname, entry.parameter) for entry in record.defaults} == {
        ("damped", "factor"),
        ("damped", "steps"),
        ("damped", "exact"),
        ("summed", "start"),
        ("Basin.__init__", "quiet"),  # of its depth, the text speaks in other words
        ("Basin.level", "add"),
        ("relied_on", "one"),  # not two: a reference relies on it
    }  # not spoken_of (a prompt), taking (**options), shared (overridden), left_alone, _private
    assert record.given == (5, 3)  # factor, steps and start with their old values
    assert after.scripts == _material(tmp_path / "third").scripts


def test_a_call_that_trusts_the_old_default_gets_another_value(tmp_path: Path) -> None:
    material = _material(tmp_path / "site")
    after, record = _changed(material, "defaults")
    code = "from toywaves.waves import *\nprint(damped(16.0), summed([]), relied_on(two=1))"
    old, new = _run(material, tmp_path / "a", code), _run(after, tmp_path / "b", code)
    assert all(one != other for one, other in zip(old.split(), new.split(), strict=True))
    for entry in record.defaults:
        assert ast.literal_eval(entry.before) != ast.literal_eval(entry.after)


def test_signature_and_docstring_tell_the_new_defaults(tmp_path: Path) -> None:
    after, record = _changed(_material(tmp_path), "defaults")
    text = after.modules["toywaves.waves"]
    new = {entry.parameter: entry.after for entry in record.defaults if entry.qualname == "damped"}
    assert f"factor: float = {new['factor']}, steps: int = {new['steps']}" in text
    assert f"exact: bool = {new['exact']}" in text
    assert f"Defaults to {new['factor']}.\n" in text
    assert f"(default: {new['steps']})" in text
    assert "damped(height, factor=0.5, steps=3, exact=False)" in text
    assert "        0.4,\n        steps=3,\n        exact=False,\n    )" in text
    assert "summed((x * x for x in range(count)), start=2.0)" in text


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("Its size. Defaults to 0.01.", "Its size. Defaults to 0.02."),
        ("Its size (default: 1e-2).", "Its size (default: 0.02)."),
        ("Its size. The default value is `0.01`", "Its size. The default value is `0.02`"),
        ("Its size in nm.", "Its size in nm."),
        ("Its size, 0.01 by default.", None),
        ("Its size. Defaults to 0.05.", None),
        ("Its size. By default that of the cell.", None),
    ],
)
def test_a_default_in_a_text_is_corrected_or_reported(entry: str, expected: str | None) -> None:
    text = inspect.cleandoc("""
        Do.

        Parameters
        ----------
        size : float
            {}
        other
            Defaults to 7.
        """)
    done = change_default(text.format(entry), "size", "0.01", "0.02")
    assert done == (None if expected is None else text.format(expected))


def test_a_text_that_speaks_of_defaults_outside_of_the_list_cannot_be_corrected() -> None:
    assert change_default("By default it is 1.\n\nArgs:\n    a: it", "a", "1", "2") is None


def test_the_gate_finds_what_was_not_changed(tmp_path: Path) -> None:
    _, record = _changed(_material(tmp_path), "order", "defaults")
    names = NameMap({"toywaves": "x"}, {}, {}, {}, {}, ())
    right: dict[str, object] = {
        "calls": [list(entry.after) for entry in record.permuted],
        "defaults": [ast.literal_eval(entry.after) for entry in record.defaults],
        "failed": {},
    }
    findings, report = judge(record, names, right)
    assert findings == []
    assert report["permuted"] == report["permuted_proven"] == len(record.permuted) > 0
    assert report["defaults"] == report["defaults_proven"] == len(record.defaults)
    old = {**right, "calls": [list(entry.before) for entry in record.permuted]}
    assert len(judge(record, names, old)[0]) == len(record.permuted)
    old = {**right, "defaults": [ast.literal_eval(entry.before) for entry in record.defaults]}
    assert len(judge(record, names, old)[0]) == len(record.defaults)
    nothing = dataclasses.replace(record, permuted=(), defaults=())
    found = judge(nothing, names, {"calls": [], "defaults": [], "failed": {}})[0]
    assert len(found) == 2
