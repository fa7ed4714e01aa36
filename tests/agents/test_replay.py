"""Recorded model traffic answers in place of the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from pytest_httpserver import HTTPServer

from agents.base import Question
from agents.episode import Parts
from agents.models import ModelConfig, ModelError, build_model
from agents.reflect import Reflect
from experiments.config import compose, validate
from sandbox.base import Sandbox
from tests.agents.scripted import code_reply
from tests.endpoint import Endpoint, status

MESSAGES = [HumanMessage("hello")]


def answers(server: HTTPServer, *texts: str) -> Endpoint:
    """Serve the texts in order, a 500 after the last."""
    return Endpoint(server).play(*texts, status(500, "out of order"))


def config(server: HTTPServer, **changes: object) -> ModelConfig:
    plain = {"provider": "openai", "name": "local", "base_url": server.url_for("/v1"),
             "max_retries": 0}  # fmt: skip
    return ModelConfig.model_validate(plain | changes)


async def test_a_recording_replaces_the_endpoint(httpserver: HTTPServer, tmp_path: Path):
    endpoint = answers(httpserver, "one", "two")
    file = tmp_path / "sub" / "traffic.jsonl"
    live = build_model(config(httpserver, record=file))
    first = await live.ask(MESSAGES, sample="0:0")
    second = await live.ask(MESSAGES, sample="1:0")
    with pytest.raises(ModelError):
        await live.ask(MESSAGES, sample="2:0")
    # another address: a recording is replayed anywhere
    replayed = build_model(config(httpserver, replay=file, base_url="http://127.0.0.1:9/v1"))
    assert await replayed.ask(MESSAGES, sample="1:0") == second
    assert await replayed.ask(MESSAGES, sample="0:0") == first
    assert (first.usage.calls, first.usage.tokens) == (1, 10)
    with pytest.raises(ModelError, match=r"out of order|500|Internal"):
        await replayed.ask(MESSAGES, sample="2:0")
    assert len(endpoint.bodies) == 3


async def test_half_a_character_in_a_prompt_is_sent_cached_and_recorded(
    httpserver: HTTPServer, tmp_path: Path
):
    endpoint = answers(httpserver, "one", "two")
    file = tmp_path / "traffic.jsonl"
    live = build_model(config(httpserver, record=file), cache=tmp_path / "cache")
    torn, spelt = ([HumanMessage(f"torn {half}")] for half in ("\ud83d", "\\ud83d"))
    first = await live.ask(torn, sample="0")
    assert first.text == "one"
    assert (await live.ask(torn, sample="0")).cached
    assert (await live.ask(spelt, sample="0")).text == "two"
    assert endpoint.prompts == ["torn \\ud83d"] * 2
    replayed = build_model(config(httpserver, replay=file))
    assert (await replayed.ask(torn, sample="0")).text == "one"
    assert (await replayed.ask(spelt, sample="0")).text == "two"


async def test_what_was_not_recorded_is_a_failure_not_an_answer(
    httpserver: HTTPServer, tmp_path: Path
):
    answers(httpserver, "one")
    file = tmp_path / "traffic.jsonl"
    await build_model(config(httpserver, record=file)).ask(MESSAGES, sample="0:0")
    replayed = build_model(config(httpserver, replay=file))
    for messages, sample in ((MESSAGES, "5:0"), ([HumanMessage("other")], "0:0")):
        with pytest.raises(ModelError, match=r"traffic\.jsonl contains no reply to this prompt"):
            await replayed.ask(messages, sample=sample)
    warmer = build_model(config(httpserver, replay=file, temperature=1.0))
    with pytest.raises(ModelError, match="contains no reply"):
        await warmer.ask(MESSAGES, sample="0:0")


async def test_half_a_last_line_is_dropped_and_a_broken_one_named(
    httpserver: HTTPServer, tmp_path: Path
):
    answers(httpserver, "one")
    file = tmp_path / "traffic.jsonl"
    await build_model(config(httpserver, record=file)).ask(MESSAGES, sample="0:0")
    whole = file.read_text()
    file.write_text(whole + '{"key": "half')
    reply = await build_model(config(httpserver, replay=file)).ask(MESSAGES, sample="0:0")
    assert reply.text == "one"
    file.write_text("no JSON\n" + whole)
    with pytest.raises(ValueError, match=r"line 1 of .* is not a recorded exchange"):
        build_model(config(httpserver, replay=file))
    with pytest.raises(ValueError, match=r"model\.replay: cannot read .*No such file"):
        build_model(config(httpserver, replay=tmp_path / "none.jsonl"))


async def test_a_replayed_episode_is_the_recorded_one(
    httpserver: HTTPServer, tmp_path: Path, live_sandbox: Sandbox
):
    critique = "<feedback>x</feedback><query></query>"
    # An object without a value shows its address, which differs from run to run.
    endpoint = answers(
        httpserver,
        code_reply("return {'a': object()}"),
        critique,
        code_reply("print(object())\nreturn {'a': None}"),
        critique,
        code_reply("return {'a': 42}"),
    )
    file = tmp_path / "traffic.jsonl"
    question = Question("q", "- `a`: the answer. Format: `int`.", {"a": "int"})
    made = []
    for changes in ({"record": file}, {"replay": file}):
        model = build_model(config(httpserver, **changes))
        made.append(
            await Reflect(Parts(model, None, live_sandbox), economical=False).solve(question)
        )
    recorded, replayed = made
    assert recorded.stop_reason == replayed.stop_reason == "answered"
    assert recorded.code == replayed.code
    assert recorded.usage == replayed.usage
    assert recorded.usage.calls == len(endpoint.bodies) == 5
    kinds = [[step.kind for step in trajectory.steps] for trajectory in made]
    assert kinds[0] == kinds[1]


def test_recording_does_not_make_it_another_run():
    plain = ["system=single", "model=rules"]
    one = validate(compose(plain)).hash("tasks")
    for key in ("model.record=a.jsonl", "model.replay=a.jsonl"):
        assert validate(compose([*plain, key])).hash("tasks") == one
    assert validate(compose([*plain, "model.document_characters=900"])).hash("tasks") != one
