"""The multiple-choice benchmark of the main command, through a real HTTP endpoint."""

import asyncio
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
from hypothesis import given
from hypothesis import strategies as st
from werkzeug import Response

from experiments import bench_qa
from experiments.bench_qa import resident_mb, write_questions
from experiments.config import ConfigError, Limits
from experiments.meter import RunMeter
from experiments.qa import evaluate
from experiments.qa.answers import Answers
from experiments.qa.endpoint import read_response
from experiments.report.__main__ import main as report
from experiments.run import main
from experiments.show import main as show
from tests.endpoint import (
    Body,
    Endpoint,
    cut_off,
    reasoned,
    refusal,
    refusing,
    respond,
    status,
    text,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")


USAGE = {"prompt_tokens": 200, "completion_tokens": 5, "total_tokens": 205}


def number_of(body: Body) -> int:
    return int(str(body["messages"]).split("def function_")[1].split("(")[0])


@pytest.fixture
def endpoint(httpserver):
    """Right for even questions; knows how to misbehave."""
    served: Counter[int] = Counter()
    mood = {"delay": 0.0, "gone": False}
    lock = threading.Lock()

    def answer(body: Body) -> Response:
        number = number_of(body)
        time.sleep(mood["delay"])
        with lock:
            served[number] += 1
            first = served[number] == 1
        if mood["gone"]:
            return status(401, "gone")
        if number % 10 == 3 and first:
            return status(429, "slow down", retry_after="0")
        if number % 10 == 5 and first:
            return Response("<html>oops</html>", status=200)
        letter = "ABCD"[number % 4] if number % 2 == 0 else "ABCD"[(number + 1) % 4]
        said = f"<answer>{letter}</answer>" if number % 10 else f"It is {letter}, <b>x"
        return text(said, usage=USAGE)

    return Endpoint(httpserver).play(answer).url, served, mood


def command(path, url, out, *more):
    where = [f"benchmark.path={path}", f"model.base_url={url}", f"out={out}"]
    return ["benchmark=mattools_qa", "model=openai", "model.name=m", "concurrency=8", *where, *more]


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


def rows(folder):
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


@pytest.fixture
def questions(tmp_path):
    return write_questions(tmp_path / "q.jsonl", 40)


def test_answers_are_counted_by_both_rules_and_nothing_is_asked_twice(
    endpoint, questions, tmp_path, capsys
):
    url, served, _ = endpoint
    run = command(questions, url, tmp_path / "run")
    assert main(run) == 0
    found = summary(tmp_path / "run")
    # Every tenth question (an even one) is answered without tags.
    assert (found["answers"], found["strict"], found["lenient"]) == (40, 16, 20)
    assert (found["no_strict"], found["no_lenient"]) == (4, 0)
    assert found["kinds"]["code"]["lenient"] == 20
    assert found["prompt_tokens"] == 40 * 200
    assert found["cost_usd"] is None  # unknown, not zero
    assert (found["complete"], found["infra"], found["system"]) == (True, 0, "single")
    assert "50.0 [" in capsys.readouterr().out
    # one refused and one unreadable reply per ten questions were asked again
    assert served.total() == 40 + 4 + 4
    assert main(run) == 0
    assert served.total() == 48
    assert main([*run, "model.temperature=0.1"]) == 2
    assert "another configuration" in capsys.readouterr().err


def test_the_report_shows_a_sample_beside_other_runs(endpoint, questions, tmp_path, capsys):
    url, _, _ = endpoint
    assert main(command(questions, url, tmp_path / "run")) == 0
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Guessing gives 25 %" in page
    assert "def function_" in page
    assert "&lt;b&gt;x" in page  # what a model wrote is text
    assert "<b>x" not in page
    lines = tmp_path / "answers.csv"
    table = tmp_path / "table.md"
    given = [str(tmp_path / "run"), "--csv", str(lines), "--markdown", str(table)]
    assert report([*given, "--html", str(tmp_path / "r.html")]) == 0
    assert len(lines.read_text().splitlines()) == 41
    assert "| code |" in table.read_text()
    capsys.readouterr()
    assert show([str(tmp_path / "run"), "10"]) == 0
    assert "It is C, <b>x" in capsys.readouterr().out
    assert show([str(tmp_path / "run"), "40"]) == 2
    assert "no answer to question 40" in capsys.readouterr().err
    questions.unlink()
    assert report([*given, "--html", str(tmp_path / "r.html")]) == 0
    assert "not there any more" in (tmp_path / "r.html").read_text()


def test_a_sweep_over_models_is_compared(endpoint, questions, tmp_path, capsys):
    url, served, _ = endpoint
    run = command(questions, url, tmp_path / "runs", "seeds=2", "limit=20")
    assert main(["-m", *run, "model.name=one,two"]) == 0
    assert served.total() == 2 * 2 * 20 + 4  # the misbehaviour was once per question
    assert "two - one" in capsys.readouterr().out
    assert list(tmp_path.glob("runs/comparison-*.html"))


def test_single_questions_and_budgets(endpoint, questions, tmp_path, capsys):
    url, served, _ = endpoint
    run = command(questions, url, tmp_path / "run", "concurrency=1")
    assert main([*run, "ids=[7,20]"]) == 0
    assert set(served) == {7, 20}
    assert main([*run, "run_budget.calls=10"]) == 1
    assert "run_budget.calls of 10 is used up" in capsys.readouterr().out
    assert len(rows(tmp_path / "run")) == 10
    assert main([*run, "run_budget.cost_usd=1"]) == 2
    assert "the price of" in capsys.readouterr().err
    assert main(run) == 0
    assert summary(tmp_path / "run")["answers"] == 40


def test_a_price_makes_a_cost_that_the_budget_knows(endpoint, questions, tmp_path, capsys):
    url, _, _ = endpoint
    run = command(questions, url, tmp_path / "run", "concurrency=1",
                  "model.price={prompt: 5000, completion: 0}")  # fmt: skip
    assert main([*run, "run_budget.cost_usd=7"]) == 1
    assert summary(tmp_path / "run")["cost_usd"] == 7.0  # a dollar per question
    assert summary(tmp_path / "run")["missing"] == 33


def test_faults_and_refused_parameters_are_known_here_too(httpserver, tmp_path, questions, capsys):
    plays = iter([reasoned("hm", "<answer>A</answer>"), cut_off("It is"), refusal()])

    def once(body: Body) -> Response:
        refused = {"temperature", "max_completion_tokens"} & body.keys()
        return respond(refusing(*refused) if refused else next(plays), body)

    played = Endpoint(httpserver).play(once)
    out = tmp_path / "run"
    assert main(command(questions, played.url, out, "limit=3", "model.max_tokens=9")) == 0
    assert summary(out)["reply_faults"] == {"length": 1, "refusal": 1}
    assert [body.get("max_tokens") for body in played.bodies[-3:]] == [9, 9, 9]
    assert not any("temperature" in body for body in played.bodies[-3:])


def test_an_endpoint_that_refuses_is_no_wrong_answer(endpoint, tmp_path, capsys, monkeypatch):
    url, served, mood = endpoint
    mood["gone"] = True
    monkeypatch.setattr(evaluate, "FAILURES", 30)
    path = write_questions(tmp_path / "q.jsonl", 100)
    run = command(path, url, tmp_path / "run")
    assert main(run) == 1
    assert "401" in capsys.readouterr().out
    failed = summary(tmp_path / "run")
    assert served.total() < 100  # gives up, does not spend the rest
    assert failed["answers"] == failed["strict"] == failed["no_strict"] == 0
    assert failed["infra"] == served.total()
    assert failed["infra"] + failed["missing"] == 100
    mood["gone"] = False
    assert main(run) == 0
    assert (summary(tmp_path / "run")["answers"], summary(tmp_path / "run")["infra"]) == (100, 0)


def test_another_process_in_the_same_folder_is_refused(questions, tmp_path, capsys):
    with Answers(tmp_path / "run", "x", {}, RunMeter(Limits())):
        assert main(["benchmark=mattools_qa", f"benchmark.path={questions}", "model=rules",
                     f"out={tmp_path / 'run'}"]) == 2  # fmt: skip
    assert "another process" in capsys.readouterr().err


def line(number):
    spent = {"calls": 1, "prompt_tokens": 1, "completion_tokens": 1, "cost_usd": None}
    return json.dumps({"number": number, "seed": 0, **spent}) + "\n"


def test_half_a_line_is_dropped(tmp_path):
    (tmp_path / "results.jsonl").write_text(line(0) + line(5000) + '{"numb')
    with Answers(tmp_path, "x", {}, RunMeter(Limits(calls=2))) as answers:
        known = [answers.answered(0, number) for number in (0, 1, 5000, 9999)]
        assert known == [True, False, True, False]
        assert not answers.answered(1, 0)

        async def add() -> None:
            answers.fail(1, 0, "é gone")

        asyncio.run(add())
        assert answers.counted((0,), range(2)) == (1, 1)
    assert (tmp_path / "results.jsonl").read_text() == line(0) + line(5000) + (
        '{"number": 1, "seed": 0, "error": "\\u00e9 gone"}\n'
    )


def test_a_damaged_line_is_named(tmp_path):
    (tmp_path / "results.jsonl").write_text(line(0) + "{}\n")
    with pytest.raises(ConfigError, match="line 2: is no answer"):
        Answers(tmp_path, "x", {}, RunMeter(Limits()))


async def test_a_full_disk_stops_the_run(tmp_path):
    with Answers(tmp_path, "x", {}, RunMeter(Limits())) as answers:
        answers.flush()
        os.dup2(os.open("/dev/full", os.O_WRONLY), answers._file)
        answers.fail(1, 0, "gone")
        await asyncio.sleep(0.01)
        assert answers.broken is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["benchmark.path=nowhere.jsonl"], "nowhere.jsonl: no such file"),
        (["system=reflect"], "system=reflect: cannot answer"),
        (["system=rag", "retrieval=none"], "needs documents"),
        (["ids=[40]"], "ids=40: no such question; they are numbered 0 to 39"),
        (["ids=[a]"], "ids=a: no such question"),
        (["budget.tokens=10"], "run_budget.tokens"),
        (["benchmark.pth=x"], "did you mean benchmark.path"),
        (["benchmark.packages=pymatgen"], "benchmark.packages"),
        (["model=openai"], "OPENAI_API_KEY"),
        (["limit=0"], "limit=0"),
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
    assert "holds no question" in capsys.readouterr().err


