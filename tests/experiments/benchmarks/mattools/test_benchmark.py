"""Both layouts of MatTools, its expected values, and its errata."""

import json
from collections import Counter

import numpy as np
import pytest
import yaml
from pymatgen.core import Element

from agents.base import Question, Trajectory, Usage
from agents.checks import contract_findings
from experiments.benchmarks.mattools import benchmark as module
from experiments.benchmarks.mattools.benchmark import (
    FILES_INSIDE,
    MatToolsBenchmark,
    annotate,
)
from experiments.benchmarks.mattools.unit_tests import load, verdict
from experiments.record import Ending, Row
from experiments.run.recording import make_record
from experiments.run.summary import summarise
from experiments.samples import Property, Sample
from experiments.scorers.base import Score
from foundation.configuration import data_of
from sandbox.base import Execution, Outcome
from sandbox.inside.tagged import dumps
from tests.support.checkouts import DEV, UNIT_TEST, checkout, needs_dev
from tests.support.paths import DATA

METRICS = MatToolsBenchmark().scorer.metrics
ERRATA = data_of(module.__file__, "errata")
TABLES = yaml.safe_load(DATA.joinpath("mattools.yaml").read_text())


def load_one(folder, **changes):
    """The sample of a checkout with one question."""
    (task,) = MatToolsBenchmark(path=str(checkout(folder, **changes))).load()
    return task


@pytest.mark.parametrize("inner", ["", "src/question_segments"])
def test_any_folder_of_a_checkout_will_do(tmp_path, inner):
    checkout(tmp_path)
    (task,) = MatToolsBenchmark(path=str(tmp_path / inner)).load()
    assert task.question.id == "test_cell"
    assert [prop.name for prop in task.properties] == ["volume", "cubic"]
    assert [prop.format for prop in task.properties] == ["np.allclose", "bool"]
    assert task.question.formats == {}  # the question says nothing of them
    assert task.target == UNIT_TEST
    assert UNIT_TEST not in task.question.prompt
    assert task.unavailable is None
    assert list(task.question.mounts) == [str(FILES_INSIDE)]


def test_an_agent_is_held_to_the_types_of_the_question_only(tmp_path):
    hidden = {
        "dummy_sites_count": {"description": "", "format": "np.allclose", "value": 1},
        "unsaid": {"description": "", "format": "int", "value": 1},
    }
    name = "test_topography_analyzer"
    test = UNIT_TEST.replace("test_cell", name)
    task = load_one(
        tmp_path, name=name, unit_test=test, properties={"properties": hidden}
    )
    assert task.question.formats == {
        "dummy_sites_count": "int",
        "value_error_check": "bool",
    }
    ran = Execution(Outcome.OK, {"value_error_check": True, "dummy_sites_count": 2.5})
    assert contract_findings(ran, task.question.formats) == [
        "`dummy_sites_count` should be int but is float"
    ]


def test_only_question_segments_hold_questions(tmp_path):
    root = checkout(tmp_path)
    other = root / "src/generation/test_cell"
    other.mkdir(parents=True)
    (other / "new_unit_test.py").write_text("a draft, and no question.txt")
    assert [task.question.id for task in MatToolsBenchmark(path=str(root)).load()] == [
        "test_cell"
    ]
    second = root / "src/question_segments/other/test_cell"
    second.mkdir(parents=True)
    (second / "new_unit_test.py").write_text("def test_cell(p): ...")
    with pytest.raises(module.MatToolsError, match="two questions with the same name"):
        MatToolsBenchmark(path=str(root)).load()


@pytest.mark.parametrize(("file", "text", "message"), TABLES["faults of the layout"])
def test_faults_of_the_layout_are_named(tmp_path, file, text, message):
    for path, said in ((None, "not shipped"), ("absent", "no such folder")):
        with pytest.raises(
            module.MatToolsError, match=rf"{said}.* benchmark\.path must name"
        ):
            MatToolsBenchmark(path=path).load()
    checkout(tmp_path)
    next(tmp_path.rglob(file)).write_text(text)
    with pytest.raises(module.MatToolsError, match=message):
        MatToolsBenchmark(path=str(tmp_path)).load()


