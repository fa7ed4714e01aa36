"""Whole runs: with a judge and pictures, and private."""

import json

import pytest

from experiments.run.__main__ import main
from tests.endpoint import Endpoint, text
from tests.experiments.runs import asked, judging, openai, rows, summary

CANARY = "canary-77aa31"


def run(out, *more):
    model = [] if any(key.startswith("model=") for key in more) else openai("http://127.0.0.1:9/v1")
    return main(["benchmark=qmbench", f"out={out}", *model, *more])


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def half(body):
    """A judge that gives half of every point."""
    most = [float(part.split('"')[0]) for part in asked(body).split('most="')[1:]]
    return text(json.dumps({"marks": [mark / 2 for mark in most]}))


def test_right_answers_with_a_judge_and_pictures(httpserver, tmp_path):
    endpoint = Endpoint(httpserver).play(half)
    keys = ["system=oracle", "benchmark.mix=even", "benchmark.items=2"]
    assert run(tmp_path / "out", *keys, *judging(endpoint.url)) == 0
    for row in rows(tmp_path / "out").values():
        template, share = row["labels"]["template"], row["values"]["score"]
        assert share == (0.5 if row["labels"]["type"] == "text" else 1.0), row
        assert ("text_only" in row["values"]) == (template not in {"bands", "edges"})
        drawn = list((tmp_path / "out" / "figures").glob(f"{row['question_id']}*"))
        assert bool(drawn) == (template in {"bands", "edges", "structure"})
    assert summary(tmp_path / "out")["judge_calls"] == 2
    assert len(list((tmp_path / "out" / "images").iterdir())) == 4


PRIVATE = """\
id: secret
topics: [electronic]
type: choice
prompt: Which letter is the one that only we know?
choices: {{A: alpha-words, B: beta-words}}
canary: {canary}
answer: B
"""


def test_a_private_split_leaves_only_digests(httpserver, tmp_path):
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "secret.yaml").write_text(PRIVATE.format(canary=CANARY))
    endpoint = Endpoint(httpserver).play("<answer>B</answer> as alpha-words is wrong")
    assert run(tmp_path / "out", *openai(endpoint.url), f"benchmark.path={folder}",
               "benchmark.private=true") == 0  # fmt: skip
    assert rows(tmp_path / "out")["secret"]["values"]["score"] == 1.0
    kept = [path.read_text(errors="replace") for path in (tmp_path / "out").rglob("*")
            if path.is_file()]  # fmt: skip
    assert any("private, SHA-256" in content for content in kept)
    for secret in ("alpha-words", "only we know", CANARY):
        assert not any(secret in content for content in kept)
    (prompt,) = endpoint.prompts
    assert "only we know" in prompt
    assert CANARY not in prompt
