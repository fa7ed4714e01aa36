"""The published layout of MatTools, its errata, and replays of recorded functions."""

import hashlib
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from agents.base import Question, Trajectory, Usage
from agents.checks import contract_findings
from experiments.benchmarks.mattools.benchmark import FILES_INSIDE, MatToolsBenchmark, MatToolsError
from experiments.benchmarks.mattools.errata import (
    annotate,
    errata,
    errata_found,
    warn_of_unused,
)
from experiments.benchmarks.mattools.unit_tests import load, verdict
from experiments.record import make_row
from experiments.samples import Property, Sample
from experiments.scorers.base import Score
from experiments.summary import summarise
from sandbox.base import Execution, Outcome
from sandbox.runner import dumps
from tests.experiments.checkouts import UNIT_TEST, checkout

DEV = Path(__file__).parents[3] / "shared" / "data" / "mattools_dev"
needs_dev = pytest.mark.skipif(not DEV.is_dir(), reason="the MatTools dev split is not here")


@pytest.mark.parametrize(
    "inner", ["", "src", "src/question_segments", "src/question_segments/pymatgen_analysis_defects"]
)
def test_any_folder_of_a_checkout_will_do(tmp_path, inner):
    checkout(tmp_path)
    (task,) = MatToolsBenchmark(path=str(tmp_path / inner)).load()
    assert task.question.id == "test_cell"
    assert [prop.name for prop in task.properties] == ["volume", "cubic"]
    assert [prop.format for prop in task.properties] == ["np.allclose", "bool"]
    assert task.question.formats == {}  # the question says nothing of them
    assert task.target == UNIT_TEST
    assert UNIT_TEST not in task.question.prompt
    if inner in ("", "src", "src/question_segments"):
        assert task.unavailable is None
        assert list(task.question.mounts) == [str(FILES_INSIDE)]


METRICS = MatToolsBenchmark.scorer.metrics


def test_an_agent_is_held_to_the_types_of_the_question_only(tmp_path):
    listed = "- `sites`: Whether it is free of them. Format: bool.\n- `count`: How many (int).\n"
    hidden = {
        "sites": {"description": "", "format": "set", "value": True},
        "count": {"description": "", "format": "np.allclose", "value": 1},
        "unsaid": {"description": "", "format": "int", "value": 1},
    }
    checkout(tmp_path, prompt=listed, properties={"properties": hidden})
    (task,) = MatToolsBenchmark(path=str(tmp_path)).load()
    assert task.question.formats == {"sites": "bool", "count": "int"}
    ran = Execution(Outcome.OK, {"sites": True, "count": 2.5})
    assert contract_findings(ran, task.question.formats) == ["`count` should be int but is float"]


def test_only_question_segments_hold_questions(tmp_path):
    root = checkout(tmp_path)
    other = root / "src/generation/test_cell"
    other.mkdir(parents=True)
    (other / "new_unit_test.py").write_text("a draft, and no question.txt")
    assert [task.question.id for task in MatToolsBenchmark(path=str(root)).load()] == ["test_cell"]
    second = root / "src/question_segments/other/test_cell"
    second.mkdir(parents=True)
    (second / "new_unit_test.py").write_text("def test_cell(p): ...")
    with pytest.raises(MatToolsError, match="two questions with the same name"):
        MatToolsBenchmark(path=str(root)).load()


def packed(tmp_path, monkeypatch):
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    root = checkout(tmp_path / "checkout")
    archive = tmp_path / "MatTools.zip"
    with zipfile.ZipFile(archive, "w") as content:
        for file in root.rglob("*"):
            content.write(file, file.relative_to(root))
    return archive


def test_a_zip_is_unpacked_into_the_cache(tmp_path, monkeypatch):
    archive = packed(tmp_path, monkeypatch)
    for _ in range(2):
        (task,) = MatToolsBenchmark(path=str(archive)).load()
        assert task.unavailable is None
    (tmp_path / "no.zip").write_text("x")
    with pytest.raises(MatToolsError, match="not a zip"):
        MatToolsBenchmark(path=str(tmp_path / "no.zip")).load()


def test_an_archive_is_fetched_and_its_checksum_is_checked(tmp_path, monkeypatch, httpserver):
    data = packed(tmp_path, monkeypatch).read_bytes()
    httpserver.expect_request("/m.zip").respond_with_data(data)
    url = httpserver.url_for("/m.zip")
    with pytest.raises(MatToolsError, match="cannot be downloaded"):
        MatToolsBenchmark(url=url, checksum="sha256:" + 64 * "0").load()
    digest = hashlib.sha256(data).hexdigest()
    (task,) = MatToolsBenchmark(url=url, checksum=f"sha256:{digest}").load()
    assert task.question.id == "test_cell"
    with pytest.raises(MatToolsError, match=r"Download it .* benchmark\.path"):
        MatToolsBenchmark(url=httpserver.url_for("/absent.zip"), checksum="sha256:1").load()


