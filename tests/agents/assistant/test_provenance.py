"""Where values come from: real code in the real sandbox, then read."""

from __future__ import annotations

import asyncio
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agents.assistant.answers import Origin
from agents.assistant.flow import flows
from agents.assistant.provenance import notes, origins, sources, unit_of
from agents.assistant.tracing import Trace, run_final
from sandbox import environments
from sandbox.base import Mount, Outcome, Sandbox

pytestmark = pytest.mark.asyncio(loop_scope="session")

POSCAR = """\
rock salt
1.0
0.0 2.8 2.8
2.8 0.0 2.8
2.8 2.8 0.0
Na Cl
1 1
direct
0.0 0.0 0.0
0.5 0.5 0.5
"""


async def look(
    sandbox: Sandbox, body: str, said: str = "", inputs: Mapping[str, Path] | None = None
) -> tuple[dict[str, Origin], Trace]:
    code = "def f():\n" + textwrap.indent(textwrap.dedent(body), "    ")
    mounts = [Mount(path, name) for name, path in (inputs or {}).items()]
    done, trace = await run_final(sandbox, code, "f", timeout=60, mounts=mounts)
    assert done.outcome is Outcome.OK, done.error
    assert trace is not None
    keys = list(done.result)
    return origins(code, "f", keys, trace, inputs=list(inputs or ()), said=said), trace


def texts(literals: Sequence[object]) -> set[str]:
    return {literal.text for literal in literals}


async def test_invented_energies_are_assumed_whatever_computes_with_them(live_sandbox: Sandbox):
    body = """
        from pymatgen.analysis.phase_diagram import PDEntry, PhaseDiagram
        from pymatgen.core import Composition
        energies = {"Li": -1.9, "O2": -9.8, "Li2O": -14.3}
        entries = [PDEntry(Composition(name), energy) for name, energy in energies.items()]
        diagram = PhaseDiagram(entries)
        return {"above_hull": diagram.get_e_above_hull(entries[2]), "count": 3, "given": 4.75}
        """
    found, _ = await look(live_sandbox, body, "How stable is Li2O, if x = 4.75?")
    hull = found["above_hull"]
    assert hull.kind == "computed"
    assert any(name.endswith("get_e_above_hull") for name in hull.calls)
    assert {"-1.9", "-9.8", "-14.3"} <= texts(hull.assumed)
    assert found["count"].kind == "assumed"
    assert (found["given"].kind, texts(found["given"].given)) == ("given", {"4.75"})


async def test_a_value_from_a_file_depends_on_no_number(live_sandbox: Sandbox, tmp_path: Path):
    (tmp_path / "POSCAR").write_text(POSCAR)
    body = """
        from pathlib import Path
        from pymatgen.core import Structure
        structure = Structure.from_file("POSCAR")
        text = Path("POSCAR").read_text()
        result = {}
        result["density"] = structure.density
        result["title"] = text.splitlines()[0]
        return result
        """
    found, trace = await look(live_sandbox, body, inputs={"POSCAR": tmp_path / "POSCAR"})
    assert found["density"].kind == "computed"
    assert found["density"].files == ("POSCAR",)
    assert found["density"].assumed == ()
    assert found["title"].kind == "read"
    assert trace.read == {"POSCAR"}
    (density, *_) = [s for s in sources(trace, None, environments.source_folders("live"))
                     if s.name.endswith(".density")]  # fmt: skip
    assert density.distribution == "pymatgen-core"
    assert density.version
    place, _, line = density.link.removeprefix("file://").partition("#L")
    text = await asyncio.to_thread(Path(place).read_text)
    assert "def density" in "\n".join(text.splitlines()[int(line) - 2 :][:4])


async def test_code_without_the_library_is_flagged(live_sandbox: Sandbox):
    found, trace = await look(live_sandbox, "import math\nreturn {'gap_eV': math.sqrt(1.25)}")
    assert found["gap_eV"].kind == "assumed"
    assert "calls no library function" in notes([], trace, [], [])[0]


async def test_only_what_ran_counts(live_sandbox: Sandbox):
    body = """
        from pymatgen.core import Lattice
        cell = Lattice.cubic(4.0)
        try:
            volume = cell.volume
        except ValueError:
            volume = 77.5
        if volume > 1000:
            volume = 88.5
        return {"volume_A3": volume}
        """
    found, _ = await look(live_sandbox, body)
    assert texts(found["volume_A3"].assumed) == {"4.0"}


async def test_a_fallback_that_was_used_is_seen(live_sandbox: Sandbox):
    body = """
        from pymatgen.core import Lattice
        try:
            energy = Lattice.cubic(4.0).energy
        except AttributeError:
            energy = -3.25
        return {"energy_eV": energy}
        """
    found, _ = await look(live_sandbox, body)
    assert found["energy_eV"].kind == "assumed"
    assert "-3.25" in texts(found["energy_eV"].assumed)


