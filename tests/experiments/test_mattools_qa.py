"""Multiple choice on the main command, through a real HTTP endpoint."""

import csv
import json

import pytest

from experiments.benchmarks.mattools.qa.questions import QAQuestion, stored_line
from experiments.report.__main__ import main as report
from experiments.run import main
from experiments.show import main as show
from tests.endpoint import Endpoint, status, text


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")


def question(number):
    choices = {letter: f"name_{number}_{letter}" for letter in "ABCD"}
    asked = f"def function_{number}():\n    return [MASK]"
    return QAQuestion(asked, choices, "ABCD"[number % 4], "code", f"src/file_{number // 4}.py/f")


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(stored_line(question(number)) for number in range(40)))
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
    where = [f"benchmark.path={path}", f"model.base_url={url}", f"out={out}", "concurrency=8"]
    return ["benchmark=mattools_qa", "model=openai", "model.name=m", "model.cache=false", *where,
            *more]  # fmt: skip


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


def counts(folder):
    return {entry["name"]: (entry["sum"], entry["total"]) for entry in summary(folder)["metrics"]}


def test_both_ways_of_reading_count_and_nothing_is_asked_twice(
    endpoint, questions, tmp_path, capsys
):
    run = command(questions, endpoint.url, tmp_path / "run")
    assert main(run) == 0
    assert counts(tmp_path / "run") == {"strict": (16, 40), "lenient": (20, 40)}
    found = summary(tmp_path / "run")
    assert (found["complete"], found["infra"], found["system"]) == (True, 0, "single")
    assert found["cost_usd"] is None  # unknown, not zero
    assert "50.0" in capsys.readouterr().out
    assert len(endpoint.bodies) == 40
    # The published protocol: one message, nothing around the question.
    assert [message["role"] for message in endpoint.bodies[0]["messages"]] == ["user"]
    assert main(run) == 0
    assert len(endpoint.bodies) == 40
    assert main([*run, "model.temperature=0.1"]) == 2
    assert "another configuration" in capsys.readouterr().err


def test_the_report_and_one_answer(endpoint, questions, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("experiments.report.page.SHOWN", 20)
    assert main(command(questions, endpoint.url, tmp_path / "run")) == 0
    page = (tmp_path / "run" / "report.html").read_text()
    assert "A sample of 20 of 40" in page
    assert "<h2>Choices</h2>" in page
    assert "<h2>By kind</h2>" in page
    assert "<b>x" not in page  # what a model wrote is text
    lines = tmp_path / "answers.csv"
    given = [str(tmp_path / "run"), f"csv={lines}", f"markdown={tmp_path / 'table.md'}"]
    assert report([*given, f"html={tmp_path / 'r.html'}"]) == 0
    rows = list(csv.DictReader(lines.open()))
    assert sum(float(row["lenient"]) for row in rows) == 20
    assert "| lenient % |" in (tmp_path / "table.md").read_text()
    capsys.readouterr()
    assert show([str(tmp_path / "run"), "10"]) == 0
    assert "It is C, <b>x" in capsys.readouterr().out


def test_questions_about_one_symbol_are_one_cluster(endpoint, questions, tmp_path):
    lines = questions.read_text().splitlines(keepends=True)
    questions.write_text("".join(line.replace("file_", "same_file_0_") for line in lines))
    assert main(command(questions, endpoint.url, tmp_path / "apart")) == 0
    questions.write_text("".join(
        json.dumps(json.loads(line) | {"source": "src/one.py/f"}) + "\n" for line in lines
    ))  # fmt: skip
    assert main(command(questions, endpoint.url, tmp_path / "one")) == 0

    def width(folder):
        report([str(folder), f"markdown={folder / 't.md'}"])
        cell = next(c for c in (folder / "t.md").read_text().split("|") if "(20/40)" in c)
        low, high = cell.split("[")[1].split("]")[0].split(", ")
        return float(high) - float(low)

    assert width(tmp_path / "one") > 2 * width(tmp_path / "apart")


def test_a_sweep_with_seeds_is_compared(endpoint, questions, tmp_path, capsys):
    run = command(questions, endpoint.url, tmp_path / "runs", "seeds=2", "limit=20")
    assert main(["-m", *run, "model.name=one,two"]) == 0
    assert len(endpoint.bodies) == 2 * 2 * 20
    assert "two - one" in capsys.readouterr().out
    assert list(tmp_path.glob("runs/comparison-*.html"))


def test_an_endpoint_that_is_gone_is_no_wrong_answer(endpoint, questions, tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.job.FAILURES", 10)
    endpoint.play(status(401, "gone"))
    run = command(questions, endpoint.url, tmp_path / "run")
    assert main(run) == 1
    failed = summary(tmp_path / "run")
    assert len(endpoint.bodies) < 40  # gives up, does not ask the rest
    assert counts(tmp_path / "run") == {"strict": (0, 0), "lenient": (0, 0)}
    assert failed["infra"] + failed["missing"] == 40
    endpoint.play(play)
    assert main(run) == 0
    assert counts(tmp_path / "run")["lenient"] == (20, 40)


def test_documents_stand_before_the_question_with_rag(endpoint, questions, tmp_path):
    run = command(questions, endpoint.url, tmp_path / "run", "system=rag", "limit=2")
    assert main([*run, "benchmark.packages=[pymatgen.analysis.defects]", "retrieval.k=2"]) == 0
    prompt = endpoint.bodies[0]["messages"][-1]["content"]
    assert prompt.count("<document name=") == 2
    assert prompt.index("</documents>") < prompt.index("<question>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["benchmark.path=nowhere.jsonl"], "nowhere.jsonl: cannot be read"),
        (["system=reflect"], "system=reflect: writes and runs code"),
        (["ids=[40]"], "ids=40: no such question"),
        (["benchmark.pth=x"], "did you mean benchmark.path"),
        (["benchmark.packages=pymatgen"], "benchmark.packages"),
        (["model=openai"], "OPENAI_API_KEY"),
    ],
)
def test_mistakes_are_one_line(arguments, message, questions, tmp_path, capsys):
    given = ["benchmark=mattools_qa", f"benchmark.path={questions}", f"out={tmp_path / 'run'}"]
    model = [] if any("model=" in argument for argument in arguments) else ["model=rules"]
    assert main([*given, *model, *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_file_without_questions_is_refused(tmp_path, capsys):
    (tmp_path / "q.jsonl").write_text("")
    assert main(["benchmark=mattools_qa", f"benchmark.path={tmp_path / 'q.jsonl'}"]) == 2
    assert "contains no question" in capsys.readouterr().err
