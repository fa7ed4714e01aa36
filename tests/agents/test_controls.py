"""resample, reretrieve, selection of drafts, and the equal budget of all of them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from langchain_core.documents import Document

from agents.answer import Answer
from agents.base import Agent, Question
from agents.budget import Budget
from agents.config import load_class
from agents.drafts import Draft, choose, same
from agents.episode import Parts
from agents.reflect import Reflect
from agents.reretrieve import Reretrieve
from agents.resample import Resample
from agents.revision import used_names
from experiments.config import compose, validate
from sandbox.base import Execution, Outcome, Sandbox
from sandbox.command import CONF
from tests.agents.scripted import ListRetriever, client, code_reply

QUESTION = Question("q", "- `a`: the answer. Format: `int`.", {"a": "int"})
BAD = code_reply("return {'a': 1 / 0}")
GOOD = code_reply("return {'a': 42}")
CRITIQUE = "<feedback>divide by two</feedback><query>m.B</query>"


async def test_resample_sends_the_same_prompt_and_stops_like_reflect(live_sandbox: Sandbox):
    model, chat = client(BAD, BAD, GOOD, BAD)
    trajectory = await Resample(Parts(model, ListRetriever("m.A"), live_sandbox)).solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    assert len(chat.prompts) == 3
    assert len(set(chat.prompts)) == 1
    assert "42" in str(trajectory.code)


async def test_reretrieve_changes_nothing_but_the_documents(live_sandbox: Sandbox):
    model, chat = client(BAD, CRITIQUE, GOOD)
    parts = Parts(model, ListRetriever("m.A", "m.B"), live_sandbox)
    trajectory = await Reretrieve(parts, k=1).solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    critic, last = chat.prompts[1], chat.prompts[2]
    assert "ZeroDivisionError" in critic
    assert "about m.B" in last
    for absent in ("ZeroDivisionError", "<attempt", "1 / 0", "divide by two"):
        assert absent not in last


@pytest.mark.parametrize("system", [Reflect, Reretrieve, Resample])
@pytest.mark.parametrize("calls", [1, 4])
async def test_an_equal_budget_of_calls_is_spent_and_not_exceeded(
    live_sandbox: Sandbox, system: type[Reflect], calls: int
):
    # A draft as reply is no critique that can be read, but a reply all the same.
    model, chat = client(*[code_reply(f"return {{'a': {n} / 0}}") for n in range(calls)])
    parts = Parts(model, ListRetriever("m.A"), live_sandbox, Budget(calls=calls))
    agent: Agent = system(parts, max_iterations=50)
    trajectory = await agent.solve(QUESTION)
    assert trajectory.stop_reason == "budget"
    assert trajectory.usage.calls == len(chat.prompts) == calls
    # the last draft that the calls allow is executed too
    drafts = sum(s.kind == "model" and s.detail["purpose"] == "generate" for s in trajectory.steps)
    assert sum(s.kind == "execute" for s in trajectory.steps) == drafts


@pytest.mark.parametrize(("system", "calls"), [(Reflect, 4), (Reretrieve, 2), (Resample, 4)])
async def test_unreadable_replies_end_as_a_format_error(
    live_sandbox: Sandbox, system: type[Reflect], calls: int
):
    model, chat = client("garbage")
    trajectory = await system(Parts(model, None, live_sandbox)).solve(QUESTION)
    assert trajectory.stop_reason == "format_error"
    assert trajectory.code is None
    assert len(chat.prompts) == calls


@pytest.mark.parametrize("system", [Reflect, Resample])
@pytest.mark.parametrize("before", [[], [BAD]])
async def test_an_unreadable_reply_costs_only_its_iteration(
    live_sandbox: Sandbox, system: type[Reflect], before: list[str]
):
    model, _ = client(*before, "garbage", "garbage", GOOD)
    trajectory = await system(Parts(model, None, live_sandbox)).solve(QUESTION)
    assert trajectory.stop_reason == "answered"


async def test_agreement_waits_for_a_second_opinion(live_sandbox: Sandbox):
    wrong, right = code_reply("return {'a': 1}"), GOOD
    model, chat = client(wrong, right, right, wrong)
    trajectory = await Resample(Parts(model, None, live_sandbox), select="agreement").solve(
        QUESTION
    )
    assert trajectory.stop_reason == "answered"
    assert len(chat.prompts) == 3
    assert "42" in str(trajectory.code)


async def test_reflect_by_agreement_asks_again_without_feedback_on_a_clean_draft(
    live_sandbox: Sandbox,
):
    model, chat = client(GOOD, GOOD)
    trajectory = await Reflect(Parts(model, None, live_sandbox), select="agreement").solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    assert len(chat.prompts) == 2
    assert chat.prompts[0] == chat.prompts[1]


def draft(quality: int, **values: object) -> Draft:
    return Draft(Answer("", "f", "strict"), Execution(Outcome.OK, values), (), (), quality)


def test_choice_of_a_draft():
    one, two, three = draft(2, a=1.0, b=5), draft(2, a=1.0004, b=6), draft(3, a=7.0, b=8)
    assert choose([one, two, three], "last") is three
    assert choose([three, two, one], "best") is three
    assert choose([one, two], "best") is two
    assert choose([one, two, three], "agreement") is two
    assert choose([three, draft(1, a=None, b=None), draft(1, a=None, b=None)], "agreement") is three


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1.0, 1.0005, True),
        (1.0, 1.01, False),
        (True, 1, False),
        ([1, "x"], (1, "x"), True),
        ([1], [1, 2], False),
        ({"a": [1.0]}, {"a": [1.0]}, True),
        ({"a": 1}, {"b": 1}, False),
        ("P1", "P1", True),
        (float("nan"), float("nan"), False),
    ],
)
def test_same_values(one: object, other: object, equal: bool):
    assert same(one, other) is equal
    assert same(other, one) is equal


async def test_next_retrieval_by_the_draft_and_by_the_traceback(live_sandbox: Sandbox):
    code = "from pymatgen.core import Lattice\nreturn {'a': Lattice.cubic(0 / 0)}"
    for source, asked in (("draft", "pymatgen.core.Lattice.cubic"), ("traceback", "ZeroDivision")):
        model, _ = client(code_reply(code), GOOD)
        found = ListRetriever("m.A")
        agent = Reflect(
            Parts(model, found, live_sandbox), feedback_critic=False, retrieve_next=source
        )
        await agent.solve(QUESTION)
        assert asked in found.queries[1]


def test_names_that_a_draft_uses():
    code = "from a.b import C, D\nx = C.make(1)\nC.make(2)\ny = x.other()\n"
    assert used_names(code) == ["a.b.C", "a.b.D", "a.b.C.make"]


class ByName(ListRetriever):
    """A query that names documents finds those, any other the first."""

    async def search(self, query: str, *, k: int, chat: object = None) -> Sequence[Document]:
        named = [d for d in self.documents if d.metadata["qualname"] in query]
        return (named or self.documents)[:k]


@pytest.mark.parametrize("keep", [True, False])
async def test_documents_of_the_question_stay_or_are_replaced(live_sandbox: Sandbox, keep: bool):
    model, chat = client(BAD, CRITIQUE, GOOD)
    parts = Parts(model, ByName("m.A", "m.B"), live_sandbox)
    await Reflect(parts, k=1, keep_documents=keep, economical=False).solve(QUESTION)
    assert "about m.A" in chat.prompts[0]
    assert "about m.B" in chat.prompts[2]
    assert ("about m.A" in chat.prompts[2]) is keep


SYSTEMS = sorted(path.stem for path in (CONF / "system").glob("*.yaml"))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_can_be_configured(name: str, tmp_path: Path):
    (tmp_path / "answers").write_text('{"id": "q", "answer": "x"}')
    needed = {"recorded": {"answers": str(tmp_path / "answers")}, "command": {"program": "true"}}
    config = validate(compose([f"system={name}", "retrieval=llm_doc", "model=rules"]))
    cls = load_class(config.system.target, key="system")
    assert config.system.name == name
    assert (
        cls(Parts(client("")[0]), **{**config.system.params, **needed.get(name, {})}).name
        == cls.name
    )


def test_the_files_say_what_the_classes_default_to():
    """The assistant builds the classes without the files."""
    for name in SYSTEMS:
        if name == "reflect_published":
            continue
        plain = yaml.safe_load((CONF / "system" / f"{name}.yaml").read_text())
        parameters = inspect.signature(load_class(plain["_target_"], key="system")).parameters
        for key, value in plain.items():
            if key not in {"_target_", "name", "k"}:
                assert parameters[key].default == value, (name, key)
