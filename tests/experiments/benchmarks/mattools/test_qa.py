"""MatTools QA: letters, files, and the main command through a real HTTP endpoint."""

import json
import re
from collections import Counter

import pytest
import yaml

from agents.answer_formats import Letters
from experiments.benchmarks.mattools.qa import (
    LETTERS,
    SAMPLE,
    answering_prompt,
    mattools_qa,
    read_questions,
    rotated,
)
from experiments.benchmarks.release import ReleaseError
from experiments.command import main
from tests.support.endpoint import Endpoint, text
from tests.support.paths import DATA
from tests.support.runs import metrics, openai, summary

CHOICES = {"A": "norm", "B": "inv", "C": "dot", "D": "det"}
QUESTION = {
    "question": "x = np.[MASK](y)",
    "choices": CHOICES,
    "correct_answer": "A",
    "kind": "code",
    "source": "a.py/f",
}


#: Letter -> replies that mean it; those of A are what was asked for.
CASES_FILE = DATA / "mattools_qa.yaml"
MEANT = yaml.safe_load(CASES_FILE.read_text())["meant"]


@pytest.mark.parametrize("letter", MEANT)
def test_letters(letter):
    for reply in MEANT[letter]:
        found = Letters().read(reply)
        assert (found and found.value) == letter, reply
        assert (found is not None and found.status == "strict") == (letter == "A"), (
            reply
        )


def test_the_prompt_gives_each_letter_once():
    lettered = {key: f"{key}. {text}" for key, text in CHOICES.items()}
    for choices in (CHOICES, lettered):
        prompt = answering_prompt({"question": "What?", "choices": choices})
        assert all(
            prompt.count(f"<choice>{key}. {CHOICES[key]}</choice>") == 1
            for key in LETTERS
        )


def test_files_in_every_form_give_the_same_questions(tmp_path):
    plain = [QUESTION | {"question": f"{i} [MASK] ü" * 5} for i in range(30)]
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in plain))
    array = tmp_path / "array.json"
    array.write_text(json.dumps(plain, indent=2, ensure_ascii=False))
    published = tmp_path / "published.json"
    source = {
        "metadata": {"code_source_file": "a.py", "name": "f"},
        "page_content": "]," * 9,
    }
    bare = [
        {key: row[key] for key in ("question", "choices", "correct_answer")}
        for row in plain
    ]
    published.write_text(
        json.dumps(
            [
                {"source": source, "questions": bare[:5]},
                {"source": source, "questions": bare[5:]},
            ]
        )
    )
    first = list(read_questions(lines))
    assert len(first) == 30
    assert list(read_questions(array)) == first
    found = list(read_questions(published))
    assert [q["question"] for q in found] == [q["question"] for q in first]
    assert found[0] == first[0] | {"kind": ""}
    assert {sample.cluster for sample in mattools_qa(published).load()} == {"a.py/f"}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"question": "x"}\n', "json:1: not a question"),
        ('[{"question": "x"}]', "item 1"),
        ("[1, 2", "json:1: is not valid JSON"),
        (json.dumps(QUESTION | {"correct_answer": "Z"}) + "\n", "not a letter"),
    ],
)
def test_faults_of_a_file_are_named(tmp_path, text, where):
    path = tmp_path / "q.json"
    path.write_text(text)
    with pytest.raises(ReleaseError, match=where):
        list(read_questions(path))


def test_the_shipped_sample_is_valid_and_its_letters_are_spread():
    questions = list(read_questions(SAMPLE))
    assert len(questions) == 300
    assert {tuple(one["choices"]) for one in questions} == {LETTERS}
    assert {len(set(one["choices"].values())) for one in questions} == {4}
    assert all(
        "[MASK]" in one["question"] for one in questions if one["kind"] == "code"
    )
    counts = Counter(one["correct_answer"] for one in questions)
    assert min(counts.values()) > 0.8 * 300 / len(LETTERS)


# --- the command ------------------------------------------------------------------------------


def question(number):
    asked = f"def function_{number}():\n    return [MASK]"
    return QUESTION | {"question": asked, "correct_answer": "ABCD"[number % 4]}


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text(
        "".join(json.dumps(question(number)) + "\n" for number in range(12))
    )
    return path


