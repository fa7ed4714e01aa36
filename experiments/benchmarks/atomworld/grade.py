"""Compares a CIF text with the target; runs inside the verification sandbox only.

Its source is what is executed there, so it imports nothing of this project. Two rules:
*published*, what the authors' grader does (a matcher that forgives scale, inversion and
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

MAX_SITES = 5000
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
    start = reply.rfind("<cif>")
    end = reply.rfind("</cif>")
    if start < 0 or end < start:
        raise WrongError("OutputFormatError")
    return reply[start + len("<cif>") : end].strip()


@lru_cache(maxsize=4)
def structure(text: str) -> Structure:
    """The first structure of a CIF text as its sites are listed."""
    check_size(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parser = CifParser.from_str(text)
            found = parser.parse_structures(primitive=False, check_occu=False)[0]
        except Exception:  # noqa: BLE001 -- whatever a hostile file makes of the parser
            raise WrongError("CIFParsingError") from None
    if not np.isfinite(found.lattice.matrix).all() or not np.isfinite(found.frac_coords).all():
        raise WrongError("InvalidCell")
    return found


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
    if sum(1 for line in text.splitlines() if len(line.split()) > 3) > MAX_SITES:
        raise WrongError("TooManySites")


def published(target: Structure, found: Structure) -> dict[str, Any]:
    """The authors' rule; ``rms`` and ``max_dist`` in units of (V/N)^(1/3)."""
    if len(found) != len(target) or found.composition.as_dict() != target.composition.as_dict():
        raise WrongError("AtomCountMismatch")
    matcher = StructureMatcher(primitive_cell=False, stol=0.5)
    # Of the two only `fit` bounds the largest distance, of the first match that it meets.
    distances = matcher.get_rms_dist(target, found) if matcher.fit(target, found) else None
    if distances is None:
        raise WrongError("StructureMismatch")
    return {"rms": float(distances[0]), "max_dist": float(distances[1])}


def strict(target: Structure, found: Structure) -> dict[str, Any]:
    """Every atom where it belongs: distances in Å, without moving, turning or scaling anything.

    Elements count, not charges: an answer may name oxidation states.
    """
    if not found.is_ordered:
        raise WrongError("PartialOccupancy")
    kinds = np.array([site.specie.symbol for site in target])
    given = np.array([site.specie.symbol for site in found])
    if sorted(kinds) != sorted(given):
        raise WrongError("AtomCountMismatch")
    lengths = np.abs(np.array(found.lattice.abc) - target.lattice.abc).max()
    angles = np.abs(np.array(found.lattice.angles) - target.lattice.angles).max()
    if lengths > LENGTHS or angles > ANGLES:
        raise WrongError("CellMismatch")
    worst = 0.0
    for kind in sorted(set(kinds)):
        away = target.lattice.get_all_distances(
            target.frac_coords[kinds == kind], found.frac_coords[given == kind]
        )
        worst = max(worst, float(away[linear_sum_assignment(away)].max()))
    return {"worst": worst, "contact": smallest_contact(found)}


def shown(text: str) -> dict[str, Any] | None:
    """A structure as data, for a picture; ``None`` where it cannot be read or is too large."""
    try:
        found = structure(text)
    except WrongError:
        return None
    if len(found) > MAX_SHOWN or min(found.lattice.abc) > MAX_LENGTH:
        return None
    return {
        "cell": [*found.lattice.parameters],
        "species": [site.species_string for site in found],
        "fractions": found.frac_coords.tolist(),
    }


def same_order(target: Structure, text: str) -> bool:
    """Whether the rows stand in the target's order; the parser sorts them by species."""
    data = next(iter(CifParser.from_str(text).as_dict().values()))
    rows = [
        data.get(f"_atom_site_{name}", [])
        for name in ("type_symbol", "fract_x", "fract_y", "fract_z")
    ]
    rows[0] = rows[0] or data.get("_atom_site_label", [])
    if any(len(column) != len(target) for column in rows):
        return False
    for site, symbol, *fractions in zip(target, *rows, strict=True):
        try:
            at = [float(str(value).split("(")[0]) for value in fractions]
        except ValueError:
            return False  # the parser reads more notations than this does
        kind = re.match(r"[A-Z][a-z]?", str(symbol))
        away = target.lattice.get_all_distances(site.frac_coords, at)
        if kind is None or kind[0] != site.specie.symbol or float(away[0, 0]) > SITES:
            return False
    return True


def smallest_contact(found: Structure) -> float | None:
    """Smallest distance in Å between two sites, within 3 Å; a warning, no verdict."""
    if len(found) > 500:
        return None
    _, _, _, distances = found.get_neighbor_list(3.0)
    return float(distances.min()) if len(distances) else None


