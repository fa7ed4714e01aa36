"""Compares a CIF text with the target; runs inside the verification sandbox only.

Two rules: *published*, what the authors' grader does (a matcher that forgives scale, inversion and
translation), and *strict*, every atom within 0.02 Å of where it belongs.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from pymatgen.analysis.structure_matcher import StructureMatcher
from pymatgen.core import Lattice, Structure
from pymatgen.io.cif import CifParser
from scipy.optimize import linear_sum_assignment

REMOVED = "[VALUE_TO_BE_INSERTED]"  # in a file that is to be repaired
MAX_SITES = 5000  # rows times symmetry operations
MOST_OPERATIONS = 192  # of a space group in its conventional cell
MAX_LENGTH = 1e4  # Å, of a cell vector
MAX_SHOWN = 300  # sites of an answer that are handed back
LENGTHS, ANGLES, SITES = 0.02, 0.05, 0.02  # Å, degrees, Å


class WrongError(Exception):
    """An answer that is wrong as a whole; the message is the name of the verdict."""

    def __init__(self, name: str, **numbers: float) -> None:
        super().__init__(name)
        self.numbers = numbers


def published_block(reply: str) -> str:
    """The text between the last ``<cif>`` and the last ``</cif>`` after it."""
    _, tag, rest = reply.rpartition("<cif>")
    block, end, _ = rest.rpartition("</cif>")
    if not tag or not end:
        raise WrongError("OutputFormatError")
    return block.strip()


@lru_cache(maxsize=4)
def structure(text: str) -> Structure:
    """The first structure of a CIF text as its sites are listed."""
    check_size(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parser = CifParser.from_str(text)
            crystal = parser.parse_structures(primitive=False, check_occu=False)[0]
        except Exception:  # noqa: BLE001 -- whatever a hostile file makes of the parser
            raise WrongError("CIFParsingError") from None
    if (
        not np.isfinite(crystal.lattice.matrix).all()
        or not np.isfinite(crystal.frac_coords).all()
    ):
        raise WrongError("InvalidCell")
    return crystal


def check_size(text: str) -> None:
    """Refuse what no parser should see: long texts, absurd cells, more sites than any target."""
    if len(text) > 2_000_000:
        raise WrongError("TooLarge")
    for value in re.findall(r"_cell_length_[abc]\s+(\S+)", text):
        try:
            length = float(value.split("(")[0])
        except ValueError:
            continue  # the parser says so
        if not 0.0 < length <= MAX_LENGTH:
            raise WrongError("InvalidCell")
    rows = sum(1 for line in text.splitlines() if len(line.split()) > 3)
    if rows * operations(text) > MAX_SITES:
        raise WrongError("TooManySites")


def operations(text: str) -> int:
    """How many sites the parser may make of one row: as many as there are symmetry operations.

    They are listed, or those of a space group that is named: 192 at most.
    """
    lines = (line for line in text.splitlines() if re.search("[xyzXYZ]", line))
    listed = sum(line.count(",") // 2 for line in lines)
    if listed:
        return listed
    group = (
        r"(?im)^_(?:symmetry|space_group)\w*(?:H-M|Hall|IT_number|Int_Tables)\S*[ \t]+"
    )
    named = re.findall(group + r"(\S[^\n]{0,40})", text)
    plain = {re.sub(r"[\s'\"_]", "", name).upper() for name in named}
    return 1 if plain <= {"P1", "1", "?", "."} else MOST_OPERATIONS


def published(target: Structure, answer: Structure) -> dict[str, Any]:
    """The authors' rule; ``rms`` and ``max_dist`` in units of (V/N)^(1/3), and in Å."""
    if (
        len(answer) != len(target)
        or answer.composition.as_dict() != target.composition.as_dict()
    ):
        raise WrongError("AtomCountMismatch")
    matcher = StructureMatcher(primitive_cell=False, stol=0.5)
    # Of the two only `fit` bounds the largest distance, of the first match that it meets.
    distances = (
        matcher.get_rms_dist(target, answer) if matcher.fit(target, answer) else None
    )
    if distances is None:
        raise WrongError("StructureMismatch")
    rms, most = map(float, distances)
    unit = (target.volume / len(target)) ** (1 / 3)
    return {"rms": rms, "max_dist": most, "max_dist_angstrom": most * unit}