def test_missing_inputs_make_a_question_unavailable(tmp_path):
    checkout(tmp_path, files=("POSCAR",))
    (task,) = MatToolsBenchmark(path=str(tmp_path)).load()
    assert "x.vasp" in task.unavailable
    assert "POSCAR" not in task.unavailable


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("properties.json", "{", "properties.json"),
        ("properties.json", '{"properties": 3}', "properties.json, properties"),
        ("new_unit_test.py", "def other(): ...", "defines no function test_cell"),
    ],
)
def test_faults_of_the_layout_are_named(tmp_path, file, text, message):
    checkout(tmp_path)
    next(tmp_path.rglob(file)).write_text(text)
    with pytest.raises(MatToolsError, match=message):
        MatToolsBenchmark(path=str(tmp_path)).load()


@pytest.mark.parametrize(
    "properties",
    [
        {"Properties": {"volume": {"Description": "D", "Format": "float", "Value": 1}}},
        {"properties": [{"name": "volume", "description": "D", "format": "float"}]},
        {"properties": {"volume": {"description": "D", "format": ["float"], "value": None}}},
        {"properties": {"volume": {"description": "D", "format": "float", "note": None}}},
    ],
)
def test_properties_in_other_spellings(tmp_path, properties):
    checkout(tmp_path, properties=properties)
    (task,) = MatToolsBenchmark(path=str(tmp_path)).load()
    assert [(p.name, p.description, p.format) for p in task.properties] == [
        ("volume", "D", "float")
    ]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("test_cell", "def Test_Cell(p):\n    return 'ok'\n\ndef helper(x):\n    return x\n"),
        ("test_cell", "def check(p):\n    return 'ok'\n\ndef helper():\n    pass\n"),
        ("test-cell", "def test_cell(p):\n    return 'ok'\n"),
    ],
)
def test_a_unit_test_gets_the_name_of_its_folder(tmp_path, name, source):
    checkout(tmp_path, name=name, unit_test=source)
    (task,) = MatToolsBenchmark(path=str(tmp_path)).load()
    assert task.question.id == name
    assert load(task.target, name)({}) == "ok"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # `load` writes the unit test where it is


def test_input_files_in_a_branch_of_their_own(tmp_path):
    checkout(tmp_path)
    (tmp_path / "src" / "tool_source_code").rename(tmp_path / "elsewhere")
    (tmp_path / "docker").mkdir()
    (tmp_path / "elsewhere").rename(tmp_path / "docker" / "tool_source_code")
    (task,) = MatToolsBenchmark(path=str(tmp_path)).load()
    assert task.unavailable is None
    assert task.question.mounts == {str(FILES_INSIDE): str(tmp_path / "docker" / FILES_INSIDE)}


@pytest.mark.parametrize(
    ("prompt", "files", "missing"),
    [
        ("`{inside}/a/vasprun.xml`", ["a/vasprun.xml.gz"], None),
        ("`{inside}/a/q=*/POSCAR`", ["a/q=0/POSCAR"], None),
        ("`{inside}/{name}/POSCAR`", ["a/POSCAR"], None),
        ("See {inside}/a.vasp.", ["a.vasp"], None),
        ("file_path / 'v_Ga' / 'x'", ["v_Ga/x"], None),
        ("file_path / 'v_Ga' / 'x'", ["x"], "v_Ga"),
        ("`tool_source_code/pymatgen-analysis-defects/tests`", [], None),
        ("`tool_source_code/other/files/a.cif`", [], "tool_source_code/other/files/a.cif"),
        ("`{inside}/../../../secret`", [], "secret"),
        ("Save it as `{inside}`.", [], None),
        ("Read `WAVEDER` and `LOCPOT`.", ["a/WAVEDER.gz"], "LOCPOT"),
    ],
)
def test_which_input_files_are_missing(tmp_path, prompt, files, missing):
    checkout(tmp_path, prompt=prompt, files=files)
    (task,) = MatToolsBenchmark(path=str(tmp_path)).load()
    assert (missing in task.unavailable) if missing else (task.unavailable is None)


LOOP = """```python
ccd = file_path / "v_Ga" / "ccd_0_-1"
vaspruns = [[MASK](ccd / f"{i}/vasprun.xml") for i in [0, 1, 2]]
```"""
PAIRS = """```python
base = "{inside}/v_Ga"
for q1, q2 in [(0, -1), (-1, 0)]:
    w = read(os.path.join(base, f"ccd_{q1}_{q2}", "WAVEDER"))
```"""
BROKEN = """Run ```python\\nfolder = Path("{inside}") / "v_Ga"\\nfrom x import [MASK]\\n\
p = folder.joinpath("PROCAR")```."""
STEPS = [f"v_Ga/ccd_0_-1/{i}/vasprun.xml.gz" for i in range(3)]
ELSEWHERE = ["Mg_Ga/0/vasprun.xml", "Mg_Ga/WAVEDER", "Mg_Ga/0/PROCAR", "v_Ga/x"]


