"""Unit tests as programs: assertions, formats, tolerances, texts."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from docgen.assertions import Assertion, Unusable, is_assertion, read
from docgen.programs import Rejected, collect
from experiments.benchmarks.folder.from_tests.__main__ import _usable, show
from experiments.benchmarks.folder.from_tests.texts import (
    ENTRY,
    instrumented,
    reference,
    scaffold,
)
from experiments.benchmarks.folder.from_tests.values import Shape, same, shape, tolerance
from sandbox.inside.values import Element, Msonable


def statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


READ = {
    "assert f(x) == 3": ("equal", "f(x)", "3", 0, 0),
    "assert f(x) == approx(3.0, abs=0.1)": ("close", "f(x)", "3.0", 0, 0.1),
    "assert pytest.approx(3.0, 1e-3) == f(x)": ("close", "f(x)", "3.0", 1e-3, 1e-12),
    "assert abs(f(x) - 3.0) < 1e-4": ("close", "f(x)", "3.0", 0, 1e-4),
    "assert math.isclose(f(x), 3.0)": ("close", "f(x)", "3.0", 1e-9, 0),
    "assert np.allclose(f(x), [1, 2])": ("close", "f(x)", "[1, 2]", 1e-5, 1e-8),
    "assert_allclose(f(x), [1, 2], atol=0.5)": ("close", "f(x)", "[1, 2]", 1e-7, 0.5),
    "self.assertEqual(f(x), 'a')": ("equal", "f(x)", "'a'", 0, 0),
    "self.assertAlmostEqual(f(x), 3.0, 2)": ("close", "f(x)", "3.0", 0, 0.5e-2),
    "np.testing.assert_almost_equal(f(x), 3.0, decimal=3)": ("close", "f(x)", "3.0", 0, 1.5e-3),
    "assert f(x)": ("true", "f(x)", "True", 0, 0),
    "assert not f(x)": ("true", "f(x)", "False", 0, 0),
    "self.assertTrue(f(x) == 4)": ("equal", "f(x)", "4", 0, 0),
    "assert f(x) is True": ("equal", "f(x)", "True", 0, 0),
    "assert f(x) is expected": ("same", "f(x)", "expected", 0, 0),
    "with pytest.raises(ValueError, match='no'): f(x)": ("raises", "None", "ValueError", 0, 0),
    "self.assertRaises(KeyError, f, x)": ("raises", "None", "KeyError", 0, 0),
}


@pytest.mark.parametrize("text", READ)
def test_assertions_are_read(text: str) -> None:
    kind, actual, expected, rtol, atol = READ[text]
    assert is_assertion(statement(text))
    found = read(statement(text))
    assert (found.kind, ast.unparse(found.actual)) == (kind, actual)
    assert ast.unparse(found.expected) == expected
    assert (found.rtol, found.atol) == pytest.approx((rtol, atol))
    assert bool(found.body) == (kind == "raises")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("assert f(x) > 3", "inequality"),
        ("assert not f(x) == 3", "inequality"),
        ("self.assertFalse(f(x) == 3)", "inequality"),
        ("assert x in f(x)", "membership"),
        ("assert f(x) is None", "None stands for a failed"),
        ("assert isinstance(f(x), int)", "a type"),
        ("assert f(x) and g(x)", "several conditions"),
        ("assert 1 < f(x) < 2", "chain"),
        ("assert np.allclose(f(x), 1, rtol=tol)", "the tolerance tol"),
        ("self.assertGreater(f(x), 3)", "assertGreater fixes no value"),
    ],
)
def test_assertions_that_fix_no_value_say_so(text: str, reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        read(statement(text))


@pytest.mark.parametrize(
    ("value", "form", "plain"),
    [
        (np.float64(1.5), "float", 1.5),
        (np.arange(4).reshape(2, 2), "list[list[int]]", [[0, 1], [2, 3]]),
        ((1, 2.5), "list[float]", [1.0, 2.5]),
        ([[0, 1], [2.5, 0]], "list[list[float]]", [[0.0, 1.0], [2.5, 0.0]]),
        ({"b", "a"}, "list[str]", ["a", "b"]),
        ({1: [True]}, "dict[str, list[bool]]", {"1": [True]}),
        ({Element("Fe"): 2}, "dict[str, int]", {"Fe": 2}),
    ],
)
def test_values_become_plain_and_the_code_does_the_same(value, form, plain) -> None:
    found = shape(value)
    assert (found.format, found.value) == (form, plain)
    if not (isinstance(value, dict) and Element("Fe") in value):  # its class lives in the sandbox
        done = eval(found.code.replace("{}", "value"), {"value": value})
        assert json.dumps(done) == json.dumps(plain)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "None"),
        ([], "empty"),
        (float("nan"), "nan"),
        ([1, "a"], "mixture"),
        (Msonable("pymatgen.core.Structure", {}), "a Structure"),
    ],
)
def test_values_that_cannot_be_asked_for_say_so(value, reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        shape(value)


def test_tolerances_follow_the_assertion_but_never_let_one_per_cent_pass() -> None:
    number = ast.Constant(value=2.0)
    found = Shape("float", "float({})", 2.0)
    fine = Assertion(1, "close", number, number, rtol=1e-4, atol=0.0)
    assert tolerance(found, fine) == (1e-4, 2e-9)
    wide = Assertion(1, "close", number, number, atol=0.05)
    rtol, atol = tolerance(found, wide)
    assert rtol * 2.0 + atol < 0.01 * 2.0
    assert tolerance(Shape("int", "int({})", 2), wide) == (1e-3, 0.0)


@pytest.mark.parametrize(
    ("first", "other", "alike"),
    [
        (["a", "b"], ["b", "a"], False),
        (1, 1.0, False),
        (1.0, 1.1, False),
        ([0.1 + 0.2], [0.3], True),
        ({"a", "b"}, {"b", "a"}, True),
        ([1], [1, 2], False),
        (Msonable("a.B", {}), Msonable("a.B", {}), True),
    ],
)
def test_runs_that_differ_are_told_apart(first, other, alike) -> None:
    assert same(first, other) == alike


def test_identity_counts_where_the_value_is_true_false_or_none(tmp_path: Path) -> None:
    (tmp_path / "test_is.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize(('x', 'expected'), [(1, True), (2, None), (3, 'c')])\n"
        "def test_is(x, expected):\n    assert {1: True, 3: 'c'}.get(x) is expected\n"
    )
    seen = []
    for program in collect(tmp_path)[0]:
        names: dict[str, Callable[[], list[dict[str, object]]]] = {}
        exec(instrumented(program), names)
        (record,) = names[ENTRY]()
        try:
            _usable(record, record, program.assertions[0].kind)
            found = shape(record["value"], none=True)
            code = reference(program, {0: ("it", found.code)})
            exec(code, names)
            seen.append((found.value, names["reference"]()["it"]))  # type: ignore[call-overload]
        except Unusable as error:
            seen.append((str(error), None))
    assert seen[:2] == [(True, True), (True, True)]
    assert "({1: True, 3: 'c'}.get(x)) is None" in code
    assert seen[2][0].startswith("identity is not a value")


def test_what_cannot_be_a_program_says_why(tmp_path: Path) -> None:
    (tmp_path / "test_odd.py").write_text(
        "import pytest\n"
        "@pytest.mark.skip\ndef test_a():\n    assert f() == 1\n"
        "def test_b(tmp_path):\n    assert f(tmp_path) == 1\n"
        "async def test_c():\n    assert f() == 1\n"
        "class TestD:\n"
        "    def helper(self):\n        return 1\n"
        "    def test_d(self):\n        assert f(self.helper()) == 1\n"
        "@pytest.mark.parametrize('x', rows())\ndef test_e(x):\n    assert f(x) == 1\n"
    )
    (tmp_path / "test_broken.py").write_text("def test_x(:\n")
    found, rejected = collect(tmp_path)
    assert found == []
    reasons = {item.test.rpartition(":")[2]: item.reason for item in rejected}
    assert "marked skip" in reasons["test_a"]
    assert "the fixture tmp_path" in reasons["test_b"]
    assert "asynchronous" in reasons["test_c"]
    assert "helper() of its class" in reasons["test_d"]
    assert "not written out" in reasons["test_e"]
    assert "not Python" in reasons["test_broken.py"]


def test_expected_values_stay_out_of_reference_and_scaffold(tmp_path: Path) -> None:
    (tmp_path / "test_leak.py").write_text(
        "from orchard import Tree\nGOLD = {'a': 12.75}\n"
        "def test_it():\n    expected = [4.5, GOLD['a']]\n    tree = Tree('cox', 5)\n"
        "    assert tree.sizes() == expected\n    assert tree.age == 5\n"
    )
    (program,) = collect(tmp_path)[0]
    assert "12.75" in instrumented(program)
    solution = reference(program, {0: ("sizes", "[float(item) for item in {}]")})
    shown = scaffold(program, {0: "sizes_found"}, {"MASK_1": "sizes"})
    for text in (solution, shown):
        assert "12.75" not in text
        assert "expected" not in text
    assert "sizes_found = tree.[MASK_1]()" in shown
    assert 'return {"sizes": sizes}' in solution
    compile(solution, "reference.py", "exec")


def test_optional_imports_and_steps_between_assertions_are_kept(tmp_path: Path) -> None:
    (tmp_path / "test_steps.py").write_text(
        "import pytest\nnp = pytest.importorskip('numpy')\n"
        "class TestSteps:\n"
        "    @classmethod\n    def setup_class(cls):\n        pytest.importorskip('scipy')\n"
        "        cls.limit = 3\n"
        "    def test_steps(self):\n"
        "        found = [1.5]\n        assert sum(found) == 1.5\n"
        "        found.append(np.sqrt(self.limit))\n        assert len(found) == 2\n"
    )
    (program,) = collect(tmp_path)[0]
    source = reference(program, {0: ("first", "float({})"), 1: ("second", "int({})")})
    namespace: dict[str, Callable[[], dict[str, object]]] = {}
    exec(compile(source, "reference.py", "exec"), namespace)
    assert namespace["reference"]() == {"first": 1.5, "second": 2}
    assert "pytest" not in instrumented(program)


def test_a_reason_is_shown_as_it_is_and_does_not_drive_the_terminal(capsys) -> None:
    show([], [Rejected("test_a.py::test_a", "the model wrote [MASK][/b]\x9b2J")])
    assert r"the model wrote [MASK][/b]\x9b2J" in capsys.readouterr().out
