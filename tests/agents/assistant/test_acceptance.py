"""The ten acceptance questions with a scripted endpoint: files, figures and refusals, all real."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from agents.acceptance import Case, cases, faults, main
from agents.assistant.answers import Answer, Origin, Value
from sandbox.factory import available
from tests.agents.scripted import code_reply
from tests.endpoint import Body, Endpoint, respond

STRUCTURE = """\
from pymatgen.core import Structure
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer
cell = Structure.from_file("POSCAR")
{scale}
return {{"space_group": SpacegroupAnalyzer(cell).get_space_group_symbol(),
        "density": float(cell.density), "units": {{"density": "g/cm3"}}}}"""
REPLIES = {
    "What are the space group": STRUCTURE.format(scale=""),
    "And what would the density": STRUCTURE.format(
        scale="cell.scale_lattice(cell.volume * 1.02 ** 3)"
    ),
    "final energy per atom": """\
from pymatgen.io.vasp import Vasprun
run = Vasprun("vasprun.xml", parse_potcar_file=False)
return {"energy_eV_per_atom": float(run.final_energy) / len(run.final_structure),
        "converged": run.converged}""",
    "Birch-Murnaghan": """\
import csv
from pymatgen.analysis.eos import EOS
rows = list(csv.DictReader(open("volumes.csv")))
volumes = [float(row["volume_A3"]) for row in rows]
energies = [float(row["energy_eV"]) for row in rows]
return {"bulk_modulus_GPa": float(EOS("birch_murnaghan").fit(volumes, energies).b0_GPa)}""",
    "longest metal-oxygen": """\
import glob
from pymatgen.core import Structure
found = {}
for path in sorted(glob.glob("oxides/*.cif")):
    found[path] = float(min(Structure.from_file(path).get_neighbor_list(4)[3]))
best = max(found, key=found.get)
return {"file": best, "bond_length_A": found[best]}""",
    "Plot the powder": """\
from pymatgen.analysis.diffraction.xrd import XRDCalculator
from pymatgen.core import Structure
calculator, cell = XRDCalculator("CuKa"), Structure.from_file("POSCAR")
calculator.get_plot(cell).figure.savefig("out/pattern.png")
pattern = calculator.get_pattern(cell)
return {"two_theta_deg": float(pattern.x[list(pattern.y).index(max(pattern.y))])}""",
    "2x2x2 supercell": """\
from pymatgen.core import Structure
cell = Structure.from_file("POSCAR") * (2, 2, 2)
cell.remove_sites([0])
cell.to(filename="out/vacancy.cif")
return {"sites": len(cell), "cell": cell}""",
    "density of TiO2": """\
from pymatgen.core import Lattice, Structure
cell = Structure.from_spacegroup("P4_2/mnm", Lattice.tetragonal(4.594, 2.959), ["Ti", "O"],
                                 [[0, 0, 0], [0.305, 0.305, 0]])
return {"density_g_cm3": float(cell.density), "phase": "rutile"}""",
    "HSE06": "return {'band_gap_eV': None, 'reason': 'there is no electronic-structure code'}",
}


def play(body: Body) -> Response:
    prompt = str(body["messages"][-1]["content"]).rpartition("Earlier in this")[2]
    asked = prompt.rpartition("Returned:")[2]
    if "my new compound" in asked:
        return respond("**Needs input:** its composition and energy", body)
    return respond(next(code_reply(r) for q, r in REPLIES.items() if q in asked), body)


@pytest.mark.long
@pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")
def test_ten_questions(
    httpserver: HTTPServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "160")
    endpoint = Endpoint(httpserver).play(play)
    options = [f"model.base_url={httpserver.url_for('/v1')}", "model.name=m", "model.cache=false"]
    code = main([*options, "system=adaptive", "retrieval=none"])
    shown = capsys.readouterr().out
    assert code == 0, shown
    assert "10 of 10 acceptable; model m" in shown
    assert len(endpoint.bodies) == 10  # none of them was drafted twice
    prompts = "\n".join(endpoint.prompts)
    assert "space group Fm-3m (225" in prompts  # what is in the POSCAR, before any code
    assert "VASP run of Na1 Cl1, 1 ionic steps, final energy -6.780000 eV" in prompts
    assert "11 rows, separator ',', columns: volume_A3, energy_eV" in prompts
    assert "oxides/SrO.cif: Sr4 O4, 8 sites" in prompts
    assert "'energy_eV_per_atom': -3.39 eV/atom" in shown
    assert "'density': 2.1" in shown
    assert " g/cm3\n" in shown
    assert "computed by Vasprun.final_structure, Vasprun.final_energy" in shown
    assert "from vasprun.xml" in shown
    assert "structure of 15 sites: Na7 Cl8" in shown
    assert "vacancy.cif" in shown
    assert "assumed by the model, neither in the question nor in a file: " in shown
    assert "Needs input: its composition and energy" in shown
    assert "nothing was worked out for: band_gap_eV" in shown


def test_what_is_wrong_is_said(tmp_path: Path):
    assert len(cases(tmp_path)) == 10
    assert len({case.name for case in cases(tmp_path)}) == 10
    case = Case("c", "q", value=2.0, file=".png")
    value = Value("v", {"inner": [2.01]}, "2.01", origin=Origin(calls=("a.b",)))
    assert faults(case, Answer("q", "failed")) == ["failed instead of answered"]
    assert faults(case, Answer("q", "answered", values=(value,))) == ["no .png file"]
    wrong = Value("v", 2.1, "2.1")
    assert faults(Case("c", "q", value=2.0), Answer("q", "answered", values=(wrong,))) == [
        "no value is 2"
    ]
    assert faults(Case("c", "q", warned=True), Answer("q", "answered", values=(wrong,))) == [
        "values without a warning"
    ]
