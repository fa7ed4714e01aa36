"""Units: whether a conversion that a value's unit needs stands anywhere in the code."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence

from agents.assistant.answers import Trace, Value
from agents.assistant.second_opinion import RULES, in_unit, split_unit
from agents.assistant.syntax import called_name, text_of

_NATIVE = {re.compile(name): unit for name, unit in RULES["native_units"].items()}
_CONVERTERS = re.compile(RULES["converters"])
_TRIGONOMETRY = frozenset({"sin", "cos", "tan"})
_IN_DEGREES = re.compile(
    r"\b(alpha|beta|gamma|angles?|two_theta|theta_deg|\w*degrees?)\b", re.IGNORECASE
)
_TO_RADIANS = re.compile(r"radians|deg2rad|\bpi\b|from_parameters")


_UNIT_WORDS = sorted(
    {*RULES["units"], "eV", "K", "nm", "pm", "g/cm^3", "kg/m^3", "kJ/mol", "Å^3"}
    | {"angstrom", "degrees", "bar", "kbar", "meV/atom", "Ha", "Ry", "amu", "J/mol"},
    key=len,
    reverse=True,
)
_QUANTITY = re.compile(
    r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:\s?[x×]\s?10\^?-?\d+|[eE][-+]?\d+)?"  # noqa: RUF001
    rf"\s?(?:{'|'.join(map(re.escape, _UNIT_WORDS))})(?![\w/])"
    r"|(?<![\w.-])[-+]?\d+\.\d+(?![\w.])"
)
MOST_STATED = 6  # quantities that a note lists


def stated_quantities(text: str, question: str) -> list[str]:
    """Numbers with a unit or decimals in a text that the question does not give itself."""
    quantities = [" ".join(match[0].split()) for match in _QUANTITY.finditer(text)]
    given = [" ".join(match[0].split()) for match in _QUANTITY.finditer(question)]
    unique = dict.fromkeys(q for q in quantities if q not in given)
    return list(unique)[:MOST_STATED]


def unconverted(
    values: Sequence[Value], trace: Trace, tree: ast.Module
) -> Iterator[str]:
    """Values in a unit that no library function of the code returns, and nothing converts to.

    What a function returns is known from its documentation (``native_units`` in rules.yaml).
    """
    code = text_of(tree)
    if _CONVERTERS.search(code):
        return
    native = _native_units(trace)
    factors = _factors(tree)
    for value in values:
        unit = value.unit or split_unit(value.name)[1]
        if unit is None or not isinstance(value.value, int | float):
            continue
        ratios = {
            name: ratio
            for name, source_unit in native.items()
            if isinstance(ratio := in_unit(1.0, source_unit, unit), float)
        }
        if not ratios or any(math.isclose(r, 1, rel_tol=1e-6) for r in ratios.values()):
            continue
        if any(_has_factor(ratio, factors) for ratio in ratios.values()):
            continue
        name = next(iter(ratios))
        yield (
            f"{value.name} is stated in {unit}, but {name} returns {native[name]} "
            "and nothing in the code converts it"
        )


def _native_units(trace: Trace) -> dict[str, str]:
    """Functions that the code called -> the unit that they return."""
    units: dict[str, str] = {}
    for symbol in trace.library:
        for pattern, unit in _NATIVE.items():
            if pattern.search(symbol):
                units[".".join(symbol.split(".")[-2:])] = unit
    return units


def _factors(tree: ast.Module) -> list[float]:
    return [
        abs(float(node.value))
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
        and 0 < abs(node.value) < math.inf
    ]


def _has_factor(ratio: float, factors: Sequence[float]) -> bool:
    """Whether a number of the code is the ratio or its inverse, but for powers of ten."""
    exponent = math.log10(abs(ratio))
    for factor in factors:
        for sign in (1, -1):
            difference = exponent - sign * math.log10(factor)
            is_power_of_ten = abs(difference - round(difference)) < 0.005
            needs_digits = abs(exponent - round(exponent)) > 0.005
            if is_power_of_ten and (needs_digits or abs(difference) < 0.005):
                return True
    return False


def degrees_as_radians(tree: ast.Module) -> Iterator[str]:
    """Sines and cosines of angles of a cell, which libraries give in degrees."""
    if _TO_RADIANS.search(text_of(tree)):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or called_name(node) not in _TRIGONOMETRY:
            continue
        argument = text_of(node.args[0]) if node.args else ""
        if _IN_DEGREES.search(argument):
            yield (
                f"{called_name(node)} takes radians, but {argument} is in degrees "
                f"(line {node.lineno})"
            )
            return
