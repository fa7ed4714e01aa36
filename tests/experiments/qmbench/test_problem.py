"""Problem files: what is read, and the one line that says what is wrong."""

import shutil
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.benchmarks.qmbench.__main__ import main as command
from experiments.benchmarks.qmbench.benchmark import QMBenchmark
from experiments.benchmarks.qmbench.problem import ProblemError, read_folder, read_problem
from tests.experiments.qmbench.test_grade import RUTILE

CHOICE = """\
id: band_edges
topics: [electronic, optical]
difficulty: easy
type: choice
prompt: Which of these hold for a direct gap?
choices:
  A: both band edges have the same k
  B: phonons are needed
  C: absorption begins at the gap
points: 10
source: a lecture
licence: CC BY 4.0
canary: canary-1f2e
tools: false
answer: CA
"""
NUMBER = """\
id: gap
topics: [electronic]
type: number
prompt: |
  How large is the gap of this thing?
answer: {low: 1.0, high: 1.1, unit: eV}
"""
INTEGER = NUMBER.replace("{low: 1.0, high: 1.1, unit: eV}", "{value: 4}").replace("gap", "count")
TEXT = """\
id: why
topics: [computation]
type: text
prompt: Which settings are needed, and why?
answer:
  rubric:
  - points: 3
    text: Spin polarisation is switched on.
  - points: 2
    text: The cell is large.
"""
POSCAR = """\
id: rutile
topics: [structure]
type: poscar
prompt: Write a POSCAR file of rutile.
answer: {poscar: rutile.vasp, length: 0.03}
"""


