"""The loop of ``reflect``: what a correction costs, what the next prompt holds, when it ends."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from langchain_core.documents import Document
from pytest_httpserver import HTTPServer

from agents import prompts
from agents.base import Question
from agents.episode import Parts
from agents.models import build_model
from agents.reflect import Reflect
from agents.revision import QUERIES, names_in
from agents.single import Single
from sandbox.base import Sandbox
from tests.agents.scripted import ListRetriever, client, code_reply
from tests.agents.test_reply_faults import config
from tests.endpoint import Endpoint, refusal

QUESTION = Question(
    "q",
    "How large is a cubic cell of 4 angstrom, and how many sites has rock salt in it?\n\n"
    "- `volume`: Volume in cubic angstrom. Format: `float`.\n"
    "- `sites`: Number of sites. Format: `int`.",
    {"volume": "float", "sites": "int"},
)
SETUP = """\
from pymatgen.core import Lattice, Structure
cell = Lattice.cubic(4.0)
salt = Structure.from_spacegroup("Fm-3m", cell, ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]])
"""
MISSPELT = code_reply(SETUP + "return {'volume': cell.get_volume(), 'sites': len(salt)}")
FLOAT = code_reply(SETUP + "return {'volume': cell.volume, 'sites': float(len(salt))}")
GOOD = code_reply(SETUP + "return {'volume': cell.volume, 'sites': len(salt)}")
NONE = code_reply("return {'volume': None, 'sites': 8}")
CRITIQUE = "<feedback>use the lattice</feedback><query>volume of a `Lattice`</query>"


async def test_a_correction_costs_no_critique_and_its_documents_stand_behind_the_draft(
    live_sandbox: Sandbox,
):
    """An AttributeError, then a float for an int: it was 9 calls."""
    retriever = ListRetriever("m.A", "pymatgen.core.lattice.Lattice")
    model, chat = client(MISSPELT, FLOAT, GOOD)
    trajectory = await Reflect(Parts(model, retriever, live_sandbox), k=1).solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    assert trajectory.usage.calls == 3
    assert [prompt.count("<document name=") for prompt in chat.prompts] == [1, 2, 2]
    assert "has no `get_volume`; nearest:" in chat.prompts[1]
    assert "`sites` should be int but is float" in chat.prompts[2]


async def test_a_prompt_begins_with_the_one_before_it(live_sandbox: Sandbox):
    several = "<feedback>no</feedback><queries>\n`m.C`\n`m.D` and more\n</queries>"
    other = NONE.replace("8", "4 + 4")
    model, chat = client(NONE, several, other, CRITIQUE, GOOD)
    retriever = ListRetriever("m.A", "m.B", "m.C", "m.D", "Lattice")
    trajectory = await Reflect(Parts(model, retriever, live_sandbox), k=2).solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    assert retriever.queries == [QUESTION.prompt, "`m.C`", "`m.D` and more",
                                 "volume of a `Lattice`"]  # fmt: skip
    drafts = [chat.prompts[i].partition("Notes:")[0] for i in (0, 2, 4)]
    assert drafts[1].startswith(drafts[0].rstrip())
    assert drafts[2].startswith(drafts[1].partition("The attempts above")[0].rstrip())
    for name in ("m.A", "m.B", "m.C", "m.D", "Lattice"):
        assert drafts[2].count(f"about {name}\n") == 1


async def test_what_is_published_drops_the_documents_before(live_sandbox: Sandbox):
    model, chat = client(NONE, "<feedback>no</feedback><query>`m.C`</query>", GOOD)
    retriever = ByQuery("m.A", "m.C")
    published = {"economical": False, "keep_documents": False, "queries": 1}
    await Reflect(Parts(model, retriever, live_sandbox), k=1, **published).solve(QUESTION)
    assert chat.prompts[1].endswith(prompts.CRITIC)
    assert "about m.A" not in chat.prompts[2]
    assert chat.prompts[2].index("about m.C") < chat.prompts[2].index("<attempt")


class ByQuery(ListRetriever):
    """Finds what the query names, or else the first."""

    async def search(self, query: str, *, k: int, chat: object = None) -> Sequence[Document]:
        self.queries.append(query)
        named = [d for d in self.documents if d.metadata["qualname"] in query]
        return (named or self.documents)[:k]


async def test_published_reflection_is_what_it_was(live_sandbox: Sandbox):
    model, chat = client(MISSPELT, CRITIQUE, MISSPELT, CRITIQUE, GOOD)
    parts = Parts(model, ListRetriever("m.A"), live_sandbox)
    await Reflect(parts, economical=False, check_introspection=False).solve(QUESTION)
    asked = ["feedback" in prompt.rpartition("exactly this form")[2] for prompt in chat.prompts]
    assert asked == [False, True, False, True, False]
    assert all("about m.A" in prompt for prompt in chat.prompts)


async def test_a_critic_is_asked_where_the_findings_do_not_say_what_to_do(live_sandbox: Sandbox):
    model, chat = client(NONE, CRITIQUE, GOOD)
    retriever = ListRetriever("m.A", "Lattice")
    await Reflect(Parts(model, retriever, live_sandbox), k=1).solve(QUESTION)
    assert len(chat.prompts) == 3
    assert "use the lattice" in chat.prompts[2]
    assert "about m.A" in chat.prompts[2]
    assert "about Lattice" in chat.prompts[2]


async def test_and_where_being_told_did_not_help(live_sandbox: Sandbox):
    again = code_reply(SETUP + "n = len(salt)\nreturn {'volume': cell.volume, 'sites': float(n)}")
    model, chat = client(FLOAT, again, CRITIQUE, GOOD)
    parts = Parts(model, ListRetriever("m.A"), live_sandbox)
    assert (await Reflect(parts).solve(QUESTION)).stop_reason == "answered"
    assert len(chat.prompts) == 4
    assert "critique" not in chat.prompts[1]
    assert chat.prompts[2].endswith(prompts.CRITIC_SEVERAL.format(most=QUERIES))
    assert "use the lattice" in chat.prompts[3]


async def test_exceptions_that_the_draft_caught_are_the_cause_of_its_none(live_sandbox: Sandbox):
    hidden = code_reply(
        SETUP + "try:\n    v = cell.get_volume()\nexcept Exception:\n    v = None\n"
        "return {'volume': v, 'sites': 8}"
    )
    model, chat = client(hidden, GOOD)
    trajectory = await Reflect(Parts(model, None, live_sandbox)).solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    assert "`volume` is None" in chat.prompts[1]
    assert re.search(
        r"line \d+: the code caught AttributeError: 'Lattice' object has no", chat.prompts[1]
    )


async def test_the_same_draft_again_is_asked_for_once_more_and_ends_the_loop(
    live_sandbox: Sandbox,
):
    model, chat = client(FLOAT, FLOAT.replace("'sites'", '"sites"'), FLOAT)
    trajectory = await Reflect(Parts(model, None, live_sandbox)).solve(QUESTION)
    assert trajectory.stop_reason == "repeated"
    assert len(chat.prompts) == 3
    assert sum(step.kind == "execute" for step in trajectory.steps) == 1
    assert trajectory.code is not None


async def test_a_new_sample_in_place_of_the_same_draft_is_executed(live_sandbox: Sandbox):
    model, chat = client(FLOAT, FLOAT, GOOD)
    trajectory = await Reflect(Parts(model, None, live_sandbox)).solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    assert chat.prompts[1] == chat.prompts[2]


async def test_a_repair_shows_the_reply_and_not_the_documents():
    model, chat = client("```python\ndef f(x):\n    return {}\n```", GOOD)
    await Single(Parts(model)).solve(QUESTION)
    repair = chat.prompts[1]
    assert "def f(x):" in repair
    assert "no top-level function without arguments" in repair
    assert prompts.CONTRACT in repair
    assert "<question>" not in repair


async def test_a_reply_without_code_is_answered_anew():
    model, chat = client("<think>```python\ndef f(): ...\n```</think>I would use pymatgen.", GOOD)
    await Single(Parts(model)).solve(QUESTION)
    assert QUESTION.prompt in chat.prompts[1]
    assert "holds no code" in chat.prompts[1]
    assert "def f()" not in chat.prompts[1]


async def test_a_refusal_is_not_asked_to_send_its_solution_again(httpserver: HTTPServer):
    endpoint = Endpoint(httpserver).play(refusal(), GOOD)
    trajectory = await Single(Parts(build_model(config(endpoint)))).solve(QUESTION)
    assert (trajectory.stop_reason, trajectory.fault) == ("format_error", "refusal")
    assert len(endpoint.prompts) == 1


async def test_a_failed_draft_returned_nothing(live_sandbox: Sandbox):
    model, chat = client(code_reply("raise ValueError('no')"), GOOD)
    trajectory = await Reflect(Parts(model, None, live_sandbox)).solve(QUESTION)
    assert "<returned>\nnothing was returned\n</returned>" in chat.prompts[1]
    assert "NoneType" not in chat.prompts[1]
    (first, _) = [step for step in trajectory.steps if step.kind == "execute"]
    assert first.detail["result"] == "nothing was returned"


async def test_notes_and_role_say_only_what_is_the_case():
    model, chat = client(GOOD)
    await Single(Parts(model)).solve(QUESTION)
    assert "[MASK]" not in chat.prompts[0]
    assert "document" not in chat.prompts[0]
    assert "pymatgen" in chat.prompts[0].splitlines()[0]
    await Single(Parts(model, packages=("phonopy", "spglib"))).solve(QUESTION)
    assert "pymatgen" not in chat.prompts[1]
    assert "phonopy, spglib" in chat.prompts[1]
    masked = Question("q", "```python\nx = [MASK]\n```")
    await Single(Parts(model)).solve(masked)
    assert "replace every [MASK]" in chat.prompts[2]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("keyword for the structure of a lattice", []),
        ("the class `Keyword` or `Lattice.cubic(a=1)`", ["Keyword", "Lattice.cubic"]),
        (
            "SpacegroupAnalyzer.get_symmetry_dataset, from_file and CifParser.",
            ["SpacegroupAnalyzer.get_symmetry_dataset", "from_file", "CifParser"],
        ),
        ("pymatgen.core.Lattice volume", ["pymatgen.core.Lattice"]),
        ("What is Structure? Use 3.5 or 2", []),
    ],
)
def test_names_in_a_query_are_identifiers_and_not_words(query: str, names: list[str]):
    assert names_in(query) == names


async def test_the_documents_of_a_correction_are_those_of_what_raised(live_sandbox: Sandbox):
    wrong = code_reply(SETUP + "return {'volume': Structure.from_sites([]).volume, 'sites': 8}")
    model, chat = client(wrong, GOOD)
    retriever = ListRetriever("m.A", "pymatgen.core.Structure.from_sites")
    await Reflect(Parts(model, retriever, live_sandbox), k=1).solve(QUESTION)
    assert "about pymatgen.core.Structure.from_sites" in chat.prompts[1].partition("</attempt>")[2]
