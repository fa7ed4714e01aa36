"""single, rag and reflect: what stands in their prompts, and how they stop."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from agents.base import Question
from agents.budget import Budget
from agents.episode import Parts
from agents.rag import Rag
from agents.reflect import Reflect
from agents.revision import imported_names
from agents.single import Single
from sandbox.base import Execution, SandboxConfig, SandboxError
from sandbox.factory import available, get_sandbox
from tests.agents.scripted import ListRetriever, client, code_reply

QUESTION = Question(
    "q",
    "- `a`: the answer. Format: `int`.\n- `b`: a name. Format: `str`.",
    {"a": "int", "b": "str"},
)
GOOD = code_reply("return {'a': 42, 'b': 'Mg_Ga'}")

pytestmark = pytest.mark.asyncio(loop_scope="module")
needs_sandbox = pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[object]:
    async with get_sandbox(SandboxConfig(env="live", workers=1)) as made:
        yield made


async def test_single_asks_once_without_documents():
    model, chat = client(GOOD)
    trajectory = await Single(Parts(model)).solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    assert trajectory.entry == "f"
    assert trajectory.usage.calls == 1
    assert "<documents>" not in chat.prompts[0]
    assert QUESTION.prompt in chat.prompts[0]


async def test_rag_shows_k_documents_with_name_and_path():
    model, chat = client(GOOD)
    retriever = ListRetriever("m.A", "m.B", "m.C")
    trajectory = await Rag(Parts(model, retriever), k=2).solve(QUESTION)
    assert '<document name="m.A" path="p.py"' in chat.prompts[0]
    assert "about m.B" in chat.prompts[0]
    assert "about m.C" not in chat.prompts[0]
    assert [s.kind for s in trajectory.steps] == ["retrieve", "model", "parse"]
    assert trajectory.steps[0].detail["hits"][0] == {"id": "m.A", "name": "m.A", "score": 1.0}


async def test_without_k_the_model_says_how_many_documents_it_gets():
    model, chat = client(GOOD)
    model.config = model.config.model_copy(update={"documents": 2})
    await Rag(Parts(model, ListRetriever("m.A", "m.B", "m.C"))).solve(QUESTION)
    assert chat.prompts[0].count("<document name=") == 2


async def test_long_documents_keep_what_the_question_asks_about():
    members = "\n".join(f"  part_{i}() -> int [method]: Part {i}." for i in range(40))
    text = (
        f"m.A\nkind: class\nmembers:\n{members}\n  b() -> str [method]: A name.\n---\nIt has b.\n"
    )
    retriever = ListRetriever("m.A")
    retriever.documents[0].page_content = text
    model, chat = client(GOOD)
    model.config = model.config.model_copy(update={"document_characters": 900})
    await Rag(Parts(model, retriever)).solve(QUESTION)
    (shown,) = re.findall(r"<document [^>]*>\n(.*?)\n</document>", chat.prompts[0], re.DOTALL)
    assert len(shown) <= 900
    assert "b() -> str [method]: A name." in shown
    assert "part_39" in shown  # by name at least


async def test_a_reply_without_code_gets_one_repair_prompt():
    model, chat = client("I would use pymatgen.", GOOD)
    trajectory = await Single(Parts(model)).solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    assert trajectory.usage.calls == 2
    assert "could not be read" in chat.prompts[1]


async def test_garbage_twice_is_a_format_error():
    model, _ = client("garbage", "")
    trajectory = await Single(Parts(model)).solve(QUESTION)
    assert trajectory.stop_reason == "format_error"
    assert trajectory.code is None
    assert trajectory.usage.calls == 2


async def test_strict_mode_repairs_nothing():
    model, _ = client("```python\ndef f():\n    return {'a': 1}\n```", GOOD)
    trajectory = await Single(Parts(model, strict=True)).solve(QUESTION)
    assert (trajectory.stop_reason, trajectory.usage.calls) == ("format_error", 1)


@needs_sandbox
async def test_reflect_puts_traceback_and_critique_into_the_next_prompt(sandbox):
    critique = "<feedback>divide by something else</feedback><query>pymatgen.core.Lattice</query>"
    model, chat = client(code_reply("return {'a': 1 / 0}"), critique, GOOD)
    retriever = ListRetriever("pymatgen.core.Structure", "pymatgen.core.Lattice")
    agent = Reflect(Parts(model, retriever, sandbox), k=1, economical=False)
    trajectory = await agent.solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    assert "ZeroDivisionError" in chat.prompts[1]
    assert "ZeroDivisionError" in chat.prompts[2]
    assert "divide by something else" in chat.prompts[2]
    # The critic's query names a class: its document is looked up and shown.
    assert "about pymatgen.core.Lattice" not in chat.prompts[0]
    assert "about pymatgen.core.Lattice" in chat.prompts[2]


@needs_sandbox
async def test_reflect_shows_values_and_findings(sandbox):
    model, chat = client(
        code_reply("print('seen')\nreturn {'a': 'forty-two', 'b': None}"),
        "<feedback>x</feedback><query></query>",
        GOOD,
    )
    trajectory = await Reflect(Parts(model, None, sandbox), economical=False).solve(QUESTION)
    later = chat.prompts[2]
    assert "'forty-two' (str)" in later
    assert "`a` should be int but is str" in later
    assert "`b` is None" in later
    assert "seen" in later
    assert trajectory.stop_reason == "answered"


@needs_sandbox
async def test_reflect_switches_take_feedback_away(sandbox):
    model, chat = client(code_reply("return {'a': 1 / 0}"), GOOD)
    agent = Reflect(
        Parts(model, None, sandbox),
        feedback_traceback=False,
        feedback_critic=False,
        retrieve_next="off",
    )
    await agent.solve(QUESTION)
    assert "ZeroDivisionError" not in chat.prompts[1]
    assert "<critique>" not in chat.prompts[1]
    assert "<outcome>exception</outcome>" in chat.prompts[1]


@needs_sandbox
async def test_reflect_stops_after_its_iterations_with_the_best_draft(sandbox):
    half = code_reply("return {'a': 42, 'b': None}")
    worse, bad = code_reply("return {}"), code_reply("return {'a': None}")
    model, _ = client(half, worse, bad)
    agent = Reflect(
        Parts(model, None, sandbox), max_iterations=3, feedback_critic=False, retrieve_next="off"
    )
    trajectory = await agent.solve(QUESTION)
    assert trajectory.stop_reason == "iterations"
    assert trajectory.code is not None
    assert "42" in trajectory.code
    assert sum(step.kind == "execute" for step in trajectory.steps) == 3


@needs_sandbox
async def test_reflect_stops_within_its_budget(sandbox):
    model, chat = client(code_reply("return {}"), "<feedback>x</feedback><query></query>")
    agent = Reflect(Parts(model, None, sandbox, Budget(calls=3)))
    trajectory = await agent.solve(QUESTION)
    assert trajectory.stop_reason == "budget"
    assert len(chat.prompts) == trajectory.usage.calls == 3
    assert "budget.calls of 3" in (trajectory.error or "")


async def test_a_failing_retriever_is_infrastructure():
    model, _ = client(GOOD)
    trajectory = await Rag(Parts(model, ListRetriever(fail=True))).solve(QUESTION)
    assert trajectory.stop_reason == "retrieval_error"
    assert "build it again" in (trajectory.error or "")


async def test_a_failing_model_is_infrastructure():
    model, _ = client(RuntimeError("connection reset"))
    trajectory = await Single(Parts(model)).solve(QUESTION)
    assert trajectory.stop_reason == "model_error"
    assert "connection reset" in (trajectory.error or "")


class BrokenSandbox:
    """A sandbox whose workers never come back."""

    tier = "broken"

    async def run(self, *_: object, **__: object) -> Execution:
        raise SandboxError("no worker could be started")

    async def close(self) -> None:
        """Nothing to stop."""


async def test_a_failing_sandbox_is_infrastructure():
    model, _ = client(GOOD)
    trajectory = await Reflect(Parts(model, None, BrokenSandbox())).solve(QUESTION)
    assert trajectory.stop_reason == "sandbox_error"
    assert "no worker" in (trajectory.error or "")


async def test_names_that_a_draft_imports():
    code = "from a.b import C, d as e\nimport numpy\n    from x import y\nfrom a.b import C\n"
    assert imported_names(code) == ["a.b.C", "a.b.d", "x.y"]