@pytest.mark.parametrize("properties", TABLES["spellings"])
def test_properties_in_other_spellings(tmp_path, properties):
    (found,) = load_one(tmp_path, properties=properties).properties
    assert (found.name, found.description, found.format) == ("volume", "D", "float")


@pytest.mark.parametrize(("name", "source"), TABLES["names of unit tests"])
def test_a_unit_test_gets_the_name_of_its_folder(tmp_path, name, source):
    task = load_one(tmp_path, name=name, unit_test=source)
    assert task.question.id == name
    assert load(task.target, name)({}) == "ok"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # `load` writes the unit test where it is


def test_input_files_in_a_branch_of_their_own(tmp_path):
    checkout(tmp_path)
    (tmp_path / "docker").mkdir()
    (tmp_path / "src" / "tool_source_code").rename(
        tmp_path / "docker" / "tool_source_code"
    )
    (task,) = MatToolsBenchmark(path=str(tmp_path)).load()
    assert task.unavailable is None
    assert task.question.mounts == {
        str(FILES_INSIDE): str(tmp_path / "docker" / FILES_INSIDE)
    }


@pytest.mark.parametrize(("name", "prompt", "files", "missing"), TABLES["input files"])
def test_which_input_files_are_missing(tmp_path, name, prompt, files, missing):
    test = UNIT_TEST.replace("test_cell", name)
    if prompt == "Why?":  # what the unit test reads must be here too
        test = f"def test_cell(p):\n    open('{FILES_INSIDE}/a/PROCAR')\n"
    task = load_one(tmp_path, prompt=prompt, files=files, name=name, unit_test=test)
    assert (missing in task.unavailable) if missing else (task.unavailable is None)


@needs_dev
def test_the_table_of_input_files_agrees_with_the_dev_split():
    for line in map(json.loads, (DEV / "tasks.jsonl").read_text().splitlines()):
        mounts, missing = module.find_inputs(line["id"], (), DEV)
        assert (list(mounts), missing) == ([str(FILES_INSIDE)], [])
        read = {f"{FILES_INSIDE}/{path}" for path in module.read_by(line["id"])}
        assert read == {file.removesuffix(".gz") for file in line["data_files"]}


# --- lines of a tasks.jsonl -----------------------------------------------------------------------


PROPERTY = TABLES["property"]


def write(folder, **changes):
    files = [str(FILES_INSIDE / "a.vasp")]
    line = {
        "id": "q",
        "question": "What?",
        "properties": [PROPERTY],
        "data_files": files,
    }
    (folder / "tasks.jsonl").write_text(json.dumps(line | changes) + "\n")
    return MatToolsBenchmark(path=str(folder))


def test_a_missing_input_file_makes_a_question_unavailable(tmp_path):
    benchmark = write(tmp_path)
    assert "a.vasp" in benchmark.load()[0].unavailable
    (tmp_path / "test_files").mkdir()
    (tmp_path / "test_files" / "a.vasp").write_text("x")
    (task,) = benchmark.load()
    assert task.unavailable is None
    assert task.environment == "mattools-2024"
    assert list(task.question.mounts) == [str(FILES_INSIDE / "a.vasp")]
    assert task.question.formats == {}  # "What?" says nothing of the format
    (task,) = write(tmp_path, question="- `x`: Whether it is. Format: bool.").load()
    assert task.question.formats == {}  # of no published question


@pytest.mark.parametrize(("changes", "said"), TABLES["mistakes of lines"])
def test_mistakes_name_file_and_line(tmp_path, changes, said):
    with pytest.raises(module.MatToolsError, match=r"neither tasks\.jsonl"):
        MatToolsBenchmark(path=str(tmp_path)).load()
    with pytest.raises(module.MatToolsError, match=said):
        write(tmp_path, **changes).load()


