"""Generating and answering questions through a real HTTP endpoint."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from werkzeug import Request, Response

from experiments import build_qa, evaluate_qa
from experiments.bench_qa import completion, made_up, main
from experiments.benchmarks.mattools_qa import read_questions
from experiments.evaluate_qa import Answers, wilson
from tests.experiments.test_qa import SOURCE, block

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")


def reply(text, status=200, **headers):
    body = json.dumps(completion(text))
    return Response(body, status=status, content_type="application/json", headers=headers)


def write_questions(path, count):
    path.write_text("".join(json.dumps(q.plain()) + "\n" for _, q in made_up(range(count))))
    return path


def number_of(request: Request) -> int:
    return int(request.get_data(as_text=True).split("def function_")[1].split("(")[0])


@pytest.fixture
def endpoint(httpserver):
    """Right for even questions; knows how to misbehave."""
    served: Counter[int] = Counter()
    mood = {"delay": 0.0, "gone": False}
    lock = threading.Lock()

    def answer(request: Request) -> Response:
        number = number_of(request)
        time.sleep(mood["delay"])
        with lock:
            served[number] += 1
            first = served[number] == 1
        if mood["gone"]:
            return Response("gone", status=401)
        if number % 10 == 3 and first:
            return Response("slow down", status=429, headers={"retry-after": "0"})
        if number % 10 == 5 and first:
            return Response("<html>oops</html>", status=200)
        letter = "ABCD"[number % 4] if number % 2 == 0 else "ABCD"[(number + 1) % 4]
        return reply(f"<answer>{letter}</answer>" if number % 10 else f"It is {letter}, I think")

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    return httpserver.url_for("/v1"), served, mood


def evaluate(path, url, out, *more):
    return evaluate_qa.main(
        [f"questions={path}", "model=openai", f"set.base_url={url}", "set.name=m",
         f"out={out}", "concurrency=8", *more]
    )  # fmt: skip


def test_answers_are_counted_by_both_rules(endpoint, tmp_path, capsys):
    url, served, _ = endpoint
    questions = write_questions(tmp_path / "q.jsonl", 40)
    assert evaluate(questions, url, tmp_path / "run") == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    every = summary["counts"]["all"]
    # Every tenth question (an even one) is answered without tags.
    assert every == {
        "questions": 40, "strict": 16, "lenient": 20, "no_strict": 4, "no_lenient": 0
    }  # fmt: skip
    assert summary["prompt_tokens"] == 40 * 200
    assert summary["cost_usd"] is None  # unknown, not zero
    assert "50.00" in capsys.readouterr().out
    # one refused and one unreadable reply per ten questions were asked again
    assert served.total() == 40 + 4 + 4
    assert evaluate(questions, url, tmp_path / "run") == 0
    assert served.total() == 48  # nothing is asked again
    assert evaluate(questions, url, tmp_path / "run", "set.temperature=0.1") == 2
    assert "another model" in capsys.readouterr().err


def test_an_endpoint_that_refuses_is_no_wrong_answer(endpoint, tmp_path, capsys):
    url, served, mood = endpoint
    mood["gone"] = True
    questions = write_questions(tmp_path / "q.jsonl", 300)
    assert evaluate(questions, url, tmp_path / "run") == 1
    assert "401" in capsys.readouterr().out
    assert served.total() < 300  # gives up, does not spend the rest
    assert (tmp_path / "run" / "results.jsonl").read_text() == ""
    mood["gone"] = False
    assert evaluate(questions, url, tmp_path / "run", "limit=20") == 0
    assert len((tmp_path / "run" / "results.jsonl").read_text().splitlines()) == 20


@pytest.mark.long
def test_a_killed_run_goes_on_and_repeats_no_answer(endpoint, tmp_path):
    url, served, mood = endpoint
    mood["delay"] = 0.02
    questions = write_questions(tmp_path / "q.jsonl", 400)
    results = tmp_path / "run" / "results.jsonl"
    command = [sys.executable, "-m", "experiments.evaluate_qa", f"questions={questions}",
               "model=openai", f"set.base_url={url}", "set.name=m", f"out={tmp_path / 'run'}",
               "concurrency=8"]  # fmt: skip
    process = subprocess.Popen(command, cwd=ROOT, env=dict(os.environ))
    deadline = time.monotonic() + 120
    while not results.exists() or results.read_bytes().count(b"\n") < 60:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = results.read_bytes()
    answered = [json.loads(x)["number"] for x in before.splitlines(keepends=True) if b"\n" in x]
    assert 60 <= len(answered) < 400
    time.sleep(0.2)  # what was in flight reaches the endpoint's counter
    asked = dict(served)
    mood["delay"] = 0.0
    assert evaluate(questions, url, tmp_path / "run") == 0
    numbers = [json.loads(line)["number"] for line in results.read_text().splitlines()]
    assert sorted(numbers) == list(range(400))
    assert all(served[number] == asked[number] for number in answered)


async def test_half_a_line_is_dropped(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"number": 0}\n{"number": 5000}\n{"numb')
    answers = Answers(path)
    assert (0 in answers, 1 in answers, 5000 in answers, 9999 in answers) == (
        True, False, True, False,
    )  # fmt: skip
    answers.add(1, {"x": "é"})
    answers.close()
    assert [json.loads(line)["number"] for line in path.read_text().splitlines()] == [0, 5000, 1]


def test_the_interval_is_wilsons():
    from statsmodels.stats.proportion import proportion_confint

    for right, total in ((0, 10), (7, 10), (500, 1000)):
        assert wilson(right, total) == pytest.approx(
            proportion_confint(right, total, method="wilson"), abs=1e-6
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["questions=nowhere.jsonl"], "no such file"),
        ([], "questions=...: is required"),
        (["questions=q", "concurency=3"], "no such key"),
        (["questions=q", "set.temperature=9"], "set.temperature"),
        (["questions=q", "model=gpt"], "no such configuration"),
    ],
)
def test_mistakes_are_one_line(arguments, message, capsys):
    assert evaluate_qa.main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_the_benchmark_of_the_client_measures(capsys):
    assert main(["questions=500", "concurrency=8", "delay=0"]) == 0
    assert "500 answers kept" in capsys.readouterr().out


# --- generation --------------------------------------------------------------------------------


def build(tmp_path, *more):
    (tmp_path / "lib").mkdir(exist_ok=True)
    (tmp_path / "lib" / "__init__.py").write_text("")
    (tmp_path / "lib" / "cells.py").write_text(SOURCE)
    out = tmp_path / "questions.jsonl"
    status = build_qa.main([f"out={out}", "package=lib", f"folder={tmp_path}", *more])
    return status, list(read_questions(out)) if out.exists() else []


def test_questions_by_rules(tmp_path, capsys):
    status, questions = build(tmp_path)
    assert status == 0
    assert {q.kind for q in questions} == {"code", "doc"}
    assert f"{len(questions)} questions" in capsys.readouterr().out
    assert build(tmp_path) == (0, questions)
    assert {q.kind for q in build(tmp_path, "kinds=doc")[1]} == {"doc"}


def test_questions_by_a_model_are_kept_and_not_asked_for_twice(tmp_path, httpserver, capsys):
    good = ["A. norm", "B. inv", "C. dot", "D. det"]
    asked = []

    def answer(request: Request) -> Response:
        text = json.loads(request.get_data())["messages"][0]["content"]
        asked.append(text)
        if "lib.cells.area" in text or "def area" in text:
            return Response("no", status=401)
        return reply(block(1, "np.[MASK](x)?", good, "A") + block(2, "nothing", good[:3], "A"))

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    model = ["model=openai", f"set.base_url={httpserver.url_for('/v1')}", "set.name=m",
             "set.cache=false", "set.max_retries=0"]  # fmt: skip
    status, questions = build(tmp_path, *model)
    assert status == 1  # area failed
    assert len(asked) == 10
    assert len(questions) == 8
    assert "rejected 8" in capsys.readouterr().out
    assert build(tmp_path, *model)[0] == 1
    assert len(asked) == 12  # only what failed
