"""Inputs made from nothing: what a writer of examples is shown and copies lines from."""

import tempfile
from pathlib import Path

import numpy as np
from pymatgen.analysis.defects.core import Interstitial, PeriodicSite, Substitution, Vacancy
from pymatgen.analysis.defects.thermo import DefectEntry, FormationEnergyDiagram
from pymatgen.analysis.phase_diagram import PDEntry, PhaseDiagram
from pymatgen.core import Composition, Element, Lattice, Molecule, Species, Structure
from pymatgen.electronic_structure.bandstructure import BandStructureSymmLine
from pymatgen.electronic_structure.core import Spin
from pymatgen.electronic_structure.dos import Dos
from pymatgen.entries.computed_entries import ComputedEntry, ComputedStructureEntry
from pymatgen.io.vasp import Chgcar, Incar, Kpoints, Locpot, Poscar

# Structures: by space group, by sites, with oxidation states, as a supercell.
mgo = Structure.from_spacegroup("Fm-3m", Lattice.cubic(4.21), ["Mg", "O"], [[0] * 3, [0.5] * 3])
si = Structure.from_spacegroup("Fd-3m", Lattice.cubic(5.43), ["Si"], [[0, 0, 0]])
gan = Structure.from_spacegroup(
    "P6_3mc", Lattice.hexagonal(3.19, 5.19), ["Ga", "N"], [[1 / 3, 2 / 3, 0], [1 / 3, 2 / 3, 0.376]]
)
charged = mgo.copy().add_oxidation_state_by_guess()
supercell = mgo * (2, 2, 2)
water = Molecule(["O", "H", "H"], [[0, 0, 0], [0.76, 0.59, 0], [-0.76, 0.59, 0]])

# Entries, eV; a phase diagram.
bulk = ComputedStructureEntry(supercell, -384.0)
plain = ComputedEntry("MgO", -12.0)
elements = [ComputedEntry("Mg", -1.5), ComputedEntry("O2", -9.8)]
diagram = PhaseDiagram(
    [PDEntry(Composition(f), e) for f, e in {"Mg": 0, "O": 0, "MgO": -6}.items()]
)

# Volumetric data: a constant, and one with a peak; LOCPOTs of a supercell.
flat = Chgcar(Poscar(mgo), {"total": np.ones((8, 8, 8))})
x, y, z = np.meshgrid(*[np.linspace(0, 1, 8, endpoint=False)] * 3, indexing="ij")
peak = Chgcar(Poscar(mgo), {"total": 10 * np.exp(-10 * ((x - 0.25) ** 2 + (y - 0.25) ** 2 + z**2))})
potential = Locpot(Poscar(supercell), {"total": np.cos(2 * np.pi * x)})

# Point defects, their supercells and entries; a diagram of formation energies.
vacancy = Vacancy(mgo, next(site for site in mgo if site.specie.symbol == "O"))
doped = Substitution(mgo, PeriodicSite("Al", mgo[0].frac_coords, mgo.lattice))
extra = Interstitial(mgo, PeriodicSite("H", [0.25, 0.25, 0.25], mgo.lattice))
cell = vacancy.get_supercell_structure(sc_mat=[[2, 0, 0], [0, 2, 0], [0, 0, 2]])
entries = [
    DefectEntry(vacancy, charge, ComputedStructureEntry(cell, energy), corrections={"made": 0.1})
    for charge, energy in {0: -370.0, 1: -374.0, 2: -377.0}.items()
]
formation = FormationEnergyDiagram(
    bulk_entry=bulk, defect_entries=entries, pd_entries=[plain, *elements], vbm=2.0, band_gap=5.0
)

# Electronic structure, energies in eV.
dos = Dos(efermi=0.0, energies=np.linspace(-5, 5, 101), densities={Spin.up: np.ones(101)})
bands = BandStructureSymmLine(
    [[0, 0, 0], [0.25, 0, 0], [0.5, 0, 0]],
    {Spin.up: np.array([[-1.0, -1.2, -1.5], [1.0, 1.1, 1.4]])},
    mgo.lattice.reciprocal_lattice,
    0.0,
    {"\\Gamma": [0, 0, 0], "X": [0.5, 0, 0]},
)

# Files: whatever writes itself, in a folder of its own; text that a program would have written.
folder = Path(tempfile.mkdtemp())
mgo.to(filename=str(folder / "POSCAR"), fmt="poscar")
flat.write_file(folder / "CHGCAR")
Incar({"ENCUT": 400, "ISMEAR": 0}).write_file(folder / "INCAR")
Kpoints.gamma_automatic((2, 2, 2)).write_file(folder / "KPOINTS")
(folder / "notes.txt").write_text("1 2 3\n")
units = (Element("Mg").atomic_mass, Species("O", -2).oxi_state)
