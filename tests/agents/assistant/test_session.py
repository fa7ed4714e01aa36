"""A conversation as terminal, notebook and page share it."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from pytest_httpserver import HTTPServer

from agents.assistant import Answer, Assistant, Event, read_config
from agents.assistant.events import heard
from agents.episode import Parts
from agents.runtime import Runtime, open_client
from agents.tools import Tools
from sandbox.base import Sandbox
from sandbox.command import UsageError
from tests.agents.scripted import code_reply
from tests.endpoint import Endpoint, tool_calls

CUBE = code_reply("return {'edge': 4.25}")
SLEEPS = code_reply("import time\ntime.sleep(100)\nreturn {'edge': 1.0}")


async def until_running(session, question):
    """Ask; leave the question running in the sandbox."""
    running = asyncio.Event()

    def listen(event: Event) -> None:
        if event.kind == "running" and not event.done:
            running.set()

    asking = asyncio.create_task(session.ask(question, listen=listen))
    await asyncio.wait_for(running.wait(), 60)
    return asking


async def test_events_come_as_things_happen_and_the_answer_last(converse):
    session, _ = converse(CUBE)
    items = [item async for item in session.stream("What is the edge?")]
    answer = items.pop()
    assert isinstance(answer, Answer)
    assert answer.kind == "answered"
    assert [(value.name, value.value) for value in answer.values] == [("edge", 4.25)]
    kinds = [(event.kind, event.done) for event in items]
    assert kinds[0] == ("thinking", False)
    assert kinds.index(("running", False)) < kinds.index(("running", True))
    assert sum(event.tokens for event in items) == answer.usage.tokens > 0
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
    assert "Sleep." not in chat.prompts[-1]


async def test_whoever_waits_can_be_cancelled_too(converse):
    session, _ = converse(SLEEPS, CUBE)
    asking = await until_running(session, "Sleep.")
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert session.turns == []
    assert (await session.ask("What is the edge?")).works


async def test_a_time_limit_ends_a_question(converse):
    session, _ = converse(SLEEPS)
    answer = await session.ask("Sleep.", timeout=2)
    assert answer.kind == "stopped"
    assert "2 s" in answer.text


async def test_a_question_that_is_undone_is_not_shown_again(converse):
    session, chat = converse(CUBE)
    await session.ask("What is the edge?")
    undone = session.undo()
    assert undone is not None
    assert undone.question == "What is the edge?"
    assert session.undo() is None
    await session.ask("And now?")
    assert "What is the edge?" not in chat.prompts[-1]


async def test_a_missing_input_changes_nothing(converse, tmp_path):
    session, _ = converse(CUBE)
    (tmp_path / "POSCAR").write_text("x")
    with pytest.raises(UsageError, match=r"none\.cif: no such file"):
        await session.ask("x", files=[tmp_path / "POSCAR", tmp_path / "none.cif"])
    assert session.files == {}
    assert session.turns == []


async def test_a_sandbox_that_fails_is_not_the_models_doing(converse, tmp_path):
    session, chat = converse(CUBE)
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
    config = read_config([f"model.base_url={httpserver.url_for('/v1')}", "model.name=m",
                          "model.cache=false"])  # fmt: skip
    model = open_client(config.model)
    parts = Parts(model, None, live_sandbox, on_step=heard)
    runtime = Runtime(Tools(parts), model, None, live_sandbox, None, 120.0, {})
    session = Assistant(config, runtime).session()
    call = json.dumps({"code": "def f():\n    return {'x': 1}", "entry": "f"})
    endpoint = Endpoint(httpserver).play(
        tool_calls(("run", call)), "needs input: the energies", tool_calls(("answer", call))
    )
    events: list[Event] = []
    answer = await session.ask("Is it stable?", listen=events.append)
    assert (answer.kind, answer.text, answer.code) == ("needs_input", "the energies", None)
    assert len(endpoint.bodies) == 2
    assert ("running", "running code") in {(event.kind, event.text) for event in events}
    assert (await session.ask("They are 1 eV.")).works
    assert "already asked" in endpoint.prompts[-1]
    await model.close()
