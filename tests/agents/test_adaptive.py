"""``adaptive``: what it pays for, and for what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.adaptive import Adaptive
from agents.base import Question
from agents.episode import Parts
from agents.rag import Rag
from agents.single import Single
from retrieval.base import Retriever
from sandbox.base import Sandbox
from tests.agents.scripted import ListRetriever, client, code_reply
from tests.agents.test_loop import FLOAT, GOOD, MISSPELT, NONE, QUESTION
from tests.agents.test_tools import WORDS, chain

CRITIQUE = (
    "<feedback>measure it</feedback>"
    "<queries>\n- volume of a `Lattice`\nnumber of sites, see m.B\n</queries>"
)


async def test_a_clean_draft_costs_what_single_costs(live_sandbox: Sandbox):
    retriever = ListRetriever("m.A")
    model, chat = client(GOOD)
    adaptive = await Adaptive(Parts(model, retriever, live_sandbox)).solve(QUESTION)
    single_model, _ = client(GOOD)
    single = await Single(Parts(single_model)).solve(QUESTION)
    assert adaptive.stop_reason == "answered"
    assert adaptive.usage.tokens == single.usage.tokens
    assert retriever.queries == []
    assert "<documents>" not in chat.prompts[0]


async def test_findings_bring_the_documents_of_the_misused_names_only(live_sandbox: Sandbox):
    lattice = "pymatgen.core.lattice.Lattice"
    retriever = ListRetriever("m.A", lattice)
    model, chat = client(MISSPELT, FLOAT, GOOD)
    trajectory = await Adaptive(Parts(model, retriever, live_sandbox)).solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    assert trajectory.usage.calls == 3
    assert retriever.queries == []
    assert [prompt.count("<document name=") for prompt in chat.prompts] == [0, 1, 1]
    assert f"about {lattice}" in chat.prompts[1]
    assert "has no `get_volume`; nearest:" in chat.prompts[1]
    assert "`sites` should be int but is float" in chat.prompts[2]


@pytest.mark.long
async def test_a_draft_and_its_correction_cost_less_than_one_prompt_with_documents(
    live_sandbox: Sandbox, llm_doc: Retriever
):
    as_configured = {"documents": 12, "document_characters": 1600}  # conf/model/openai.yaml
    rag_model, _ = client(GOOD)
    model, _ = client(MISSPELT, GOOD)
    for one in (rag_model, model):
        one.config = one.config.model_copy(update=as_configured)
    rag = await Rag(Parts(rag_model, llm_doc)).solve(QUESTION)
    corrected = await Adaptive(Parts(model, llm_doc, live_sandbox)).solve(QUESTION)
    assert corrected.stop_reason == "answered"
    assert corrected.usage.calls == 2
    assert corrected.usage.tokens < rag.usage.tokens


async def test_the_critic_is_asked_where_nothing_says_what_is_wrong(live_sandbox: Sandbox):
    retriever = ListRetriever("m.A", "m.B", "Lattice")
    model, chat = client(NONE, CRITIQUE, GOOD)
    trajectory = await Adaptive(Parts(model, retriever, live_sandbox), k=2).solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    assert "<queries>" in chat.prompts[1]
    assert retriever.queries == ["volume of a `Lattice`", "number of sites, see m.B"]
    assert "measure it" in chat.prompts[2]
    for name in ("Lattice", "m.A", "m.B"):
        assert f"about {name}" in chat.prompts[2]


@pytest.mark.parametrize("length", [1, 4, 8])
async def test_a_package_that_the_draft_cannot_import_brings_its_map_then_what_is_chosen(
    length: int, live_sandbox: Sandbox, tmp_path: Path
):
    question = Question(
        "q", "With lab:\n- `value`: the amber hold. Format: `float`.", {"value": "float"}
    )
    guess = code_reply("from lab.holds import amber_hold\nreturn {'value': amber_hold()}")
    chosen = "<names>\nlab.m0.amber\n</names>"
    model, chat = client(guess, chosen, code_reply("return {'value': 1.5}"))
    parts = Parts(model, chain(tmp_path, length), live_sandbox)
    trajectory = await Adaptive(parts, k=4).solve(question)
    assert trajectory.stop_reason == "answered"
    assert [step.detail["purpose"] for step in trajectory.steps if step.kind == "model"] == [
        "generate", "names", "generate",
    ]  # fmt: skip
    _, asked, last = chat.prompts
    assert "<contents>" in asked
    assert all(word in asked for word in WORDS[:length])
    assert "<contents>" not in last  # paid for once
    shown = [word for word in WORDS[:length] if f'<document name="lab.m{WORDS.index(word)}.{word}"'
             in last]  # fmt: skip
    assert shown == list(WORDS[: min(length, 4)])  # the chain, three steps down


async def test_a_map_is_shown_once(live_sandbox: Sandbox, tmp_path: Path):
    question = Question("q", "With lab:\n- `value`: x. Format: `float`.", {"value": "float"})
    guess = code_reply("from lab.holds import amber_hold\nreturn {'value': amber_hold()}")
    other = code_reply("from lab.other import amber_hold\nreturn {'value': amber_hold()}")
    model, chat = client(guess, "<names>\nlab.m0.amber\n</names>", other, guess)
    parts = Parts(model, chain(tmp_path, 2), live_sandbox)
    await Adaptive(parts, max_iterations=3).solve(question)
    assert sum("<contents>" in prompt for prompt in chat.prompts) == 1
