"""Benchmarks with a judge, with images and with JSON, each in a few lines, on the one loop."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from agents.answer import CodeAnswer
from agents.answer_formats import Json, Letters, Number, Text
from agents.base import Image, Question
from experiments.benchmarks.own import Task
from experiments.command import main
from experiments.record import read_rows
from experiments.samples import Sample
from experiments.scorers.base import Metric, Score
from experiments.scorers.properties import PropertyScorer
from tests.support.endpoint import Endpoint, status, text
from tests.support.paths import ROOT
from tests.support.runs import asked, judging, rows, summary, trajectories
from tests.support.samples import table

PNG = next((ROOT / "tests" / "experiments").rglob("release/**/one.png")).read_bytes()


@dataclass(frozen=True)
class Judged:
    """A judge says whether prose is right."""

    metrics: Sequence[Metric] = (Metric("quality", "quality", "what the judge says"),)
    executes: bool = False
    warmup: str = ""

    def criteria(self, task):
        return ("prose",)

    async def score(self, task, trajectory, tools):
        if tools.judge is None:
            return Score("ok", {"quality": None}, {})
        verdict = await tools.judge.ask(
            "Say good or bad.", trajectory.answer, sample=task.target
        )
        good = "good" in verdict.text
        return Score("ok", {"quality": float(good)}, {"prose": good})


def task(letter, asked, form, target, *scoring, attachments=()):
    """Four questions of a kind."""
    return Task(
        [
            Sample(
                Question(
                    f"{letter}{n}",
                    f"{asked} {n}.",
                    answer=form,
                    attachments=attachments,
                ),
                target=target(n),
            )
            for n in range(4)
        ],
        *scoring,
    )


def prose():
    return task("p", "Explain", Text(), str, Judged())


def pictures():
    return task(
        "i",
        "Picture",
        Number(),
        float,
        attachments=(Image(PNG, "image/png", "one-pixel"),),
    )


def objects():
    shape = {"formula": "text", "atoms": 1}
    return task(
        "o", "Describe", Json(shape), lambda n: {"formula": f"X{n}", "atoms": n}
    )


def drawn():
    """Code is wanted, and there is a picture."""
    picture = Image(PNG, "image/png", "one-pixel")
    return Task(
        [Sample(Question("c0", "Count.", {"answer": "int"}, attachments=(picture,)))]
    )


REPLIES = {
    "prose": lambda n: f"It is {n}.",
    "pictures": lambda n: f"<answer>{n or 7}</answer>",
    "objects": lambda n: f'<answer>{{"formula": "X{n}", "atoms": {n or 7}}}</answer>',
}


def answer(kind):
    def play(body):
        said = asked(body)
        if "<judged>" in said:
            return text("bad" if "It is 0." in said else "good")
        number = int("".join(c for c in said.split("\n")[0] if c.isdigit()) or 0)
        return text(REPLIES[kind](number))

    return play


def command(kind, url, out, *more):
    return [
        f"benchmark=tests.experiments.benchmarks.test_kinds_of_answers:{kind}",
        "system=single",
        "model=openai",
        "model.name=m",
        f"model.base_url={url}",
        f"out={out}",
        *more,
    ]


def replayed(run, traffic):
    kept = [word for word in run if not word.startswith("model.base_url=")]
    kept[kept.index("model=openai")] = "model=recorded"
    return [*kept, f"model.recordings={traffic}"]


@pytest.mark.parametrize("kind", ["prose", "pictures", "objects"])
def test_a_run_its_report_and_its_replay(kind, httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(answer(kind))
    more = judging(endpoint.url) if kind == "prose" else []
    kept = ["model.cache=false", f"model.record={tmp_path / 'traffic.jsonl'}"]
    run = command(kind, endpoint.url, tmp_path / "run", *kept, *more)
    if more:
        run.append(f"judge.record={tmp_path / 'judge.jsonl'}")
    assert main(run) == 0
    found = summary(tmp_path / "run")
    (metric,) = found["metrics"]
    assert (metric["sum"], metric["total"]) == (3, 4)
    assert found["calls"] == 4
    assert found["judge_calls"] == (4 if more else 0)
    assert sorted(
        v["value"] for t in trajectories(tmp_path / "run") for v in t["judged"]
    ) == (["bad", "good", "good", "good"] if more else [])
    assert (tmp_path / "run" / "report.html").stat().st_size > 1000
    if kind == "pictures":
        sent = endpoint.bodies[0]["messages"][-1]["content"][1]
        assert sent["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
        assert [p.read_bytes() for p in (tmp_path / "run" / "images").iterdir()] == [
            PNG
        ]
        assert "iVBOR" not in (tmp_path / "traffic.jsonl").read_text()
    endpoint.play("nobody is asked")
    again = replayed(
        command(kind, endpoint.url, tmp_path / "again"), tmp_path / "traffic.jsonl"
    )
    if more:
        again += [
            "judge=recorded",
            "judge.name=j",
            f"judge.recordings={tmp_path / 'judge.jsonl'}",
        ]
    assert main(again) == 0
    assert endpoint.bodies == []
    first, second = rows(tmp_path / "run"), rows(tmp_path / "again")
    for row in (*first.values(), *second.values()):
        for key in (
            "config_hash",
            "recorded",
            "digest",
            *(key for key in [*row] if "seconds" in key),
        ):
            row.pop(key, None)
    assert first == second


def test_another_drawing_of_the_same_picture_is_replayed(
    httpserver, tmp_path, monkeypatch
):
    endpoint = Endpoint(httpserver).play(answer("pictures"))
    traffic = tmp_path / "traffic.jsonl"
    kept = ["model.cache=false", f"model.record={traffic}"]
    assert main(command("pictures", endpoint.url, tmp_path / "run", *kept)) == 0
    monkeypatch.setattr(sys.modules[__name__], "PNG", PNG + b"drawn by another library")
    endpoint.play("nobody is asked")
    again = [*command("pictures", endpoint.url, tmp_path / "again")]
    assert main([*replayed(again, traffic), "model.strict=true"]) == 0
    assert endpoint.bodies == []
    for name in ("run", "again"):
        (picture,) = (tmp_path / name / "images").iterdir()
        for path in (tmp_path / name / "trajectories").iterdir():
            said = json.loads(path.read_text())["question"]["images"]
            assert said == {"one-pixel": f"images/{picture.name}"}


def test_a_model_without_images_is_not_asked_about_them(httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(answer("pictures"))
    run = command("pictures", endpoint.url, tmp_path / "run", "model.cache=false")
    assert main([*run, "model.images=false"]) == 0
    found = summary(tmp_path / "run")
    assert (found["questions"], found["answers"], endpoint.bodies) == (0, 0, [])
    assert set(found["unavailable"].values()) == {
        "model.images=false: the question has a picture"
    }
    assert (
        main(run) == 0
    )  # the same folder: what a model can see is no other configuration
    found = summary(tmp_path / "run")
    assert (found["answers"], found["unavailable"]) == (4, {})


def test_pictures_reach_a_model_that_writes_code(httpserver, tmp_path):
    code = "```python\ndef f():\n    return {'answer': 1}\n```"
    code = f"<answer><code>{code}</code><name>f</name></answer>"
    endpoint = Endpoint(httpserver).play(code)
    assert (
        main(command("drawn", endpoint.url, tmp_path / "run", "model.cache=false")) == 0
    )
    words, picture = endpoint.bodies[0]["messages"][-1]["content"]
    assert "Count." in words["text"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBOR")


def test_a_limit_in_dollars_needs_the_price_of_the_judge_as_well(
    httpserver, tmp_path, capsys
):
    endpoint = Endpoint(httpserver).play(answer("prose"))
    priced = "model.price={prompt: 1, completion: 1}"
    limited = [*judging(endpoint.url), priced, "run_budget.cost_usd=1"]
    assert main(command("prose", endpoint.url, tmp_path / "run", *limited)) == 2
    assert (
        "the price of j is unknown; set it with judge.price=" in capsys.readouterr().err
    )
    assert endpoint.bodies == []


def test_no_judge_is_unknown_and_one_that_fails_no_wrong_answer(httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(answer("prose"))
    assert main(command("prose", endpoint.url, tmp_path / "run")) == 0
    metric = summary(tmp_path / "run")["metrics"][0]
    assert (metric["sum"], metric["total"]) == (0, 0)
    gone = [*judging("http://127.0.0.1:9/v1"), "judge.max_retries=0"]
    assert main(command("prose", endpoint.url, tmp_path / "gone", *gone)) == 1
    found = summary(tmp_path / "gone")
    assert (found["infra"], found["answers"]) == (4, 0)


def test_a_prompt_that_is_too_long_is_scored_and_counted(httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(status(400, table("too_long")[0]))
    assert (
        main(command("objects", endpoint.url, tmp_path / "run", "model.cache=false"))
        == 0
    )
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["answers"], summary["infra"], summary["metrics"][0]["sum"]) == (
        4,
        0,
        0,
    )
    assert summary["reply_faults"] == {"context": 4}
    assert summary["stop_reasons"] == {"context": 4}
    rows = list(read_rows(tmp_path / "run" / "results.jsonl"))
    assert {row.fault for row in rows} == {"context"}
    assert "maximum context length" in rows[0].error


def mixed():
    """A letter, a number and code, under the scorer that compares with the target."""
    cube = CodeAnswer("def cube():\n    return {'answer': 27}\n", "cube", "strict")
    return Task(
        [
            Sample(
                Question("letter", "A or B?", answer=Letters("AB")),
                target="B",
                reference="B",
            ),
            Sample(
                Question("number", "How many?", answer=Number()),
                target=3.0,
                reference=3.0,
            ),
            Sample(
                Question("code", "Cube 3.", {"answer": "int"}),
                target=27,
                reference=cube,
            ),
        ]
    )


def without_criteria():
    """A scorer of properties, and a question that has none."""
    return Task(
        [Sample(Question("letter", "A?", answer=Letters("AB")), target="B")],
        PropertyScorer(),
    )


def baseline(kind, system, out):
    benchmark = f"benchmark=tests.experiments.benchmarks.test_kinds_of_answers:{kind}"
    words = [
        benchmark,
        f"system={system}",
        "retrieval=none",
        "model=none",
        f"out={out}",
    ]
    return main(words)


@pytest.mark.parametrize(("system", "right"), [("oracle", 3), ("empty", 0)])
def test_code_is_run_also_where_a_function_scores(system, right, tmp_path, capsys):
    assert baseline("mixed", system, tmp_path) == 0
    (metric,) = summary(tmp_path)["metrics"]
    assert (metric["sum"], metric["total"]) == (right, 3)
    assert "no confidence intervals of fewer than 5" in capsys.readouterr().out


def test_what_has_no_criteria_is_not_all_correct(tmp_path):
    assert baseline("without_criteria", "empty", tmp_path) == 0
    totals = {m["title"]: (m["sum"], m["total"]) for m in summary(tmp_path)["metrics"]}
    assert totals["all correct"] == (0, 0)
