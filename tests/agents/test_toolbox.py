"""The tools over the real documents and the real sandbox."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.toolbox import Toolbox, open_toolbox
from agents.toolbox.library import Documents
from agents.toolbox.texts import PAGE, Mistake, page_of
from retrieval.base import Retriever
from sandbox import environments
from sandbox.base import Mount, Sandbox

SHORT = PAGE + 100  # a page with its note


@pytest.fixture
def box(llm_doc: Retriever, live_sandbox: Sandbox) -> Toolbox:
    site = environments.site_packages("live")
    return open_toolbox(llm_doc, live_sandbox, sources=[site])


async def call(box: Toolbox, tool: str, **arguments: Any) -> str:
    result = await box.call(tool, arguments)
    assert not result.failed, result.text
    assert len(result.text) <= SHORT
    return result.text


async def refused(box: Toolbox, tool: str, **arguments: Any) -> str:
    result = await box.call(tool, arguments)
    assert result.failed, result.text
    assert len(result.text) <= SHORT
    return result.text


async def test_every_tool_has_a_schema_with_descriptions_and_bounds(
    box: Toolbox, live_sandbox: Sandbox
):
    schemas = {schema["function"]["name"]: schema["function"] for schema in box.schemas()}
    assert list(schemas) == ["search", "lookup", "resolve", "tree", "source", "contents", "run",
                             "answer"]  # fmt: skip
    for schema in schemas.values():
        assert schema["description"]
        assert schema["parameters"]["additionalProperties"] is False
        for parameter in schema["parameters"]["properties"].values():
            assert parameter["description"]
            bounds = {"maxLength", "maximum", "maxItems"} & parameter.keys()
            assert bounds, parameter
    assert "`docs`" in schemas["run"]["description"]
    bare = open_toolbox(None, live_sandbox)
    assert list(bare.tools) == ["run", "answer"]
    assert "`docs`" not in json.dumps(bare.schemas())


async def test_search(box: Toolbox):
    found = await call(box, "search", queries=["powder diffraction pattern", "xyzzy plugh"], k=3)
    first, second = found.split("## xyzzy plugh")
    lines = first.strip().splitlines()
    assert len(lines) == 5
    assert "diffraction" in lines[1]
    assert "more; a larger k" in lines[4]
    assert second.strip()


async def test_lookup_with_parts_pages_and_near_names(box: Toolbox):
    text = await call(box, "lookup", names=["Lattice.from_parameters", "EwaldSummation"])
    assert "alpha: float" in text
    assert "pymatgen.core.ewald.EwaldSummation\n" in text
    whole = await call(box, "lookup", names=["pymatgen.core.Structure"])
    assert "[page 1 of " in whole
    second = await call(box, "lookup", names=["pymatgen.core.Structure"], page=2)
    assert second != whole
    member = await call(box, "lookup", names=["Structure"], part="from_spacegroup")
    assert "from_spacegroup(" in member.splitlines()[3]
    section = await call(box, "lookup", names=["Lattice.from_parameters"], part="parameters")
    assert "beta (float)" in section
    assert "signature" not in section
    missing = await refused(box, "lookup", names=["SpacegroupAnalyser"])
    assert "pymatgen.symmetry.analyzer.SpacegroupAnalyzer" in missing
    assert "Parameters" in await refused(
        box, "lookup", names=["Lattice.from_parameters"], part="zzz"
    )
    mixed = await call(box, "lookup", names=["SpacegroupAnalyser", "EwaldSummation"])
    assert "no symbol 'SpacegroupAnalyser'" in mixed
    assert "page 99 of" in await refused(box, "lookup", names=["EwaldSummation"], page=99)


async def test_resolve_tree_source_and_contents(box: Toolbox):
    resolved = await call(box, "resolve", terms=["ewald summation"])
    assert "signature: EwaldSummation(" in resolved
    tree = await call(box, "tree", name="pymatgen.analysis.defects.core.Vacancy", depth=2)
    assert "  pymatgen.core.sites.PeriodicSite [" in tree
    assert "  pymatgen.analysis.defects.core.Defect [" in tree
    source = await call(box, "source", name="Lattice.cubic")
    assert "def cubic(" in source
    assert "def tetragonal(" not in source
    assert "similar: " in await refused(box, "source", name="Lattice.cubical")
    everything = await call(box, "contents")
    assert "more symbols" in everything
    module = await call(box, "contents", package="pymatgen.core.ewald")
    assert "  EwaldSummation.total_energy [property]" in module
    assert "similar" in await refused(box, "contents", package="pymatgen.cora")


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("find", {}, "no tool 'find'; there are: search, lookup"),
        ("search", {}, "queries: Field required"),
        ("search", {"queries": "powder"}, "queries: Input should be a valid list"),
        ("search", {"queries": ["x"] * 100}, "at most 12"),
        ("search", {"queries": ["x"], "k": 10_000}, "less than or equal to 50"),
        ("search", {"queries": ["x" * 5000]}, "at most 1000"),
        ("lookup", {"names": ["x"], "depth": 1}, "depth: Extra inputs are not permitted"),
        ("tree", {"name": "", "depth": "deep"}, "depth: Input should be a valid integer"),
        ("run", {"code": ""}, "at least 1"),
        ("answer", {"code": "def f(:", "entry": "f"}, "syntax error"),
        ("answer", {"code": "def f(x): pass", "entry": "f"}, "'f' without arguments"),
    ],
)
async def test_a_wrong_call_is_a_result_that_says_what_to_do(
    box: Toolbox, tool: str, arguments: Mapping[str, Any], said: str
):
    assert said in await refused(box, tool, **arguments)
    assert box.answered is None


RUN = """\
def half(x):
    part = x / 2
    return part