def play(body):
    """Right for even questions; every tenth reply has no tags."""
    prompt = body["messages"][-1]["content"]
    number = int(prompt.split("def function_")[1].split("(")[0])
    letter = "ABCD"[(number + number % 2) % 4]
    return text(
        f"<answer>{letter}</answer>" if number % 10 else f"It is {letter}, <b>x"
    )


@pytest.fixture
def endpoint(httpserver):
    return Endpoint(httpserver).play(play)


def command(path, url, out, *more):
    where = [f"benchmark.path={path}", f"out={out}", "concurrency=8"]
    return ["benchmark=mattools_qa", *openai(url), *where, *more]


def test_both_ways_of_reading_count_and_nothing_is_asked_twice(
    endpoint, questions, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("experiments.report.page.SHOWN", 6)
    run = command(questions, endpoint.url, tmp_path / "run")
    assert main(run) == 0
    assert metrics(tmp_path / "run") == {"fair": (6, 12), "published": (4, 12)}
    found = summary(tmp_path / "run")
    assert (found["complete"], found["infra"], found["system"]) == (True, 0, "single")
    assert found["cost_usd"] is None  # unknown, not zero
    assert "50.0" in capsys.readouterr().out
    page = (tmp_path / "run" / "report.html").read_text()
    assert "A sample of 6 of 12" in page
    assert "<b>x" not in page  # what a model wrote is text
    assert len(endpoint.bodies) == 12
    # The published protocol: one message, nothing around the question.
    assert [message["role"] for message in endpoint.bodies[0]["messages"]] == ["user"]
    assert main(run) == 0
    assert len(endpoint.bodies) == 12
    assert main([*run, "model.temperature=0.1"]) == 2
    assert "another configuration" in capsys.readouterr().err


def test_documents_stand_before_the_question_with_rag(endpoint, questions, tmp_path):
    run = command(questions, endpoint.url, tmp_path / "run", "system=rag", "limit=2")
    assert (
        main([*run, "benchmark.packages=[pymatgen.analysis.defects]", "retrieval.k=2"])
        == 0
    )
    prompt = endpoint.bodies[0]["messages"][-1]["content"]
    assert prompt.count("<document name=") == 2
    assert prompt.index("</documents>") < prompt.index("<question>")


def test_choices_move_on_and_the_right_text_stays_right():
    lettered = {key: f"{key}. {text}" for key, text in CHOICES.items()}
    for choices in (CHOICES, lettered):
        for by in range(1, 4):
            moved = rotated(QUESTION | {"choices": choices}, by)
            assert moved["choices"][moved["correct_answer"]] == "norm"
            assert sorted(moved["choices"].values()) == sorted(CHOICES.values())
            assert moved["correct_answer"] == "ABCD"[by]


def test_a_model_that_always_says_a_knows_nothing_in_every_order(
    httpserver, questions, tmp_path, capsys
):
    endpoint = Endpoint(httpserver).play(lambda _: text("<answer>A</answer>"))
    out = tmp_path / "run"
    run = command(questions, endpoint.url, out, "benchmark.permute=4")
    assert main(run) == 0
    assert len(endpoint.bodies) == 48
    found = {metric["title"]: metric for metric in summary(out)["metrics"]}
    assert (found["fair"]["sum"], found["fair"]["total"]) == (12, 48)
    assert (found["circular"]["sum"], found["circular"]["total"]) == (0, 12)
    page = (out / "report.html").read_text()
    assert "Letters" in page
    table = capsys.readouterr().out
    assert "(12/48)" in table
    assert "(0/12)" in table
    assert main([*run[:-1], "benchmark.permute=5"]) == 2
    assert "a question has 4 orders" in capsys.readouterr().err


def test_a_model_that_knows_the_text_is_right_in_every_order(
    httpserver, questions, tmp_path
):
    def knows(body):
        choices = re.findall(
            r"<choice>([A-D])\. (\w+)", body["messages"][-1]["content"]
        )
        return text(
            f"<answer>{next(key for key, what in choices if what == 'inv')}</answer>"
        )

    endpoint = Endpoint(httpserver).play(knows)
    out = tmp_path / "run"
    assert main(command(questions, endpoint.url, out, "benchmark.permute=4")) == 0
    found = {metric["title"]: metric["sum"] for metric in summary(out)["metrics"]}
    # Of twelve questions "inv" is the right choice of three.
    assert (found["fair"], found["circular"]) == (12, pytest.approx(3))