@pytest.fixture
def folder(tmp_path):
    for name, text in {
        "choice.yaml": CHOICE,
        "sub/number.yml": NUMBER,
        "integer.yaml": INTEGER,
        "text.yaml": TEXT,
        "poscar.yaml": POSCAR,
        "rutile.vasp": RUTILE,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path  # fmt: skip


def test_a_folder_is_a_benchmark(folder):
    samples = {sample.question.id: sample for sample in QMBenchmark(path=str(folder)).load()}
    assert sorted(samples) == ["band_edges", "count", "gap", "rutile", "why"]
    assert samples["band_edges"].target["answer"] == "CA"
    assert samples["band_edges"].labels["topics"] == "electronic, optical"
    prompt = samples["band_edges"].question.prompt
    assert prompt.endswith("\nC. absorption begins at the gap")
    assert "canary" not in prompt
    assert samples["gap"].question.prompt.endswith("The answer is a number in eV.")
    assert samples["rutile"].target["answer"]["poscar"] == RUTILE
    assert samples["rutile"].target["answer"]["length"] == 0.03
    tool = {s.question.id: s.unavailable for s in QMBenchmark(path=str(folder), arm="tool").load()}
    assert {name for name, reason in tool.items() if reason} == {"band_edges"}


FAULTS = {
    "unknown key": (CHOICE.replace("source:", "sauce:"), "11: sauce: no such key"),
    "key of an answer": (NUMBER.replace("unit:", "units:"), "6: answer.units: no such key"),
    "low above high": (NUMBER.replace("low: 1.0", "low: 2.0"), "6: answer: low is above high"),
    "no high": (NUMBER.replace("high: 1.1, ", ""), "6: answer.high: Field required"),
    "not finite": (NUMBER.replace("1.1", ".inf"), "6: answer.high: Input should be a finite"),
    "no answer": (NUMBER.partition("answer")[0], "1: answer: Field required"),
    "empty rubric": (TEXT.partition("  - points")[0], "6: answer.rubric: "),
    "negative points": (TEXT.replace("points: 2", "points: -2"), "9: answer.rubric.1.points: "),
    "letters": (CHOICE.replace("answer: CA", "answer: AD"), "answer must be letters of ABC"),
    "no letters": (CHOICE.replace("answer: CA", "answer: ''"), "answer must be letters of ABC"),
    "choices": (CHOICE.replace("  B:", "  D:"), "choices must be two or more, lettered from A"),
    "another type": (NUMBER.replace("type: number", "type: text"), "the answer is one of number"),
    "number as letters": (NUMBER.replace("{low: 1.0, high: 1.1, unit: eV}", "4"),
                          "6: answer: Input should be a valid string"),
    "topics": (NUMBER.replace("[electronic]", "[]"), "2: topics: "),
    "difficulty": (CHOICE.replace("easy", "trivial"), "3: difficulty: "),
    "an alias": (NUMBER.replace("[electronic]", "&x [a]\ntitle: *x"), "3: has an alias"),
    "a key twice": (NUMBER + "id: other\n", "7: id: given twice"),
    "a deep file": ("id: " + "[" * 50_000, "1: is nested deeper"),
    "no YAML": ("id: 'x\n", "found unexpected end of stream"),
    "a tag": ("id: !!python/object/apply:os.system [ls]\n", "1: could not determine a construct"),
    "a false tag": ("id: !!map [ls]\n", "1: expected a mapping node"),
    "another false tag": ("id: !!seq {a: b}\n", "1: expected a sequence node"),
    "a list": ("- a\n", "1: a problem is a mapping"),
    "nothing": ("", "1: a problem is a mapping"),
    "a date": (NUMBER.replace("id: gap", "id: 2026-13-41"), "cannot be read (month must be"),
    "no such file": (POSCAR.replace("rutile.vasp", "other"), "5: answer.poscar: 'other' is no"),
    "another folder": (POSCAR.replace("rutile.vasp", "../rutile.vasp"), "is no text file beside"),
    "an image": (NUMBER + "images: [x.png]\n", "7: images: x.png is no picture beside the file"),
    "an image elsewhere": (NUMBER + "images: [/etc/passwd.png]\n", "is no picture beside"),
    "size": ("#" * 5_000_000, ": is larger than 4 MB"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_one_line_says_what_is_wrong(name, tmp_path):
    text, said = FAULTS[name]
    path = tmp_path / "bad.yaml"
    path.write_text(text)
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
    (error,) = [said for _, said in read_folder(folder) if isinstance(said, ProblemError)]
    assert f"other.yaml:1: id: count is also that of {folder / 'integer.yaml'}" in str(error)
    with pytest.raises(ProblemError, match="is also that of"):
        QMBenchmark(path=str(folder)).load()


def test_a_canary_in_its_own_prompt_is_refused(folder):
    text = CHOICE.replace("direct gap?", "direct gap canary-1f2e?")
    (folder / "choice.yaml").write_text(text)
    with pytest.raises(ProblemError, match="band_edges: the canary stands in the prompt"):
        QMBenchmark(path=str(folder)).load()


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(0, 14))
def test_any_text_is_a_problem_or_one_line(tmp_path_factory, junk, line):
    path = tmp_path_factory.mktemp("any") / "any.yaml"
    lines = CHOICE.splitlines()
    text = "\n".join([*lines[:line], junk, *lines[line + 1 :]])
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        said = f"{path}: {read_problem(path).id}"
    except ProblemError as error:
        said = str(error)
    assert said.startswith(f"{path}:")
    assert "\n" not in said


def test_check_proves_a_folder(folder, capsys):
    assert command(["check", str(folder)]) == 0
    said = capsys.readouterr().out
    assert said == "5 problems (1 choice, 2 number, 1 poscar, 1 text), 0 findings\n"


def test_check_lists_everything_that_is_wrong(folder, capsys):
    (folder / "text.yaml").write_text(FAULTS["empty rubric"][0])
    (folder / "choice.yaml").write_text(FAULTS["unknown key"][0])
    assert command(["check", str(folder)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" ")[0].rpartition("/")[2] for line in lines[:2]] == [
        "choice.yaml:11:", "text.yaml:6:",
    ]  # fmt: skip
    assert lines[2] == "3 problems (2 number, 1 poscar), 2 findings"
    for name in ("text.yaml", "choice.yaml"):
        (folder / name).unlink()
    (folder / "rutile.vasp").write_text(RUTILE.replace("Ti O", "Ti Xx"))
    assert command(["check", str(folder)]) == 1
    said = capsys.readouterr().out
    assert "poscar.yaml:1: rutile: its own answer cannot be read: Unreadable" in said