def target_structure(plain: dict[str, Any]) -> Structure:
    """Of ``{cell, species, fractions}``."""
    return Structure(Lattice.from_parameters(*plain["cell"]), plain["species"], plain["fractions"])


def strictly(wanted: dict[str, Any], block: str | None) -> dict[str, Any]:
    """Judge one answer by the strict rule.

    Parameters
    ----------
    wanted
        The target, ``{cell, species, fractions}``.
    block
        The CIF as the bench has read it; ``None``: no answer.

    Returns
    -------
    dict
        ``passed``, ``error`` (name of the verdict or ``None``), numbers, and the structure as
        data (``shown``).
    """
    target = target_structure(wanted)

    def rule(text: str) -> dict[str, Any]:
        found = structure(text)
        return {**strict(target, found), "order": same_order(target, text)}

    return {**judged(block, rule), "shown": None if block is None else shown(block)}


def as_published(wanted: dict[str, Any], reply: str) -> dict[str, Any]:
    """Judge everything that the model said by the authors' rule."""
    target = target_structure(wanted)
    return judged(reply, lambda text: published(target, structure(published_block(text))))


def echo(
    wanted: dict[str, Any], by_authors: dict[str, Any], before: dict[str, Any]
) -> dict[str, Any]:
    """Judge the unchanged input by both rules."""
    unchanged = target_structure(before)
    strict_target, published_target = target_structure(wanted), target_structure(by_authors)
    return {
        "strict": judged("", lambda _: strict(strict_target, unchanged)),
        "published": judged("", lambda _: published(published_target, unchanged)),
    }


def verdicts(
    wanted: dict[str, Any],
    by_authors: dict[str, Any],
    before: dict[str, Any],
    block: str | None,
    reply: str,
) -> dict[str, Any]:
    """Everything at once; an answer may take it past a limit, as it may each of them."""
    return {
        "strict": strictly(wanted, block),
        "published": as_published(by_authors, reply),
        "echo": echo(wanted, by_authors, before),
    }


def judged(text: Any, rule: Any) -> dict[str, Any]:
    """The numbers of a rule, or the name of its verdict; wrong is wrong, never an exception."""
    if text is None:
        return {"error": "OutputFormatError", "passed": False}
    try:
        said = rule(text)
    except WrongError as error:
        return {**error.numbers, "error": str(error), "passed": False}
    far = said.get("worst", 0.0) > SITES
    return {**said, "error": "SiteMismatch" if far else None, "passed": not far}


# The family: every rule takes what the question holds, the value of the answer and the whole reply,
# and returns ``strict``, ``published`` and ``echo`` like `verdicts`; ``None`` where there is none.

REMOVED = "[VALUE_TO_BE_INSERTED]"
MAX_GENERATED, MAX_CALCULATED = 200, 64  # sites of an answer
CONTACT = 0.5  # Å; nothing is calculated of nearer atoms
CALCULABLE = {"Al", "Ni", "Cu", "Pd", "Ag", "Pt", "Au"}  # by effective-medium theory


def moved_points(given: dict[str, Any], value: Any, _reply: str) -> dict[str, Any]:
    """PointWorld. The authors ask only whether points can be read and have the right shape."""

    def off(points: Any) -> dict[str, Any]:
        target = np.array(given["after"])
        away = np.linalg.norm(target[:, None] - _points(points, len(target))[None], axis=2)
        pairs = away[linear_sum_assignment(away)]
        return {"worst": float(pairs.max()), "rms": float(np.sqrt((pairs**2).mean()))}

    def shaped(points: Any) -> dict[str, Any]:
        return {"max_dist": off(points)["worst"]}

    before = given["before"]
    echo_said = {"strict": judged(before, off), "published": judged(before, shaped)}
    return {"strict": judged(value, off), "published": judged(value, shaped), "echo": echo_said}


def _points(value: Any, count: int) -> Any:
    """Shape (count, 3), finite."""
    rows = value if isinstance(value, list) and len(value) == count else []
    plain = all(
        isinstance(row, list) and len(row) == 3 and all(type(x) in {int, float} for x in row)
        for row in rows
    )
    if not rows or not plain or not all(abs(x) < 1e9 for row in rows for x in row):
        raise WrongError("InvalidShape")
    return np.array(rows, dtype=float)


def repaired(given: dict[str, Any], block: str | None, reply: str) -> dict[str, Any]:
    """CIF-Repair: the value that was taken out is put where the answer wants it."""
    original = structure(given["original"])

    def by_authors(text: str) -> dict[str, Any]:
        return published(original, structure(text))

    def filled(text: str) -> str:
        return text.replace(REMOVED, given["removed"] or "", 9)

    def by_us(text: str) -> dict[str, Any]:
        return {**strict(original, structure(text)), "order": None}

    text = None if block is None else filled(block)
    return {
        "strict": {**judged(text, by_us), "shown": None if text is None else shown(text)},
        "published": judged(reply, lambda said: by_authors(filled(published_block(said)))),
        "echo": {
            "strict": judged(given["corrupted"], by_us),
            "published": judged(given["corrupted"], by_authors),
        },
    }


