"""What speaks against the values of an answer: other readings of its files, and laws.

Nothing is said where nothing independent is known: a reading counts only if it is not by the
parser that the code used, and only while the code left the structure as it was read. A false
alarm costs more than a miss.
"""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.assistant.alterations import alters_structure
from agents.assistant.answers import Trace, Value
from agents.assistant.syntax import text_of
from foundation.configuration import data_of

RULES: Mapping[str, Any] = data_of(__file__, "rules")
TOO_CLOSE = 0.5  # angstrom between two sites: shorter than any bond
GAS_CONSTANT = 8.31446261815324  # J/(K mol)
SAME_SHARE = (
    0.01  # difference of an element's share in two compositions that are the same
)
Composition = Mapping[str, float]
Facts = Mapping[str, Mapping[str, Any]]
_ELEMENT = re.compile(r"([A-Z][a-z]?)(\d+(?:\.\d+)?)?")
_UNIT = re.compile(
    r"(?:1|[A-Za-zÅ°µμ]+)(?:\^-?\d)?(?:[ */](?:[A-Za-zÅ°µμ]+)(?:\^-?\d)?)*"
)
_RAISED = str.maketrans("⁻¹²³", "-123")
_PER_ATOM = re.compile(r"\s*/\s*atoms?\b")
_PER_FORMULA = re.compile(r"\s*/\s*(?:f\.u\.|formula units?\b)")
_OTHER_STEP = re.compile(r"\bionic_steps\b|\bstructures\b|\binitial_structure\b")
_OTHER_CELL = re.compile(
    r"primitive|conventional|supercell|reduced|niggli", re.IGNORECASE
)


@dataclass(frozen=True)
class FileQuantity:
    """What a value is by its name: a fact of a reading, its unit, and how far it may be off."""

    fact: str
    unit: str
    tolerance: float


def about_file(name: str, facts: Mapping[str, Any]) -> Iterator[str]:
    """What is odd about an input file, whatever is computed from it."""
    nearest = facts.get("nearest")
    if isinstance(nearest, tuple | list) and len(nearest) == 2:
        distance, pair = nearest
        if isinstance(distance, float) and distance < TOO_CLOSE:
            yield (
                f"{name}: as pymatgen reads it, two sites ({pair}) are {distance:.2g} Å "
                "apart; they may be one site twice"
            )
    readings = _readings(facts)
    own = readings.get("pymatgen", {}).get("composition")
    if not isinstance(own, Mapping):
        return
    for reader, reading in readings.items():
        other = reading.get("composition")
        if isinstance(other, Mapping) and not same_composition(own, other):
            yield (
                f"{name}: pymatgen reads {formula(own)} per cell, "
                f"{reader} gives {formula(other)}"
            )
            return


def parser_warnings(facts: Mapping[str, Any]) -> list[str]:
    """What the parser of a file warns of, unless another reader reads it in the same way."""
    messages = facts.get("warnings")
    if not isinstance(messages, list | tuple) or is_confirmed(facts):
        return []
    return [f"its parser warns: {message}" for message in messages]


def is_confirmed(facts: Mapping[str, Any]) -> bool:
    """Whether another reader has the same composition in the same volume as pymatgen."""
    needed = {"composition", "volume", "density"}
    readings = {
        reader: reading
        for reader, reading in _readings(facts).items()
        if needed <= reading.keys()
    }
    own = readings.pop("pymatgen", None)
    others = list(readings.values())
    if own is None or not others:
        return False
    return all(
        same_composition(own["composition"], other["composition"])
        and math.isclose(own["volume"], other["volume"], rel_tol=0.005)
        and math.isclose(own["density"], other["density"], rel_tol=0.01)
        for other in others
    )


def contradictions(
    values: Sequence[Value], trace: Trace, facts: Facts, tree: ast.Module, question: str
) -> Iterator[str]:
    """Values that every independent reading of a given file contradicts."""
    if not trace.noted or alters_structure(tree, trace):
        return
    having = [name for name in facts if _readings(facts[name])]
    if len(having) != 1:  # of which file a value is, is not known
        return
    (file,) = having
    readings = independent(_readings(facts[file]), trace)
    for value in values:
        quantity = quantity_of(value)
        if quantity is None or _is_of_another_cell(value, quantity, tree, question):
            continue
        references = {
            reader: reading[quantity.fact]
            for reader, reading in readings.items()
            if quantity.fact in reading
        }
        if not references:
            continue
        converted = in_unit(value.value, _unit_of(value), quantity.unit)
        if any(agrees(converted, ref, quantity) for ref in references.values()):
            continue
        reader, reference = next(iter(references.items()))
        yield (
            f"{value.name} is {value.text}, but an independent reading of {file} ({reader}) "
            f"has {_shown(reference, quantity)}"
        )


def independent(
    readings: Mapping[str, Mapping[str, Any]], trace: Trace
) -> dict[str, Mapping[str, Any]]:
    """Readings that are not by a library which the code called."""
    used = {source.name.partition(".")[0] for source in trace.sources}
    return {
        reader: reading for reader, reading in readings.items() if reader not in used
    }


