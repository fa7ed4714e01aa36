"""Where values come from: real code in the real sandbox, then read; errors planted in answers."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.assistant import files
from agents.assistant.answers import Answer, Trace
from agents.assistant.provenance import literals, other_sites, unheeded
from agents.assistant.results import answer_of, completed, run_final, unit_of
from agents.assistant.show import behind
from agents.assistant.syntax import parsed
from agents.base import Trajectory, Usage
from sandbox.base import Mount, Outcome, Sandbox
from tests.agents.assistant.acceptance import FILES

pytestmark = pytest.mark.asyncio(loop_scope="session")

HERE = Path(__file__).parent
CODES = yaml.safe_load((HERE / "provenance.yaml").read_text(encoding="utf-8"))
CASES = yaml.safe_load((HERE / "planted.yaml").read_text(encoding="utf-8"))
#: Cases with a planted error, how many there are, how many are told at least.
PLANTED = [("planted", 40, 36), ("later_planted", 11, 8)]
#: Right answers, how many there are, how many are accused at most.
RIGHT = [("right", 40, 4), ("later_right", 10, 2)]


async def ask(
    sandbox: Sandbox,
    body: str,
    said: str = "",
    inputs: Mapping[str, Path] | None = None,
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
def inputs(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "POSCAR").write_text(CODES["POSCAR"])
    return {"POSCAR": tmp_path / "POSCAR", "MgO.cif": FILES / "oxides/MgO.cif"}


async def test_invented_energies_are_assumed_and_a_literal_is_no_computation(
    live_sandbox: Sandbox,
):
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
    assert (
        "assumed by the model: 14.3 (line 5), 9.8 (line 5), 1.9 (line 5)"
        in found.notes[-1]
    )
    assert {value.name: value.repeats for value in found.values} == {
        "above_hull": None,
        "count": 8,
        "given": None,
    }
    assert "count is hard-coded (line 8), not computed" in found.notes


async def test_a_value_from_a_file_raises_no_alarm(live_sandbox: Sandbox, inputs):
    body = """
        from pymatgen.core import Structure
        structure = Structure.from_file("POSCAR")
        return {"density_g_cm3": structure.density, "units": {"density_g_cm3": "g/cm^3"}}
        """
    found = await ask(
        live_sandbox, body, "What is its density?", {"POSCAR": inputs["POSCAR"]}
    )
    assert (found.notes, found.read) == ((), ("POSCAR",))
    (density, *_) = [s for s in found.sources if s.name.endswith(".density")]
    assert density.distribution == "pymatgen-core"
    shown = behind(found)
    assert "Structure.density" in shown
    assert "units as stated by the model (unverified)" in shown


@pytest.mark.parametrize("row", CODES["told"])
async def test_what_a_reader_must_know(
    live_sandbox: Sandbox, inputs, row: dict[str, str]
):
    given = {row["file"]: inputs[row["file"]]}
    found = await ask(live_sandbox, row["body"], row["question"], given)
    assert any(row["told"] in note for note in found.notes), found.notes


async def test_noting_changes_nothing(live_sandbox: Sandbox):
    code = CODES["noting"]
    plain = await live_sandbox.run(code, "f", timeout=30)
    noted, trace = await run_final(live_sandbox, code, "f", timeout=30, mounts=[])
    assert plain.outcome is Outcome.OK, plain.error
    assert trace.noted
    assert noted.result == plain.result


async def test_an_exception_has_the_traceback_of_the_code(live_sandbox: Sandbox):
    done, trace = await run_final(
        live_sandbox,
        "def f():\n    x = 1\n    return x / 0\n",
        "f",
        timeout=30,
        mounts=[],
    )
    assert not trace.noted
    assert done.outcome is Outcome.EXCEPTION
    assert 'main.py", line 3, in f' in (done.error or "")
    assert "tracer" not in (done.error or "")


@pytest.mark.parametrize(
    "code",
    [
        "x = " + "-" * 5000 + "1",
        "(" * 150 + "1.5" + ")" * 150,
        "def",
        f"1 + 1e999 + {10**400}",
        "1" + " + 1" * 400,
    ],
)
async def test_code_that_cannot_be_read_tells_nothing(code: str):
    tree = parsed(f"s = Structure\ns[0] = {code}" if "def" not in code else code)
    assert literals(tree, ()) in ([], [(1.5, 2)])
    facts = {"POSCAR": {"species": ["Si", "O"], "names": {"O": "oxygen"}}}
    assert len([*other_sites("The O at 5 K", tree, facts)]) == len(tree.body[1:])
    assert len([*unheeded("The O at 5 K", tree, Trace())]) == 1


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("volume_A3", "Å³"),
        ("energy_eV_per_atom", "eV/atom"),
        ("density (g/cm3)", "g/cm³"),
        ("a_A", "Å"),
        ("c_a", None),
        ("temperature_K", "K"),
        ("k", None),
        ("sites", None),
        ("band gap [eV]", "eV"),
        ("angle_deg", "°"),
    ],
)
async def test_units_of_names(name: str, unit: str | None):
    assert unit_of(name, 1.0, {}) == unit
    assert unit_of(name, "?", {name: "mRy"}) == "mRy"


async def test_a_trace_that_the_code_replaced_is_none(live_sandbox: Sandbox):
    code = "import builtins\ndef f():\n    del builtins.__called__\n    return {'x': len('ab')}\n"
    done, trace = await run_final(live_sandbox, code, "f", timeout=30, mounts=[])
    assert done.outcome is Outcome.EXCEPTION or trace.noted


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made_at = tmp_path_factory.mktemp("planted")
    for each in (FILES, FILES / "oxides", HERE / "planted_files"):
        shutil.copytree(each, made_at, dirs_exist_ok=True)
    return made_at


async def notes_of(
    sandbox: Sandbox, case: Mapping[str, Any], folder: Path
) -> list[str]:
    """What the assistant says of an answer before its values are trusted."""
    inputs = {name: folder / name for name in case.get("files", ())}
    found = await answered(sandbox, case["code"], "answer", case["question"], inputs)
    assert found.works, f"{case['name']}: {found.text}"
    return list(found.notes)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "count", "least"), PLANTED)
async def test_planted_errors_are_told(
    live_sandbox: Sandbox, folder: Path, kind: str, count: int, least: int
):
    told = [(case, await notes_of(live_sandbox, case, folder)) for case in CASES[kind]]
    missed = [
        (case["name"], notes)
        for case, notes in told
        if not any(re.search(case["told"], note) for note in notes)
    ]
    assert len(told) == count
    assert len(missed) <= count - least, missed


@pytest.mark.long
@pytest.mark.parametrize(("kind", "count", "most"), RIGHT)
async def test_right_answers_are_not_accused(
    live_sandbox: Sandbox, folder: Path, kind: str, count: int, most: int
):
    told = [(case, await notes_of(live_sandbox, case, folder)) for case in CASES[kind]]
    accused = [(case["name"], notes) for case, notes in told if notes]
    assert len(told) == count
    assert len(accused) <= most, accused


#: Of what somebody wrote who had not seen the checks; today's figures, not an aim.
FRESH = yaml.safe_load((HERE / "fresh" / "cases.yaml").read_text(encoding="utf-8"))
#: Notes that inform, and accuse nobody.
INFORMS = re.compile(
    r"assumed by the model|warning of the run|and \d+ more warnings|no value for"
    r"|the code calls no library"
)


@pytest.mark.long
async def test_cases_of_somebody_who_has_not_seen_the_checks(live_sandbox: Sandbox):
    folder = HERE / "fresh" / "files"
    flagged, reproached = [], []
    for case in FRESH["planted"]:
        notes = await notes_of(live_sandbox, case, folder)
        if any(re.search(case["told"], note, re.IGNORECASE) for note in notes):
            flagged.append(case["name"])
    for case in FRESH["right"]:
        notes = await notes_of(live_sandbox, case, folder)
        if not all(map(INFORMS.match, notes)):
            reproached.append((case["name"], notes))
    assert len(FRESH["planted"]) == len(FRESH["right"]) == 60
    assert len(flagged) >= 16, flagged
    assert len(reproached) <= 2, reproached


async def test_a_percentage_of_the_question_is_no_invention(live_sandbox: Sandbox):
    body = """
        from pymatgen.core import Lattice
        strain = 0.02
        return {"strain": strain, "a": Lattice.cubic(4.0).a * (1 + strain)}
    """
    said = (
        "What is the lattice constant of a cubic cell of 4 angstrom under 2 % strain?"
    )
    answer = await ask(live_sandbox, body, said)
    assert not any("hard-coded" in note for note in answer.notes)
    answer = await ask(
        live_sandbox, body, "Strain a cubic cell of 4 angstrom a little."
    )
    assert any("strain is hard-coded" in note for note in answer.notes)
