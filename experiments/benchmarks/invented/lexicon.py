"""Words that worlds are written with: units, conventions, and phrases with their paraphrases.

Entries ``documentation|question`` say the same in other words: the first stands in the
documentation, the second in questions with ``gap`` 1 (aspect, object, condition) or 2 (uses).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    rows = [line.strip().partition("|") for line in text.strip().splitlines()]
    return tuple((first, second) for first, _, second in rows)


@dataclass(frozen=True)
class Unit:
    """A unit: symbol, in words, and its size in the first unit of its family."""

    symbol: str
    words: str
    size: float


UNITS: Mapping[str, tuple[Unit, ...]] = {
    "energy": (Unit("eV", "electronvolts", 1.0), Unit("meV", "millielectronvolts", 1e-3),
               Unit("Ry", "rydbergs", 13.605693)),
    "length": (Unit("Å", "angstroms", 1.0), Unit("nm", "nanometres", 10.0),
               Unit("pm", "picometres", 0.01)),
    "share": (Unit("fraction of one", "parts of one", 1.0), Unit("%", "per cent", 0.01),
              Unit("‰", "per mille", 1e-3)),
    "time": (Unit("ps", "picoseconds", 1.0), Unit("fs", "femtoseconds", 1e-3),
             Unit("ns", "nanoseconds", 1e3)),
    "stress": (Unit("GPa", "gigapascals", 1.0), Unit("MPa", "megapascals", 1e-3),
               Unit("kbar", "kilobars", 0.1)),
}  # fmt: skip

#: Last word of a term, by the family of its unit.
NOUNS: Mapping[str, tuple[str, ...]] = {
    "energy": ("barrier", "penalty", "gain", "threshold", "balance"),
    "length": ("span", "offset", "reach", "clearance", "excursion"),
    "share": ("ratio", "quota", "coverage", "contrast", "surplus"),
    "time": ("delay", "period", "lifetime", "lag", "interval"),
    "stress": ("stiffness", "load", "tension", "backlash", "stress"),
    "": ("tally", "grade", "rating", "standing"),  # whole numbers and labels
    "strain": ("settling", "tempering", "relaxation", "conditioning"),  # what makes structures
}
#: Roles of numbers that a function takes: family of the unit, and what it is.
ROLES: Mapping[str, str] = {
    "energy": "excitation energy", "length": "film thickness", "share": "filling",
    "time": "dwell time", "stress": "clamping pressure",
}  # fmt: skip


def family_of(role: str) -> str:
    """The family of units of a role."""
    return next(family for family, name in ROLES.items() if name == role)


POLARITIES = (
    ("inwards", "outwards"),
    ("towards the surface", "towards the core"),
    ("on heating", "on cooling"),
    ("along the long axis", "against the long axis"),
)
#: What an option decides -> meanings of its values; an option has two or three of them.
MODES: Mapping[str, tuple[str, ...]] = {
    "counting": ("both ends are counted", "only the upper end is counted", "the ends are left out"),
    "weighting": ("every site has the same weight", "sites are weighted by mass",
                  "sites are weighted by charge"),
    "cell": ("the cell is taken as it stands", "the cell is reduced first",
             "the cell is doubled first"),
    "motion": ("slow motion is kept", "slow motion is dropped", "slow motion is halved"),
    "ambience": ("dry conditions hold", "humid conditions hold", "immersed conditions hold"),
}  # fmt: skip
#: Rules that name an element of a crystal.
RULES: Mapping[str, tuple[str, ...]] = {
    "heaviest": ("heaviest element", "element of the largest atomic mass"),
    "lightest": ("lightest element", "element of the smallest atomic mass"),
    "negative": ("most electronegative element", "element that attracts electrons most"),
    "positive": ("least electronegative element", "element that attracts electrons least"),
}
PICKS: Mapping[str, tuple[str, ...]] = {
    "first": ("first entry", "leading value"),
    "last": ("last entry", "final value"),
}
RECIPROCAL = ("the reciprocal of {}", "one divided by {}", "the inverse value of {}")
#: Name of a switch -> what holds when it is on.
FLAGS: Mapping[str, str] = {
    "shared": "the value is shared out over the neighbours",
    "thermal": "thermal vibration is included",
    "bare": "the outer shell is excluded",
}

ASPECTS = _pairs("""
    resistance to shear|opposition to sliding
    readiness to flow|ease of creeping
    loss of order|growth of disorder
    memory of earlier loading|recollection of past loads
    uptake of moisture|absorption of water
    reach of a disturbance|distance that a perturbation travels
    tendency to split|inclination to crack
    surplus of charge|excess of electrons
    slowness of the response|sluggishness of the reaction
    evenness of filling|uniformity of occupation
    shrinkage|contraction
    grip|hold on neighbours
    brightness|luminosity
    slack|mechanical play
    stored distortion|locked-in deformation
    scatter of the positions|spread of the places
