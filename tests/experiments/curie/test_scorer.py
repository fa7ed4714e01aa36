"""Whole verdicts: perfect answers, worthless ones, judges, code, and papers that do not fit."""

from __future__ import annotations

import json

import pytest

from agents.base import Step
from agents.models import ModelConfig, build_model
from experiments.benchmarks.curie.benchmark import CurieBenchmark
from experiments.benchmarks.curie.matching import Pair, published
from experiments.benchmarks.curie.scorer import CurieScorer
from experiments.benchmarks.curie.tasks import NAMES
from experiments.judge import Judge
from experiments.scorers.base import Tools
from sandbox.base import SandboxError
from tests.endpoint import Endpoint, message
from tests.experiments.curie.answers import answered, perfect


@pytest.fixture(scope="module")
def samples():
    return {s.labels["task"]: s for s in CurieBenchmark(items=1, words=(1000,)).load()}


def with_judge(tools, judge):
    return Tools(tools.sandbox, tools.verifier, tools.timeout, judge)


def rules():
    return Judge(build_model(ModelConfig(provider="rules", name="rules")))


@pytest.mark.parametrize("task", NAMES)
async def test_a_perfect_answer_is_perfect_in_every_right_mode(samples, tools, task):
    sample = samples[task]
    score = await CurieScorer().score(
        sample, answered(sample, perfect(sample)), with_judge(tools, rules())
    )
    values = score.values
    assert score.passed == {"answer": True}, (values, score.reasons)
    right = {"overall", "rouge", "llmsim", "llmsim_precision", "llmsim_recall", "iou", "identity",
             "runs", "energies", "terms", "readable"} & values.keys()  # fmt: skip
    assert {name: values[name] for name in right} == pytest.approx(dict.fromkeys(right, 1.0))
    assert values["context"] == values["cut"] == 0
    if sample.target["listed"]:
        count = len(sample.target["gold"])
        pairs = [Pair(n, n) for n in range(count)]
        theirs = published(pairs, count, count, doubled=task == "dft_s")
        assert values["llmsim_published"] == pytest.approx(theirs.f1)
    if task in {"biogr", "pdb"}:
        assert values["published"] == 1.0
    elif task.startswith("dft"):
        assert values["published"] < 0.8  # the whole record is the reference


def shuffled(sample):
    """An answer of the right form to another question of the task."""
    other = CurieBenchmark(items=1, words=(1000,), seed=2, tasks=(sample.target["task"],)).load()[0]
    return perfect(other)


ZERO = {"json": "[]", "box": '{"W": 0, "S": 0, "E": 0, "N": 0}', "fasta": ">x\n", "code": "0",
        "text": "0"}  # fmt: skip


@pytest.mark.parametrize("task", NAMES)
async def test_worthless_answers_fail(samples, tools, task):
    sample = samples[task]
    for reply in ("", sample.question.prompt, ZERO[sample.target["form"]], shuffled(sample)):
        score = await CurieScorer().score(sample, answered(sample, reply), tools)
        assert score.passed == {"answer": False}
        assert score.values["overall"] < 0.9, reply[:80]
        assert score.reasons["answer"]
    empty = await CurieScorer().score(sample, answered(sample, ""), tools)
    assert empty.values["overall"] == empty.values["published"] == 0.0
    assert empty.artefacts["wrong_type"] == "no_answer"


async def test_the_paper_itself_is_no_answer(samples, tools):
    for task in ("dft_s", "hfe", "mpv"):
        sample = samples[task]
        (paper,) = sample.question.parts
        score = await CurieScorer().score(sample, answered(sample, paper.text), tools)
        assert score.values["overall"] < 0.5


async def test_what_does_not_fit_or_was_cut_is_zero_and_says_so(samples, tools):
    sample = samples["mpv"]
    long = answered(sample, "", stop_reason="context", fault="context", format_status="error")
    score = await CurieScorer().score(sample, long, tools)
    assert (score.values["context"], score.values["overall"]) == (1.0, 0.0)
    assert (score.artefacts["wrong_type"], score.passed) == ("context", {"answer": False})
    reply = perfect(sample)
    cut = answered(sample, reply, steps=(Step("model", {"reply": reply, "fault": "length"}),))
    score = await CurieScorer().score(sample, cut, with_judge(tools, rules()))
    assert (score.values["cut"], score.values["overall"], score.values["llmsim"]) == (1.0, 0.0, 0.0)
    assert score.artefacts["wrong_type"] == "cut"