@pytest.mark.parametrize(
    "body",
    [
        "x = []\nfor e in (7.25, 8.25):\n    x.append(e)\nreturn {'v': sum(x)}",
        "def g(a, *, b=7.25):\n    return a + b\nreturn {'v': g(8.25)}",
        "v = {'x': {}}\nv['x']['y'] = 7.25\nw = v['x']\nw['z'] = 8.25\nreturn {'v': v}",
        "class A:\n  e = 7.25\n  def f(self):\n    return 8.25\nreturn {'v': A().f() + A.e}",
        "if 7.25 > 1:\n    v = 8.25\nelse:\n    v = 1\nreturn {'v': v}",
        "f = lambda x: 7.25 * x\nreturn {'v': list(map(f, [8.25]))}",
        "def g():\n    yield 7.25\n    yield 8.25\nreturn {'v': list(g())}",
        "a, (b, *c) = 7.25, (1, 8.25)\nreturn dict(v=[a, c])",
        "r = dict()\nr.update(v=7.25 + 8.25)\nreturn {**r}",
        "v = 0\nn = 0\nwhile n < 2:\n    v, n = v + 7.25 + 8.25, n + 1\nreturn {'v': v}",
        "return {'v': [x * 7.25 for x in (8.25, 1) if x > 1]}",
        "match 7.25:\n    case y if y > 1:\n        v = 8.25\nreturn {'v': v}",
        "with open('out/x', 'w') as f:\n    f.write(str(7.25))\nreturn {'v': [8.25, f'{7.25}']}",
        "a, b = 7.25, 8.25\ng = lambda: a\ndef h():\n    return g() + b\nreturn {'v': h()}",
        ("a, b = 7.25, 8.25\ndef g(*ways):\n    for way in ways:\n        v = way()\n    return v\n"
        "return {'v': g(lambda: a, lambda: b)}"),
        "v = (w := 7.25) + 8.25\nreturn {'v': v}",
    ],
)  # fmt: skip
async def test_no_number_gets_lost(live_sandbox: Sandbox, body: str):
    found, _ = await look(live_sandbox, body)
    assert {"7.25", "8.25"} <= texts(found["v"].assumed)
    assert found["v"].kind == "assumed"


async def test_a_file_that_is_found_by_listing_is_not_certain(live_sandbox: Sandbox, tmp_path):
    (tmp_path / "data.csv").write_text("1,2")
    body = """
        import os
        return {"text": [open(name).read() for name in os.listdir() if name.endswith("csv")]}
        """
    found, _ = await look(live_sandbox, body, inputs={"data.csv": tmp_path / "data.csv"})
    assert found["text"].kind == "unknown"
    assert "data.csv" in found["text"].unknown[0]


async def test_variables_set_from_elsewhere_are_not_certain(live_sandbox: Sandbox):
    body = "v = 1\ndef g():\n    nonlocal v\n    v = 7.25\ng()\nreturn {'v': v}"
    found, _ = await look(live_sandbox, body)
    assert found["v"].kind == "unknown"
    assert "outside of itself" in found["v"].unknown[0]


async def test_noting_changes_nothing(live_sandbox: Sandbox):
    code = textwrap.dedent('''
        """Doc."""
        from __future__ import annotations
        import dataclasses, functools, inspect, pickle

        @dataclasses.dataclass
        class P:
            x: list[int] = dataclasses.field(default_factory=list)
            def up(self) -> P:
                return super().__class__ and self

        @functools.cache
        def g(n: int) -> int:
            return n if n < 2 else g(n - 1) + g(n - 2)

        def f():
            match P([1]):
                case P(x=[1]):
                    here = True
            again = pickle.loads(pickle.dumps(P([2])))
            return {"n": g(20), "src": inspect.getsource(g), "again": again.x,
                    "here": here, "up": P([3]).up().x, "locals": sorted(locals())}
        ''')  # fmt: skip
    plain = await live_sandbox.run(code, "f", timeout=30)
    noted, trace = await run_final(live_sandbox, code, "f", timeout=30, mounts=[])
    assert plain.outcome is Outcome.OK, plain.error
    assert trace is not None
    assert noted.result == plain.result


async def test_an_exception_has_the_traceback_of_the_code(live_sandbox: Sandbox):
    done, trace = await run_final(
        live_sandbox, "def f():\n    x = 1\n    return x / 0\n", "f", timeout=30, mounts=[]
    )
    assert trace is None
    assert done.outcome is Outcome.EXCEPTION
    assert 'main.py", line 3, in f' in (done.error or "")
    assert "tracer" not in (done.error or "")


async def test_a_trace_that_the_code_replaced_is_none(live_sandbox: Sandbox):
    code = "import builtins\ndef f():\n    del builtins.__called__\n    return {'x': len('ab')}\n"
    done, trace = await run_final(live_sandbox, code, "f", timeout=30, mounts=[])
    assert done.outcome is Outcome.EXCEPTION or trace is not None


SHARED = [f"    d{n} = {{'a': d{n - 1}, 'b': d{n - 1}}}" for n in range(1, 60)]
NESTED = ["  " * n + f"  for x{n} in y:" for n in range(15)]


@pytest.mark.parametrize(
    "code",
    [
        "\n".join(["def f():", "    d0 = {'a': 1.5}", *SHARED, "    return d59"]),
        "\n".join(["def f():", *NESTED, "  " * 20 + "z = 1.5", "  return z"]),
        "def f():\n    d = {}\n    d['a'] = d\n    return d",
        "def g(): return g() + g()\ndef f(): return {'a': g()}",
        "def f():\n    return [" + "1.5," * 50_000 + "]",
        "def f():\n    return " + "(" * 150 + "1.5" + ")" * 150,
        "x = " + "-" * 5000 + "1",
    ],
    ids=["shared", "nested", "itself", "recursive", "many", "deep", "unary"],
)
async def test_hostile_code_is_read_in_little_time(code: str):
    started = time.monotonic()
    flows(code, "f", None, ["POSCAR"])
    assert time.monotonic() - started < 60


@pytest.mark.parametrize(
    ("name", "unit"),
    [("volume_A3", "Å³"), ("energy_eV_per_atom", "eV/atom"), ("density (g/cm3)", "g/cm³"),
     ("a_A", "Å"), ("c_a", None), ("temperature_K", "K"), ("k", None), ("sites", None),
     ("band gap [eV]", "eV"), ("angle_deg", "°")],
)  # fmt: skip
async def test_units_of_names(name: str, unit: str | None):
    assert unit_of(name, {}) == unit
    assert unit_of(name, {name: "mRy"}) == "mRy"
