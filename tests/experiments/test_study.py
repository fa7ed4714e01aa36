"""A study: every cell a run folder, one leaderboard, entries of others beside them."""

import re
import shutil

import pytest
import yaml

from experiments.study import main, read_study
from sandbox.command import UsageError

STUDY = {
    "name": "small",
    "models": ["rules"],
    "systems": ["single", "single +system.seconds=0.001"],
    "benchmarks": ["live", "benchmark=live +benchmark.questions=4"],
    "seeds": 2,
    "common": [
        "retrieval=none", "system._target_=tests.experiments.crowd.Patient",
        "benchmark._target_=tests.experiments.crowd.Crowd",
    ],
}  # fmt: skip


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def make(**changes):
        path = tmp_path / "study.yaml"
        path.write_text(yaml.safe_dump(STUDY | {"out": str(tmp_path / "out")} | changes))
        return path

    return make


def test_every_cell_runs_once_and_the_leaderboard_shows_it(study, tmp_path, capsys):
    assert main([str(study())]) == 0
    said = capsys.readouterr().out
    assert "cell 4 of 4" in said
    folders = sorted((tmp_path / "out" / "runs").iterdir())
    entries = sorted((tmp_path / "out" / "entries").glob("*.yaml"))
    assert [f.name for f in folders] == [e.stem for e in entries]
    page = (tmp_path / "out" / "leaderboard.html").read_text()
    assert page.count('class="sortable"') == 2  # one table for each set of questions
    assert page.count('data-key="rules (no LLM)"') == 4
    assert "20/20" in page
    assert "8/8" in page
    assert "best and others" in page
    before = [(f / "results.jsonl").read_bytes() for f in folders]
    assert main([str(study())]) == 0
    assert [(f / "results.jsonl").read_bytes() for f in folders] == before
    assert "20 of them finished before" in capsys.readouterr().out


@pytest.mark.long
def test_entries_of_others_count_only_with_the_results_they_vouch_for(study, tmp_path):
    path = study(systems=["single"], benchmarks=["live"])
    assert main([str(path)]) == 0
    (entry,) = (tmp_path / "out" / "entries").glob("*.yaml")
    other = tmp_path / "out" / "entries" / "others"
    shutil.copytree(next((tmp_path / "out" / "runs").iterdir()), other)
    theirs = yaml.safe_load(entry.read_text()) | {"run": "others", "by": "<b>A lab</b>"}
    (entry.parent / "others.yaml").write_text(yaml.safe_dump(theirs))
    assert main([str(path)]) == 0
    page = (tmp_path / "out" / "leaderboard.html").read_text()
    assert page.count("&lt;b&gt;A lab&lt;/b&gt;</td>") == 1
    assert "left out" not in page
    results = other / "results.jsonl"
    results.write_text(results.read_text().replace('"value": true', '"value": false', 1))
    assert main([str(path)]) == 0
    page = (tmp_path / "out" / "leaderboard.html").read_text()
    assert "A lab" not in page
    assert re.search("left out: .*others.yaml: results.jsonl is not the file", page)


@pytest.mark.long
def test_a_cell_that_fails_stops_no_other(study, tmp_path, capsys):
    broken = "benchmark=mattools benchmark.path=/nowhere"
    path = study(common=["retrieval=none"], systems=["single"], benchmarks=[broken, "live limit=1"])
    assert main([str(path)]) == 1
    said = capsys.readouterr().out
    assert re.search(r"cell 1 of 2, mattools-\S+ .*nowhere", said)
    assert (tmp_path / "out" / "leaderboard.html").read_text().count('class="sortable"') == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"models": []}, "models"),
        ({"modles": ["rules"]}, "modles: no such key (did you mean models?)"),
        ({"systems": ["nosuch"]}, "system=nosuch: no such choice"),
        ({"benchmarks": ["live benchmark.levle=goal"]}, "benchmark.levle"),
    ],
)
def test_mistakes_are_one_line(study, capsys, changes, said):
    assert main([str(study(**changes))]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_cells_that_come_to_the_same_run_are_one(study):
    _, cells = read_study(study(systems=["single", "system=single"], benchmarks=["live"]))
    assert len(cells) == 1
    with pytest.raises(UsageError, match="cannot be read"):
        read_study(study().with_name("nothing.yaml"))
