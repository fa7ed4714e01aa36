"""Whole verdicts: perfect and worthless answers, judges, papers that do not fit; whole runs."""

import json
import math
import re

import pytest

from agents.base import Step, Trajectory, Usage
from experiments.benchmarks.curie import marks
from experiments.benchmarks.curie.archive import NAMES
from experiments.benchmarks.curie.benchmark import METRICS, CurieBenchmark, CurieScorer
from experiments.command import main
from experiments.report.runs import Run
from experiments.scorers.base import ScoringContext
from experiments.scorers.judge import Judge
from sandbox.factory import available
from tests.support.endpoint import Endpoint, message, text, tool_calls
from tests.support.rows import row
from tests.support.runs import judge as judge_of
from tests.support.runs import openai
from tests.support.scripted import client


def answered(sample, reply, **more):
    """A trajectory with a reply and nothing else."""
    plain = {
        "question_id": sample.question.id,
        "seed": 0,
        "code": None,
        "entry": None,
        "answer": reply,
        "steps": (Step("model", {"reply": reply}),),
        "usage": Usage(calls=1),
        "stop_reason": "answered",
        "format_status": "strict",
        "value": reply or None,
    }
    return Trajectory(**(plain | more))


def agreeing(golds, found):
    """What a judge of lists would say who takes most fields that are equal for the same entry."""
    pairs = []
    for number, gold in enumerate(golds):
        for place, entry in enumerate(found):
            fields = {key: gold[key] == entry.get(key) for key in gold}
            if 2 * sum(fields.values()) > len(gold):
                pairs.append(marks.Pair(number, place, fields))
    return pairs


@pytest.fixture(scope="module")
def samples():
    return {s.labels["task"]: s for s in CurieBenchmark().load()[:10]}


def with_judge(tools, judge):
    return ScoringContext(tools.sandbox, tools.verifier, tools.timeout, judge)


@pytest.fixture(autouse=True)
def _by_rules(monkeypatch):
    """A judge of lists that compares fields."""

    async def judged(judge, golds, found, *, core, sample):
        return agreeing(golds, found)

    async def judged_by_authors(judge, template, golds, found, *, sample):
        return marks.first_named(agreeing(golds, found))

    monkeypatch.setattr(marks, "judged", judged)
    monkeypatch.setattr(marks, "judged_by_authors", judged_by_authors)


def rules():
    return Judge(client("good")[0])


def shuffled(sample):
    """An answer of the right form to another question of the task."""
    return CurieBenchmark(tasks=(sample.target["task"],)).load()[1].reference


def test_the_overall_score_is_the_mean_over_ten_tasks(tmp_path):
    """Of the best published value of each task, however many papers each has; missing is 0."""
    best = {
        "dft_s": 0.138,
        "dft_p": 0.138,
        "dft_c": 0.138,
        "mpv": 0.315,
        "hfd": 0.229,
        "hfe": 0.491,
        "qecc": 0.244,
        "geo": 0.287,
        "biogr": 0.53,
        "pdb": 0.37,
    }
    found = [
        row(f"{task}{n}", labels={"task": task}, values={"overall": score})
        for number, (task, score) in enumerate(best.items(), 1)
        for n in range(number)
    ]
    for missing, overall in ((None, 0.288), ("pdb", 0.251)):
        nothing = {"values": {"overall": 0.0}}
        rows = [
            r.model_copy(update=nothing if r.labels["task"] == missing else {})
            for r in found
        ]
        run = Run(tmp_path, {"seeds": [0]}, tuple(rows), "x")
        assert run.interval(METRICS[0]).estimate == pytest.approx(overall)


ZERO = {
    "json": "[]",
    "box": '{"W": 0, "S": 0, "E": 0, "N": 0}',
    "fasta": ">x\n",
    "code": "0",
    "text": "0",
}


