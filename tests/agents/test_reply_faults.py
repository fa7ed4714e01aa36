"""Replies that are no answer: named, counted, and never silently scored."""

import pytest

from agents.episode import Context
from agents.models import Message, build_model
from agents.models.reply import read, sent_of
from agents.systems.single import Single
from tests.agents.test_systems import QUESTION
from tests.endpoint import Endpoint, config, cut_off, reasoned, refusal

MESSAGES = [Message("user", "hello")]
CODE = "<answer><code>```python\ndef f():\n    return {'a': 1}\n```</code><name>f</name></answer>"


def read_choice(ended="stop", **message):
    body = {"choices": [{"message": message, "finish_reason": ended}]}
    return read(sent_of(body, offered=False, logprobs=False), MESSAGES, ())


@pytest.mark.parametrize(
    ("ended", "fault"),
    [
        ("max_tokens", "length"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("guardrail_intervened", "content_filter"),
        ("refusal", "refusal"),
        ("end_turn", None),
        ("STOP", None),
    ],
)
def test_endpoints_name_their_endings_differently(ended, fault):
    assert read_choice(ended, content="text").fault == fault


async def test_reasoning_in_its_own_field_is_kept_apart(httpserver, tmp_path):
    endpoint = Endpoint(httpserver)
    for field in ("reasoning_content", "reasoning"):
        endpoint.play(reasoned("a thought", "the answer", field))
        model = build_model(config(endpoint), cache=tmp_path / field)
        replies = [await model.ask(MESSAGES, sample="0") for _ in range(2)]
        assert [(r.text, r.reasoning) for r in replies] == [("the answer", "a thought")] * 2
        assert [r.cached for r in replies] == [False, True]


def test_reasoning_in_blocks_is_no_text():
    blocks = [
        {"type": "thinking", "thinking": "one"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "two"}]},
        {"type": "text", "text": "answer"},
    ]
    made = read_choice(content=blocks)
    assert (made.text, made.reasoning) == ("answer", "one\ntwo")


def test_hostile_reasoning_ends():
    nested: object = "deep"
    for _ in range(100_000):
        nested = [nested]
    assert not read_choice(content="x", reasoning=nested).reasoning


async def test_a_fault_reaches_the_trajectory_and_its_steps(httpserver):
    endpoint = Endpoint(httpserver).play(reasoned("I think", "", "reasoning_content"), refusal())
    trajectory = await Single(Context(build_model(config(endpoint)))).solve(QUESTION)
    assert (trajectory.code, trajectory.stop_reason) == (None, "format_error")
    assert trajectory.fault == "refusal"
    steps = [step.detail for step in trajectory.steps if step.kind == "model"]
    assert [step.get("fault") for step in steps] == ["empty", "refusal"]
    assert [step.get("reasoning") for step in steps] == ["I think", None]


async def test_a_fault_that_cost_no_code_is_not_the_trajectorys(httpserver):
    endpoint = Endpoint(httpserver).play(cut_off(CODE + " and besides"))
    trajectory = await Single(Context(build_model(config(endpoint)))).solve(QUESTION)
    assert (trajectory.entry, trajectory.fault) == ("f", None)


async def test_code_in_a_reasoning_field_is_never_the_answer(httpserver):
    endpoint = Endpoint(httpserver).play(reasoned(CODE, ""))
    trajectory = await Single(Context(build_model(config(endpoint)))).solve(QUESTION)
    assert (trajectory.code, trajectory.fault) == (None, "empty")
