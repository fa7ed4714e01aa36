"""The tools over the real documents and the real sandbox; what documents say of each other."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agents.toolbox.box import Run, Toolbox
from agents.toolbox.texts import PAGE, Mistake, page_of
from docgen.facts import FactsWriter
from docgen.library import read_library
from docgen.symbols import Parameter, Signature, Symbol
from indexes.corpus import entry_page
from indexes.pages import Documents
from indexes.pages.names import NameIndex
from indexes.references import SOURCES, Documentation, Source
from retrieval.base import Retriever
from sandbox.base import Execution, Mount, Sandbox
from tests.support.paths import DATA
from tests.support.samples import write_package
from tests.support.symbols import signature, symbol

SHORT = PAGE + 100  # a page with its note


@pytest.fixture
def run(live_sandbox: Sandbox) -> Run:
    async def executed(code: str, entry: str, mounts: Sequence[Mount]) -> Execution:
        return await live_sandbox.run(code, entry, timeout=60, mounts=mounts)

    return executed


@pytest.fixture
def box(llm_doc: Retriever, run: Run) -> Toolbox:
    return Toolbox(llm_doc, run)


async def call(
    box: Toolbox, tool: str, *, failed: bool = False, **arguments: Any
) -> str:
    text = await box.call(tool, arguments)
    assert text.startswith("error: ") is failed, text
    assert len(text) <= SHORT
    return text


refused = partial(call, failed=True)


async def test_every_tool_has_a_schema_with_descriptions_and_bounds(
    box: Toolbox, run: Run
):
    schemas = {
        schema["function"]["name"]: schema["function"] for schema in box.schemas()
    }
    assert list(schemas) == ["search", "lookup", "resolve", "contents", "run", "answer"]
    for schema in schemas.values():
        assert schema["description"]
        assert schema["parameters"]["additionalProperties"] is False
        for parameter in schema["parameters"]["properties"].values():
            assert parameter["description"]
            bounds = {"maxLength", "maximum", "maxItems"} & parameter.keys()
            assert bounds or parameter["type"] == "boolean", parameter
    assert "`docs`" in schemas["run"]["description"]
    bare = Toolbox(None, run)
    assert list(bare.tools) == ["run", "answer"]
    assert "`docs`" not in json.dumps(bare.schemas())


CALLS = yaml.safe_load((DATA / "tool_calls.yaml").read_text())


async def test_what_tools_say_of_the_documentation(box: Toolbox):
    for tool, arguments, patterns in CALLS["said"]:
        text = await call(box, tool, **arguments)
        assert [
            pattern for pattern in patterns if not re.search(pattern, text)
        ] == [], text


MISTAKES = [
    *CALLS["mistakes"],
    ["search", {"queries": ["x"] * 100}, "at most 12"],
    ["search", {"queries": ["x" * 5000]}, "at most 1000"],
]


@pytest.mark.parametrize(("tool", "arguments", "said"), MISTAKES)
async def test_a_wrong_call_is_a_result_that_says_what_to_do(
    box: Toolbox, tool: str, arguments: Mapping[str, Any], said: str
):
    assert said in await refused(box, tool, **arguments)
    assert box.answered is None


async def test_run_shows_result_output_caught_exceptions_and_variables(box: Toolbox):
    code = CALLS["programs"]["caught"]
    text = await call(
        box, "run", code=code, entry="f", show=["whole", "part", "absent"]
    )
    said = (
        "outcome: ok",
        "'a': 3.5 (float)",
        "whole = 7 (int)\npart = 3.5 (float)",
        "line 8: KeyError: 'key'",
        "stdout:\nprinted",
    )
    assert [each for each in said if each not in text] == []
    assert "absent" not in text
    assert "stderr" not in text
    assert box.succeeded is not None
    assert (box.succeeded.code, box.succeeded.entry) == (code, "f")
    code = "def f():\n    x = 1\n    return x / 0"
    failing = await call(box, "run", code=code, entry="f", show=["x"])
    said = ("outcome: exception", "ZeroDivisionError", "x = 1 (int)")
    assert [text for text in said if text not in failing] == []
    code = "print(object())\nimport sys\nprint('e', file=sys.stderr)"
    first, second = [await call(box, "run", code=code) for _ in range(2)]
    assert "<object object at 0x...>" in first
    assert "stderr:\ne" in first
    assert first == second


async def test_code_that_ran_is_the_answer_without_being_sent_again(run: Run):
    box = Toolbox(None, run, formats=["a", "b"])
    half = "def f():\n    return {'a': 1.5, 'b': None}"
    text = await call(box, "run", code=half, entry="f", answer=True)
    assert text.startswith("not accepted: `b` is missing or None")
    assert "'a': 1.5 (float)" in text
    assert box.answered is None
    assert await call(box, "answer") == "accepted"
    assert box.answered.code == half
    whole = half.replace("None", "2.5")
    other = Toolbox(None, run, formats=["a", "b"])
    failing = {"code": "def f():\n    return 1 / 0", "entry": "f", "answer": True}
    said = "not accepted: `a`, `b` is missing or None"
    assert (await call(other, "run", **failing)).startswith(said)
    assert (await call(other, "run", code=whole, entry="f", answer=True)).startswith(
        "accepted\n"
    )
    assert "no page 2 of 1" in await refused(other, "run", **failing, page=2)
    assert (other.answered.code, other.answered.entry, other.executed) == (
        whole,
        "f",
        3,
    )


async def test_long_output_is_paged_without_a_second_run(
    box: Toolbox, live_sandbox: Sandbox
):
    code = "import time\nprint(time.time_ns())\nfor n in range(5000):\n    print('line', n)"
    first = await call(box, "run", code=code)
    last = int(first.rpartition("of ")[2].rstrip("]"))
    assert last > 3
    pages = [
        await call(box, "run", code=code, page=page) for page in range(1, last + 1)
    ]
    texts = [page.rpartition("\n[page ")[0] for page in pages[1:]]
    assert "line 4999" in texts[-1]
    assert sum(text.count("line ") for text in texts) > 3000
    again = await call(box, "run", code=code, page=2)
    assert again == pages[1]


async def test_code_reads_the_same_documents(box: Toolbox):
    text = await call(box, "run", code=CALLS["programs"]["documents"], entry="f")
    assert text.count("True (bool)") == 8, text


async def test_the_documents_are_read_only_and_an_input_of_their_name_wins(
    box: Toolbox, llm_doc: Retriever, live_sandbox: Sandbox, tmp_path: Path
):
    for write in (
        "open('docs/documents.jsonl', 'a').write('x')",
        "open('docs/__init__.py', 'w')",
    ):
        assert "outcome: exception" in await call(box, "run", code=write)
    (tmp_path / "a.txt").write_text("input")

    async def run(code: str, entry: str, more: Sequence[Mount]) -> Execution:
        mounts = [Mount(tmp_path, "docs"), *more]
        return await live_sandbox.run(code, entry, timeout=60, mounts=mounts)

    own = Toolbox(llm_doc, run, inputs=["docs"])
    assert "input" in await call(own, "run", code="print(open('docs/a.txt').read())")
    assert "`docs`" not in json.dumps(own.schemas())


@given(st.text(max_size=30_000), st.integers(1, 4))
def test_pages_hold_all_of_a_text(text: str, page: int):
    with pytest.raises(Mistake, match="no page 1000000 of") as refusal:
        page_of(text, 10**6)
    number = int(str(refusal.value).rpartition(" ")[2])
    pages = [
        page_of(text, n).removesuffix(f"\n[page {n} of {number}]")
        for n in range(1, number + 1)
    ]
    assert len(pages[min(page, number) - 1]) <= PAGE
    assert "".join(pages) == text


SCATTERED = yaml.safe_load((DATA / "scattered.yaml").read_text())
TEXTS: dict[str, tuple[str, str, str]] = SCATTERED["scattered"]


def links(texts: dict[str, tuple[str, str, str]]) -> Documentation:
    return links_of(scattered(texts))


def scattered(texts: dict[str, tuple[str, str, str]]) -> list[Symbol]:
    return [
        symbol(name, kind, f"## What it does\n{said}", signature=_called(called))
        for name, (kind, called, said) in texts.items()
    ]


def links_of(
    symbols: Sequence[Symbol], sources: frozenset[Source] = SOURCES
) -> Documentation:
    names = NameIndex([each.qualname for each in symbols], {})
    return Documentation(symbols, names, ("lab",), sources)


def documents_of(symbols: Sequence[Symbol]) -> Documents:
    return Documents(map(entry_page, symbols), {})


def _called(text: str) -> Signature | None:
    return signature(text[text.index("(") :]) if "(" in text else None


@pytest.mark.parametrize(
    ("root", "names", "said"),
    [
        # a fact in the module, a name in another module, a term of a definition
        (
            "lab.core.grip",
            ["lab.core.grip", "lab.wheel.spin", "lab.wheel.tone"],
            ["`load` of `grip` is in GPa.", "Units of length are nm."],
        ),
        # of a neighbour only what it says of that input
        (
            "lab.core.hold",
            ["lab.core.hold", "lab.wheel.spin", "lab.wheel.tone"],
            ["`turns`: what `wheel.spin` returns."],
        ),
    ],
)
def test_inputs_are_followed_to_the_end_and_facts_found_where_they_stand(
    root: str, names: list[str], said: list[str]
):
    closure = links(TEXTS).closure([root], {})
    assert list(closure.names) == names
    assert all(text in closure.text for text in said)
    assert "scarlet" not in closure.text


@pytest.mark.parametrize(
    ("source", "root", "lost"),
    [
        ("marks", "lab.core.grip", "lab.wheel.spin"),
        ("same input", "lab.core.hold", "lab.wheel.spin"),
        ("terms", "lab.core.grip", "lab.wheel.tone"),
    ],
)
def test_each_source_of_references_can_be_switched_off(
    source: Source, root: str, lost: str
):
    symbols = scattered(TEXTS)
    assert lost in links_of(symbols).closure([root], {}).names
    without = links_of(symbols, SOURCES - {source}).closure([root], {})
    assert lost not in without.names


def test_a_method_leads_to_its_class_unless_that_is_switched_off():
    symbols = [symbol("lab.A", "class", "An A."), symbol("lab.A.f", "method", "F.")]
    assert links_of(symbols).closure(["lab.A.f"], {}).names == ("lab.A.f", "lab.A")
    without = links_of(symbols, SOURCES - {"owner"})
    assert without.closure(["lab.A.f"], {}).names == ("lab.A.f",)


STYLES = {
    "numpy": """The slip barrier.

    Parameters
    ----------
    skind : float
        The zeifliltar length of the composition.
    """,
    "google": """The slip barrier.

    Args:
        skind (float): The zeifliltar length of the composition.
    """,
    "sphinx": """The slip barrier.

    :param skind: The zeifliltar length of the composition.
    :type skind: float
    """,
    "a role": """The slip barrier.

    :param skind: What :func:`~lab.other.zeif` returns.
    :type skind: float
    """,
}


@pytest.mark.parametrize("style", STYLES)
def test_inputs_without_annotations_are_followed_in_every_style(
    style: str, tmp_path: Path
):
    files = {
        "lab/__init__.py": "",
        "lab/core.py": f'def barrier(skind, load=1.0):\n    """{STYLES[style]}"""\n',
        "lab/other.py": 'def zeif(cell):\n    """The zeifliltar length of a cell in nm."""\n',
    }
    library = read_library(["lab"], write_package(tmp_path, files)).public()
    symbols = FactsWriter(library, {}).all()
    closure = links_of(symbols).closure(["lab.core.barrier"], {})
    assert closure.names == ("lab.core.barrier", "lab.other.zeif")
    assert "The zeifliltar length of a cell in nm." in closure.text
    types = {item.name: item.type for s in symbols for item in s.inputs}
    assert types["skind"] == "float"


def test_an_input_of_which_nobody_says_what_it_is_stays_open(tmp_path: Path):
    text = "## What it does\nThe jade hand. `force`: how loudly a bell is heard in fog."
    hand = symbol("lab.core.hand", text=text, signature=signature("(force)"))
    tone = symbol("lab.tone", text="## What it does\nUsed to hear ships in fog.")
    (one,) = links_of([hand, tone]).closure(["lab.core.hand"], {}).open
    assert (one.name, one.type) == ("force", "")
    assert [name for name, _ in links_of([hand, tone]).candidates(one)] == ["lab.tone"]


def test_what_a_deprecated_page_says_of_another_symbol_counts():
    old = (
        "function",
        "grab() -> float",
        "Deprecated. `grip` replaces it. The amber grab. What `spin` returns is a count.",
    )
    closure = links({**TEXTS, "lab.core.grab": old}).closure(["lab.core.grip"], {})
    assert "What `spin` returns is a count." in closure.text
    assert "amber grab" not in closure.text


def test_an_input_that_names_nothing_is_open_until_it_is_chosen():
    found = links(TEXTS)
    (one,) = found.closure(["lab.core.hand"], {}).open
    assert (one.symbol, one.name, one.type) == ("lab.core.hand", "force", "float")
    names = [name for name, _ in found.candidates(one)]
    assert names.index("lab.wheel.tone") < names.index("lab.wheel.ring")  # a float fits
    closure = found.closure(
        ["lab.core.hand"], {(one.symbol, one.name): "lab.wheel.tone"}
    )
    assert (closure.names[-1], closure.open) == ("lab.wheel.tone", ())


def test_what_is_known_is_followed_but_not_said_again():
    found = links(TEXTS)
    closure = found.closure(["lab.core.grip"], {}, ["lab.core.grip"])
    assert closure.names[0] == "lab.core.grip"
    assert "amber" not in closure.text
    assert "ochre" in closure.text


def test_a_term_leads_to_its_current_definition_and_inputs_to_theirs():
    symbols = []
    for name, text in SCATTERED["terms"].items():
        facts, _, prose = text.partition("---\n")
        kind = facts.split("kind: ")[1].split()[0]
        called = facts.partition("signature: ")[2].strip()
        symbols.append(symbol(name, kind, prose, signature=_called(called)))
    library = documents_of(symbols)
    lines = library.resolve("slip barrier of the outer layers")
    assert [line.name for line in lines] == ["lab.core.slip_new", "lab.core.slip_old"]
    assert [bool(line.deprecated) for line in lines] == [False, True]
    assert "use slip_new" in lines[1].deprecated
    closure = links_of(symbols).closure(["lab.core.slip_new"], {})
    assert closure.names == ("lab.core.slip_new", "lab.tables.cage_hold")
    assert closure.open == ()


@given(st.text(max_size=2000), st.text(max_size=200))
def test_hostile_documents_and_questions_are_read(text: str, term: str):
    called = Signature((Parameter(text, type=text),), text)
    one = symbol("lab.a", text=f"## What it does\n{text}", signature=called)
    found = links_of([one, symbol("lab.b", "class", term)])
    assert set(found.closure(["lab.a", term], {}).names) <= {"lab.a", "lab.b"}
    assert set(found.mentioned(term)) <= {"lab.a", "lab.b"}


def test_hostile_documents_and_terms_take_linear_time():
    started = time.monotonic()
    for part in ("deprecated. ", "`a.", "## ", "(", "a" * 50 + " ", ". use "):
        text = "## What it does\n" + part * (100_000 // len(part))
        symbols = [symbol("lab.b", text=text)] * 2
        library = documents_of(symbols)
        library.contents()
        library.resolve(part * 1000)
        links_of(symbols).closure(["lab.b"], {})
        library.search(part * 1000)
        library.near(part * 1000)
    assert time.monotonic() - started < 60
