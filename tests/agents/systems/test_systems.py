"""Every system: how it is configured; a limit stops it, and a part that fails is recorded."""

import inspect
import re
from collections.abc import Callable

import pytest
import yaml

from agents.base import Agent, Question
from agents.budget import Budget
from agents.episode import Context
from agents.models import ModelError
from experiments.run.config import read_run
from foundation.configuration import CONF
from foundation.targets import load
from sandbox.base import SandboxError
from tests.support.paths import ROOT
from tests.support.scripted import ListRetriever, client, code_reply

QUESTION = Question("q", "- `a`: the answer. Format: `int`.", {"a": "int"})
# Readable by every step: names, numbers, a critique, and a draft that never satisfies anybody.
REPLY = (
    "<queries>x</queries><indices>1</indices><names>m.A</names>"
    "<feedback>again</feedback><query>m.A</query>" + code_reply("return {'a': None}")
)
FILES = {
    path.stem: yaml.safe_load(path.read_text())
    for path in (CONF / "system").glob("*.yaml")
}
CLASSES: dict[str, Callable[..., Agent]] = {
    name: load(plain["_target_"], key="system") for name, plain in sorted(FILES.items())
}
# all but the first ask no model
OTHERS = {"reflect_published", "command", "recorded", "oracle", "echo", "empty"}
SYSTEMS = {name: found for name, found in CLASSES.items() if name not in OTHERS}
every_system = pytest.mark.parametrize("build", SYSTEMS.values(), ids=SYSTEMS)


@pytest.mark.parametrize("name", CLASSES)
def test_every_system_can_be_configured_and_its_file_says_what_the_class_defaults_to(
    name, tmp_path
):
    (tmp_path / "answers").write_text('{"id": "q", "answer": "x"}')
    needed = {
        "recorded": {"answers": str(tmp_path / "answers")},
        "command": {"program": "true"},
    }
    config = read_run([f"system={name}", "retrieval=llm_doc", "model=none"])
    assert config.system.name == name
    CLASSES[name](
        Context(client("")[0]), **{**config.system.params, **needed.get(name, {})}
    )
    if (
        name != "reflect_published"
    ):  # the assistant builds the classes without the files
        parameters = inspect.signature(CLASSES[name]).parameters
        for key in FILES[name].keys() - {"_target_", "name", "k"}:
            assert parameters[key].default == FILES[name][key], key


def test_graphrag_retrieves_from_the_configured_source_by_graph():
    found = {
        name: read_run(["system=graphrag", "model=none", f"retrieval={name}"]).retrieval
        for name in ("llm_doc", "graph", "none")
    }
    lexical = found["llm_doc"]
    assert (lexical.source, lexical.mode, lexical.name) == (
        "llm_doc",
        "graph",
        "llm_doc_graph",
    )
    assert lexical.default_embedding == "hashing"
    assert (found["graph"].mode, found["graph"].name) == ("graph", "graph")
    assert found["none"].mode == "lexical"


@pytest.mark.parametrize("name", ["reflect", "reretrieve", "resample"])
async def test_an_equal_budget_of_calls_is_spent_and_not_exceeded(live_sandbox, name):
    # A draft as reply is no critique that can be read, but a reply all the same.
    model, chat = client(*[code_reply(f"return {{'a': {n} / 0}}") for n in range(4)])
    parts = Context(model, ListRetriever("m.A"), live_sandbox, Budget(calls=4))
    trajectory = await CLASSES[name](parts, max_iterations=50).solve(QUESTION)
    assert trajectory.stop_reason == "budget"
    assert trajectory.usage.calls == len(chat.prompts) == 4
    # the last draft that the calls allow is executed too
    drafts = sum(
        s.kind == "model" and s.detail["purpose"] == "generate"
        for s in trajectory.steps
    )
    assert sum(s.kind == "execute" for s in trajectory.steps) == drafts


