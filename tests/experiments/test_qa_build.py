"""Making multiple-choice questions: by rules, and by a model behind a real HTTP endpoint."""

import json

import pytest
from werkzeug import Request, Response

from experiments import build_qa
from experiments.qa.questions import read_questions
from tests.endpoint import message
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
    asked = []

    def answer(request: Request) -> Response:
        text = json.loads(request.get_data())["messages"][0]["content"]
        asked.append(text)
        if "lib.cells.area" in text or "def area" in text:
            return Response("no", status=401)
        made = block(1, "np.[MASK](x)?", good, "A") + block(2, "nothing", good[:3], "A")
        return message(made)

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
