"""Every system: a limit stops it, and a part that fails is recorded as such."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.assistant import read_config
from agents.base import Agent, Question
from agents.budget import Budget
from agents.composition import groups
from agents.config import load_class
from agents.episode import Parts
from agents.models import ModelError
from sandbox.base import Sandbox, SandboxError
from tests.agents.scripted import ListRetriever, client, code_reply

QUESTION = Question("q", "- `a`: the answer. Format: `int`.", {"a": "int"})
# Readable by every step: names, numbers, a critique, and a draft that never satisfies anybody.
REPLY = (
    "<queries>x</queries><indices>1</indices><names>m.A</names>"
    "<feedback>again</feedback><query>m.A</query>" + code_reply("return {'a': None}")
)
Build = Callable[[Parts], Agent]
SYSTEMS: dict[str, Build] = {
    name: load_class(read_config([f"system={name}"]).system.target, key="system")
    for name in groups()["system"]
    if name not in {"reflect_published", "command", "recorded"}  # the last two ask no model
}
every_system = pytest.mark.parametrize("build", SYSTEMS.values(), ids=SYSTEMS)


class BrokenSandbox:
    """No worker can be started."""

    tier = "broken"

    async def run(self, *_: object, **__: object) -> object:
        raise SandboxError("no worker could be started")

    async def close(self) -> None:
        """Nothing to stop."""


@every_system
@pytest.mark.parametrize("calls", [0, 1, 3])
async def test_calls_are_never_exceeded(live_sandbox: Sandbox, build: Build, calls: int):
    model, chat = client(REPLY)
    parts = Parts(model, ListRetriever("m.A"), live_sandbox, Budget(calls=calls))
    trajectory = await build(parts).solve(QUESTION)
    assert len(chat.prompts) == trajectory.usage.calls <= calls
    if calls == 0:
        assert trajectory.stop_reason == "budget"
        assert "budget.calls of 0" in str(trajectory.error)


@every_system
async def test_tokens_stop_it_too(live_sandbox: Sandbox, build: Build):
    model, chat = client(REPLY)
    parts = Parts(model, ListRetriever("m.A"), live_sandbox, Budget(tokens=1))
    trajectory = await build(parts).solve(QUESTION)
    assert len(chat.prompts) == 1  # the first call may overshoot, nothing comes after it
    assert trajectory.stop_reason in {"budget", "answered"}


@every_system
async def test_an_unknown_price_and_a_limit_in_dollars_stop_at_the_first_unpriced_reply(
    live_sandbox: Sandbox, build: Build
):
    model, chat = client(REPLY)
    parts = Parts(model, ListRetriever("m.A"), live_sandbox, Budget(cost_usd=1.0))
    await build(parts).solve(QUESTION)
    assert len(chat.prompts) == 1


@every_system
async def test_a_failing_model_is_recorded(live_sandbox: Sandbox, build: Build):
    model, _ = client(ModelError("the endpoint answered 500"))
    trajectory = await build(Parts(model, ListRetriever("m.A"), live_sandbox)).solve(QUESTION)
    assert trajectory.stop_reason == "model_error"
    assert "500" in str(trajectory.error)
    assert "error" in [s for s in trajectory.steps if s.kind == "model"][-1].detail


@every_system
async def test_a_failing_retriever_is_recorded(live_sandbox: Sandbox, build: Build):
    model, _ = client(REPLY)
    parts = Parts(model, ListRetriever(fail=True), live_sandbox)
    trajectory = await build(parts).solve(QUESTION)
    retrieves = build not in {
        SYSTEMS[name] for name in ("single", "tools", "code2")
    }  # it searches when it wants to
    assert trajectory.stop_reason == ("retrieval_error" if retrieves else "answered")


@pytest.mark.parametrize("name", ["reflect", "resample", "reretrieve"])
async def test_a_failing_sandbox_is_recorded(name: str):
    model, _ = client(REPLY)
    parts = Parts(model, ListRetriever("m.A"), BrokenSandbox())
    trajectory = await SYSTEMS[name](parts).solve(QUESTION)
    assert trajectory.stop_reason == "sandbox_error"
    assert "no worker" in str(trajectory.error)
