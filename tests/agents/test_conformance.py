"""The check of an endpoint, against one that behaves and several that do not."""

import re
import time

import pytest
from pytest_httpserver import HTTPServer

from agents.conformance import CHECKS, main
from tests.support.endpoint import (
    Endpoint,
    closed,
    cut_off,
    filtered,
    late,
    refusing,
    respond,
    status,
    text,
    tool_call,
)


def well(body):
    """What a good model replies to the questions of the check."""
    asked = str(body["messages"])
    if body.get("tools"):
        return tool_call("get_density", '{"formula": "NaCl"}')
    if "FELDSPAR" in asked:  # of a system prompt, or of one before much else
        return text("Feldspar.")
    if "image_url" in asked:
        return text("Red")
    if "integers" in asked:
        return text(", ".join(map(str, range(1, 201))))
    return text("42")


@pytest.fixture
def server():
    with HTTPServer(threaded=True) as started:
        yield started


@pytest.fixture
def examine(server, capsys):
    """Examine an endpoint that plays something; exit code, results by check, and the output."""
    endpoint = Endpoint(server)

    def run(play, *more):
        endpoint.play(play)
        code = main(
            [
                "model=openai",
                "model.name=local",
                f"model.base_url={endpoint.url}",
                "model.max_retries=0",
                "model.timeout=5",
                *more,
            ]
        )
        shown = capsys.readouterr().out
        lines = (re.match("(.{15}) (.{10}) ", line) for line in shown.splitlines())
        found = {line[1].strip(): line[2].strip() for line in lines if line}
        return code, {name: found[name] for name in CHECKS if name in found}, shown

    return run


def test_a_good_endpoint(examine):
    code, found, shown = examine(well)
    assert code == 0
    assert list(found) == list(CHECKS)
    assert set(found.values()) == {"works"}
    assert re.search(
        r"model=openai model.name=local model.base_url=http://localhost:\d+/v1", shown
    )
    assert "model.temperature" not in shown


def test_a_model_that_refuses_a_temperature(examine):
    code, found, shown = examine(refusing("temperature", then=well))
    assert (code, set(found.values())) == (0, {"works"})
    assert "model.temperature=null" in shown


@pytest.mark.parametrize(
    ("asked", "play", "check", "usable"),
    [
        ("6 times 7", status(500, "boom"), "plain answer", False),
        ("6 times 7", closed(), "plain answer", False),
        ("6 times 7", filtered(), "plain answer", False),
        ("single word FELDSPAR", text("Paris"), "system prompt", False),
        (
            "Write the integers from 1 to 200, ",
            cut_off("1, 2, 3"),
            "long answer",
            False,
        ),
        (
            "Write the integers from 1 to 200, ",
            text("1, 2, ..., 200"),
            "long answer",
            True,
        ),
        ("density", text("I have no tools"), "tool calls", True),
        ("image_url", status(400, "no images"), "images", True),
    ],
)
def test_what_does_not_work_is_named(examine, asked, play, check, usable):
    def mostly_well(body):
        return respond(play if asked in str(body["messages"]) else well, body)

    code, found, _ = examine(mostly_well)
    assert [name for name, result in found.items() if result != "works"] == [check]
    assert code == (0 if usable else 1)


def test_it_ends_when_its_time_is_over(examine):
    code, found, _ = examine(late(0.3, well), "seconds=0.1")
    assert (code, found["plain answer"], found["images"]) == (1, "slow", "not tried")


def test_a_window_that_cuts_prompts_is_named_and_no_advice_exceeds_it(examine):
    def small(body):
        length = sum(len(str(message["content"])) for message in body["messages"])
        if length < 20_000:
            return well(body)
        return text(
            "Which archive?", usage={"prompt_tokens": 2048, "completion_tokens": 4}
        )

    code, found, shown = examine(small)
    assert (code, found["long prompt"]) == (0, "differs")
    assert "read 2048 tokens of about 8000" in shown
    assert "model.context_tokens=2048" in shown
    assert "OLLAMA_CONTEXT_LENGTH" in shown


def test_a_window_that_the_server_tells_bounds_the_advice(examine, server):
    models = {"data": [{"id": "local", "max_model_len": 4096}]}
    server.expect_request("/v1/models").respond_with_json(models)

    def cut(body):
        return cut_off("1, 2") if "integers" in str(body["messages"]) else well(body)

    _, found, shown = examine(cut)
    assert (found["long answer"], found["long prompt"]) == ("fails", "differs")
    assert "the window has 4096 tokens" in shown
    assert "model.max_tokens=2048 model.context_tokens=4096" in shown


def test_a_slow_model_is_examined_to_the_end(examine):
    def slow(body):
        if "integers" in str(body["messages"]):
            time.sleep(1.5)
        return well(body)

    code, found, shown = examine(slow, "model.timeout=0.5")
    assert (code, found.pop("long answer")) == (0, "slow")
    assert set(found.values()) == {"works"}
    assert "model.timeout=600" in shown


def test_a_weak_model_is_examined_to_the_end(examine):
    def weak(body):
        return text("Forty-two") if "6 times 7" in str(body["messages"]) else well(body)

    code, found, _ = examine(weak)
    assert (code, found.pop("plain answer")) == (1, "fails")
    assert set(found.values()) == {"works"}