@pytest.mark.parametrize(
    ("prompt", "files", "missing"),
    [
        (LOOP, STEPS, None),
        (LOOP, STEPS[:2], "v_Ga/ccd_0_-1/2/vasprun.xml"),
        (PAIRS, ["v_Ga/ccd_0_-1/WAVEDER", "v_Ga/ccd_-1_0/WAVEDER"], None),
        (PAIRS, ["v_Ga/ccd_0_-1/WAVEDER"], "v_Ga/ccd_-1_0/WAVEDER"),
        (BROKEN, ["v_Ga/PROCAR"], None),
        (BROKEN, [], "v_Ga/PROCAR"),
        ("`{inside}/v_Ga/ccd_{q}/PROCAR`", ["v_Ga/ccd_0/PROCAR"], None),
        ("`{inside}/v_Ga/ccd_{q}/PROCAR`", [], "v_Ga/ccd_*/PROCAR"),
        ("Read `0/PROCAR`.", ["Mg_Ga/0/PROCAR"], None),
        ("Read `v_Ga/0/PROCAR`.", [], "v_Ga/0/PROCAR"),
        ("Of `{inside}/v_Ga` read `PROCAR`.", ["v_Ga/1/PROCAR"], None),
        ("Of `{inside}/v_Ga` read `PROCAR`.", [], "PROCAR"),
        ("Of `{inside}/v_Ga` and `{inside}` read `y.vasp`.", ["y.vasp"], None),
    ],
)
def test_a_file_of_that_name_somewhere_else_is_not_the_one(tmp_path, prompt, files, missing):
    checkout(tmp_path, prompt=prompt, files=[*ELSEWHERE, *files])
    (task,) = MatToolsBenchmark(path=str(tmp_path)).load()
    assert (missing in task.unavailable) if missing else (task.unavailable is None)


def test_what_the_unit_test_reads_must_be_here_too(tmp_path):
    read = f'HERE = "{FILES_INSIDE}"\ndef test_cell(p):\n    open(HERE + "/a/PROCAR")\n'
    checkout(tmp_path, prompt="Why?", files=["b/PROCAR"], unit_test=read)
    (task,) = MatToolsBenchmark(path=str(tmp_path)).load()
    assert task.unavailable == f"input files are missing: {FILES_INSIDE}/a/PROCAR"
    checkout(tmp_path / "whole", prompt="Why?", files=["a/PROCAR"], unit_test=read)
    (task,) = MatToolsBenchmark(path=str(tmp_path / "whole")).load()
    assert task.unavailable is None


def test_a_file_of_another_package_is_shown_but_no_source(tmp_path):
    other = tmp_path / "src/tool_source_code/pymatgen/files"
    other.mkdir(parents=True)
    for name in ("a.cif", "answers.py"):
        (other / name).write_text("x")
    inside = "tool_source_code/pymatgen/files"
    checkout(tmp_path, prompt=f"`{inside}/a.cif`, `{inside}/answers.py`", files=())
    (task,) = MatToolsBenchmark(path=str(tmp_path)).load()
    assert task.unavailable is None
    assert sorted(task.question.mounts) == sorted([str(FILES_INSIDE), f"{inside}/a.cif"])


def test_nothing_configured_says_what_to_put_where(tmp_path):
    with pytest.raises(MatToolsError, match=r"benchmark\.url"):
        MatToolsBenchmark().load()
    with pytest.raises(MatToolsError, match="no such file"):
        MatToolsBenchmark(path=str(tmp_path / "absent")).load()


# --- errata ------------------------------------------------------------------------------------


def test_errata_are_marked_and_left_out_of_the_verified_subset(tmp_path):
    kinds = {entry.kind for entry in errata()}
    assert kinds == {"impossible", "contradicting", "vacuous"}
    line = {
        "id": "test_vacancy", "question": "?", "data_files": [],
        "properties": [
            {"name": name, "description": "d", "format": "int", "expected": "1", "compare": "equal"}
            for name in ("vacancy_oxidation_state", "vacancy_multiplicity")
        ],
    }  # fmt: skip
    (tmp_path / "tasks.jsonl").write_text(json.dumps(line) + "\n")
    (task,) = MatToolsBenchmark(path=str(tmp_path)).load()
    assert [bool(prop.erratum) for prop in task.properties] == [True, False]
    assert task.properties[0].erratum.startswith("contradicting: ")
    (task,) = MatToolsBenchmark(path=str(tmp_path), subset="verified").load()
    assert [prop.name for prop in task.properties] == ["vacancy_multiplicity"]