def strict(target: Structure, answer: Structure) -> dict[str, Any]:
    """Every atom where it belongs: distances in Å, without moving, turning or scaling anything.

    Elements count, not charges: an answer may name oxidation states.
    """
    if not answer.is_ordered:
        raise WrongError("PartialOccupancy")
    kinds = np.array([site.specie.symbol for site in target])
    given = np.array([site.specie.symbol for site in answer])
    if sorted(kinds) != sorted(given):
        raise WrongError("AtomCountMismatch")
    lengths = np.abs(np.array(answer.lattice.abc) - target.lattice.abc).max()
    angles = np.abs(np.array(answer.lattice.angles) - target.lattice.angles).max()
    if lengths > LENGTHS or angles > ANGLES:
        raise WrongError("CellMismatch")
    worst = 0.0
    for kind in sorted(set(kinds)):
        away = target.lattice.get_all_distances(
            target.frac_coords[kinds == kind], answer.frac_coords[given == kind]
        )
        worst = max(worst, float(away[linear_sum_assignment(away)].max()))
    return {"worst": worst}


def drawing(text: str) -> dict[str, Any] | None:
    """A structure as data, for a picture; ``None`` where it cannot be read or is too large."""
    try:
        crystal = structure(text)
    except WrongError:
        return None
    if len(crystal) > MAX_SHOWN or min(crystal.lattice.abc) > MAX_LENGTH:
        return None
    return {
        "cell": [*crystal.lattice.parameters],
        "species": [site.species_string for site in crystal],
        "fractions": crystal.frac_coords.tolist(),
    }


def target_structure(plain: dict[str, Any]) -> Structure:
    """Of ``{cell, species, fractions}``."""
    return Structure(
        Lattice.from_parameters(*plain["cell"]), plain["species"], plain["fractions"]
    )


def strictly(wanted: dict[str, Any], block: str | None) -> dict[str, Any]:
    """Judge one CIF (``None``: no answer) by the strict rule."""
    target = target_structure(wanted)
    return pictured(block, lambda text: strict(target, structure(text)))


def pictured(block: str | None, rule: Any) -> dict[str, Any]:
    """What a rule says of an answer; ``shown`` is its structure as data."""
    return {**judged(block, rule), "shown": None if block is None else drawing(block)}


def as_published(wanted: dict[str, Any], reply: str) -> dict[str, Any]:
    """Judge everything that the model said by the authors' rule."""
    target = target_structure(wanted)
    return judged(
        reply, lambda text: published(target, structure(published_block(text)))
    )


def echo(
    wanted: dict[str, Any], by_authors: dict[str, Any], before: dict[str, Any]
) -> dict[str, Any]:
    """Judge the unchanged input by both rules."""
    unchanged = target_structure(before)
    strict_target, published_target = (
        target_structure(wanted),
        target_structure(by_authors),
    )
    return {
        "strict": judged("", lambda _: strict(strict_target, unchanged)),
        "published": judged("", lambda _: published(published_target, unchanged)),
    }


def judged(text: Any, rule: Any) -> dict[str, Any]:
    """The numbers of a rule, or the name of its verdict; wrong is wrong, never an exception."""
    if text is None:
        return {"error": "OutputFormatError", "passed": False}
    try:
        verdict = rule(text)
    except WrongError as error:
        return {**error.numbers, "error": str(error), "passed": False}
    far = verdict.get("worst", 0.0) > SITES
    return {**verdict, "error": "SiteMismatch" if far else None, "passed": not far}


# The family: every rule takes what the question holds, the value of the answer and the whole reply,
# and returns ``strict``, ``published`` and ``echo``; without one there is none.

MAX_GENERATED, MAX_CALCULATED = 200, 64  # sites of an answer
CONTACT = 0.5  # Å; nothing is calculated of nearer atoms
CALCULABLE = {"Al", "Ni", "Cu", "Pd", "Ag", "Pt", "Au"}  # by effective-medium theory


def moved_points(given: dict[str, Any], value: Any, _reply: str) -> dict[str, Any]:
    """PointWorld. The authors ask only whether points can be read and have the right shape."""

    def off(points: Any) -> dict[str, Any]:
        target = np.array(given["after"])
        away = np.linalg.norm(
            target[:, None] - _points(points, len(target))[None], axis=2
        )
        return {"worst": float(away[linear_sum_assignment(away)].max())}

    def both(points: Any) -> dict[str, Any]:
        shaped = judged(points, lambda points: {"max_dist": off(points)["worst"]})
        return {"strict": judged(points, off), "published": shaped}

    return {**both(value), "echo": both(given["before"])}


def _points(value: Any, count: int) -> Any:
    """Shape (count, 3), finite."""
    number = int | float | np.integer | np.floating
    try:
        points = np.array(value, dtype=object)
    except ValueError:  # arrays of several shapes
        raise WrongError("InvalidShape") from None
    plain = (isinstance(x, number) and not isinstance(x, bool) for x in points.flat)
    if (
        points.shape != (count, 3)
        or not all(plain)
        or not all(abs(x) < 1e9 for x in points.flat)
    ):
        raise WrongError("InvalidShape")
    return points.astype(float)