@pytest.mark.parametrize("server", ["asgi", "threaded", "bare"])
def test_the_benchmark_of_the_client_measures(server, capsys):
    given = ["questions=300", "concurrency=8", "delay=0", f"server={server}"]
    assert bench_qa.main(given) == 0
    shown = capsys.readouterr().out
    assert "300 answers kept" in shown
    assert "ratio" in shown


# --- the wire ----------------------------------------------------------------------------------

BODY = b'{"x": "\xc3\xa9"}\n'
RESPONSES = [
    (b"Content-Length: 12\r\n\r\n" + BODY, False),
    (b"transfer-encoding: Chunked\r\n\r\n5;x=1\r\n" + BODY[:5] + b"\r\n7\r\n" + BODY[5:]
     + b"\r\n0\r\n\r\n", False),
    (b"Transfer-Encoding: chunked\r\n\r\nc\r\n" + BODY + b"\r\n0\r\nTrailer: y\r\n\r\n", False),
    (b"Content-Length: 12\r\nConnection: Close\r\n\r\n" + BODY, True),
]  # fmt: skip


@given(st.sampled_from(RESPONSES), st.data())
def test_a_response_is_read_as_soon_as_it_is_whole(response, data):
    rest, closing = response
    raw = b"HTTP/1.1 200 OK\r\n" + rest
    cut = data.draw(st.integers(0, len(raw) - 1))
    assert read_response(raw[:cut], ended=False) is None
    found = read_response(raw, ended=False)
    assert (found.status, found.body, found.closing) == (200, BODY, closing)


