"""Problem files: what is read, and the one line that says what is wrong."""

import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.benchmarks.qmbench.benchmark import QMBenchmark
from experiments.benchmarks.qmbench.problem import ProblemError, read_problem
from experiments.samples import data_of

PROBLEMS = Path(__file__).with_name("problems")
FAULTS = [*data_of(__file__, "faults"), ("", "", "id: " + "[" * 50_000, "1: is nested deeper"),
          ("", "", "#" * 5_000_000, ": is larger than 4 MB")]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(PROBLEMS, tmp_path / "problems")


def load(folder, **more):
    samples = QMBenchmark(path=str(folder), **more).load()
    return {sample.question.id: sample for sample in samples}


def test_a_folder_is_a_benchmark():
    samples = load(PROBLEMS)
    assert sorted(samples) == ["band_edges", "count", "gap", "rutile", "why"]
    choice = samples["band_edges"]
    assert (choice.target["answer"], choice.labels["topics"]) == ("CA", "electronic, optical")
    assert choice.question.prompt.endswith("\nC. absorption begins at the gap")
    assert "canary" not in choice.question.prompt
    assert samples["gap"].question.prompt.endswith("The answer is a number in eV.")
    answer = samples["rutile"].target["answer"]
    assert answer["poscar"] == (PROBLEMS / "rutile.vasp").read_text()
    assert answer["length"] == 0.03
    refused = [name for name, each in load(PROBLEMS, arm="tool").items() if each.unavailable]
    assert refused == ["band_edges"]


@pytest.mark.parametrize(("name", "text", "instead", "said"), FAULTS)
def test_one_line_says_what_is_wrong(name, text, instead, said, tmp_path):
    if name:
        (file,) = PROBLEMS.glob(f"{name}.y*ml")
        instead = file.read_text().replace(text, instead)
    path = tmp_path / "bad.yaml"
    path.write_text(instead)
    started = time.process_time()
    with pytest.raises(ProblemError) as caught:
        read_problem(path)
    assert time.process_time() - started < 20
    message = str(caught.value)
    assert message.startswith(f"{path}:")
    assert said in message
    assert "\n" not in message


def test_two_problems_of_one_name(folder):
    shutil.copy(folder / "integer.yaml", folder / "other.yaml")
    said = f"other.yaml:1: id: count is also that of {folder / 'integer.yaml'}"
    with pytest.raises(ProblemError, match=said):
        load(folder)


def test_a_canary_in_its_own_prompt_is_refused(folder):
    file = folder / "choice.yaml"
    file.write_text(file.read_text().replace("direct gap?", "direct gap canary-1f2e?"))
    with pytest.raises(ProblemError, match="band_edges: the canary stands in the prompt"):
        load(folder)


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(0, 14))
def test_any_text_is_a_problem_or_one_line(tmp_path_factory, junk, line):
    path = tmp_path_factory.mktemp("any") / "any.yaml"
    lines = (PROBLEMS / "choice.yaml").read_text().splitlines()
    text = "\n".join([*lines[:line], junk, *lines[line + 1 :]])
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        said = f"{path}: {read_problem(path).id}"
    except ProblemError as error:
        said = str(error)
    assert said.startswith(f"{path}:")
    assert "\n" not in said
