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


def judged(text: str | None, rule: Any) -> dict[str, Any]:
    """The numbers of a rule, or the name of its verdict; wrong is wrong, never an exception."""
    if text is None:
        return {"error": "OutputFormatError", "passed": False}
    try:
        said = rule(text)
    except WrongError as error:
        return {"error": str(error), "passed": False}
    far = said.get("worst", 0.0) > SITES
    return {**said, "error": "SiteMismatch" if far else None, "passed": not far}
