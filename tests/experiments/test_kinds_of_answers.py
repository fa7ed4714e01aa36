"""Benchmarks with a judge, with images and with JSON, each in a few lines, on the one loop."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from agents.answer_formats import Json, Number, Text
from agents.base import Image, Question
from experiments.report.runs import load_runs
from experiments.report.tables import markdown
from experiments.run import main
from experiments.samples import Sample
from experiments.scorers.base import Metric, Score
from tests.endpoint import Endpoint, text

ROOT = Path(__file__).parents[2]
#: The smallest PNG there is.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


@dataclass(frozen=True)
class Judged:
    """A judge says whether prose is right."""

    metrics: Sequence[Metric] = (Metric("quality", "quality", "what the judge says"),)
    executes: bool = False
    warmup: str = ""

    def parts(self, task):
        return ("prose",)

    async def score(self, task, trajectory, tools):
        if tools.judge is None:
            return Score("ok", {"quality": None}, {})
        verdict = await tools.judge.ask("Say good or bad.", trajectory.answer, sample=task.target)
        good = "good" in verdict
        return Score("ok", {"quality": float(good)}, {"prose": good})


@dataclass(frozen=True)
class Prose:
    name: str = "prose"
    packages: Sequence[str] = ()
    scorer = Judged()

    def load(self):
        return [Sample(Question(f"p{n}", f"Explain {n}.", answer=Text()), target=str(n))
                for n in range(4)]  # fmt: skip


@dataclass(frozen=True)
class Exact:
    """The value is the target."""

    metrics: Sequence[Metric] = (Metric("parts", "right", "answers that are right"),)
    executes: bool = False
    warmup: str = ""

    def parts(self, task):
        return ("value",)

    async def score(self, task, trajectory, tools):
        return Score("ok", {}, {"value": trajectory.value == task.target})


@dataclass(frozen=True)
class Pictures:
    name: str = "pictures"
    packages: Sequence[str] = ()
    scorer = Exact()

    def load(self):
        picture = Image(PNG, "image/png", "one-pixel")
        return [Sample(Question(f"i{n}", f"Picture {n}?", answer=Number(), parts=(picture,)),
                     target=float(n)) for n in range(4)]  # fmt: skip


@dataclass(frozen=True)
class Objects:
    name: str = "objects"
    packages: Sequence[str] = ()
    scorer = Exact()

    def load(self):
        shape = {"formula": "text", "atoms": 1}
        return [Sample(Question(f"o{n}", f"Describe {n}.", answer=Json(shape)),
                     target={"formula": f"X{n}", "atoms": n}) for n in range(4)]  # fmt: skip


REPLIES = {
    "Prose": lambda n: f"It is {n}.",
    "Pictures": lambda n: f"<answer>{n or 7}</answer>",
    "Objects": lambda n: f'<answer>{{"formula": "X{n}", "atoms": {n or 7}}}</answer>',
}


def answer(kind, delay=0.0):
    def play(body):
        time.sleep(delay)
        content = body["messages"][-1]["content"]
        asked = content if isinstance(content, str) else content[0]["text"]
        if "<judged>" in asked:
            return text("bad" if "It is 0." in asked else "good")
        number = int("".join(c for c in asked.split("\n")[0] if c.isdigit()) or 0)
        return text(REPLIES[kind](number))

    return play


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def command(kind, url, out, *more):
    return [
        f"benchmark._target_=tests.experiments.test_kinds_of_answers.{kind}",
        *(f"~benchmark.{key}" for key in ("level",)),
        f"benchmark.name={kind.lower()}", "system=single", "model=openai", "model.name=m",
        f"model.base_url={url}", f"out={out}", *more,
    ]  # fmt: skip


def judge(url):
    return ["judge=openai", "judge.name=j", f"judge.base_url={url}", "judge.cache=false"]


@pytest.mark.parametrize("kind", ["Prose", "Pictures", "Objects"])
def test_a_run_its_report_and_its_replay(kind, httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(answer(kind))
    more = judge(endpoint.url) if kind == "Prose" else []
    kept = ["model.cache=false", f"model.record={tmp_path / 'traffic.jsonl'}"]
    run = command(kind, endpoint.url, tmp_path / "run", *kept, *more)
    if more:
        run.append(f"judge.record={tmp_path / 'judge.jsonl'}")
    assert main(run) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    (metric,) = summary["metrics"]
    assert (metric["sum"], metric["total"]) == (3, 4)
    assert summary["calls"] == 4
    assert summary["judge_calls"] == (4 if more else 0)
    stored = [json.loads(p.read_text()) for p in (tmp_path / "run" / "trajectories").iterdir()]
    assert sorted(v["value"] for t in stored for v in t["judged"]) == (
        ["bad", "good", "good", "good"] if more else []
    )
    assert (tmp_path / "run" / "report.html").stat().st_size > 1000
    if kind == "Pictures":
        sent = endpoint.bodies[0]["messages"][-1]["content"][1]
        assert sent["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
        assert [p.read_bytes() for p in (tmp_path / "run" / "images").iterdir()] == [PNG]
        assert "iVBOR" not in (tmp_path / "traffic.jsonl").read_text()
        assert "one-pixel" in (tmp_path / "traffic.jsonl").read_text()
    endpoint.play("nobody is asked")
    again = command(kind, endpoint.url, tmp_path / "again",
                    f"model.replay={tmp_path / 'traffic.jsonl'}", *more)  # fmt: skip
    if more:
        again.append(f"judge.replay={tmp_path / 'judge.jsonl'}")
    assert main(again) == 0
    assert endpoint.bodies == []

    def rows(name):
        lines = (tmp_path / name / "results.jsonl").read_text().splitlines()
        return sorted(
            ({k: v for k, v in json.loads(line).items() if "seconds" not in k} for line in lines),
            key=lambda row: row["question_id"],
        )

    assert rows("again") == rows("run")


@pytest.mark.parametrize("kind", ["Prose", "Pictures", "Objects"])
def test_a_kill_loses_nothing(kind, httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(answer(kind, delay=0.5))
    run = command(kind, endpoint.url, tmp_path / "run", "model.cache=false", "concurrency=1")
    process = subprocess.Popen(
        [sys.executable, "-m", "experiments.run", *run], cwd=ROOT, env=dict(os.environ)
    )
    results = tmp_path / "run" / "results.jsonl"
    deadline = time.monotonic() + 120
    while not results.exists() or not results.read_bytes().count(b"\n"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = results.read_bytes().count(b"\n")
    assert 1 <= kept < 4
    endpoint.play(answer(kind))
    assert main(run) == 0
    assert len(endpoint.bodies) == 4 - kept
    assert results.read_bytes().count(b"\n") == 4


def test_another_drawing_of_the_same_picture_is_replayed(httpserver, tmp_path, monkeypatch):
    endpoint = Endpoint(httpserver).play(answer("Pictures"))
    traffic = tmp_path / "traffic.jsonl"
    kept = ["model.cache=false", f"model.record={traffic}"]
    assert main(command("Pictures", endpoint.url, tmp_path / "run", *kept)) == 0
    monkeypatch.setattr(sys.modules[__name__], "PNG", PNG + b"drawn by another library")
    endpoint.play("nobody is asked")
    again = [*command("Pictures", endpoint.url, tmp_path / "again"), f"model.replay={traffic}"]
    assert main(again) == 0
    assert endpoint.bodies == []
    hashes = [json.loads((tmp_path / name / "summary.json").read_text())["config_hash"]
              for name in ("run", "again")]  # fmt: skip
    assert hashes[0] == hashes[1]
    for name in ("run", "again"):
        (picture,) = (tmp_path / name / "images").iterdir()
        for path in (tmp_path / name / "trajectories").iterdir():
            said = json.loads(path.read_text())["question"]["images"]
            assert said == {"one-pixel": f"images/{picture.name}"}


def test_a_model_without_images_is_not_asked_about_them(httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(answer("Pictures"))
    run = command("Pictures", endpoint.url, tmp_path / "run", "model.cache=false")
    assert main([*run, "model.images=false"]) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["questions"], summary["answers"], endpoint.bodies) == (0, 0, [])
    assert set(summary["unavailable"].values()) == {
        "model.images=false: the question has a picture"
    }
    assert main(run) == 0  # the same folder: what a model can see is no other configuration
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["answers"], summary["unavailable"]) == (4, {})


@dataclass(frozen=True)
class Drawn:
    """Code is wanted, and there is a picture."""

    name: str = "drawn"
    packages: Sequence[str] = ()
    scorer = Exact()

    def load(self):
        picture = Image(PNG, "image/png", "one-pixel")
        return [Sample(Question("c0", "Count the pixels.", {"answer": "int"}, parts=(picture,)))]


def test_pictures_reach_a_model_that_writes_code(httpserver, tmp_path):
    code = "```python\ndef f():\n    return {'answer': 1}\n```"
    code = f"<answer><code>{code}</code><name>f</name></answer>"
    endpoint = Endpoint(httpserver).play(code)
    assert main(command("Drawn", endpoint.url, tmp_path / "run", "model.cache=false")) == 0
    asked, picture = endpoint.bodies[0]["messages"][-1]["content"]
    assert "Count the pixels." in asked["text"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBOR")


def test_without_a_judge_the_metric_is_unknown(httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(answer("Prose"))
    assert main(command("Prose", endpoint.url, tmp_path / "run")) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["metrics"][0]["sum"], summary["metrics"][0]["total"]) == (0, 0)


def test_a_judge_without_a_language_model_says_so_in_every_table(httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(answer("Prose"))
    assert main([*command("Prose", endpoint.url, tmp_path / "run"), "judge=rules"]) == 0
    runs = load_runs([tmp_path / "run"])
    assert runs[0].summary["judge"] == "rules (no LLM judge)"
    assert "rules (no LLM judge) (4 calls, $0)" in markdown(runs)
    assert "(no LLM judge)" in (tmp_path / "run" / "report.html").read_text()


def test_a_limit_in_dollars_needs_the_price_of_the_judge_as_well(httpserver, tmp_path, capsys):
    endpoint = Endpoint(httpserver).play(answer("Prose"))
    priced = "model.price={prompt: 1, completion: 1}"
    limited = [*judge(endpoint.url), priced, "run_budget.cost_usd=1"]
    assert main(command("Prose", endpoint.url, tmp_path / "run", *limited)) == 2
    assert "the price of j is unknown; set it with judge.price=" in capsys.readouterr().err
    assert endpoint.bodies == []


def test_a_judge_that_fails_is_no_wrong_answer(httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(answer("Prose"))
    gone = [*judge("http://127.0.0.1:9/v1"), "judge.max_retries=0"]
    assert main(command("Prose", endpoint.url, tmp_path / "run", *gone)) == 1
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["infra"], summary["answers"]) == (4, 0)