def questions_of(names):
    return [
        Sample(
            Question(question, "?"), tuple(Property(name, "", "int", "1") for name in of), "live"
        )
        for question, of in names.items()
    ]


#: A whole set in which every entry of the errata finds what it is about, under other spellings.
WHOLE = {
    "test_defect_finder": ["a", "b", "c", "d"],
    "test_TopographyAnalyzer": ["a", "b"],
    "test_defect_band_raises": ["a", "b"],
    "test_antisite_generator": ["antisite_defect_names", "x"],
    "test_insertion": ["insertion_site_positions"],
    "test_vacancy": ["vacancy_oxidation_state"],
    "test_substitution": ["substitution_oxidation_state"],
    "test_interstitial": ["interstitial_element_changes"],
    "test_Rad_coef": ["a"],
    "test_get_SRH_coef": ["SRH_Coefficient"],
    "test_SRHCapture": ["SRH_Coefficient", "other"],
    "test_fermi": ["defect_concentration_low"],
}


def test_every_erratum_says_whether_it_found_its_property(caplog):
    assert sum(entry.count for entry in errata()) == 18
    whole = questions_of(WHOLE)
    assert errata_found(whole) == "known faulty properties: 18 of 18 are in these 12 questions"
    several = questions_of({"test_get_SRH_coef": ["a", "b"]})
    text = errata_found(several)
    assert "1 of 18" in text
    assert "more properties than expected: test_(get_)?srh" in text
    marked = annotate(whole[4]).properties[0].erratum
    assert marked.count("contradicting: ") == marked.count("vacuous: ") == 1
    # In a whole set an entry without a property is misspelled, and named.
    rest = {f"test_{number}": ["x"] for number in range(49)}
    warn_of_unused(questions_of(WHOLE | rest))
    assert caplog.text == ""
    less = {name: of for name, of in WHOLE.items() if name != "test_insertion"}
    warn_of_unused(questions_of(less))
    assert caplog.text == ""
    warn_of_unused(questions_of(less | rest))
    assert caplog.text.count("insertion_site_positions") == 2
    assert "vacancy" not in caplog.text


@needs_dev
def test_the_vacuous_property_of_the_dev_split_is_in_the_errata():
    tasks = {task.question.id: task for task in MatToolsBenchmark(path=str(DEV)).load()}
    (prop,) = tasks["test_get_SRH_coef"].properties
    # Zeros pass, so an answer without content would count.
    test = load(tasks["test_get_SRH_coef"].target, "test_get_SRH_coef")
    assert verdict(test, dumps({prop.name: [0.0, 0.0, 0.0]})) == {"ok": True}
    assert prop.erratum.startswith("vacuous")
    marked = [p.name for t in tasks.values() for p in t.properties if p.erratum]
    assert sorted(marked) == ["SRH_Coefficient", "antisite_defect_names", "vacancy_oxidation_state"]


def test_a_summary_counts_with_and_without_faulty_properties(configure):
    tasks = [faulty_task(), faulty_task("r")]
    verdicts = ({"good": True, "bad": True}, {"good": False, "bad": True})
    rows = [
        make_row("h", task, ended(task), Score("ok", {"runnable": 1.0}, passed), parts=2)
        for task, passed in zip(tasks, verdicts, strict=True)
    ]

    def summary(tasks, rows):
        return summarise(
            configure(), config_hash="h", llm=False, metrics=METRICS, samples=tasks, rows=rows,
            packages={}, outside={},
        )  # fmt: skip

    found = summary(tasks, rows)
    assert (found["metrics"][0]["sum"], found["metrics"][0]["total"]) == (3, 4)
    assert found["verified"] == {"passed": 1, "total": 2}
    assert found["metrics"][-1]["total"] == 0  # nothing is known by the authors' rule
    rows[0] = rows[0].model_copy(update={"values": {"published": 0.0}})
    found = summary(tasks, rows)
    assert (found["metrics"][-1]["sum"], found["metrics"][-1]["total"]) == (0, 2)
    sound = replace(tasks[0], properties=tasks[0].properties[:1])
    assert summary([sound], [])["verified"] is None  # nothing is faulty: one score says it all


def faulty_task(name="q"):
    properties = (
        Property("good", "", "int", "1"),
        Property("bad", "", "int", "1", erratum="vacuous: all pass"),
    )
    return Sample(Question(name, "?"), properties, "live")


def ended(task):
    return Trajectory(task.question.id, 0, "", "f", "", (), Usage(), "answered", "strict")