@needs_dev
def test_the_expected_values_of_the_dev_split_pass_and_nothing_else_does(tmp_path):
    tasks = MatToolsBenchmark(path=str(DEV)).load()
    assert (len(tasks), sum(len(task.properties) for task in tasks)) == (16, 36)
    assert all(task.unavailable is None for task in tasks)
    marked = {prop.name for task in tasks for prop in task.properties if prop.erratum}
    assert marked == {
        "SRH_Coefficient",
        "antisite_defect_names",
        "vacancy_oxidation_state",
    }
    scope = {
        "np": np,
        "array": np.array,
        "nan": np.nan,
        "inf": np.inf,
        "Element": Element,
    }
    for task in tasks:
        test = load(task.target, task.question.id)
        right = {
            p.name: eval(json.loads(p.expected), dict(scope)) for p in task.properties
        }
        assert verdict(test, dumps(right)) == {"ok": True}
        for prop in task.properties:
            assert not verdict(test, dumps(right | {prop.name: None}))["ok"], prop.name


# --- errata ------------------------------------------------------------------------------------


def test_errata_are_marked_and_left_out_of_the_verified_subset(tmp_path):
    kinds = {entry["kind"] for entry in ERRATA}
    assert kinds == {"impossible", "contradicting", "vacuous", "unstated"}
    names = ("vacancy_oxidation_state", "vacancy_multiplicity")
    write(
        tmp_path, id="test_vacancy", properties=[PROPERTY | {"name": n} for n in names]
    )
    (task,) = MatToolsBenchmark(path=str(tmp_path)).load()
    assert [bool(prop.erratum) for prop in task.properties] == [True, False]
    assert task.properties[0].erratum.startswith("contradicting: ")
    (task,) = MatToolsBenchmark(path=str(tmp_path), subset="verified").load()
    assert [prop.name for prop in task.properties] == ["vacancy_multiplicity"]


def test_every_erratum_finds_its_properties():
    marked = [
        prop.erratum
        for name, names in TABLES["whole"].items()
        for prop in annotate(sample_of(name, *names)).properties
    ]
    found = Counter(
        reason for text in filter(None, marked) for reason in text.split("; ")
    )
    expected = Counter()
    for entry in ERRATA:
        expected[f"{entry['kind']}: {entry['reason']}"] += entry.get("count", 1)
    assert found == expected
    assert expected.total() == 21
    assert any(
        text and "contradicting: " in text and "vacuous: " in text for text in marked
    )


def test_a_summary_counts_with_and_without_faulty_properties(configure):
    task = annotate(
        sample_of("test_vacancy", "multiplicity", "vacancy_oxidation_state")
    )
    ended = Trajectory(
        "test_vacancy", 0, "", "f", "", (), Usage(), "answered", "strict"
    )
    passed = {prop.name: bool(prop.erratum) for prop in task.properties}
    score = Score("ok", {"runnable": 1.0}, passed)
    record = make_record("h", task, ended, Ending.of("answered"), score, criteria=2)
    row = Row.of(record, record.line())

    def summary(task, *rows):
        return summarise(
            configure(),
            config_hash="h",
            llm=False,
            metrics=METRICS,
            samples=[task],
            rows=rows,
            packages={},
            outside={},
        )

    found = summary(task, row)
    assert (found["metrics"][0]["sum"], found["metrics"][0]["total"]) == (1, 2)
    assert found["faulty"] == {"test_vacancy": ["vacancy_oxidation_state"]}
    assert found["metrics"][-1]["total"] == 0  # nothing is known by the authors' rule
    found = summary(task, row.model_copy(update={"values": {"published": 0.0}}))
    assert (found["metrics"][-1]["sum"], found["metrics"][-1]["total"]) == (0, 2)
    assert summary(annotate(task, sound=True))["faulty"] == {}  # one score says it all


def sample_of(question, *names):
    return Sample(
        Question(question, "?"), tuple(Property(name, "", "int", "1") for name in names)
    )
