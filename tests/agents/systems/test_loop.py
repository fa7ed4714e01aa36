"""What systems send, what it costs, and how they end: a table of scripted episodes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from pytest_httpserver import HTTPServer

from agents.base import Question
from agents.drafts import names_in, used_names
from agents.episode import Context
from agents.models import build_model
from agents.systems.reflect import Adaptive, Reflect, Reretrieve, Resample
from agents.systems.single import Rag, Single
from retrieval.base import Hit
from sandbox.base import Sandbox
from tests.support.documents import WORDS, chain
from tests.support.endpoint import Endpoint, config, refusal
from tests.support.paths import DATA
from tests.support.scripted import ListRetriever, client, code_reply
from tests.support.symbols import member, symbol

QUESTION = Question(
    "q",
    "How large is a cubic cell of 4 angstrom, and how many sites has rock salt in it?\n\n"
    "- `volume`: Volume in cubic angstrom. Format: `float`.\n"
    "- `sites`: Number of sites. Format: `int`.",
    {"volume": "float", "sites": "int"},
)
CHAIN = Question(
    "q",
    "With lab:\n- `value`: the amber hold of thin layers. Format: `float`.",
    {"value": "float"},
)
TABLES = yaml.safe_load((DATA / "episodes.yaml").read_text())
REPLIES: dict[str, str] = TABLES["texts"] | {
    name: code_reply(code.replace("# setup\n", TABLES["setup"]))
    for name, code in TABLES["code"].items()
}
GOOD, NONE, CRITIQUE = REPLIES["good"], REPLIES["none"], REPLIES["critique"]
SYSTEMS = (Single, Rag, Reflect, Adaptive, Resample, Reretrieve)


class ByQuery(ListRetriever):
    """Finds what the query names, or else the first."""

    async def search(self, query: str, *, k: int) -> Sequence[Hit]:
        self.queries.append(query)
        named = [d for d in self.documents if d.entry.qualname in query]
        return (named or self.documents)[:k]


@dataclass(frozen=True)
class Case:
    """An episode: what is scripted, and what must come of it.

    ``shows`` and ``hides`` are about prompts by number; ``documents`` counts those of each prompt,
    ``equal`` are numbers of equal prompts, ``asked`` is what documents were searched with after
    the question.
    """

    system: str
    script: Sequence[str]
    names: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    stop: str = "answered"
    calls: int | None = None
    executed: int | None = None
    code: str = ""
    shows: Mapping[int, Sequence[str]] = field(default_factory=dict)
    hides: Mapping[int, Sequence[str]] = field(default_factory=dict)
    documents: Sequence[int] | None = None
    equal: Sequence[int] = ()
    asked: Sequence[str] | None = None
    strict: bool = False


CASES = {name: Case(**case) for name, case in TABLES["cases"].items()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_what_is_sent_and_how_it_ends(case: Case, live_sandbox: Sandbox):
    system: Any = next(found for found in SYSTEMS if found.__name__ == case.system)
    model, chat = client(*(REPLIES.get(reply, reply) for reply in case.script))
    retriever = ByQuery(*case.names) if case.names else None
    parts = Context(model, retriever, live_sandbox, strict=case.strict)
    trajectory = await system(parts, **case.options).solve(QUESTION)
    assert (trajectory.stop_reason, trajectory.error) == (case.stop, None)
    assert (trajectory.code is None) is (case.stop == "format_error")
    assert case.code in (trajectory.code or "")
    assert trajectory.usage.calls == len(chat.prompts)
    assert case.calls in (None, len(chat.prompts))
    assert case.executed in (
        None,
        sum(step.kind == "execute" for step in trajectory.steps),
    )
    for number, texts in case.shows.items():
        assert [text for text in texts if text not in chat.prompts[number]] == []
    for number, texts in case.hides.items():
        assert [text for text in texts if text in chat.prompts[number]] == []
    if case.documents is not None:
        assert [
            prompt.count("<document name=") for prompt in chat.prompts
        ] == case.documents
    assert len({chat.prompts[number] for number in case.equal}) <= 1
    if case.asked is not None:
        assert retriever is not None
        first = [] if system is Adaptive else [QUESTION.prompt]
        assert retriever.queries == [*first, *case.asked]


async def test_a_prompt_begins_with_the_one_before_it(live_sandbox: Sandbox):
    several = "<feedback>no</feedback><queries>\n`m.C`\n`m.D` and more\n</queries>"
    other = NONE.replace("8", "4 + 4")
    model, chat = client(NONE, several, other, CRITIQUE, GOOD)
    retriever = ListRetriever("m.A", "m.B", "m.C", "m.D", "Lattice")
    trajectory = await Reflect(Context(model, retriever, live_sandbox), k=2).solve(
        QUESTION
    )
    assert trajectory.stop_reason == "answered"
    assert retriever.queries == [
        QUESTION.prompt,
        "`m.C`",
        "`m.D` and more",
        "volume of a `Lattice`",
    ]
    drafts = [chat.prompts[i].partition("Notes:")[0] for i in (0, 2, 4)]
    assert drafts[1].startswith(drafts[0].rstrip())
    assert drafts[2].startswith(drafts[1].partition("The attempts above")[0].rstrip())
    for name in ("m.A", "m.B", "m.C", "m.D", "Lattice"):
        assert drafts[2].count(f"about {name}\n") == 1


async def test_without_k_the_model_says_how_many_documents_it_gets():
    model, chat = client(GOOD)
    model.config = model.config.model_copy(update={"documents": 2})
    trajectory = await Rag(Context(model, ListRetriever("m.A", "m.B", "m.C"))).solve(
        QUESTION
    )
    assert chat.prompts[0].count("<document name=") == 2
    assert [s.kind for s in trajectory.steps] == ["retrieve", "model", "parse"]
    assert trajectory.steps[0].detail["hits"][0] == {
        "id": "m.A",
        "name": "m.A",
        "score": 1.0,
    }


async def test_long_documents_keep_what_the_question_asks_about():
    members = [member(f"m.A.part_{i}", "() -> int", f"Part {i}.") for i in range(40)]
    members.append(member("m.A.sites", "() -> int", "How many."))
    whole = symbol("m.A", "class", "It has sites.", members=members)
    retriever = ListRetriever()
    retriever.documents = [Hit(whole, 1.0)]
    model, chat = client(GOOD)
    model.config = model.config.model_copy(update={"document_characters": 900})
    await Rag(Context(model, retriever)).solve(QUESTION)
    (shown,) = re.findall(
        r"<document [^>]*>\n(.*?)\n</document>", chat.prompts[0], re.DOTALL
    )
    assert len(shown) <= 900
    assert "sites() -> int [method]: How many." in shown
    assert "part_39" in shown  # by name at least


async def test_a_refusal_is_not_asked_to_send_its_solution_again(
    httpserver: HTTPServer,
):
    endpoint = Endpoint(httpserver).play(refusal(), GOOD)
    trajectory = await Single(Context(build_model(config(endpoint)))).solve(QUESTION)
    assert (trajectory.stop_reason, trajectory.fault) == ("format_error", "refusal")
    assert len(endpoint.prompts) == 1


async def test_notes_and_role_say_only_what_is_the_case():
    model, chat = client(GOOD)
    await Single(Context(model)).solve(QUESTION)
    assert "[MASK]" not in chat.prompts[0]
    assert "document" not in chat.prompts[0]
    assert "pymatgen" in chat.prompts[0].splitlines()[0]
    await Single(Context(model, packages=("phonopy", "spglib"))).solve(QUESTION)
    assert "pymatgen" not in chat.prompts[1]
    assert "phonopy, spglib" in chat.prompts[1]
    masked = Question("q", "```python\nx = [MASK]\n```")
    await Single(Context(model)).solve(masked)
    assert "replace every [MASK]" in chat.prompts[2]


@pytest.mark.parametrize(("query", "names"), TABLES["queries"].items())
def test_names_in_a_query_are_identifiers_and_not_words(query: str, names: list[str]):
    assert names_in(query) == names


@pytest.mark.parametrize("system", [Reflect, Adaptive])  # nobody knows it by heart
async def test_a_small_package_is_followed_to_the_end_in_the_first_prompt(
    live_sandbox: Sandbox, tmp_path: Path, system: type[Reflect]
):
    model, chat = client(code_reply("return {'value': 1.5}"))
    parts = Context(model, chain(tmp_path, 4), live_sandbox)
    trajectory = await system(parts, k=1).solve(CHAIN)
    assert (trajectory.stop_reason, len(chat.prompts)) == ("answered", 1)
    for number, word in enumerate(WORDS[:4]):
        assert chat.prompts[0].count(f"lab.m{number}.{word}") == 1


async def test_an_input_without_a_name_is_asked_for_once_more_in_the_words_of_the_model(
    live_sandbox: Sandbox, tmp_path: Path
):
    model, chat = client(
        "<links>\n1: none: teal glow\n7: 1\n</links>",
        "<links>\n1: 1\n</links>",
        code_reply("return {'value': 1.5}"),
    )
    described = chain(tmp_path, 1, "The brightness that follows.", "lab.end.teal")
    trajectory = await Reflect(Context(model, described, live_sandbox)).solve(CHAIN)
    assert [s.detail["purpose"] for s in trajectory.steps if s.kind == "model"] == [
        "link",
        "link",
        "generate",
    ]
    assert "brightness that follows" in chat.prompts[0]
    assert "1. The teal glow" in chat.prompts[1]
    assert "`x` is what `lab.end.teal` gives" in chat.prompts[2]


async def test_what_a_critic_seeks_in_words_is_asked_for_by_its_definition(
    live_sandbox: Sandbox, tmp_path: Path
):
    model, chat = client(
        code_reply("return {'value': None}"),
        "<feedback>No.</feedback><queries>\nbrightness of a sort\n</queries>",
        "<links>\n1: 1\n</links>",
        code_reply("return {'value': 1.5}"),
    )
    retriever = chain(tmp_path, 2, "", "lab.end.teal")
    trajectory = await Reflect(Context(model, retriever, live_sandbox)).solve(CHAIN)
    assert [s.detail["purpose"] for s in trajectory.steps if s.kind == "model"] == [
        "generate",
        "critique",
        "link",
        "generate",
    ]
    assert "brightness of a sort\n1. The teal glow of brightness." in chat.prompts[2]
    assert "lab.end.teal" not in chat.prompts[0]
    assert "lab.end.teal" in chat.prompts[3]


async def test_a_name_that_a_draft_misses_brings_its_documents_and_nothing_new_ends_the_loop(
    live_sandbox: Sandbox, tmp_path: Path
):
    missing = code_reply("# `teal` is not described\nreturn {'value': None}")
    none = "<feedback>Nothing.</feedback><queries>\nlab.end.teal\n</queries>"
    other = code_reply("value = None\nreturn {'value': value}")
    model, chat = client(missing, other, none)
    retriever = chain(tmp_path, 2, "", "lab.end.teal")
    trajectory = await Reflect(Context(model, retriever, live_sandbox)).solve(CHAIN)
    assert "lab.end.teal" not in chat.prompts[0]
    assert "lab.end.teal" in chat.prompts[1]
    assert trajectory.stop_reason == "repeated"
    assert len(chat.prompts) == 3  # what the critic asks for is there: no third draft


def test_names_that_a_draft_imports_and_uses():
    code = "from a.b import C, d as e\nimport numpy\n    from x import y\nfrom a.b import C\n"
    assert used_names(code)[:3] == ["a.b.C", "a.b.d", "x.y"]
    code = "from a.b import C, D\nx = C.make(1)\nC.make(2)\ny = x.other()\n"
    assert used_names(code) == ["a.b.C", "a.b.D", "a.b.C.make"]
