"""A conversation as terminal, notebook and page share it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time

import pytest
from pytest_httpserver import HTTPServer

from agents.assistant import AssistantService, Event, read_config
from agents.assistant import session as conversation
from agents.episode import Context
from agents.runtime import Runtime, open_client
from agents.systems.single import Single
from agents.systems.tools import Tools
from foundation.errors import UsageError
from sandbox.base import Sandbox
from tests.support.endpoint import Endpoint, tool_calls
from tests.support.scripted import code_reply

CUBE = code_reply("return {'edge': 4.25}")
SLEEPS = code_reply("import time\ntime.sleep(100)\nreturn {'edge': 1.0}")


async def until_running(session, question):
    """Ask; leave the question running in the sandbox."""
    running = asyncio.Event()

    def listen(event: Event) -> None:
        if event.text.startswith("running") and not event.done:
            running.set()

    asking = asyncio.create_task(session.ask(question, listen=listen))
    await asyncio.wait_for(running.wait(), 60)
    return asking


async def test_events_come_as_things_happen(converse):
    session, _ = converse(CUBE)
    items: list[Event] = []
    answer = await session.ask("What is the edge?", listen=items.append)
    assert answer.kind == "answered"
    assert [(value.name, value.value) for value in answer.values] == [("edge", 4.25)]
    told = [event.text for event in items]
    assert (told[0].partition(" (")[0], items[0].done) == ("asking the model", False)
    assert told.index("running a draft") < told.index("executed a draft: ok")
    assert answer.usage.tokens > 0
    assert session.turns == [answer]


async def test_a_cancelled_question_leaves_the_session_usable(converse):
    session, chat = converse(SLEEPS, CUBE)
    asking = await until_running(session, "Sleep.")
    with pytest.raises(RuntimeError, match="working on a question"):
        await session.ask("Another?")
    started = time.monotonic()
    session.cancel()
    stopped = await asking
    assert time.monotonic() - started < 60
    assert (stopped.kind, stopped.text) == ("stopped", "cancelled")
    assert stopped.usage.tokens > 0  # what was spent is not forgotten
    assert (await session.ask("What is the edge?")).works
    assert "Question: Sleep.\nNo reply: the user's limit" in chat.prompts[-1]


async def test_a_request_is_paid_for_and_cancelled_again_where_a_part_takes_that_for_its_own(
    converse, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(conversation, "AGAIN", 0.05)
    session, _ = converse(CUBE)
    asked = asyncio.Event()

    async def stubborn(*_: object, **__: object) -> None:
        asked.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(100)
        await asyncio.sleep(100)

    monkeypatch.setattr(session.assistant.runtime.model, "ask", stubborn)
    asking = asyncio.create_task(session.ask("What is the edge?"))
    await asyncio.wait_for(asked.wait(), 60)
    session.cancel()
    answer = await asyncio.wait_for(asking, 60)
    assert answer.kind == "stopped"
    assert (answer.usage.calls, answer.usage.cost_usd, answer.usage.estimated) == (
        1,
        None,
        True,
    )


FAILS = code_reply("return {'edge': undefined_name}")


@pytest.mark.parametrize(
    "broken", [FAILS, code_reply("return {}"), code_reply("return None")]
)
async def test_an_answer_that_fails_goes_back_to_the_model(converse, broken: str):
    session, chat = converse(broken, broken, CUBE, system=Single)
    answer = await session.ask("What is the edge?")
    assert (answer.kind, answer["edge"], answer.usage.calls) == ("answered", 4.25, 3)
    assert "<attempt" not in chat.prompts[0]
    assert [prompt.count("<attempt ") for prompt in chat.prompts] == [0, 1, 2]
    assert len(answer.tried) == 2
    if broken is FAILS:
        assert "name 'undefined_name' is not defined" in chat.prompts[1]
        assert answer.tried[0].startswith("exception: NameError: name 'undefined_name'")


async def test_what_never_works_ends_after_three_tries(converse):
    session, chat = converse(FAILS, system=Single)
    answer = await session.ask("What is the edge?")
    assert (answer.kind, len(chat.prompts), len(answer.tried)) == ("failed", 3, 3)
    await session.ask("Fix that.")
    assert "It does not work: exception\n" in chat.prompts[-1]
    assert "name 'undefined_name' is not defined" in chat.prompts[-1]


@pytest.mark.parametrize(
    ("reply", "kind", "text", "retold"),
    [
        (
            "in words: A prototype cell.",
            "explained",
            "A prototype cell.",
            "A prototype cell.",
        ),
        ("It is a prototype.", "explained", "It is a prototype.", "It is a prototype."),
        ("needs input: a cell", "needs_input", "a cell", "needs input: a cell"),
        (f"With a default.\n{CUBE}", "answered", "", "Your reply: With a default."),
    ],
)
async def test_every_turn_is_told_to_the_next(converse, reply, kind, text, retold):
    session, chat = converse(
        *[reply] * (2 if reply.startswith("It") else 1), CUBE, system=Single
    )
    answer = await session.ask("What is it?")
    assert (answer.kind, answer.text) == (kind, text)
    assert answer.said == ("With a default." if kind == "answered" else "")
    assert (await session.ask("yes, with a 2x2x2 supercell")).works
    assert "Question: What is it?\n" in chat.prompts[-1]
    assert retold in chat.prompts[-1]
    assert ("already asked" in chat.prompts[-1]) is (kind == "needs_input")


async def test_whoever_waits_can_be_cancelled_too(converse):
    session, _ = converse(SLEEPS, CUBE)
    asking = await until_running(session, "Sleep.")
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert session.turns == []
    assert (await session.ask("What is the edge?")).works


async def test_a_missing_input_changes_nothing_and_a_refused_one_is_said(
    converse, tmp_path
):
    session, chat = converse(CUBE)
    (tmp_path / "POSCAR").write_text("x")
    with pytest.raises(UsageError, match=r"none\.cif: no such file"):
        await session.ask("x", files=[tmp_path / "POSCAR", tmp_path / "none.cif"])
    assert session.files == {}
    assert session.turns == []
    (tmp_path / "data").mkdir()
    (tmp_path / "data/link").symlink_to("/etc/hostname")
    answer = await session.ask("x", files=[tmp_path / "data"])
    assert answer.kind == "broken"
    assert "is a link out of" in answer.text
    assert chat.prompts == []
    session.files.clear()
    assert (await session.ask("What is the edge?")).works


async def test_a_model_with_tools_may_ask_for_what_is_missing(
    live_sandbox: Sandbox, httpserver: HTTPServer
):
    config = read_config(
        [
            f"model.base_url={httpserver.url_for('/v1')}",
            "model.name=m",
            "model.cache=false",
        ]
    )
    model = open_client(config.model)
    parts = Context(model, None, live_sandbox)
    runtime = Runtime(Tools(parts), model, None, live_sandbox, None, 120.0, {})
    session = AssistantService(config, runtime).session()
    call = json.dumps({"code": "def f():\n    return {'x': 1}", "entry": "f"})
    endpoint = Endpoint(httpserver).play(
        tool_calls(("run", call)),
        "needs input: the energies",
        tool_calls(("answer", call)),
    )
    events: list[Event] = []
    fails = json.dumps({"code": "def f():\n    return {'x': 1 / 0}", "entry": "f"})
    answer = await session.ask("Is it stable?", listen=events.append)
    assert (answer.kind, answer.text, answer.code) == (
        "needs_input",
        "the energies",
        None,
    )
    assert len(endpoint.bodies) == 2
    assert "running code" in {event.text for event in events}
    assert (await session.ask("They are 1 eV.")).works
    assert "already asked" in endpoint.prompts[-1]
    endpoint.play(tool_calls(("answer", fails)), tool_calls(("answer", call)))
    repaired = await session.ask("And now?")
    assert (repaired.kind, len(endpoint.bodies)) == ("answered", 2)
    assert "ZeroDivisionError" in endpoint.prompts[1]
    assert repaired.tried == ("exception: ZeroDivisionError: division by zero",)
    await model.close()