def _readings(facts: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The readings of a file that have the form of one: they came out of the sandbox."""
    readings = facts.get("readings")
    if not isinstance(readings, Mapping):
        return {}
    return {
        str(reader): reading
        for reader, reading in readings.items()
        if isinstance(reading, Mapping) and reading
    }


def quantity_of(value: Value) -> FileQuantity | None:
    """The fact of a file that a value claims to be, by the words of its name."""
    name, unit = split_unit(value.name)
    word = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    unit = value.unit or unit or ""
    if _PER_FORMULA.search(unit):
        return None  # how many formula units there are is not read
    if _PER_ATOM.search(unit) and not word.endswith("per_atom"):
        word += "_per_atom"
    for pattern, (fact, fact_unit, tolerance) in RULES["recomputed"].items():
        if re.fullmatch(pattern, word):
            return FileQuantity(fact, fact_unit, tolerance)
    return None


def _unit_of(value: Value) -> str:
    return value.unit or split_unit(value.name)[1] or ""


def _is_of_another_cell(
    value: Value, quantity: FileQuantity, tree: ast.Module, question: str
) -> bool:
    """Whether the value may be about something else than the structure as it was read."""
    code = text_of(tree)
    if quantity.fact in {"symbol", "number"}:
        tolerances = r"symprec|tolerance|angle_tol"
        return bool(re.search(tolerances, question) or re.search(tolerances, code))
    if quantity.fact.startswith("energy"):
        return bool(_OTHER_STEP.search(code))
    if "tolerance" in code:  # the parser was told how to read the file
        return True
    if quantity.fact == "composition":
        return False
    return bool(_OTHER_CELL.search(f"{value.name} {question}"))


def agrees(value: Any, reference: Any, quantity: FileQuantity) -> bool:
    """Whether a value is the reference, or nothing can be said."""
    if isinstance(value, bool) or value is None:
        return True
    if quantity.fact == "composition":
        stated = composition_of(value)
        return stated is None or same_composition(stated, reference)
    if quantity.fact == "distances":
        return _is_a_distance(value, reference, quantity.tolerance)
    if isinstance(value, str):
        is_other_kind = not isinstance(reference, str)
        return is_other_kind or group_symbol(value) == group_symbol(reference)
    if not isinstance(value, int | float):
        return True
    references = reference if isinstance(reference, list) else [reference]
    numbers = [each for each in references if isinstance(each, int | float)]
    if not numbers:
        return True
    return any(
        math.isclose(value, number, rel_tol=quantity.tolerance) for number in numbers
    )


def group_symbol(text: str) -> str:
    """A space group without blanks, underscores and setting: ``P 1 2_1/c 1`` is ``P21/c``."""
    plain = re.sub(r"[\s_]", "", text).partition(":")[0]
    monoclinic = re.fullmatch(r"([A-Z])1(.+)1", plain)  # the symbol in full
    return "".join(monoclinic.groups()) if monoclinic else plain


def _is_a_distance(value: Any, distances: Any, tolerance: float) -> bool:
    """Whether two sites are so far apart; ``True`` where the list cannot tell.

    All distances up to `readings.REACH` are listed, and last the longest that is possible: what
    lies between is not known.
    """
    if not isinstance(value, int | float) or not isinstance(distances, list | tuple):
        return True
    listed = [each for each in distances if isinstance(each, int | float)]
    *known, longest = listed or [math.inf]
    if not known or known[-1] < value < longest:
        return True
    return any(math.isclose(value, each, rel_tol=tolerance) for each in known)


def composition_of(value: Any) -> Composition | None:
    """The amounts of a formula such as ``Li2O`` or ``Al2 Cl6``; ``None`` for another text."""
    if not isinstance(value, str):
        return None
    text = re.sub(r"\s|_", "", value)
    parts = _ELEMENT.findall(text)
    if not parts or "".join(element + amount for element, amount in parts) != text:
        return None
    amounts: dict[str, float] = {}
    for element, amount in parts:
        amounts[element] = amounts.get(element, 0.0) + float(amount or 1)
    return amounts


def same_composition(one: Composition, other: Composition) -> bool:
    """Whether two compositions are the same but for a common factor."""
    total, other_total = sum(one.values()), sum(other.values())
    if total <= 0 or other_total <= 0:
        return True
    differences = (
        one.get(element, 0) / total - other.get(element, 0) / other_total
        for element in {*one, *other}
    )
    return all(abs(difference) < SAME_SHARE for difference in differences)


def formula(composition: Composition) -> str:
    """A composition as text: ``Al2 Cl6``."""
    return " ".join(f"{element}{amount:g}" for element, amount in composition.items())


def _shown(reference: Any, quantity: FileQuantity) -> str:
    if quantity.fact == "distances":
        return "no two sites at that distance"
    if isinstance(reference, Mapping):
        return formula(reference)
    first = reference[0] if isinstance(reference, list) and reference else reference
    text = f"{first:.5g}" if isinstance(first, float) else str(first)
    return f"{text} {quantity.unit}".strip()


def in_unit(value: Any, unit: str, wanted: str) -> Any:
    """A value in another unit; ``None`` where that is not possible."""
    if not (unit and wanted and isinstance(value, int | float)):
        return value
    plain = _PER_ATOM.sub("", _PER_FORMULA.sub("", unit)).translate(_RAISED)
    raised = re.sub(r"(?<=[A-Za-zÅ])\^?\*{0,2}(-?\d)", r"^\1", plain)
    if len(raised) > 40 or not _UNIT.fullmatch(raised):  # a model wrote it
        return None
    try:
        return value * float(_units()(raised).to(wanted).magnitude)
    except Exception:  # noqa: BLE001 -- pint raises many kinds: what is no unit says nothing
        return None


@functools.cache
def _units() -> Any:
    import pint  # noqa: PLC0415 -- slow to import

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


_ENDINGS = {
    ending: unit for unit, endings in RULES["units"].items() for ending in endings
}


def split_unit(name: str) -> tuple[str, str | None]:
    """A name in words without the unit at its end, and that unit; ``None`` where it has none."""
    words = re.findall(r"[A-Za-z0-9]+", name)
    for start in range(max(1, len(words) - 4), len(words)):
        ending = "_".join(words[start:])
        table, key = (
            (RULES["letters"], ending)
            if len(ending) == 1
            else (_ENDINGS, ending.lower())
        )
        unit = table.get(key)
        if unit is not None and not _names_an_axis(words[:start], ending):
            return " ".join(words[:start]), unit
    return name.replace("_", " ").strip(), None


def _names_an_axis(words: Sequence[str], ending: str) -> bool:
    """``lattice_parameter_A`` may mean the axis a, not angstrom."""
    return ending == "A" and words[-1:] in (["parameter"], ["constant"], ["axis"])


def broken_laws(
    values: Sequence[Value], facts: Facts, tree: ast.Module, trace: Trace
) -> Iterator[str]:
    """Values that no material has, and quantities of another cell than the one given."""
    for value in values:
        yield from _impossible(value, facts)
    yield from _primitive_cell(values, facts, tree, trace)


_POSITIVE = re.compile(r"(?<![a-z])(density|volume)")
_SIGNED = re.compile(r"change|diff|strain|excess|energy|dos|charge|spin|magnet")


def _impossible(value: Value, facts: Facts) -> Iterator[str]:
    name = value.name.lower()
    number = value.value
    if re.search(r"oxidation", name) and _all_zero(number):
        yield (
            f"{value.name}: all oxidation states are 0, which a compound does not have; "
            "the guess has failed"
        )
    if isinstance(number, bool) or not isinstance(number, int | float):
        return
    if number <= 0 and _POSITIVE.search(name) and not _SIGNED.search(name):
        yield f"{value.name} is {value.text}: it cannot be zero or negative"
    if re.search(r"heat_?capacity|(^|_)c_?[vp](_|$)", name):
        yield from _dulong_petit(value, number, facts)


def _all_zero(value: Any) -> bool:
    if isinstance(value, Mapping):
        amounts = list(value.values())
    elif isinstance(value, list | tuple):
        amounts = list(value)
    else:
        return False
    return len(amounts) > 1 and all(amount == 0 for amount in amounts)


def _dulong_petit(value: Value, number: float, facts: Facts) -> Iterator[str]:
    """The harmonic limit of a cell's heat capacity is 3 N R."""
    in_si = in_unit(number, _unit_of(value), "J/K/mol")
    sites = _sites_of_only_structure(facts)
    if in_si is None or sites is None or not _unit_of(value):
        return
    limit = 3 * sites * GAS_CONSTANT
    if in_si > 1.05 * limit:
        yield (
            f"{value.name} is {value.text}: above the limit of Dulong and Petit for the "
            f"{sites} atoms of the cell, {limit:.1f} J/(K mol)"
        )


def _sites_of_only_structure(facts: Facts) -> int | None:
    counts = [
        reading["sites"]
        for known in facts.values()
        for reader, reading in _readings(known).items()
        if reader == "pymatgen" and isinstance(reading.get("sites"), int)
    ]
    return counts[0] if len(counts) == 1 else None


_EXTENSIVE = re.compile(
    r"heat_?capacity|(^|_)c_?[vp](_|$)|entropy|free_?energy|helmholtz|zero_?point|zpe",
    re.IGNORECASE,
)


def _primitive_cell(
    values: Sequence[Value], facts: Facts, tree: ast.Module, trace: Trace
) -> Iterator[str]:
    """Phonopy gives thermal properties per primitive cell, which it finds by itself."""
    if not any(source.name.startswith("phonopy.") for source in trace.sources):
        return
    names = [value.name for value in values if _EXTENSIVE.search(value.name)]
    if not names or "primitive_matrix" in text_of(tree):
        return
    for file, known in facts.items():
        reading = _readings(known).get("pymatgen", {})
        sites, primitive = reading.get("sites"), reading.get("primitive_sites")
        if isinstance(sites, int) and isinstance(primitive, int) and primitive < sites:
            yield (
                f"{', '.join(names)}: phonopy gives thermal properties per primitive cell "
                f"({primitive} {'atom' if primitive == 1 else 'atoms'}); "
                f"the cell of {file} has {sites}"
            )
