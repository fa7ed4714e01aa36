"""Other readings of a file, laws and units: what is contradicted, and what is left alone."""

from __future__ import annotations

import gzip
import textwrap
from pathlib import Path
from typing import Any

import pytest

from agents.assistant import files, unit_check
from agents.assistant.alterations import alters_structure
from agents.assistant.answers import Source, Trace, Value
from agents.assistant.second_opinion import (
    FileQuantity,
    about_file,
    agrees,
    broken_laws,
    composition_of,
    is_confirmed,
    quantity_of,
    same_composition,
    split_unit,
)
from agents.assistant.syntax import hard_coded, parsed
from sandbox.base import Sandbox

HEXAGONAL = """\
data_made_up
_cell_length_a 5.5
_cell_length_b 5.5
_cell_length_c 6.0
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 120
loop_
_space_group_symop_operation_xyz
'x,y,z'
'-y,x-y,z'
'-x+y,-x,z'
'-x,-y,-z'
'y,-x+y,-z'
'x-y,x,-z'
'y,x,-z'
'x-y,-y,-z'
'-x,-x+y,-z'
'-y,-x,z'
'-x+y,y,z'
'x,x-y,z'
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
Ga1 Ga 0.3333 0.6666 0.0
Br1 Br 0.1666 0.3333 0.22
"""
HYDROXIDE = """\
data_made_up
_cell_length_a 3.9
_cell_length_b 3.9
_cell_length_c 4.4
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_symmetry_Int_Tables_number 1
loop_
_symmetry_equiv_pos_as_xyz
'x, y, z'
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_occupancy
Ni1 Ni 0 0 0 1
O1 O 0.5 0.5 0.5 1
O2 OH 0.5 0 0.5 1
"""
ROCK_SALT = """\
NiO
1.0
4.18 0 0
0 4.18 0
0 0 4.18
Ni O
4 4
direct
0 0 0
0 .5 .5
.5 0 .5
.5 .5 0
.5 .5 .5
.5 0 0
0 .5 0
0 0 .5
"""


def write(path: Path, text: str) -> None:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


async def facts_of(sandbox: Sandbox, path: Path, text: str) -> dict[str, Any]:
    """What is known of a structure file, and what is odd about it."""
    write(path, text)
    looked = await files.look(sandbox, {path.name: path})
    return dict(looked.facts[path.name])


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("name", ["layer.cif", "layer.cif.gz"])
async def test_sites_that_a_parser_doubles_are_told(live_sandbox, tmp_path, name):
    facts = await facts_of(live_sandbox, tmp_path / name, HEXAGONAL)
    too_close, readings = about_file(name, facts)
    assert "Å apart" in too_close
    assert "pymatgen reads Ga2 Br12" in readings
    assert "Ga2 Br6" in readings


@pytest.mark.asyncio(loop_scope="session")
async def test_sites_that_a_parser_drops_are_told(live_sandbox, tmp_path):
    facts = await facts_of(live_sandbox, tmp_path / "a.cif", HYDROXIDE)
    (line,) = about_file("a.cif", facts)
    assert "Ni1 O2" in line


@pytest.mark.asyncio(loop_scope="session")
async def test_three_readers_agree_about_a_plain_file(live_sandbox, tmp_path):
    facts = await facts_of(live_sandbox, tmp_path / "POSCAR", ROCK_SALT)
    readings = facts["readings"]
    assert set(readings) == {"pymatgen", "ase", "its own text"}
    for reading in readings.values():
        assert reading["volume"] == pytest.approx(4.18**3)
        assert reading["density"] == pytest.approx(6.79, rel=0.002)
        assert same_composition(reading["composition"], {"Ni": 1, "O": 1})
    assert list(about_file("POSCAR", facts)) == []


NO_CALLS = Trace()
READ = "s = Structure.from_file('POSCAR')\n"


@pytest.mark.parametrize(
    "body",
    [
        "s[0] = 'Mn'",
        "del s[0]",
        "s *= 2",
        "t = s * (2, 1, 1)",
        "s.sort()",
        "s.lattice = Lattice.cubic(4)",
        "atoms.positions[0] += 0.1",
        "atoms.set_cell(atoms.cell * 1.02)",
        "atoms = atoms.repeat(2)",
        "BFGS(atoms).run(fmax=0.01)",
        "t = SpacegroupAnalyzer(s).get_primitive_standard_structure()",
    ],
)
def test_a_structure_that_may_have_changed(body: str):
    assert alters_structure(parsed(READ + body), NO_CALLS)


@pytest.mark.parametrize(
    "body",
    [
        "rows = []\nrows.append(s.density)",
        "out = {}\nout['density'] = s.density",
        "total = 0\ntotal += s.volume",
        "names = list(s.species)\nnames.insert(0, 'x')",
        "x = s.density * 2",
    ],
)
def test_a_structure_that_stays_as_it_was_read(body: str):
    assert not alters_structure(parsed(READ + body), NO_CALLS)


@pytest.mark.parametrize(
    ("body", "keys"),
    [
        ("return {'gap': 1.12}", {"gap"}),
        ("gap = 1.12\nreturn {'gap': round(gap, 1)}", {"gap"}),
        ("out = {'kind': 'metal'}\nreturn out", {"kind"}),
        ("out = {}\nout['gap'] = -1.5\nreturn out", {"gap"}),
        # a condition chose it
        ("return {'kind': 'metal' if gap == 0 else 'insulator'}", set()),
        ("kind = 'up'\nif m < 0:\n    kind = 'down'\nreturn {'kind': kind}", set()),
        # settings of a call
        ("symprec = 0.02\nf(s, symprec=symprec)\nreturn {'symprec': symprec}", set()),
        ("f(s, symprec=0.02)\nreturn {'symprec': 0.02}", set()),
        ("return {'density': s.density}", set()),
        ("return {'n': 0, 'x': 1}", set()),
    ],
)
def test_what_is_returned_whatever_happens(body: str, keys: set[str]):
    code = "def answer():\n" + textwrap.indent(body, "    ")
    assert hard_coded(parsed(code)).keys() == keys


