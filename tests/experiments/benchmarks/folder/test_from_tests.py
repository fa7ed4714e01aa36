"""Unit tests as questions: assertions, formats, tolerances, texts, and the guide as it stands."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from docgen.assertions import Assertion, Unusable, is_assertion, read
from docgen.programs import Program, Rejected, collect
from experiments.benchmarks import question_gates as gates
from experiments.benchmarks.folder.benchmark import FolderBenchmark
from experiments.benchmarks.folder.from_tests import parts
from experiments.benchmarks.folder.from_tests.command import _shape, show
from experiments.benchmarks.folder.from_tests.parts import (
    ENTRY,
    instrumented,
    reference,
    scaffold,
)
from experiments.benchmarks.question_format import QuestionError
from sandbox import environments
from sandbox.inside.values import Element, Msonable
from tests.support.paths import ROOT

TABLES = yaml.safe_load((ROOT / "tests" / "data" / "unit_tests.yaml").read_text())


def statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


def programs(folder: Path, *names: str) -> tuple[list[Program], list[Rejected]]:
    for name in names:
        (folder / f"test_{name}.py").write_text(TABLES.get(name, "def test_x(:\n"))
    return collect(folder)


def run(source: str, entry: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(source, "reference.py", "exec"), names)
    return names[entry]()


@pytest.mark.parametrize("text", TABLES["read"])
def test_assertions_are_read(text: str) -> None:
    kind, actual, expected, rtol, atol = TABLES["read"][text]
    assert is_assertion(statement(text))
    found = read(statement(text))
    assert (found.kind, ast.unparse(found.actual)) == (kind, actual)
    assert ast.unparse(found.expected) == expected
    assert (found.rtol, found.atol) == pytest.approx((rtol, atol))
    assert bool(found.body) == (kind == "raises")


@pytest.mark.parametrize(("text", "reason"), TABLES["unusable"].items())
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
    found = parts.shape(value)
    assert (found.format, found.value) == (form, plain)
    if not (
        isinstance(value, dict) and Element("Fe") in value
    ):  # its class lives in the sandbox
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
        parts.shape(value)


def test_tolerances_follow_the_assertion_but_never_let_one_per_cent_pass() -> None:
    number = ast.Constant(value=2.0)
    found = parts.Shape("float", "float({})", 2.0)
    fine = Assertion(1, "close", number, number, rtol=1e-4, atol=0.0)
    assert parts.tolerance(found, fine) == (1e-4, 2e-9)
    wide = Assertion(1, "close", number, number, atol=0.05)
    rtol, atol = parts.tolerance(found, wide)
    assert rtol * 2.0 + atol < 0.01 * 2.0
    assert parts.tolerance(parts.Shape("int", "int({})", 2), wide) == (1e-3, 0.0)


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
    assert parts.same(first, other) == alike


def test_identity_counts_where_the_value_is_true_false_or_none(tmp_path: Path) -> None:
    seen: list[Any] = []
    for program in programs(tmp_path, "identity")[0]:
        (record,) = run(instrumented(program), ENTRY)
        try:
            found = _shape(record, record, program.assertions[0].kind)
            code = reference(program, {0: ("it", found.code)})
            seen.append((found.value, run(code, "reference")["it"]))
        except Unusable as error:
            seen.append(str(error))
    assert seen[:2] == [(True, True), (True, True)]
    assert "({1: True, 3: 'c'}.get(x)) is None" in code
    assert seen[2].startswith("identity is not a value")


def test_what_cannot_be_a_program_says_why(tmp_path: Path) -> None:
    found, rejected = programs(tmp_path, "odd", "broken")
    reasons = {item.test.rpartition(":")[2]: item.reason for item in rejected}
    told = {
        "test_a": "marked skip",
        "test_b": "the fixture tmp_path",
        "test_c": "asynchronous",
        "test_d": "helper() of its class",
        "test_e": "not written out",
        "test_broken.py": "not Python",
    }
    assert (found, set(reasons)) == ([], set(told))
    assert not [name for name, text in told.items() if text not in reasons[name]]


def test_expected_values_stay_out_of_reference_and_scaffold(tmp_path: Path) -> None:
    (program,) = programs(tmp_path, "leak")[0]
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
    (program,) = programs(tmp_path, "steps")[0]
    source = reference(program, {0: ("first", "float({})"), 1: ("second", "int({})")})
    assert run(source, "reference") == {"first": 1.5, "second": 2}
    assert "pytest" not in instrumented(program)


def test_a_reason_is_shown_as_it_is_and_does_not_drive_the_terminal(capsys) -> None:
    show({}, [Rejected("test_a.py::test_a", "the model wrote [MASK][/b]\x9b2J")])
    assert r"the model wrote [MASK][/b]\x9b2J" in capsys.readouterr().out


# --- docs/your-own-library.md, followed literally -------------------------------------------------


def follow(guide: Path, folder: Path) -> None:
    """Run every command of a guide as it stands; ``mine/`` is a temporary folder."""
    blocks = re.findall(
        r"```bash\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL
    )
    commands = "".join(blocks).splitlines()
    assert len(commands) >= 6
    variables = {**os.environ, "MATSMITH_CACHE": str(environments.cache_folder())}
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        variables.pop(name, None)
    for command in commands:
        words = command.replace("mine/", f"{folder}/").split()
        assert words[0] in {"python", "matsmith"}
        called = [
            sys.executable,
            *(words[1:] if words[0] == "python" else ["-m", *words]),
        ]
        done = subprocess.run(
            called, cwd=ROOT, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (
            f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_guide_makes_proved_questions_of_sound_tests_and_runs_them(
    tmp_path: Path,
) -> None:
    follow(ROOT / "docs" / "your-own-library.md", tmp_path)
    reasons: dict[str, str] = {}
    for row in map(
        json.loads, (tmp_path / "tasks/rejected.jsonl").read_text().splitlines()
    ):
        name = row["test"].rpartition(":")[2]
        reasons[name] = f"{reasons.get(name, '')}{row['reason']}\n"
    bad, good = TABLES["rejected of the guide"], TABLES["questions of the guide"]
    assert set(reasons) == set(bad)
    assert not [name for name, why in bad.items() if why not in reasons[name]]
    tasks = {
        task.question.id: task for task in FolderBenchmark(tmp_path / "tasks").load()
    }
    assert set(tasks) == set(good)
    golds = {}
    for name, task in tasks.items():
        assert good[name] in task.question.prompt
        assert "[MASK_1]" in task.question.prompt
        for prop in task.properties:
            golds[name, prop.name] = value = json.loads(prop.expected)
            assert all(wrong != value for _, wrong in gates.wrong_answers(value))
    described = "Number of trees without another variety within reach"
    assert (
        described in tasks["trees_pollination_gaps"].question.prompt
    )  # by the documentation
    assert len(golds) == 13
    assert golds["picking_picking_days", "value_1"] == pytest.approx(0.76671, abs=1e-5)
    # The run of the guide answers them in the package's own environment.
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["questions"], summary["metrics"][0]["total"]) == (9, 13)
    assert summary["metrics"][0]["sum"] >= 9
    assert summary["complete"]
    assert "orchard" in json.dumps(summary)
    for folder, level, said in (
        ("tasks", "goal", "no text of level goal"),
        ("", None, r"benchmark\.yaml: not found"),
    ):
        with pytest.raises(QuestionError, match=said):
            FolderBenchmark(tmp_path / folder, level=level).load()
