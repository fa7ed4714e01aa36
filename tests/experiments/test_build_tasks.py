"""Unit tests as programs: assertions, formats, tolerances, texts."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from agents.models import ModelClient
from agents.models.chat import MeteredChat
from docgen.library import read_library
from experiments.benchmarks.folder.build.__main__ import main, show
from experiments.benchmarks.folder.build.assertions import Assertion, Unusable, is_assertion, read
from experiments.benchmarks.folder.build.collect import Program, Rejected, collect
from experiments.benchmarks.folder.build.model_writer import ModelWriter
from experiments.benchmarks.folder.build.pipeline import _compare_versions
from experiments.benchmarks.folder.build.sources import instrumented, reference, scaffold
from experiments.benchmarks.folder.build.values import Shape, Tolerance, ambiguity, shape, tolerance
from experiments.benchmarks.folder.build.writer import (
    Asked,
    Excerpt,
    PropertyText,
    RulesWriter,
    WriterError,
    documented,
    masks_of,
)
from sandbox.wire import Element, Msonable
from tests.agents.scripted import client

ORCHARD = Path(__file__).parents[1] / "data" / "orchard"
LIBRARY = read_library(["orchard"], ORCHARD / "src")


def statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


READ = {
    "assert f(x) == 3": ("equal", "f(x)", "3", 0, 0),
    "assert 3 == f(x)": ("equal", "f(x)", "3", 0, 0),
    "assert f(x) == pytest.approx(3.0)": ("close", "f(x)", "3.0", 1e-6, 1e-12),
    "assert f(x) == approx(3.0, abs=0.1)": ("close", "f(x)", "3.0", 0, 0.1),
    "assert pytest.approx(3.0, 1e-3) == f(x)": ("close", "f(x)", "3.0", 1e-3, 1e-12),
    "assert abs(f(x) - 3.0) < 1e-4": ("close", "f(x)", "3.0", 0, 1e-4),
    "assert math.isclose(f(x), 3.0)": ("close", "f(x)", "3.0", 1e-9, 0),
    "assert np.isclose(f(x), 3.0, rtol=1e-4)": ("close", "f(x)", "3.0", 1e-4, 1e-8),
    "assert np.allclose(f(x), [1, 2])": ("close", "f(x)", "[1, 2]", 1e-5, 1e-8),
    "assert_allclose(f(x), [1, 2], atol=0.5)": ("close", "f(x)", "[1, 2]", 1e-7, 0.5),
    "self.assertEqual(f(x), 'a')": ("equal", "f(x)", "'a'", 0, 0),
    "self.assertAlmostEqual(f(x), 3.0, 2)": ("close", "f(x)", "3.0", 0, 0.5e-2),
    "self.assertAlmostEqual(f(x), 3.0, delta=0.2)": ("close", "f(x)", "3.0", 0, 0.2),
    "np.testing.assert_almost_equal(f(x), 3.0, decimal=3)": ("close", "f(x)", "3.0", 0, 1.5e-3),
    "np.testing.assert_array_equal(f(x), [1])": ("equal", "f(x)", "[1]", 0, 0),
    "assert f(x)": ("true", "f(x)", "True", 0, 0),
    "assert not f(x)": ("true", "f(x)", "False", 0, 0),
    "self.assertFalse(f(x))": ("true", "f(x)", "False", 0, 0),
    "self.assertTrue(f(x) == 4)": ("equal", "f(x)", "4", 0, 0),
    "assert f(x) is True": ("equal", "f(x)", "True", 0, 0),
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
    assert tolerance(found, fine) == Tolerance("close", 1e-4, 2e-9)
    wide = Assertion(1, "close", number, number, atol=0.05)
    tightened = tolerance(found, wide)
    assert tightened.rtol * 2.0 + tightened.atol < 0.01 * 2.0
    assert "lets 1 % pass" in tightened.note
    assert tolerance(Shape("int", "int({})", 2), wide) == Tolerance("equal", 1e-3, 0.0)


@pytest.mark.parametrize(
    ("first", "other", "difference"),
    [
        (["a", "b"], ["b", "a"], ("order", "the same items in another order")),
        (1, 1.0, ("type", "types differ: int and float")),
        (1.0, 1.1, ("value", "another value")),
        ([0.1 + 0.2], [0.3], None),
        ({"a", "b"}, {"b", "a"}, None),
    ],
)
def test_runs_that_differ_are_told_apart(first, other, difference) -> None:
    assert ambiguity(first, other) == difference


def test_another_version_may_change_a_value_but_not_its_type_or_order() -> None:
    assert _compare_versions(1.5, 1.5) is None
    assert _compare_versions(1.5, 1.7) == "another value in the second environment"
    for first, second, reason in (
        (1, 1.0, "types differ: int and float"),
        (["a", "b"], ["b", "a"], "the same items in another order"),
    ):
        with pytest.raises(Unusable, match=f"second environment: {reason}"):
            _compare_versions(first, second)


@pytest.fixture(scope="module")
def programs() -> dict[str, Program]:
    return {program.task_id: program for program in collect(ORCHARD / "tests")[0]}


def test_tests_become_programs(programs: dict[str, Program]) -> None:
    rows = [program for name, program in programs.items() if "annual_yield" in name]
    first, second = (" ".join(ast.unparse(s) for s in p.body[:2]) for p in rows)
    assert ("jonagold" in first, "laxton" in second) == (True, True)
    grid = instrumented(programs["trees_pollination_gaps"])
    assert "self" not in grid
    assert "orchard = Orchard(trees" in grid
    fixture = instrumented(programs["trees_positions"])
    assert "hillside = make_hillside()" in fixture
    assert "pytest" not in fixture
    _, rejected = collect(ORCHARD / "tests")
    reasons = {item.reason for item in rejected if item.test.endswith("every_variety_bears")}
    assert any("inside a block (for)" in reason for reason in reasons)


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


@pytest.fixture(scope="module")
def draft(programs: dict[str, Program]) -> Excerpt:
    program = programs["trees_pollination_gaps"]
    asked = tuple(
        Asked(number, assertion, Shape("int", "int({})", 1), Tolerance("equal", 1e-3, 0.0))
        for number, assertion in enumerate(program.assertions)
    )
    return Excerpt(program, asked, masks_of(program, [0, 1], LIBRARY.public()), "orchard")


def test_the_name_that_gives_the_value_is_masked_first(programs: dict[str, Program]) -> None:
    masks = masks_of(programs["trees_yields_by_variety"], [0, 1, 2], LIBRARY.public())
    assert masks["MASK_1"] == "yields_by_variety"
    (program,) = (p for p in programs.values() if p.task_id == "picking_picking_days")
    assert next(iter(masks_of(program, [0], LIBRARY.public()).values())) == "picking_days"


async def test_rules_describe_by_the_documentation(draft: Excerpt) -> None:
    assert draft.masks == {"MASK_1": "pollination_gaps"}
    writer = RulesWriter(LIBRARY.public())
    first, second = await writer.properties(draft)
    assert first.description.startswith("Number of trees without another variety within reach")
    assert first.name != second.name
    assert [rule.compare for rule in await writer.verification(draft, [first, second])] == [
        "equal",
        "equal",
    ]


def model_writer(model: ModelClient) -> ModelWriter:
    return ModelWriter(MeteredChat(client=model), LIBRARY)


NAMES = [
    {"number": 1, "name": "lonely_trees_near", "description": "Trees alone within one metre."},
    {"number": 0, "name": "lonely_trees", "description": "Trees alone within three metres."},
]


async def test_a_model_is_asked_three_times_and_may_correct_itself(draft: Excerpt) -> None:
    rules = [{"number": n, "compare": "equal", "rtol": 0.0, "atol": 0.0} for n in (0, 1)]
    model, chat = client(
        "Certainly! Which test do you mean?",
        f"```json\n{json.dumps({'properties': NAMES})}\n```",
        json.dumps(
            {"introduction": "Trees in one row.", "goal": "Four trees stand in a row. " * 3}
        ),
        json.dumps({"verification": rules}),
    )
    writer = model_writer(model)
    texts = await writer.properties(draft)
    assert [text.name for text in texts] == ["lonely_trees", "lonely_trees_near"]
    assert "it holds no JSON object" in chat.prompts[1]
    question = await writer.question(draft, texts, "[MASK_1](3.5)")
    assert question.goal.startswith("Four trees")
    assert "[MASK_1](3.5)" in chat.prompts[2]
    assert [rule.compare for rule in await writer.verification(draft, texts)] == ["equal", "equal"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "no JSON object"),
        ("{not json}", "cannot be used"),
        (json.dumps({"properties": NAMES[:1]}), "0 to 1, each once"),
        (json.dumps({"properties": [{**n, "name": "same"} for n in NAMES]}), "are called same"),
        (json.dumps({"properties": [{**n, "name": "No Name"} for n in NAMES]}), "name"),
        (json.dumps({"properties": "all of them"}), "properties"),
    ],
)
async def test_replies_that_cannot_be_used_reject_the_test(draft, reply: str, reason: str) -> None:
    model, chat = client(reply)
    with pytest.raises(WriterError, match=reason):
        await model_writer(model).properties(draft)
    assert len(chat.prompts) == 2


async def test_all_faults_are_told_at_once_with_what_must_not_be_named(draft: Excerpt) -> None:
    texts = [PropertyText("a_count", "Trees."), PropertyText("b_count", "Trees.")]
    hidden = next(iter(draft.masks.values()))
    bad = {
        "introduction": f"It calls {hidden}.",
        "goal": "```python\nneighbours_within(3)\n```" * 3,
    }
    model, chat = client(json.dumps(bad))
    writer = model_writer(model)
    with pytest.raises(WriterError):
        await writer.question(draft, texts, "[MASK_1](3.5)")
    asked, again = chat.prompts
    assert f"the names that the masks hide: `{hidden}`" in " ".join(asked.split())
    assert "goal: holds code" in again
    assert f"introduction: must not name {hidden}" in again
    assert writer.chat.usage.calls == 2


async def test_the_writer_sees_the_documentation_of_what_is_asked(draft: Excerpt) -> None:
    model, chat = client("nothing")
    writer = model_writer(model)
    with pytest.raises(WriterError):
        await writer.properties(draft)
    told = [symbol.docstring for asked in draft.asked
            for symbol in documented(LIBRARY, draft.program, asked)]  # fmt: skip
    assert told
    assert all(text[:1500].strip() in chat.prompts[0] for text in told)


async def test_a_verification_that_lets_too_much_pass_is_refused(draft: Excerpt) -> None:
    texts = await RulesWriter(LIBRARY).properties(draft)
    loose = [{"number": n, "compare": "equal", "rtol": 0.5, "atol": 0.0} for n in (0, 1)]
    model, _ = client(json.dumps({"verification": loose}))
    with pytest.raises(WriterError, match=r"less than or equal to 0\.005"):
        await model_writer(model).verification(draft, texts)


def test_a_reason_is_shown_as_it_is_and_does_not_drive_the_terminal(capsys) -> None:
    show(
        [], [Rejected("test_a.py::test_a", "the model wrote [MASK][/b]\x9b2J")], Console(width=120)
    )
    assert r"the model wrote [MASK][/b]\x9b2J" in capsys.readouterr().out


def test_mistakes_on_the_command_line_are_one_line(tmp_path: Path, capsys) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.txt").write_text("keep me")
    tests = f"tests={ORCHARD / 'tests'}"
    assert main([f"tests={tmp_path / 'absent'}", "package=orchard", f"out={full}"]) == 2
    assert main([tests, "package=orchard", f"out={full}"]) == 2
    assert main([tests, "package=orchard", f"out={tmp_path / 'x'}", "env=./nowhere"]) == 2
    assert main([tests, "out=x"]) == 2
    told = capsys.readouterr().err
    for reason in (
        "no test_*.py there",
        "not written by an earlier build",
        "no environment in ./nowhere",
        "package=...: is required",
    ):
        assert reason in told
    assert "Traceback" not in told
    assert (full / "thesis.txt").read_text() == "keep me"
