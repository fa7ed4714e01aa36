"""The check of an endpoint, against one that behaves and several that do not."""

import re

import pytest

from agents import conformance
from agents.conformance import CHECKS, main
from tests.endpoint import (
    Endpoint,
    closed,
    cut_off,
    filtered,
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
    if "FELDSPAR" in asked:
        return text("Feldspar.")
    if "image_url" in asked:
        return text("Red")
    if "integers" in asked:
        return text(", ".join(map(str, range(1, 201))))
    return text("42")


@pytest.fixture
def examine(httpserver, capsys):
    """Examine an endpoint that plays something; exit code, results by check, and the output."""
    endpoint = Endpoint(httpserver)

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
        ("FELDSPAR", text("Paris"), "system prompt", False),
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


def test_it_ends_when_its_time_is_over(examine, monkeypatch):
    monkeypatch.setattr(conformance, "LIMIT", 0.0)
    code, found, _ = examine(well)
    assert (code, found["plain answer"], found["images"]) == (
        1,
        "not tried",
        "not tried",
    )
