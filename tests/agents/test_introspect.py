"""Names of a draft against the installed libraries, in the real sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.base import Question
from agents.episode import Parts
from agents.introspect import (
    ENTRY,
    IntrospectionError,
    Miss,
    draft_probe,
    read_misses,
    read_sources,
    source_probe,
)
from agents.reflect import Reflect
from sandbox.base import Execution, Outcome, Sandbox
from tests.agents.scripted import ListRetriever, client, code_reply

QUESTIONS = Path(__file__).parents[2] / "experiments/benchmarks/live/questions"

SETUP = """\
from pymatgen.core import Lattice, Structure
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer
s = Structure.from_spacegroup("P1", Lattice.cubic(3), ["Ga"], [[0, 0, 0]])
"""


async def misses(sandbox: Sandbox, code: str) -> list[Miss]:
    return read_misses(await sandbox.run(draft_probe(code), ENTRY, timeout=60))


@pytest.mark.parametrize(
    ("line", "name", "says"),
    [
        ("import pymatgen.symmetry.analyser", "pymatgen.symmetry.analyser", "symmetry.analyzer"),
        ("from pymatgen.core import Latice", "Latice", "`pymatgen.core.Lattice`"),
        # moved: the real home is named
        (
            "from pymatgen.core import SpacegroupAnalyzer as A",
            "SpacegroupAnalyzer",
            "it is `pymatgen.symmetry.analyzer.SpacegroupAnalyzer`",
        ),
        ("s.get_reduced_structur()", "get_reduced_structur", "`get_reduced_structure`"),
        ("SpacegroupAnalyzer(s).get_spacegroup_symbol()", "get_spacegroup_symbol",
         "`get_space_group_symbol`"),
        ("SpacegroupAnalyzer(s, tolerance=0.1)", "tolerance", "`angle_tolerance`"),
        ("Lattice.cubic()", "cubic", "missing a required argument: 'a'"),
        # through the return annotation of a method
        ("SpacegroupAnalyzer(s).get_refined_structure().get_foo_bar()", "get_foo_bar",
         "pymatgen.core.structure.Structure` has no"),
        ("x = [q.nothing for q in s]; s.lattice.no_such_attribute", "no_such_attribute",
         "pymatgen.core.lattice.Lattice` has no"),
        # variables of loops, indices, containers
        *((line, "get_foo", "pymatgen.core.lattice.Lattice` has no `get_foo`") for line in (
            "for q in s: q.lattice.get_foo()",
            "[q.lattice.get_foo() for q in s if q]",
            "s[0].lattice.get_foo()",
            "for i, q in enumerate(s.sites): q.lattice.get_foo()",
            "for a, b in zip(s, range(3)): a.lattice.get_foo()",
            "for k, v in {1: s.lattice}.items(): v.get_foo()",
            "list(s)[-1].lattice.get_foo()",
            "sorted(s, key=str)[0].lattice.get_foo()",
            "[q for q in s][1:][0].lattice.get_foo()",
            "{k: v.get_foo() for k, v in {1: s.lattice}.items()}",
            "(s, s.lattice)[1].get_foo()",
        )),
        # a class that makes attributes by name, and one that is almost a real one
        ("for q in s: q.cart_coords", "cart_coords",
         "itself has no `cart_coords`; nearest: `frac_coords`, `coords`"),
        # what there is instead of a module
        ("import pymatgen.analysis.no_such_thing", "pymatgen.analysis.no_such_thing",
         "`pymatgen.analysis` has: adsorption, "),
    ],
)  # fmt: skip
async def test_what_is_not_there_is_said_with_what_is_near(
    live_sandbox: Sandbox, line: str, name: str, says: str
):
    found = await misses(live_sandbox, SETUP + line)
    assert [miss.name for miss in found] == [name]
    assert says in found[0].text
    assert found[0].line == 4


@pytest.mark.parametrize(
    "line",
    [
        "s = 3\ns.get_nothing()",  # rebound: no longer a structure
        "def f(s):\n    return s.get_nothing()",  # a parameter hides it
        "for s in [1]:\n    s.get_nothing()",
        "[s.get_nothing() for s in (1, 2)]",
        "try:\n    import no_such_module\nexcept ImportError:\n    no_such_module = None",
        "options = {}\nSpacegroupAnalyzer(s, **options)",
        "s.lattice.matrix, s.num_sites, s.composition.reduced_formula",
        "if s:\n    t = s\nelse:\n    t = 1\nt.get_nothing()",
        "for q in [s, 1]:\n    q.get_nothing()",
        "(s, 1)[1].get_nothing()",
        "s[:2].get_nothing()",  # a list, whatever the annotation says
        "for q in s: q.magmom",  # properties of a site
        "s.add_site_property('cart_coord', [1])\ns[0].cart_coord",
    ],
)
async def test_what_is_not_known_is_not_accused(live_sandbox: Sandbox, line: str):
    assert await misses(live_sandbox, SETUP + line) == []


async def test_the_draft_is_never_executed(live_sandbox: Sandbox):
    assert await misses(live_sandbox, "raise SystemExit(3)\nwhile True:\n    pass\n") == []


async def test_a_syntax_error_is_a_finding(live_sandbox: Sandbox):
    found = await misses(live_sandbox, "def f(:\n")
    assert "not Python" in found[0].text


@pytest.mark.long
async def test_no_reference_solution_is_accused(live_sandbox: Sandbox):
    references = sorted(QUESTIONS.glob("*/reference.py"))
    assert len(references) >= 30
    accused = {
        path.parent.name: [str(miss) for miss in found]
        for path in references
        if (found := await misses(live_sandbox, path.read_text()))
    }
    assert accused == {}


async def test_sources_of_installed_objects(live_sandbox: Sandbox):
    names = ["pymatgen.core.Lattice.volume", "pymatgen.core.NoSuch", "pymatgen.core"]
    run = await live_sandbox.run(source_probe(names), ENTRY, timeout=60)
    found = read_sources(run)
    assert list(found) == ["pymatgen.core.Lattice.volume"]
    assert "def volume" in found["pymatgen.core.Lattice.volume"]


def test_a_probe_that_fails_says_so():
    with pytest.raises(IntrospectionError, match="timeout"):
        read_misses(Execution(Outcome.TIMEOUT, error="longer than 60 s"))
    with pytest.raises(IntrospectionError):
        read_misses(Execution(Outcome.OK, result="not a list"))


async def test_reflect_shows_misses_and_retrieves_what_was_misused(live_sandbox: Sandbox):
    bad = code_reply(
        "from pymatgen.core import Lattice\nreturn {'a': Lattice.cubic(2).get_volume()}"
    )
    model, chat = client(bad, code_reply("return {'a': 8.0}"))
    retriever = ListRetriever("some.Other", "pymatgen.core.lattice.Lattice")
    question = Question("q", "- `a`: the volume. Format: `float`.", {"a": "float"})
    trajectory = await Reflect(Parts(model, retriever, live_sandbox), k=1).solve(question)
    assert trajectory.stop_reason == "answered"
    assert "`pymatgen.core.lattice.Lattice` has no `get_volume`" in chat.prompts[1]
    assert "about pymatgen.core.lattice.Lattice" not in chat.prompts[0]
    assert "about pymatgen.core.lattice.Lattice" in chat.prompts[1]
    off, chat = client(bad, "<feedback>x</feedback><query></query>", bad)
    agent = Reflect(Parts(off, None, live_sandbox), check_introspection=False, max_iterations=2)
    await agent.solve(question)
    assert "<library>" not in chat.prompts[1]