def f():
    whole = 7
    try:
        {}["key"]
    except KeyError:
        print("printed")
    return {"a": half(whole), "o": None}
"""


async def test_run_shows_result_output_caught_exceptions_and_variables(box: Toolbox):
    text = await call(box, "run", code=RUN, entry="f", show=["whole", "part", "absent"])
    assert "outcome: ok" in text
    assert "'a': 3.5 (float)" in text
    assert "whole = 7 (int)\npart = 3.5 (float)" in text
    assert "absent" not in text
    assert "line 8: KeyError: 'key'" in text
    assert "stdout:\nprinted" in text
    assert "stderr" not in text
    assert box.succeeded is not None
    assert (box.succeeded.code, box.succeeded.entry) == (RUN, "f")
    failing = await call(
        box, "run", code="def f():\n    x = 1\n    return x / 0", entry="f", show=["x"]
    )
    assert "outcome: exception" in failing
    assert "ZeroDivisionError" in failing
    assert "x = 1 (int)" in failing
    same = await call(box, "run", code="print(object())\nimport sys\nprint('e', file=sys.stderr)")
    assert "<object object at 0x...>" in same
    assert "stderr:\ne" in same
    assert (
        await call(box, "run", code="print(object())\nimport sys\nprint('e', file=sys.stderr)")
        == same
    )


async def test_long_output_is_paged_without_a_second_run(box: Toolbox, live_sandbox: Sandbox):
    code = "import time\nprint(time.time_ns())\nfor n in range(5000):\n    print('line', n)"
    first = await call(box, "run", code=code)
    last = int(first.rpartition("of ")[2].rstrip("]"))
    assert last > 3
    pages = [await call(box, "run", code=code, page=page) for page in range(1, last + 1)]
    texts = [page.rpartition("\n[page ")[0] for page in pages[1:]]
    assert "line 4999" in texts[-1]
    assert sum(text.count("line ") for text in texts) > 3000
    again = await call(box, "run", code=code, page=2)
    assert again == pages[1]


DOCS = """\
import docs
def f():
    lines = docs.contents("pymatgen.core.ewald")
    names = [line.name for line in lines if line.kind == "class"]
    return {
        "names": names,
        "signature": "signature: Ewald" in docs.lookup(names[0]),
        "part": docs.lookup("Lattice.from_parameters", "Returns"),
        "nothing": docs.lookup("no.such.name"),
        "found": docs.search("ewald summation", 3)[0].name,
        "grep": len(docs.grep("Ewald.*energy")) > 1,
        "near": docs.near("EwaldSumation")[0],
        "defined": docs.resolve("ewald summation")[0].name,
        "inputs": [link.name for link in docs.inputs("EwaldSummation")],
        "tree": [level for level, _ in docs.tree("EwaldSummation", 2)][:2],
    }
