"""Where values come from: real code in the real sandbox, then read."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from agents.assistant import files
from agents.assistant.answers import Answer
from agents.assistant.provenance import literals, unit_of
from agents.assistant.results import answer_of, completed, run_final
from agents.assistant.show import behind
from agents.base import Trajectory, Usage
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


async def ask(
    sandbox: Sandbox, body: str, said: str = "", inputs: Mapping[str, Path] | None = None
) -> Answer:
    """What the assistant answers when a model writes the body of this function."""
    code = "def f():\n" + textwrap.indent(textwrap.dedent(body), "    ")
    return await answered(sandbox, code, "f", said, inputs or {})


async def answered(
    sandbox: Sandbox, code: str, entry: str, said: str, inputs: Mapping[str, Path]
) -> Answer:
    """What the assistant answers when a model writes this code."""
    looked = await files.look(sandbox, inputs)
    mounts = [Mount(path, name) for name, path in inputs.items()]
    done, trace = await run_final(sandbox, code, entry, timeout=60, mounts=mounts)
    assert done.outcome is Outcome.OK, done.error
    assert trace.noted
    written = Trajectory("q", 0, code, entry, "", (), Usage(), "answered", "strict")
    return completed(answer_of(said, written, looked), (done, trace), looked, said)


@pytest.fixture
def poscar(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "POSCAR").write_text(POSCAR)
    return {"POSCAR": tmp_path / "POSCAR"}


async def test_invented_energies_are_assumed_and_a_literal_is_no_computation(live_sandbox: Sandbox):
    body = """
        from pymatgen.analysis.phase_diagram import PDEntry, PhaseDiagram
        from pymatgen.core import Composition
        energies = {"Li": -1.9, "O2": -9.8, "Li2O": -14.3}
        entries = [PDEntry(Composition(name), energy) for name, energy in energies.items()]
        diagram = PhaseDiagram(entries)
        return {"above_hull": diagram.get_e_above_hull(entries[2]), "count": 3, "given": 4.75}
        """
    found = await ask(live_sandbox, body, "How stable is Li2O, if x = 4.75?")
    assert any(source.name.endswith("get_e_above_hull") for source in found.sources)
    assert "nor in a file: 14.3 (line 5), 9.8 (line 5), 1.9 (line 5)" in found.notes[-1]
    assert {value.name: value.repeats for value in found.values} == {
        "above_hull": None, "count": 8, "given": None
    }  # fmt: skip
    assert "count stands in the code, line 8: it was not computed" in found.notes


async def test_a_value_from_a_file_raises_no_alarm(live_sandbox: Sandbox, poscar):
    body = """
        from pymatgen.core import Structure
        structure = Structure.from_file("POSCAR")
        return {"density_g_cm3": structure.density, "units": {"density_g_cm3": "g/cm^3"}}
        """
    found = await ask(live_sandbox, body, "What is its density?", inputs=poscar)
    assert (found.notes, found.read) == ((), ("POSCAR",))
    (density, *_) = [s for s in found.sources if s.name.endswith(".density")]
    assert density.distribution == "pymatgen-core"
    shown = behind(found)
    assert "Structure.density" in shown
    assert "units: the model's word" in shown


CUBE = "from pymatgen.core import Lattice\nreturn {'of_cube': Lattice.cubic(5.6).volume}"
DENSITY = """from pymatgen.core import Structure
return {'density': Structure.from_file('POSCAR').density * 0.6, 'units': {'density': 'g/cm^3'}}"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (CUBE, "not read by the code: POSCAR"),
        (DENSITY, "computed independently from POSCAR: it is 2.2104 g/cm^3"),
        ("import math\nreturn {'gap_eV': math.sqrt(1.25)}", "calls no library function"),
        ("open('POSCAR')\nreturn {'density_g_cm3': 2.16}", "stands in the code, line 3"),
    ],
)
async def test_what_a_reader_must_know(live_sandbox: Sandbox, poscar, body: str, told: str):
    found = await ask(live_sandbox, body, "Volume of a cube of 5.6, and of POSCAR?", poscar)
    assert any(told in note for note in found.notes), found.notes


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
    assert trace.noted
    assert noted.result == plain.result


async def test_an_exception_has_the_traceback_of_the_code(live_sandbox: Sandbox):
    done, trace = await run_final(
        live_sandbox, "def f():\n    x = 1\n    return x / 0\n", "f", timeout=30, mounts=[]
    )
    assert not trace.noted
    assert done.outcome is Outcome.EXCEPTION
    assert 'main.py", line 3, in f' in (done.error or "")
    assert "tracer" not in (done.error or "")


@pytest.mark.parametrize("code", ["x = " + "-" * 5000 + "1", "(" * 150 + "1.5" + ")" * 150, "def"])
async def test_code_that_cannot_be_read_has_no_literals(code: str):
    assert literals(code, ()) in ([], [(1.5, 1)])


@pytest.mark.parametrize(
    ("name", "unit"),
    [("volume_A3", "Å³"), ("energy_eV_per_atom", "eV/atom"), ("density (g/cm3)", "g/cm³"),
     ("a_A", "Å"), ("c_a", None), ("temperature_K", "K"), ("k", None), ("sites", None),
     ("band gap [eV]", "eV"), ("angle_deg", "°")],
)  # fmt: skip
async def test_units_of_names(name: str, unit: str | None):
    assert unit_of(name, {}) == unit
    assert unit_of(name, {name: "mRy"}) == "mRy"


async def test_a_trace_that_the_code_replaced_is_none(live_sandbox: Sandbox):
    code = "import builtins\ndef f():\n    del builtins.__called__\n    return {'x': len('ab')}\n"
    done, trace = await run_final(live_sandbox, code, "f", timeout=30, mounts=[])
    assert done.outcome is Outcome.EXCEPTION or trace.noted


#: Code that is wrong about the density of MgO: a number by heart, another crystal, another file.
DENSITIES = [
    "s.make_supercell([1, 1, 2])\nreturn {'density_g_cm3': 2.16, 'n': len(s)}",
    "return {'density': s.density * 0.603, 'units': {'density': 'g/cm^3'}}",
    "return {'density': s.density * 603, 'units': {'density': 'kg/m^3'}}",
    """from pymatgen.core import Lattice, Structure
s = Structure.from_spacegroup('Fm-3m', Lattice.cubic(5.64), ['Na', 'Cl'], [[0, 0, 0], [.5, .5, .5]])
return {'density_g_cm3': s.density}""",
]


@pytest.mark.parametrize("body", DENSITIES)
async def test_mgo_at_2_16_is_contradicted(live_sandbox: Sandbox, body: str):
    read = "from pymatgen.core import Structure\ns = Structure.from_file('MgO.cif')\n"
    start = read if "Lattice" not in body else ""
    inputs = {"MgO.cif": Path(__file__).parent / "acceptance_files/oxides/MgO.cif"}
    found = await ask(live_sandbox, start + body, "How dense is MgO.cif?", inputs)
    wrong = "stands in the code" if "supercell" in body else "computed independently from MgO.cif"
    assert any(wrong in note for note in found.notes), found.notes