def generated(given: dict[str, Any], block: str | None, reply: str) -> dict[str, Any]:
    """CIF-Gen. The authors' matcher scales cells and builds supercells; the strict one does not."""
    target = target_structure(given["target"])
    loose = StructureMatcher(primitive_cell=True, attempt_supercell=True, stol=0.5)
    exact = StructureMatcher(primitive_cell=True, scale=False, ltol=0.01, stol=0.05, angle_tol=0.5)

    def fits(text: str, matcher: StructureMatcher) -> dict[str, Any]:
        found = structure(text)
        if len(found) > MAX_GENERATED:
            raise WrongError("TooManySites")
        if found.composition.reduced_formula != target.composition.reduced_formula:
            raise WrongError("CompositionMismatch")
        if not matcher.fit(target, found):
            raise WrongError("StructureMismatch")
        return {"order": None}

    said = judged(block, lambda text: fits(text, exact))
    return {
        "strict": {**said, "shown": None if block is None else shown(block)},
        "published": judged(reply, lambda text: fits(published_block(text), loose)),
        "echo": None,
    }


def changed(given: dict[str, Any], block: str | None, _reply: str) -> dict[str, Any]:
    """StructProp: whether a property moved to the side that was asked for.

    With ``calculator`` ``emt`` the bulk modulus in GPa is calculated here; otherwise the answer is
    only checked, and handed back to be calculated elsewhere.
    """
    before = target_structure(given["before"])

    def rule(text: str) -> dict[str, Any]:
        found = structure(text)
        check_calculable(found, before)
        if given["calculator"] != "emt":
            return {"order": None}
        value, original = bulk_modulus(found), bulk_modulus(before)
        if value is None or original is None:
            raise WrongError("CalculationFailed")
        if not moved(original, value, given["trend"]):
            raise WrongError("WrongSide", value=value, original=original)
        return {"order": None, "value": value, "original": original}

    said = judged(block, rule)
    return {
        "strict": {**said, "shown": None if block is None else shown(block)},
        "published": None,
        "echo": None,
    }


def moved(original: float, value: float, trend: str) -> bool:
    """Whether a property is strictly on the wanted side of what it was."""
    return value > original if trend == "increase" else value < original


def check_calculable(found: Structure, before: Structure) -> None:
    """What is refused before anything is calculated."""
    if not found.is_ordered:
        raise WrongError("PartialOccupancy")
    if len(found) > MAX_CALCULATED:
        raise WrongError("TooManySites")
    heights = 1 / np.array(found.lattice.reciprocal_lattice_crystallographic.abc)
    # A flat cell has neighbours without end.
    if heights.min() < CONTACT or len(found.get_neighbor_list(CONTACT)[0]):
        raise WrongError("AtomsTooClose")
    same = judged("", lambda _: strict(before, found))
    if same["passed"]:
        raise WrongError("StructureSame")


def bulk_modulus(found: Structure) -> float | None:
    """In GPa, from energies by effective-medium theory over the volume; ``None``: no minimum."""
    from ase import Atoms  # noqa: PLC0415 -- only this family needs it
    from ase.calculators.emt import EMT  # noqa: PLC0415
    from ase.eos import EquationOfState  # noqa: PLC0415

    symbols = [site.specie.symbol for site in found]
    if not set(symbols) <= CALCULABLE:
        raise WrongError("UnsupportedElement")
    atoms = Atoms(symbols, positions=found.cart_coords, cell=found.lattice.matrix, pbc=True)
    cell = atoms.cell.array.copy()
    for _ in range(8):  # until the minimum lies within
        scales = np.linspace(0.96, 1.04, 9)
        volumes, energies = [], []
        for scale in scales:
            strained = atoms.copy()
            strained.set_cell(cell * scale, scale_atoms=True)
            strained.calc = EMT()
            volumes.append(strained.get_volume())
            energies.append(strained.get_potential_energy())
        lowest = int(np.argmin(energies))
        if 2 <= lowest <= 6:
            try:
                _, _, modulus = EquationOfState(volumes, energies, eos="birchmurnaghan").fit()
            except (ValueError, RuntimeError):
                return None
            gpa = float(modulus) * 160.2176634  # of eV/Å^3
            return gpa if 0.0 < gpa < 2000.0 else None
        cell *= scales[lowest]
    return None
