"""Problem files: what is read, and the one line that says what is wrong; whole runs."""

import json
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.benchmarks.qmbench.benchmark import QMBenchmark
from experiments.benchmarks.qmbench.problem import ProblemError, read_problem
from experiments.command import main
from foundation.configuration import data_of
from tests.support.endpoint import Endpoint, text
from tests.support.runs import asked, judging, openai, rows, summary

PROBLEMS = Path(__file__).with_name("problems")
FAULTS = [
    *data_of(__file__, "faults"),
    ("", "", "id: " + "[" * 50_000, "1: is nested deeper"),
    ("", "", "#" * 5_000_000, ": is larger than 4 MB"),
]


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
    assert (choice.target["answer"], choice.labels["topics"]) == (
        "CA",
        "electronic, optical",
    )
    assert choice.question.prompt.endswith("\nC. absorption begins at the gap")
    assert "canary" not in choice.question.prompt
    assert samples["gap"].question.prompt.endswith("The answer is a number in eV.")
    answer = samples["rutile"].target["answer"]
    assert answer["poscar"] == (PROBLEMS / "rutile.vasp").read_text()
    assert answer["length"] == 0.03
    refused = [
        name for name, each in load(PROBLEMS, arm="tool").items() if each.unavailable
    ]
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
    with pytest.raises(
        ProblemError, match="band_edges: the canary stands in the prompt"
    ):
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


CANARY = "canary-77aa31"


def run(out, *more):
    model = (
        []
        if any(key.startswith("model=") for key in more)
        else openai("http://127.0.0.1:9/v1")
    )
    return main(["benchmark=qmbench", f"out={out}", *model, *more])


def half(body):
    """A judge that gives half of every point."""
    most = [float(part.split('"')[0]) for part in asked(body).split('most="')[1:]]
    return text(json.dumps({"marks": [mark / 2 for mark in most]}))


def test_right_answers_with_a_judge_and_pictures(httpserver, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    endpoint = Endpoint(httpserver).play(half)
    keys = ["system=oracle", "benchmark.mix=even", "benchmark.items=2"]
    assert run(tmp_path / "out", *keys, *judging(endpoint.url)) == 0
    for row in rows(tmp_path / "out").values():
        template, share = row["labels"]["template"], row["values"]["score"]
        assert share == (0.5 if row["labels"]["type"] == "text" else 1.0), row
        assert ("text_only" in row["values"]) == (template not in {"bands", "edges"})
        drawn = list((tmp_path / "out" / "figures").glob(f"{row['question_id']}*"))
        assert bool(drawn) == (template in {"bands", "edges"})
    assert summary(tmp_path / "out")["judge_calls"] == 2
    assert len(list((tmp_path / "out" / "images").iterdir())) == 4


PRIVATE = """\
id: secret
topics: [electronic]
type: choice
prompt: Which letter is the one that only we know?
choices: {{A: alpha-words, B: beta-words}}
canary: {canary}
answer: B
"""


def test_a_private_split_leaves_only_digests(httpserver, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "secret.yaml").write_text(PRIVATE.format(canary=CANARY))
    endpoint = Endpoint(httpserver).play("<answer>B</answer> as alpha-words is wrong")
    assert (
        run(
            tmp_path / "out",
            *openai(endpoint.url),
            f"benchmark.path={folder}",
            "benchmark.private=true",
        )
        == 0
    )
    assert rows(tmp_path / "out")["secret"]["values"]["score"] == 1.0
    kept = [
        path.read_text(errors="replace")
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    ]
    assert any("private, SHA-256" in content for content in kept)
    for secret in ("alpha-words", "only we know", CANARY):
        assert not any(secret in content for content in kept)
    (prompt,) = endpoint.prompts
    assert "only we know" in prompt
    assert CANARY not in prompt