""")
OBJECTS = _pairs("""
    of the heavier sublattice|in the half of the lattice with the larger masses
    of the outer layers|in the skin
    of the open channels|in the free passages
    of the stacking sequence|in the order in which layers follow each other
    of the grain interiors|inside the grains
    of the vacant sites|at the empty positions
    of the shortest bonds|in the tightest contacts
    of the anion cage|in the shell of negative ions
    of the dopant pairs|in the couples of foreign atoms
    of the twin planes|at the mirror boundaries
    of the buried interface|at the hidden junction
    of the mobile species|among the particles that can wander
    of the rigid frame|in the part that does not move
    of the edge sites|along the rim
    of the trapped gas|in the enclosed vapour
    of the soft directions|along the compliant axes
""")
CONDITIONS = _pairs("""
    on slow cooling|while it is gently chilled
    under side pressure|when it is squeezed laterally
    after long storage|once it has been kept for a long time
    in strong light|under intense illumination
    near melting|just before it turns liquid
    in thin films|when it is grown as a sheet
    during cycling|while it is charged and discharged
    in a magnetic field|near a strong magnet
    after quenching|once it has been chilled abruptly
    at high dilution|when very little is present
    under bending|while it is flexed
    in wet air|in a humid atmosphere
    after irradiation|once it has been exposed to radiation
    at the first contact|the moment it is touched
    in powder form|once it has been ground
    under a hydrogen flow|in streaming hydrogen
""")
DECISIONS = _pairs("""
    choose the firing time|decide how long to fire
    reject a batch|sort out a delivery
    set the cutting speed|fix how fast to cut
    rank the suppliers|put the vendors in order
    size the heater|determine how strong the heating must be
    plan the polishing|schedule the smoothing
    select the solvent|pick the liquid
    place the contacts|position the electrodes
    time the inspection|decide when to examine
    adjust the feed|tune the supply
    match the glue|find a fitting adhesive
    predict the colour|foretell the tint
    limit the voltage|cap the potential
    orient the wafer|turn the slice the right way
""")
ITEMS = _pairs("""
    of thin windows|for slim panes
    of fuel pins|for rods of a reactor
    of sensor tips|for the ends of probes
    of dental crowns|for replacement teeth
    of turbine blades|for vanes of an engine
    of coated lenses|for glasses with a finish
    of battery tapes|for ribbons of cells
    of watch springs|for coils of a clock
    of cutting inserts|for the teeth of a mill
    of filter plates|for discs that strain liquids
    of mirror blanks|for unpolished reflectors
    of seal rings|for gaskets
    of heat shields|for thermal covers
    of crucible linings|for the inside of melting pots
""")
SETTINGS = _pairs("""
    in sea water|exposed to brine
    in space|outside the atmosphere
    in clean rooms|where there is no dust
    in acid baths|in corrosive liquid
    in deep wells|far below ground
    in hospitals|near patients
    in cold stores|in refrigerated halls
    in field work|away from the laboratory
    in mass production|at very large numbers
    in vacuum lines|in evacuated pipes
    in desert stations|in arid outposts
    in test reactors|at experimental piles
    in printing shops|where books are made
    in glass works|where panes are molten
""")