"""


async def test_code_reads_the_same_documents(box: Toolbox, llm_doc: Any, live_sandbox: Sandbox):
    seen: list[Any] = []
    run = live_sandbox.run

    async def kept(*args: Any, **options: Any) -> Any:
        seen.append(await run(*args, **options))
        return seen[-1]

    live_sandbox.run = kept  # type: ignore[method-assign]
    try:
        await call(box, "run", code=DOCS, entry="f")
    finally:
        live_sandbox.run = run  # type: ignore[method-assign]
    result = seen[0].result
    assert seen[0].outcome == "ok", seen[0].error
    documents = [(d.page_content, d.metadata) for d in llm_doc.corpus.documents]
    here = Documents(documents, llm_doc.corpus.aliases)
    assert "pymatgen.core.ewald.EwaldSummation" in result["names"]
    assert result["signature"]
    assert "Lattice with the specified" in result["part"]
    assert result["nothing"] is None
    assert "ewald" in result["found"].lower()
    assert result["grep"]
    assert result["near"] == result["defined"] == "pymatgen.core.ewald.EwaldSummation"
    assert result["inputs"] == [link.name for link in here.inputs("EwaldSummation")]
    assert result["tree"] == [0, 1]


async def test_the_documents_are_read_only_and_an_input_of_their_name_wins(
    llm_doc: Retriever, live_sandbox: Sandbox, tmp_path: Path
):
    box = open_toolbox(llm_doc, live_sandbox)
    for write in ("open('docs/documents.jsonl', 'a').write('x')", "open('docs/__init__.py', 'w')"):
        assert "outcome: exception" in await call(box, "run", code=write)
    (tmp_path / "a.txt").write_text("input")
    own = open_toolbox(llm_doc, live_sandbox, [Mount(tmp_path, "docs")])
    assert "input" in await call(own, "run", code="print(open('docs/a.txt').read())")
    assert "`docs`" not in json.dumps(own.schemas())


DEPRECATED = """\
lab.core.{name}
kind: function
signature: {name}(structure: Structure, grip: float) -> float
---
## What it does
The slip barrier of the outer layers. {more}

## Parameters
grip (float): The hold of the anion cage after quenching of the same structure, in meV.
"""
GRIP = """\
lab.tables.cage_hold
kind: constant
value: 3.5
---
## What it does
The hold of the anion cage after quenching, in eV.
"""


def invented() -> Documents:
    texts = {
        "lab.core.slip_old": DEPRECATED.format(
            name="slip_old", more="Deprecated: use slip_new instead."
        ),
        "lab.core.slip_new": DEPRECATED.format(name="slip_new", more="Positive inwards."),
        "lab.tables.cage_hold": GRIP,
    }
    return Documents(
        [(text, {"qualname": name, "kind": text.split("kind: ")[1].split()[0]})
         for name, text in texts.items()],
        {},
    )  # fmt: skip


def test_a_term_leads_to_its_current_definition_and_inputs_to_theirs():
    library = invented()
    lines = library.resolve("slip barrier of the outer layers")
    assert [line.name for line in lines] == ["lab.core.slip_new", "lab.core.slip_old"]
    assert [bool(line.deprecated) for line in lines] == [False, True]
    assert "use slip_new" in lines[1].deprecated
    assert [link.name for link in library.inputs("lab.core.slip_new")] == ["lab.tables.cage_hold"]
    assert library.inputs("lab.core.slip_new")[0].how.startswith("input grip:")


@given(st.text(max_size=30_000), st.integers(1, 4))
def test_pages_hold_all_of_a_text(text: str, page: int):
    with pytest.raises(Mistake, match="no page 1000000 of") as refusal:
        page_of(text, 10**6)
    number = int(str(refusal.value).rpartition(" ")[2])
    assert len(page_of(text, min(page, number))) <= SHORT
    whole = "".join(page_of(text, n).removesuffix(f"\n[page {n} of {number}]")
                    for n in range(1, number + 1))  # fmt: skip
    assert whole == text


def test_hostile_documents_and_terms_take_linear_time():
    started = time.monotonic()
    for part in ("deprecated. ", "`a.", "## ", "(", "a" * 50 + " ", ". use "):
        text = "kind: function\n---\n## What it does\n" + part * (300_000 // len(part))
        library = Documents([(text, {"qualname": "a.b", "kind": "function"})] * 2, {})
        library.contents()
        library.resolve(part * 1000)
        library.inputs("a.b")
        library.search(part * 1000)
        library.near(part * 1000)
    assert time.monotonic() - started < 60
