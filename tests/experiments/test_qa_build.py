"""Making multiple-choice questions: by rules, and by a model behind a real HTTP endpoint."""

import pytest
from werkzeug import Response

from experiments.benchmarks.mattools.qa import build as build_qa
from experiments.benchmarks.mattools.qa.questions import read_questions
from tests.endpoint import Body, Endpoint, status, text
from tests.experiments.test_qa import SOURCE, block


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")


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

    def answer(body: Body) -> Response:
        asked = body["messages"][0]["content"]
        if "lib.cells.area" in asked or "def area" in asked:
            return status(401, "no")
        made = block(1, "np.[MASK](x)?", good, "A") + block(2, "nothing", good[:3], "A")
        return text(made)

    endpoint = Endpoint(httpserver).play(answer)
    model = ["model=openai", f"model.base_url={endpoint.url}", "model.name=m",
             "model.cache=false", "model.max_retries=0"]  # fmt: skip
    code, questions = build(tmp_path, *model)
    assert code == 1  # area failed
    assert len(endpoint.bodies) == 10
    assert len(questions) == 8
    assert "rejected 8" in capsys.readouterr().out
    assert build(tmp_path, *model)[0] == 1
    assert len(endpoint.bodies) == 12  # only what failed