class BrokenSandbox:
    """No worker can be started."""

    confinement = "broken"

    async def run(self, *_: object, **__: object) -> object:
        raise SandboxError("no worker could be started")

    async def close(self) -> None:
        """Nothing to stop."""


@every_system
@pytest.mark.parametrize("calls", [0, 1, 3])
async def test_calls_are_never_exceeded(live_sandbox, build, calls):
    model, chat = client(REPLY)
    parts = Context(model, ListRetriever("m.A"), live_sandbox, Budget(calls=calls))
    trajectory = await build(parts).solve(QUESTION)
    assert len(chat.prompts) == trajectory.usage.calls <= calls
    if calls == 0:
        assert trajectory.stop_reason == "budget"
        assert "budget.calls of 0" in str(trajectory.error)


@every_system
@pytest.mark.parametrize(
    "limit",
    [{"tokens": 1}, {"cost_usd": 1.0}],
    ids=["tokens", "dollars without a price"],
)
async def test_the_reply_that_reaches_a_limit_is_the_last(live_sandbox, build, limit):
    model, chat = client(REPLY)
    parts = Context(
        model, ListRetriever("m.A"), live_sandbox, Budget.model_validate(limit)
    )
    trajectory = await build(parts).solve(QUESTION)
    assert len(chat.prompts) == 1
    assert trajectory.stop_reason in {"budget", "answered"}


@every_system
async def test_a_failing_model_or_retriever_is_recorded(live_sandbox, build):
    model, _ = client(ModelError("the endpoint answered 500"))
    trajectory = await build(Context(model, ListRetriever("m.A"), live_sandbox)).solve(
        QUESTION
    )
    assert trajectory.stop_reason == "model_error"
    assert "500" in str(trajectory.error)
    assert "error" in [s for s in trajectory.steps if s.kind == "model"][-1].detail
    model, _ = client(REPLY)
    trajectory = await build(
        Context(model, ListRetriever(fail=True), live_sandbox)
    ).solve(QUESTION)
    late = {
        SYSTEMS[name] for name in ("single", "tools", "code2")
    }  # searches when it wants to
    assert trajectory.stop_reason == (
        "answered" if build in late else "retrieval_error"
    )
    assert build in late or "build it again" in str(trajectory.error)


@pytest.mark.parametrize("name", ["reflect", "resample", "reretrieve"])
async def test_a_failing_sandbox_is_recorded(name):
    model, _ = client(REPLY)
    parts = Context(model, ListRetriever("m.A"), BrokenSandbox())
    trajectory = await SYSTEMS[name](parts).solve(QUESTION)
    assert trajectory.stop_reason == "sandbox_error"
    assert "no worker" in str(trajectory.error)


DOCS = ROOT / "docs"
TEXT = (DOCS / "adding-an-agent.md").read_text()
TABLE = (DOCS / "systems.md").read_text()


def block(language):
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def shorter():
    names: dict[str, type] = {}
    exec(block("python"), names)
    return names["Shorter"]


async def test_the_example_of_the_documentation_works_as_it_stands_there(shorter):
    long = code_reply("\n".join(f"x = {n}" for n in range(30)) + "\nreturn {'a': x}")
    model, chat = client(long, code_reply("return {'a': 29}"))
    trajectory = await shorter(Context(model), lines=20).solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    assert trajectory.code == "def f():\n    return {'a': 29}"
    assert "at most 20 lines" in chat.prompts[1]
    plain = yaml.safe_load(block("yaml"))
    parameters = inspect.signature(shorter).parameters
    assert set(plain) - {"_target_", "name"} <= set(parameters)
    assert plain["name"] == shorter.name


def test_every_system_is_in_the_table_and_every_switch_that_it_names_exists():
    listed = set(re.findall(r"^\| `(\w+)` \|", TABLE, re.MULTILINE))
    assert listed == FILES.keys()
    named = set(re.findall(r"`system\.(\w+)", TABLE))
    assert len(named) >= 8
    assert named <= set(inspect.signature(CLASSES["reflect"]).parameters)
