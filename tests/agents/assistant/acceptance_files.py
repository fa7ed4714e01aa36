"""Input files for the acceptance questions, made in memory, and what they were made from."""

from __future__ import annotations

import math
from collections.abc import Mapping

CELL = 5.64  # Å, edge of the cubic cell of rock salt
ENERGY = -6.78  # eV per cell of two atoms, in the VASP run
PER_ATOM, SODIUM, CHLORINE = ENERGY / 2, -1.31, -1.84  # eV/atom, of the compound and its elements
B0, B1, V0, E0 = 24.5, 4.7, 44.85, -6.785  # GPa, none, Å³, eV: of the equation of state
GPA = 160.2176634  # GPa in 1 eV/Å³
EDGES = {"MgO": 4.21, "CaO": 4.81, "SrO": 5.16}  # Å, of the CIF files
_MASSES = 22.98977 + 35.453  # g/mol of NaCl
_AVOGADRO = 0.602214076  # 1e24 / mol
LONGER = 1.05 * CELL  # of another cell of the same crystal
_HALF = CELL / 2


def density(edge: float = CELL) -> float:
    """Of rock salt with this edge, g/cm³."""
    return 4 * _MASSES / (_AVOGADRO * edge**3)


#: What is right, numbers within 1 %, by the name that a question has for it.
RIGHT: Mapping[str, float | str] = {
    "density": density(),
    "stretched": density(1.02 * CELL),
    "energy per atom": PER_ATOM,
    "bulk modulus": B0,
    "longest bond": max(EDGES.values()) / 2,
    "mean edge": sum(EDGES.values()) / len(EDGES),
    "ratio": (LONGER / CELL) ** 3,
    "strongest peak": 2 * math.degrees(math.asin(1.54184 / CELL)),  # (200), Cu K-alpha
    "sites": 2 * 2**3 - 1,
    "number": 225,
    "formation energy": PER_ATOM - (SODIUM + CHLORINE) / 2,
    "volume per atom": CELL**3 / 8,
    "crystal system": "cubic",
    "best volume": V0,
    "bond": CELL / 2,
}


def files() -> dict[str, str]:
    """Name (with its folder) to content."""
    return {
        "POSCAR": _poscar(CELL), "a/POSCAR": _poscar(CELL), "b/POSCAR": _poscar(LONGER),
        "vasprun.xml": _vasprun(),
        "volumes.csv": _volumes(),
        **{f"oxides/{name}.cif": _cif(name, edge) for name, edge in EDGES.items()},
    }  # fmt: skip


def _poscar(edge: float) -> str:
    half = edge / 2
    rows = [f"0 {half} {half}", f"{half} 0 {half}", f"{half} {half} 0"]
    return "\n".join(["rock salt", "1.0", *rows, "Na Cl", "1 1", "direct", "0 0 0", ".5 .5 .5", ""])


def _volumes() -> str:
    lines = ["volume_A3,energy_eV"]
    for number in range(-5, 6):
        volume = V0 * (1 + 0.015 * number)
        lines.append(f"{volume:.6f},{_birch_murnaghan(volume):.8f}")
    return "\n".join([*lines, ""])


def _birch_murnaghan(volume: float) -> float:
    """Energy, eV, at a volume in Å³; Birch, Phys. Rev. 71, 809 (1947), third order."""
    strain = math.pow(V0 / volume, 2 / 3)
    cubic = math.pow(strain - 1, 3) * B1 + math.pow(strain - 1, 2) * (6 - 4 * strain)
    return E0 + 9 * V0 * B0 / GPA / 16 * cubic


def _cif(name: str, edge: float) -> str:
    metal = name.removesuffix("O")
    return f"""\
data_{name}
_symmetry_space_group_name_H-M 'F m -3 m'
_symmetry_Int_Tables_number 225
_cell_length_a {edge}
_cell_length_b {edge}
_cell_length_c {edge}
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
{metal}1 {metal} 0 0 0
O1 O 0.5 0.5 0.5
"""


def _vasprun() -> str:
    energy = "".join(
        f'<i name="{name}">{ENERGY}</i>' for name in ("e_fr_energy", "e_wo_entrp", "e_0_energy")
    )
    settings = {
        ("int", "NELM"): "60", ("int", "NSW"): "0", ("int", "IBRION"): "-1",
        ("float", "EDIFF"): "1e-5", ("int", "ISMEAR"): "0", ("int", "ISPIN"): "1",
        ("logical", "LASPH"): "F", ("string", "GGA"): "PE", ("int", "NEDOS"): "301",
        ("logical", "LHFCALC"): "F", ("int", "IALGO"): "38", ("string", "METAGGA"): "--",
    }  # fmt: skip
    items = "".join(f'<i type="{t}" name="{n}">{v}</i>' for (t, n), v in settings.items())
    zero = "<v>0 0 0</v>"
    return f"""\
<?xml version="1.0" encoding="ISO-8859-1"?>
<modeling>
<generator><i name="program" type="string">vasp</i><i name="version" type="string">6.3.0</i>
</generator>
<incar><i type="int" name="ISMEAR">0</i></incar>
<kpoints><generation param="Gamma"><v type="int" name="divisions">1 1 1</v>
<v name="usershift">0 0 0</v></generation>
<varray name="kpointlist">{zero}</varray><varray name="weights"><v>1</v></varray></kpoints>
<parameters>{items}</parameters>
<atominfo><atoms>2</atoms><types>2</types>
<array name="atoms"><dimension dim="1">ion</dimension><field type="string">element</field>
<field type="int">atomtype</field>
<set><rc><c>Na</c><c>1</c></rc><rc><c>Cl</c><c>2</c></rc></set></array>
<array name="atomtypes"><dimension dim="1">type</dimension><field type="int">atomspertype</field>
<field type="string">element</field><field>mass</field><field>valence</field>
<field type="string">pseudopotential</field>
<set><rc><c>1</c><c>Na</c><c>22.99</c><c>1.0</c><c>PAW_PBE Na 08Apr2002</c></rc>
<rc><c>1</c><c>Cl</c><c>35.45</c><c>7.0</c><c>PAW_PBE Cl 06Sep2000</c></rc></set></array></atominfo>
{_structure(' name="initialpos"')}
<calculation><scstep><energy>{energy}</energy></scstep>
{_structure("")}
<varray name="forces">{zero * 2}</varray><varray name="stress">{zero * 3}</varray>
<energy>{energy}</energy></calculation>
{_structure(' name="finalpos"')}
</modeling>
"""


def _structure(name: str) -> str:
    basis = f"<v>0 {_HALF} {_HALF}</v><v>{_HALF} 0 {_HALF}</v><v>{_HALF} {_HALF} 0</v>"
    inverse = "<v>0 0 0</v>" * 3
    return (
        f'<structure{name}><crystal><varray name="basis">{basis}</varray>'
        f'<i name="volume">{2 * math.prod([_HALF] * 3)}</i>'
        f'<varray name="rec_basis">{inverse}</varray></crystal>'
        '<varray name="positions"><v>0 0 0</v><v>0.5 0.5 0.5</v></varray></structure>'
    )
