"""CCS: texts, ranks of an endpoint, and the effect between them."""

import json

import numpy as np
import pytest
from pytest_httpserver import HTTPServer

from experiments.benchmarks.atomworld.ccs import cohen, describe, effect, main, sentences
from experiments.benchmarks.atomworld.crystal import Crystal
from tests.agents.test_logprobs import Completions
from tests.endpoint import Endpoint


def test_a_wrong_text_differs_in_one_sentence():
    pairs = describe(1, 30)
    assert pairs == describe(1, 30)
    assert {pair.right for pair in pairs}.isdisjoint(pair.right for pair in describe(2, 30))
    for pair in pairs:
        right, wrong = (text.split(". ") for text in (pair.right, pair.wrong))
        assert len(right) == len(wrong)
        assert sum(one != two for one, two in zip(right, wrong, strict=True)) == 1


def test_a_description_is_true():
    salt = Crystal(
        (5.0, 5.0, 5.0, 90.0, 90.0, 90.0), ("Na", "Cl"), np.array([[0, 0, 0], [0.5, 0.5, 0.5]])
    )
    assert sentences("CsCl", salt)[3] == (
        "Na is bonded to 8 Cl atoms, the nearest of them 4.33 angstrom away."
    )


def test_the_effect_is_that_of_the_formula():
    draw = np.random.default_rng(1)
    right, wrong = draw.normal(10, 2, 300), draw.normal(13, 4, 300)
    wanted = (wrong.mean() - right.mean()) / np.sqrt((right.var(ddof=1) + wrong.var(ddof=1)) / 2)
    found = effect(list(zip(right, wrong, strict=True)))
    assert found.d == pytest.approx(wanted)
    assert found.low < wanted < found.high
    assert found.high - found.low < 0.6
    assert np.isnan(cohen(np.ones((1, 3, 2)))).all()


def ranked(body):
    """Knows two words; whatever stands in a text about both of them ranks higher."""
    rank = 5 if "wrong" in body["prompt"] else 2
    rank += len(body["prompt"]) % 2
    token = {"logprob": -1.0, "rank": rank, "decoded_token": "x"}
    return {"prompt_logprobs": [None, {"1": token}, {"1": token}]}


def arguments(httpserver, tmp_path, *more):
    texts = tmp_path / "texts.jsonl"
    rows = [{"right": f"right {'x' * n}", "wrong": f"wrong {'x' * n}"} for n in range(4)]
    texts.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    url = Endpoint(httpserver).url
    return [
        "model=openai", "model.name=m", f"model.base_url={url}", "model.cache=false",
        f"texts={texts}", *more,
    ]  # fmt: skip


def test_an_endpoint_that_ranks_is_measured(httpserver: HTTPServer, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    Completions(httpserver, ranked)
    out = tmp_path / "ranks.jsonl"
    assert main(arguments(httpserver, tmp_path, f"out={out}")) == 0
    said = capsys.readouterr().out
    assert "over 4 pairs; mean rank 2.5 right, 5.5 wrong" in said
    assert f"Cohen's d {3 / np.sqrt(1 / 3):.3f}" in said
    assert json.loads(out.read_text().splitlines()[1]) == {"right": 3.0, "wrong": 6.0}


def test_an_endpoint_that_does_not_is_unavailable(
    httpserver: HTTPServer, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    Completions(httpserver, lambda body: {})
    assert main(arguments(httpserver, tmp_path)) == 1
    assert "unavailable" in capsys.readouterr().out
    assert main(["model=rules", f"texts={tmp_path / 'no'}"]) == 2
    assert "must hold JSON lines" in capsys.readouterr().err