@pytest.mark.parametrize("task", NAMES)
async def test_worthless_answers_fail(samples, tools, task):
    sample = samples[task]
    for reply in (
        "",
        sample.question.prompt,
        ZERO[sample.target["form"]],
        shuffled(sample),
    ):
        score = await CurieScorer().score(sample, answered(sample, reply), tools)
        assert score.passed == {"answer": False}
        assert score.values["overall"] < 0.9, reply[:80]
        assert score.reasons["answer"]
    empty = await CurieScorer().score(sample, answered(sample, ""), tools)
    assert empty.values["overall"] == empty.values["published"] == 0.0
    assert empty.artefacts["wrong_type"] == "no_answer"


async def test_what_does_not_fit_or_was_cut_is_zero_and_says_so(samples, tools):
    sample = samples["mpv"]
    long = answered(
        sample, "", stop_reason="context", fault="context", format_status="error"
    )
    score = await CurieScorer().score(sample, long, tools)
    assert (score.values["context"], score.values["overall"]) == (1.0, 0.0)
    assert (score.artefacts["wrong_type"], score.passed) == (
        "context",
        {"answer": False},
    )
    reply = sample.reference
    cut = answered(
        sample, reply, steps=(Step("model", {"reply": reply, "fault": "length"}),)
    )
    score = await CurieScorer().score(sample, cut, with_judge(tools, rules()))
    assert (score.values["cut"], score.values["overall"], score.values["llmsim"]) == (
        1.0,
        0.0,
        0.0,
    )
    assert score.artefacts["wrong_type"] == "cut"


async def test_without_a_judge_similarity_is_unknown_but_no_list_is_zero(
    samples, tools
):
    sample = samples["dft_s"]
    score = await CurieScorer().score(sample, answered(sample, sample.reference), tools)
    assert score.values["llmsim"] is None
    assert "lmscore" not in score.values
    score = await CurieScorer().score(
        sample, answered(sample, "I found nothing."), tools
    )
    assert score.values["llmsim"] == score.values["llmsim_published"] == 0.0
    assert score.artefacts["wrong_type"] == "unreadable"
    assert score.values["overall"] == score.values["readable"] == 0.0
    assert score.reasons["answer"] == "the answer is not in the form asked for"


