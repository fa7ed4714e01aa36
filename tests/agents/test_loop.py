"""What systems send, what it costs, and how they end: a table of scripted episodes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from pytest_httpserver import HTTPServer

from agents import prompts
from agents.base import Question
from agents.drafts import QUERIES, names_in, used_names
from agents.episode import Context
from agents.models import build_model
from agents.systems.reflect import Adaptive, Reflect, Reretrieve, Resample
from agents.systems.single import Rag, Single
from retrieval.base import Retriever
from sandbox.base import Sandbox
from tests.agents.scripted import ListRetriever, client, code_reply
from tests.agents.test_tools import WORDS, chain
from tests.endpoint import Endpoint, config, refusal

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
BAD = code_reply("return {'volume': 1 / 0, 'sites': 8}")
CHAIN = Question(
    "q", "With lab:\n- `value`: the amber hold of thin layers. Format: `float`.", {"value": "float"}
)
HALF = code_reply("return {'volume': 64.0, 'sites': None}")
WRONG = code_reply("return {'volume': 1.0, 'sites': 1}")
AGAIN = code_reply(SETUP + "n = len(salt)\nreturn {'volume': cell.volume, 'sites': float(n)}")
HIDDEN = code_reply(
    SETUP + "try:\n    v = cell.get_volume()\nexcept Exception:\n    v = None\n"
    "return {'volume': v, 'sites': 8}"
)
SEEN = code_reply("print('seen')\nreturn {'volume': 'forty-two', 'sites': None}")
RAISES = code_reply(
    SETUP + "return {'volume': Structure.from_sites([]).volume, 'sites': cell.abc / 0}"
)
CRITIQUE = "<feedback>use the lattice</feedback><query>volume of a `Lattice`</query>"
ASKS_B = "<feedback>divide by two</feedback><query>m.B</query>"
SEVERAL = (
    "<feedback>measure it</feedback>"
    "<queries>\n- volume of a `Lattice`\nnumber of sites, see m.B\n</queries>"
)
UNFIT = "```python\ndef f(x):\n    return {}\n```"
LATTICE = "pymatgen.core.Lattice"


class ByQuery(ListRetriever):
    """Finds what the query names, or else the first."""

    async def search(self, query: str, *, k: int) -> Sequence[Document]:
        self.queries.append(query)
        named = [d for d in self.documents if d.metadata["qualname"] in query]
        return (named or self.documents)[:k]


@dataclass(frozen=True)
class Case:
    """An episode: what is scripted, and what must come of it.

    ``shows`` and ``hides`` are about prompts by number; ``documents`` counts those of each prompt,
    ``equal`` are numbers of equal prompts, ``asked`` is what documents were searched with after
    the question.
    """

    system: type[Any]
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


LOUD: dict[str, Any] = {"economical": False}
QUIET: dict[str, Any] = {"feedback_critic": False, "retrieve_next": "off"}
PUBLISHED: dict[str, Any] = {"economical": False, "keep_documents": False, "queries": 1, "k": 1}
CASES = {
    "single asks once": Case(
        Single, [GOOD], calls=1, executed=0, shows={0: [QUESTION.prompt]}, hides={0: ["document"]}
    ),
    "rag shows k documents with name and path": Case(
        Rag, [GOOD], ["m.A", "m.B", "m.C"], {"k": 2}, documents=[2],
        shows={0: ['<document name="m.A" path="p.py"', "about m.B"]}, hides={0: ["about m.C"]},
    ),
    "a reply without code is answered anew": Case(
        Single, ["<think>```python\ndef f(): ...\n```</think>I would use pymatgen.", GOOD],
        calls=2, hides={1: ["def f()"]},
        shows={1: ["could not be read", "holds no code", QUESTION.prompt]},
    ),
    "a repair shows the reply and not the question": Case(
        Single, [UNFIT, GOOD], hides={1: ["<question>"]},
        shows={1: ["def f(x):", "no top-level function without arguments",
                   prompts.TEXTS["contract"]]},
    ),
    "garbage twice": Case(Single, ["garbage", ""], stop="format_error", calls=2),
    "strict repairs nothing": Case(
        Single, [UNFIT.replace("x", ""), GOOD], stop="format_error", calls=1, strict=True
    ),
    "traceback and critique, and documents of what it names": Case(
        Reflect, [BAD, ASKS_B, GOOD], ["m.A", "m.B"], LOUD | {"k": 1},
        shows={1: ["ZeroDivisionError"],
               2: ["ZeroDivisionError", "divide by two", "about m.A", "about m.B"]},
        hides={0: ["about m.B"]},
    ),
    "values and findings": Case(
        Reflect, [SEEN, CRITIQUE, GOOD], (), LOUD,
        shows={2: ["'forty-two' (str)", "`volume` should be float but is str", "`sites` is None",
                   "seen"]},
    ),
    "switches take feedback away": Case(
        Reflect, [BAD, GOOD], (), QUIET | {"feedback_traceback": False},
        shows={1: ["<outcome>exception</outcome>"]},
        hides={1: ["ZeroDivisionError", "<critique>"]},
    ),
    "after the last iteration the best draft": Case(
        Reflect, [HALF, code_reply("return {}"), NONE.replace("8", "None")], (),
        QUIET | {"max_iterations": 3}, stop="iterations", executed=3, code="64.0",
    ),
    # An AttributeError, then a float for an int: it was 9 calls.
    "a correction costs no critique": Case(
        Reflect, [MISSPELT, FLOAT, GOOD], ["m.A", LATTICE], {"k": 1}, calls=3,
        documents=[1, 2, 2],
        shows={1: ["has no attribute 'get_volume'"], 2: ["`sites` should be int but is float"]},
    ),
    "published: other documents replace the first": Case(
        Reflect, [NONE, ASKS_B, GOOD], ["m.A", "m.B"], PUBLISHED,
        shows={1: [prompts.TEXTS["critic"]], 2: ["about m.B"]}, hides={2: ["about m.A"]},
    ),
    "published: a critique after every draft": Case(
        Reflect, [MISSPELT, CRITIQUE, MISSPELT, CRITIQUE, GOOD], ["m.A"], LOUD, calls=5,
        documents=[1, 1, 1, 1, 1],
        shows={n: [prompts.TEXTS["critic_several"].format(most=QUERIES)] for n in (1, 3)},
    ),
    "a critic where the findings do not say what to do": Case(
        Reflect, [NONE, CRITIQUE, GOOD], ["m.A", "Lattice"], {"k": 1}, calls=3,
        shows={2: ["use the lattice", "about m.A", "about Lattice"]},
    ),
    "and where being told did not help": Case(
        Reflect, [FLOAT, AGAIN, CRITIQUE, GOOD], ["m.A"], calls=4, hides={1: ["critique"]},
        shows={2: [prompts.TEXTS["critic_several"].format(most=QUERIES)], 3: ["use the lattice"]},
    ),
    "a caught exception is the cause of a None": Case(
        Reflect, [HIDDEN, GOOD], calls=2,
        shows={1: ["`volume` is None", "caught AttributeError: 'Lattice' object has no"]},
    ),
    "the same draft again goes to the critic": Case(
        Reflect, [FLOAT, FLOAT.replace("'sites'", '"sites"'), CRITIQUE, GOOD], calls=4,
        shows={3: ["use the lattice"]},
    ),
    "and after a critique ends it": Case(
        Reflect, [FLOAT, FLOAT, CRITIQUE, FLOAT, GOOD], stop="repeated", calls=4, executed=1,
        code="float",
    ),
    "a failed draft returned nothing": Case(
        Reflect, [code_reply("raise ValueError('no')"), GOOD], hides={1: ["NoneType"]},
        shows={1: ["<returned>\nnothing was returned\n</returned>"]},
    ),
    "documents of what raised": Case(
        Reflect, [RAISES, GOOD], ["m.A", f"{LATTICE[:-7]}Structure.from_sites"], {"k": 1},
        documents=[1, 2], shows={1: ["about pymatgen.core.Structure.from_sites"]},
    ),
    "nothing new is not sent": Case(
        Reflect, [NONE, CRITIQUE, GOOD], ["m.A"], stop="repeated", calls=2
    ),
    "without documents nothing is waited for": Case(Reflect, [NONE, CRITIQUE, GOOD], calls=3),
    "resample sends the same prompt": Case(
        Resample, [BAD, BAD, GOOD, BAD], ["m.A"], calls=3, equal=[0, 1, 2], code="salt"
    ),
    "reretrieve changes nothing but the documents": Case(
        Reretrieve, [BAD, ASKS_B, GOOD], ["m.A", "m.B"], {"k": 1},
        shows={1: ["ZeroDivisionError"], 2: ["about m.B"]},
        hides={2: ["ZeroDivisionError", "<attempt", "1 / 0", "divide by two"]},
    ),
    **{f"unreadable replies, {system.__name__}": Case(
        system, ["garbage"], stop="format_error", calls=calls
    ) for system, calls in ((Reflect, 4), (Reretrieve, 2), (Resample, 4))},
    **{f"an unreadable reply costs an iteration, {system.__name__} {len(before)}": Case(
        system, [*before, "garbage", "garbage", GOOD]
    ) for system in (Reflect, Resample) for before in ([], [BAD])},
    "adaptive: a clean draft costs what single costs": Case(
        Adaptive, [GOOD], ["m.A"], calls=1, documents=[0], asked=[]
    ),
    "adaptive: documents of the misused names only": Case(
        Adaptive, [MISSPELT, FLOAT, GOOD], ["m.A", LATTICE], calls=3, documents=[0, 1, 1],
        asked=[],
        shows={1: ["has no attribute 'get_volume'", f"about {LATTICE}"],
               2: ["`sites` should be int but is float"]},
    ),
    "adaptive: a critic where nothing says what is wrong": Case(
        Adaptive, [NONE, SEVERAL, GOOD], ["m.A", "m.B", "Lattice"], {"k": 2},
        asked=["volume of a `Lattice`", "number of sites, see m.B"],
        shows={1: ["<queries>"], 2: ["measure it", "about Lattice", "about m.B"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_what_is_sent_and_how_it_ends(case: Case, live_sandbox: Sandbox):
    model, chat = client(*case.script)
    retriever = ByQuery(*case.names) if case.names else None
    parts = Context(model, retriever, live_sandbox, strict=case.strict)
    trajectory = await case.system(parts, **case.options).solve(QUESTION)
    assert (trajectory.stop_reason, trajectory.error) == (case.stop, None)
    assert (trajectory.code is None) is (case.stop == "format_error")
    assert case.code in (trajectory.code or "")
    assert trajectory.usage.calls == len(chat.prompts)
    assert case.calls in (None, len(chat.prompts))
    assert case.executed in (None, sum(step.kind == "execute" for step in trajectory.steps))
    for number, texts in case.shows.items():
        assert [text for text in texts if text not in chat.prompts[number]] == []
    for number, texts in case.hides.items():
        assert [text for text in texts if text in chat.prompts[number]] == []
    if case.documents is not None:
        assert [prompt.count("<document name=") for prompt in chat.prompts] == case.documents
    assert len({chat.prompts[number] for number in case.equal}) <= 1
    if case.asked is not None:
        assert retriever is not None
        first = [] if case.system is Adaptive else [QUESTION.prompt]
        assert retriever.queries == [*first, *case.asked]


async def test_a_prompt_begins_with_the_one_before_it(live_sandbox: Sandbox):
    several = "<feedback>no</feedback><queries>\n`m.C`\n`m.D` and more\n</queries>"
    other = NONE.replace("8", "4 + 4")
    model, chat = client(NONE, several, other, CRITIQUE, GOOD)
    retriever = ListRetriever("m.A", "m.B", "m.C", "m.D", "Lattice")
    trajectory = await Reflect(Context(model, retriever, live_sandbox), k=2).solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    assert retriever.queries == [QUESTION.prompt, "`m.C`", "`m.D` and more",
                                 "volume of a `Lattice`"]  # fmt: skip
    drafts = [chat.prompts[i].partition("Notes:")[0] for i in (0, 2, 4)]
    assert drafts[1].startswith(drafts[0].rstrip())
    assert drafts[2].startswith(drafts[1].partition("The attempts above")[0].rstrip())
    for name in ("m.A", "m.B", "m.C", "m.D", "Lattice"):
        assert drafts[2].count(f"about {name}\n") == 1


async def test_without_k_the_model_says_how_many_documents_it_gets():
    model, chat = client(GOOD)
    model.config = model.config.model_copy(update={"documents": 2})
    trajectory = await Rag(Context(model, ListRetriever("m.A", "m.B", "m.C"))).solve(QUESTION)
    assert chat.prompts[0].count("<document name=") == 2
    assert [s.kind for s in trajectory.steps] == ["retrieve", "model", "parse"]
    assert trajectory.steps[0].detail["hits"][0] == {"id": "m.A", "name": "m.A", "score": 1.0}


async def test_long_documents_keep_what_the_question_asks_about():
    members = "\n".join(f"  part_{i}() -> int [method]: Part {i}." for i in range(40))
    members += "\n  sites() -> int [method]: How many."
    text = f"m.A\nkind: class\nmembers:\n{members}\n---\nIt has sites.\n"
    retriever = ListRetriever("m.A")
    retriever.documents[0].page_content = text
    model, chat = client(GOOD)
    model.config = model.config.model_copy(update={"document_characters": 900})
    await Rag(Context(model, retriever)).solve(QUESTION)
    (shown,) = re.findall(r"<document [^>]*>\n(.*?)\n</document>", chat.prompts[0], re.DOTALL)
    assert len(shown) <= 900
    assert "sites() -> int [method]: How many." in shown
    assert "part_39" in shown  # by name at least


async def test_a_refusal_is_not_asked_to_send_its_solution_again(httpserver: HTTPServer):
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
        "link", "link", "generate",
    ]  # fmt: skip
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
        "generate", "critique", "link", "generate",
    ]  # fmt: skip
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


@pytest.mark.long
async def test_a_draft_and_its_correction_cost_less_than_one_prompt_with_documents(
    live_sandbox: Sandbox, llm_doc: Retriever
):
    as_configured = {"documents": 12, "document_characters": 1600}  # conf/model/openai.yaml
    models = [client(GOOD)[0], client(MISSPELT, GOOD)[0]]
    for one in models:
        one.config = one.config.model_copy(update=as_configured)
    rag = await Rag(Context(models[0], llm_doc)).solve(QUESTION)
    corrected = await Adaptive(Context(models[1], llm_doc, live_sandbox)).solve(QUESTION)
    assert (corrected.stop_reason, corrected.usage.calls) == ("answered", 2)
    assert corrected.usage.tokens < rag.usage.tokens


def test_names_that_a_draft_imports_and_uses():
    code = "from a.b import C, d as e\nimport numpy\n    from x import y\nfrom a.b import C\n"
    assert used_names(code)[:3] == ["a.b.C", "a.b.d", "x.y"]
    code = "from a.b import C, D\nx = C.make(1)\nC.make(2)\ny = x.other()\n"
    assert used_names(code) == ["a.b.C", "a.b.D", "a.b.C.make"]