def repaired(given: dict[str, Any], block: str | None, reply: str) -> dict[str, Any]:
    """CIF-Repair: the value that was taken out is put where the answer wants it."""
    original = structure(given["original"])
    broken = given["corrupted"]

    def filled(text: str) -> Structure:
        return structure(text.replace(REMOVED, given["removed"] or "", 9))

    return {
        "strict": judged(block, lambda text: strict(original, filled(text))),
        "published": judged(
            reply, lambda said: published(original, filled(published_block(said)))
        ),
        "echo": {
            "strict": judged(broken, lambda text: strict(original, filled(text))),
            "published": judged(broken, lambda text: published(original, filled(text))),
        },
    }


def generated(given: dict[str, Any], block: str | None, reply: str) -> dict[str, Any]:
    """CIF-Gen. The authors' matcher scales cells and builds supercells; the strict one does not."""
    target = target_structure(given["target"])
    loose = StructureMatcher(primitive_cell=True, attempt_supercell=True, stol=0.5)
    exact = StructureMatcher(
        primitive_cell=True, scale=False, ltol=0.01, stol=0.05, angle_tol=0.5
    )

    def fits(text: str, matcher: StructureMatcher) -> dict[str, Any]:
        answer = structure(text)
        if len(answer) > MAX_GENERATED:
            raise WrongError("TooManySites")
        if answer.composition.reduced_formula != target.composition.reduced_formula:
            raise WrongError("CompositionMismatch")
        if not matcher.fit(target, answer):
            raise WrongError("StructureMismatch")
        return {}

    return {
        "strict": pictured(block, lambda text: fits(text, exact)),
        "published": judged(reply, lambda text: fits(published_block(text), loose)),
    }


def changed(given: dict[str, Any], block: str | None, _reply: str) -> dict[str, Any]:
    """StructProp: whether the bulk modulus (GPa) moved to the side that was asked for."""
    before = target_structure(given["before"])

    def rule(text: str) -> dict[str, Any]:
        answer = structure(text)
        check_calculable(answer, before)
        value, original = bulk_modulus(answer), bulk_modulus(before)
        if value is None or original is None:
            raise WrongError("CalculationFailed")
        if not moved(original, value, given["trend"]):
            raise WrongError("WrongSide", value=value, original=original)
        return {"value": value, "original": original}

    return {"strict": pictured(block, rule)}


def moved(original: float, value: float, trend: str) -> bool:
    """Whether a property is strictly on the wanted side of what it was."""
    return value > original if trend == "increase" else value < original


def check_calculable(answer: Structure, before: Structure) -> None:
    """What is refused before anything is calculated."""
    if not answer.is_ordered:
        raise WrongError("PartialOccupancy")
    if len(answer) > MAX_CALCULATED:
        raise WrongError("TooManySites")
    heights = 1 / np.array(answer.lattice.reciprocal_lattice_crystallographic.abc)
    # A flat cell has neighbours without end.
    if heights.min() < CONTACT or len(answer.get_neighbor_list(CONTACT)[0]):
        raise WrongError("AtomsTooClose")
    if judged("", lambda _: strict(before, answer))["passed"]:
        raise WrongError("StructureSame")


def bulk_modulus(crystal: Structure) -> float | None:
    """In GPa, from energies by effective-medium theory over the volume; ``None``: no minimum."""
    from ase import Atoms  # noqa: PLC0415 -- only this family needs it
    from ase.calculators.emt import EMT  # noqa: PLC0415
    from ase.eos import EquationOfState  # noqa: PLC0415

    symbols = [site.specie.symbol for site in crystal]
    if not set(symbols) <= CALCULABLE:
        raise WrongError("UnsupportedElement")
    cell = crystal.lattice.matrix
    at = crystal.frac_coords
    atoms = Atoms(symbols, scaled_positions=at, cell=cell, pbc=True, calculator=EMT())
    scales = np.linspace(0.96, 1.04, 9)
    for _ in range(8):  # until the minimum lies within
        volumes = []
        energies = []
        for scale in scales:
            atoms.set_cell(cell * scale, scale_atoms=True)
            volumes.append(atoms.get_volume())
            energies.append(atoms.get_potential_energy())
        lowest = int(np.argmin(energies))
        if 2 <= lowest <= 6:
            try:
                _, _, modulus = EquationOfState(
                    volumes, energies, eos="birchmurnaghan"
                ).fit()
            except (ValueError, RuntimeError):
                return None
            gpa = float(modulus) * 160.2176634  # of eV/Å^3
            return gpa if 0.0 < gpa < 2000.0 else None
        cell = cell * scales[lowest]
    return None