def test_a_body_without_a_length_ends_with_the_connection():
    raw = b"HTTP/1.0 200 OK\r\n\r\n" + BODY
    assert read_response(raw, ended=False) is None
    assert read_response(raw, ended=True).body == BODY


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"x" * (1 << 17),
    ],
)
def test_what_is_no_response_is_refused(raw):
    with pytest.raises(ValueError):
        read_response(raw, ended=False)


# --- long --------------------------------------------------------------------------------------


def start(arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "experiments.run", *arguments], cwd=ROOT, env=dict(os.environ)
    )


def wait_for(process, results, count):
    deadline = time.monotonic() + 300
    while not results.exists() or results.read_bytes().count(b"\n") < count:
        assert process.poll() is None, "it ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.long
def test_twenty_thousand_questions_a_kill_and_flat_memory(tmp_path):
    served = tmp_path / "served.txt"
    script = tmp_path / "server.py"
    # An endpoint in a process of its own that writes down whom it answered.
    script.write_text(SERVER)
    server = subprocess.Popen(
        [sys.executable, str(script), str(served)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        path = write_questions(tmp_path / "q.jsonl", 20_000)
        results = tmp_path / "run" / "results.jsonl"
        run = command(path, url, tmp_path / "run", "concurrency=64")
        process = start(run)
        wait_for(process, results, 5000)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        kept = [row for row in results.read_bytes().splitlines(keepends=True) if b"\n" in row]
        answered = {json.loads(row)["number"] for row in kept}
        assert 5000 <= len(answered) < 20_000
        time.sleep(0.5)  # what was in flight reaches the endpoint's list
        before = Counter(served.read_text().split())
        process = start(run)
        sizes = []
        while process.poll() is None:
            sizes.append(resident_mb_of(process.pid))
            time.sleep(0.1)
        assert process.returncode == 0
        after = Counter(served.read_text().split())
    finally:
        server.kill()
        server.wait()
    assert all(before[str(number)] == after[str(number)] for number in answered)
    assert sorted(row["number"] for row in rows(tmp_path / "run")) == list(range(20_000))
    assert max(after.values()) <= 2  # at most what was in flight when it was killed
    # Everything imported, then the questions: from a quarter of the time on it is flat.
    assert max(sizes) - sizes[len(sizes) // 4] < 100


SERVER = """
import asyncio, re, sys
from experiments import bench_qa

out = open(sys.argv[1], "a", buffering=1)
inner = bench_qa._reply

def reply(body):
    out.write(re.search(rb"def function_(\\\\d+)", body)[1].decode() + "\\\\n")
    return inner(body)

bench_qa._reply = reply
asyncio.run(bench_qa.serve_bare(0.0))
""".replace("\\\\", "\\")


def resident_mb_of(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return 0.0
    found = [text.split()[1] for text in status.splitlines() if text.startswith("VmRSS")]
    return int(found[0]) / 1024 if found else 0.0


@pytest.mark.long
def test_an_interrupt_keeps_what_is_there(endpoint, tmp_path):
    url, _, mood = endpoint
    mood["delay"] = 0.02
    path = write_questions(tmp_path / "q.jsonl", 400)
    run = command(path, url, tmp_path / "run")
    process = start(run)
    wait_for(process, tmp_path / "run" / "results.jsonl", 60)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    stopped = summary(tmp_path / "run")
    assert 60 <= stopped["answers"] < 400
    assert stopped["missing"] == 400 - stopped["answers"]
    mood["delay"] = 0.0
    assert main(run) == 0
    assert summary(tmp_path / "run")["answers"] == 400


def test_resident_memory_is_read():
    assert resident_mb() == pytest.approx(resident_mb_of(os.getpid()), rel=0.2)
