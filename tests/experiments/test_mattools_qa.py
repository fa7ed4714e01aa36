"""Multiple choice on the main command, through a real HTTP endpoint."""

import json

import pytest

from experiments.benchmarks.mattools.qa import mattools_qa
from experiments.run.__main__ import main
from tests.endpoint import Endpoint, text
from tests.experiments.runs import metrics, openai, summary


def question(number):
    choices = {letter: f"name_{number}_{letter}" for letter in "ABCD"}
    asked = f"def function_{number}():\n    return [MASK]"
    return {"question": asked, "choices": choices, "correct_answer": "ABCD"[number % 4],
            "kind": "code", "source": f"src/file_{number // 4}.py/f"}  # fmt: skip


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(question(number)) + "\n" for number in range(12)))
    return path


def number_of(body):
    prompt = body["messages"][-1]["content"]
    return int(prompt.split("def function_")[1].split("(")[0])


def play(body):
    """Right for even questions; every tenth reply has no tags."""
    number = number_of(body)
    letter = "ABCD"[(number + number % 2) % 4]
    return text(f"<answer>{letter}</answer>" if number % 10 else f"It is {letter}, <b>x")


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
    assert metrics(tmp_path / "run") == {"strict": (4, 12), "lenient": (6, 12)}
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


def test_questions_about_one_symbol_are_one_cluster(questions):
    clusters = [sample.cluster for sample in mattools_qa(questions).load()]
    assert clusters == [f"src/file_{number // 4}.py/f" for number in range(12)]


def test_documents_stand_before_the_question_with_rag(endpoint, questions, tmp_path):
    run = command(questions, endpoint.url, tmp_path / "run", "system=rag", "limit=2")
    assert main([*run, "benchmark.packages=[pymatgen.analysis.defects]", "retrieval.k=2"]) == 0
    prompt = endpoint.bodies[0]["messages"][-1]["content"]
    assert prompt.count("<document name=") == 2
    assert prompt.index("</documents>") < prompt.index("<question>")