async def test_without_a_judge_similarity_is_unknown_but_no_list_is_zero(samples, tools):
    sample = samples["dft_s"]
    score = await CurieScorer().score(sample, answered(sample, perfect(sample)), tools)
    assert score.values["llmsim"] is None
    assert "lmscore" not in score.values
    score = await CurieScorer().score(sample, answered(sample, "I found nothing."), tools)
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
    assert figure.values["overall"] == figure.values["llmsim"] != table.values["overall"]
    assert table.values["overall"] == table.values["rouge"]


async def test_which_fields_are_wrong(samples, tools):
    sample = samples["dft_p"]
    wrong = [entry | {"spin": 7.0} for entry in sample.target["gold"]]
    judged = with_judge(tools, rules())
    score = await CurieScorer().score(sample, answered(sample, json.dumps(wrong)), judged)
    assert score.values["llmsim"] == 1.0
    assert score.artefacts["wrong_fields"] == f"spin {len(wrong)}"


def graded(word, **shares):
    import math

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


@pytest.mark.parametrize(("play", "name", "mark"), [
    (graded("good", good=0.6, ok=0.2, bad=0.1), "lmscore", 0.7778),
    (graded("ok"), "lmscore_word", 0.5),  # no probabilities: the word, in a column of its own
    (graded("perhaps"), "lmscore_word", None),
])  # fmt: skip
async def test_lmscore_of_a_judge(samples, tools, httpserver, play, name, mark):
    endpoint = Endpoint(httpserver).play(play)
    config = ModelConfig(provider="openai", name="j", base_url=endpoint.url, max_retries=0)
    judge = Judge(build_model(config))
    sample = samples["hfe"]
    score = await CurieScorer().score(
        sample, answered(sample, perfect(sample)), with_judge(tools, judge)
    )
    found = score.values[name]
    assert found == (None if mark is None else pytest.approx(mark, abs=5e-5))
    assert {"lmscore", "lmscore_word"} & score.values.keys() == {name}
    assert judge.usage.calls == 1
    nothing = await CurieScorer().score(sample, answered(sample, ""), with_judge(tools, judge))
    assert nothing.values[name] == 0.0


@pytest.mark.parametrize(("code", "runs", "energies"), [
    ("def energies():\n    return {}\n", 0.0, 0.0),
    ("def energies():\n    raise ValueError\n", 0.0, 0.0),
    ("def energies():\n    return {'LABEL': 1e9}\n", 1.0, 0.0),
    ("import os\nos._exit(0)", 0.0, 0.0),
])  # fmt: skip
async def test_code_that_does_not_give_the_energies(samples, tools, code, runs, energies):
    sample = samples["dft_c"]
    score = await CurieScorer().score(sample, answered(sample, f"```python\n{code}```"), tools)
    assert (score.values["runs"], score.values["energies"]) == (runs, energies)


async def test_half_of_the_energies(samples, tools):
    sample = samples["dft_c"]
    code = sample.target["reference"] + (
        "\nright = energies\n\ndef energies():\n    found = right()\n"
        "    wrong = sorted(found)[0]\n    return found | {wrong: 2 * found[wrong]}\n"
    )
    score = await CurieScorer().score(sample, answered(sample, f"```python\n{code}```"), tools)
    assert score.values["runs"] == 1.0
    count = code.count("EMT()") and len(sample.target["gold"].split("structuremetadata_")) - 1
    assert score.values["energies"] == pytest.approx((count - 1) / count)


async def test_no_sandbox_is_no_verdict(samples):
    sample = samples["pdb"]
    with pytest.raises(SandboxError):
        await CurieScorer().score(sample, answered(sample, perfect(sample)), Tools())


async def test_figures_show_boxes_rows_and_places(samples, tools):
    score = await CurieScorer().score(
        samples["biogr"], answered(samples["biogr"], perfect(samples["biogr"])), tools
    )
    assert score.figures["box"].count("<rect") == 3
    score = await CurieScorer().score(samples["pdb"], answered(samples["pdb"], ">x\nACD"), tools)
    assert "monospace" in score.figures["alignment"]
    score = await CurieScorer().score(samples["mpv"], answered(samples["mpv"], "[]"), tools)
    assert score.figures["evidence"].startswith("<svg ")
    assert all(len(figure) < 60_000 for figure in score.figures.values())