def value(name: str, number: Any, unit: str | None = None) -> Value:
    return Value(name, number, str(number), unit)


def called(*names: str) -> Trace:
    return Trace(symbols=[Source(name=n, distribution="d", version="1") for n in names])


EOS = "pymatgen.analysis.eos.EOSBase.b0"


@pytest.mark.parametrize(
    ("code", "unit", "symbol", "is_noted"),
    [
        ("fit.b0", "GPa", EOS, True),
        ("fit.b0 * 160.2177", "GPa", EOS, False),
        ("fit.b0 / 0.00624", "GPa", EOS, False),
        ("fit.b0 * eV / GPa\nfrom ase.units import GPa", "GPa", EOS, False),
        ("float(fit.b0_GPa)", "GPa", EOS, False),
        ("fit.b0", "eV/Å^3", EOS, False),
        ("run.final_energy", "kJ/mol", "pymatgen.io.vasp.Vasprun.final_energy", False),
        ("run.final_energy", "meV", "pymatgen.io.vasp.Vasprun.final_energy", True),
        ("run.final_energy * 1000", "meV", "a.Vasprun.final_energy", False),
    ],
)
def test_a_conversion_that_stands_nowhere(code, unit, symbol, is_noted):
    notes = list(
        unit_check.unconverted([value("x", 1.5, unit)], called(symbol), parsed(code))
    )
    assert bool(notes) is is_noted, notes


@pytest.mark.parametrize(
    ("code", "is_noted"),
    [
        ("math.cos(lattice.gamma)", True),
        ("np.sin(two_theta / 2)", True),
        ("math.cos(math.radians(lattice.gamma))", False),
        ("np.cos(np.deg2rad(angle))", False),
        ("np.cos(gamma * np.pi / 180)", False),
        ("np.sin(x)", False),
    ],
)
def test_degrees_where_radians_are_meant(code: str, is_noted: bool):
    assert bool(list(unit_check.degrees_as_radians(parsed(code)))) is is_noted


@pytest.mark.parametrize(
    ("name", "number", "is_broken"),
    [
        ("oxidation_states", {"Fe": 0, "O": 0}, True),
        ("oxidation_states", {"Fe": 2, "O": -2}, False),
        ("density", -1.0, True),
        ("energy_density", -1.0, False),
        ("volume_change", -1.0, False),
        ("density", 3.1, False),
    ],
)
def test_values_that_no_material_has(name: str, number: Any, is_broken: bool):
    notes = list(broken_laws([value(name, number)], {}, parsed(""), NO_CALLS))
    assert bool(notes) is is_broken


@pytest.mark.parametrize(
    ("text", "quantities"),
    [
        ("The gap is 1.12 eV, the density 2.33 g/cm^3.", ["1.12 eV", "2.33 g/cm^3"]),
        ("It is a prototype with 2 atoms.", []),
        ("At 300 K it is 5.43 Å.", ["5.43 Å"]),
    ],
)
def test_numbers_that_a_model_states(text: str, quantities: list[str]):
    assert unit_check.stated_quantities(text, "What is it at 300 K?") == quantities


@pytest.mark.parametrize(
    ("stated", "reference", "agreed"),
    [
        ("P-3m1", "P-3m1", True),
        ("P1", "P1", True),
        ("P 1 21/c 1", "P2_1/c", True),
        ("P2_1/c", "P2_1/c", True),
        ("R-3m:H", "R-3m", True),
        ("Fm-3m", "Fm-3m", True),
        ("P-3m1", "P-31m", False),
        ("P1", "P-1", False),
        ("Fm-3m", "Im-3m", False),
    ],
)
def test_space_groups_in_their_spellings(stated: str, reference: str, agreed: bool):
    assert agrees(stated, reference, FileQuantity("symbol", "", 0.0)) is agreed


def test_a_reading_without_a_volume_confirms_nothing():
    reading = {"composition": {"Ni": 1.0}, "density": 1.0}
    facts = {"readings": {"pymatgen": reading, "ase": reading}}
    assert not is_confirmed(facts)


def test_formulas_are_compared_by_their_amounts():
    assert composition_of("Al2 Cl6") == {"Al": 2, "Cl": 6}
    assert composition_of("not a formula") is None
    assert same_composition({"Al": 2, "Cl": 6}, {"Al": 1, "Cl": 3})
    assert not same_composition({"Al": 2, "Cl": 12}, {"Al": 1, "Cl": 3})


def test_an_axis_is_no_unit():
    assert split_unit("lattice_parameter_A") == ("lattice parameter A", None)
    assert split_unit("edge_A") == ("edge", "Å")


@pytest.mark.parametrize(
    ("name", "unit", "fact"),
    [
        ("energy", "eV/atom", "energy_per_atom"),
        ("energy per atom", "eV", "energy_per_atom"),
        ("energy", "eV/f.u.", None),  # how many formula units there are is not read
        ("energy", "eV / formula unit", None),
        ("energy", "eV", "energy"),
    ],
)
def test_what_an_energy_is_of(name: str, unit: str, fact: str | None):
    quantity = quantity_of(Value(name, "-3.4", -3.4, unit))
    assert (quantity.fact if quantity else None) == fact