async def test_the_figure_takes_similarity_for_lists(samples, tools):
    sample = samples["mpv"]
    half = json.dumps(sample.target["gold"][: len(sample.target["gold"]) // 2])
    judged = with_judge(tools, rules())
    table = await CurieScorer().score(sample, answered(sample, half), judged)
    figure = await CurieScorer("figure").score(sample, answered(sample, half), judged)
    assert (
        figure.values["overall"] == figure.values["llmsim"] != table.values["overall"]
    )
    assert table.values["overall"] == table.values["rouge"]


async def test_which_fields_are_wrong(samples, tools):
    sample = samples["dft_p"]
    wrong = [entry | {"spin": 7.0} for entry in sample.target["gold"]]
    judged = with_judge(tools, rules())
    score = await CurieScorer().score(
        sample, answered(sample, json.dumps(wrong)), judged
    )
    assert score.values["llmsim"] == 1.0
    assert score.artefacts["wrong_fields"] == f"spin {len(wrong)}"


def graded(word, **shares):
    def play(body):
        response = message(word)
        plain = json.loads(response.get_data())
        if shares and body.get("logprobs"):
            top = [{"token": t, "logprob": math.log(p)} for t, p in shares.items()]
            first = {"token": word, "logprob": 0.0, "top_logprobs": top}
            plain["choices"][0]["logprobs"] = {"content": [first]}
        response.set_data(json.dumps(plain))
        return response

    return play


@pytest.mark.parametrize(
    ("play", "name", "mark"),
    [
        (graded("good", good=0.6, ok=0.2, bad=0.1), "lmscore", 0.7778),
        (
            graded("ok"),
            "lmscore_word",
            0.5,
        ),  # no probabilities: the word, in a column of its own
        (graded("perhaps"), "lmscore_word", None),
    ],
)
async def test_lmscore_of_a_judge(samples, tools, httpserver, play, name, mark):
    endpoint = Endpoint(httpserver).play(play)
    judge = judge_of(endpoint)
    sample = samples["hfe"]
    score = await CurieScorer().score(
        sample, answered(sample, sample.reference), with_judge(tools, judge)
    )
    found = score.values[name]
    assert found == (None if mark is None else pytest.approx(mark, abs=5e-5))
    assert {"lmscore", "lmscore_word"} & score.values.keys() == {name}
    assert judge.usage.calls == 1
    nothing = await CurieScorer().score(
        sample, answered(sample, ""), with_judge(tools, judge)
    )
    assert nothing.values[name] == 0.0


@pytest.mark.parametrize("task", NAMES)
async def test_a_perfect_answer_is_perfect_and_shown(samples, tools, task):
    sample = samples[task]
    judged = with_judge(tools, rules())
    score = await CurieScorer().score(
        sample, answered(sample, sample.reference), judged
    )
    assert score.passed == {"answer": True}, (score.values, score.reasons)
    if sample.target["listed"]:
        names = ("llmsim", "llmsim_precision", "llmsim_recall")
        assert [score.values[name] for name in names] == pytest.approx([1.0] * 3)
        count = len(sample.target["gold"])
        theirs = marks.published(
            {n: n for n in range(count)}, count, count, doubled=task == "dft_s"
        )
        assert score.values["llmsim_published"] == pytest.approx(theirs.f1)
    ((name, figure),) = score.figures.items()
    assert name == ("alignment" if task == "pdb" else "gold and answer")
    assert figure.startswith("<svg ")
    assert task != "pdb" or figure.count("|") == len(sample.target["gold"])
    assert len(figure) < 60_000


isolated = pytest.mark.skipif(
    not available(), reason="no isolating sandbox on this machine"
)


@isolated
def test_rag_retrieves_from_the_paper_and_nothing_else(httpserver, tmp_path):
    samples = {s.question.id: s for s in CurieBenchmark(tasks=("mpv", "dft_s")).load()}
    endpoint = Endpoint(httpserver).play(lambda _: text("[]"))
    run = [
        "benchmark=curie",
        "benchmark.arm=retrieval",
        "benchmark.tasks=[mpv,dft_s]",
        "system=rag",
        "system.k=2",
        "retrieval.mode=hybrid",
        "embedding=hashing",
        *openai(endpoint.url),
        f"out={tmp_path / 'run'}",
    ]
    assert main(run) == 0
    assert len(endpoint.bodies) == 4
    for file in (tmp_path / "run" / "trajectories").iterdir():
        trajectory = json.loads(file.read_text())
        steps = {step["kind"]: step for step in trajectory["steps"]}
        prompt = steps["model"]["messages"][-1]["content"]
        paper = samples[file.stem.rpartition("-")[0]].question.searched.text
        found = re.findall(r"<document [^>]*>\n(.*?)\n</document>", prompt, re.DOTALL)
        assert 1 <= len(found) <= 2
        assert all(chunk in paper for chunk in found)
        assert paper not in prompt
        assert {hit["id"].rpartition(":")[0] for hit in steps["retrieve"]["hits"]} == {
            "question:paper.txt"
        }


@isolated
def test_the_tools_search_the_paper(httpserver, tmp_path):
    def play(body):
        asked = sum(message["role"] == "tool" for message in body["messages"])
        if asked:
            return text("[]")
        return tool_calls(
            ("search", '{"queries": ["band gap"]}'),
            ("lookup", '{"names": ["paper.part1"]}'),
        )

    endpoint = Endpoint(httpserver).play(play)
    run = [
        "benchmark=curie",
        "benchmark.arm=retrieval",
        "benchmark.tasks=[mpv]",
        "limit=1",
        "system=tools",
        *openai(endpoint.url),
        f"out={tmp_path / 'run'}",
    ]
    assert main(run) == 0
    results = [
        m["content"] for m in endpoint.bodies[-1]["messages"] if m["role"] == "tool"
    ]
    (sample,) = CurieBenchmark(tasks=("mpv",)).load()[:1]
    assert "paper.part" in results[0]
    assert sample.question.searched.text[:200] in results[1]
