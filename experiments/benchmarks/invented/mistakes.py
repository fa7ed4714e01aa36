"""Every single mistake of a caller, and whether it shows in the value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.benchmarks.invented.crystals import Crystal
from experiments.benchmarks.invented.entries import Choice, Entry
from experiments.benchmarks.invented.graph import Symbol, evaluate
from experiments.benchmarks.invented.lexicon import FAMILY, UNIT, UNITS
from experiments.benchmarks.invented.plans import Call, Given

#: Smallest change that counts, with room above the one per cent that is promised.
MOVED = 0.012
#: Relative change of lengths that stands for rounding.
EDGE = 1e-9


def mistakes(
    given: Given, crystal: Crystal, others: Mapping[str, Sequence[Entry]]
) -> Iterator[tuple[str, Given]]:
    """Every single mistake of a caller, anywhere in a plan.

    Parameters
    ----------
    others
        Path of a symbol -> what may be taken for it (:func:`mistakable`).
    """
    call, where = given.call, given.call.entry.name
    for what, wrong in _misread(given, crystal):
        yield f"{where}: {what}", wrong
    for what, other in _other_calls(call, crystal, others.get(call.entry.path, ())):
        yield f"{where}: {what}", replace(given, call=other)
    for position, inner in enumerate(call.inputs):
        for what, spoilt in mistakes(inner, crystal, others):
            inputs = (*call.inputs[:position], spoilt, *call.inputs[position + 1 :])
            yield what, replace(given, call=replace(call, inputs=inputs))
        if inner.param == "structure":
            rest = tuple(one for one in call.inputs if one is not inner)
            yield f"{where}: the crystal itself", replace(given, call=replace(call, inputs=rest))


def _misread(given: Given, crystal: Crystal) -> Iterator[tuple[str, Given]]:
    """Mistakes about what a call gave: unit, sign, reciprocal, entry."""
    convention, factor = given.call.entry.convention, given.factor
    if abs(factor) != 1.0:
        yield "unit", replace(given, factor=math.copysign(1.0, factor))
    elif convention.family:
        wrong = _other_unit(convention.family, convention.unit)
        yield "unit", replace(given, factor=factor * UNIT[convention.unit].size / wrong)
    if factor < 0 or convention.polarity >= 0:
        yield "sign", replace(given, factor=-factor)
    if given.param and convention.family:
        yield "reciprocal", replace(given, reciprocal=not given.reciprocal)
    if isinstance(given.key, int):
        yield "entry", replace(given, key=-1 - given.key)
    elif given.key is not None:
        for element in crystal.elements:
            if element != given.key:
                yield "element", replace(given, key=element)


def _other_unit(family: str, symbol: str) -> float:
    return next(unit.size for unit in UNITS[family] if unit.symbol != symbol)


def _other_calls(
    call: Call, crystal: Crystal, others: Sequence[Entry]
) -> Iterator[tuple[str, Call]]:
    """Mistakes in a call itself: an option, or the symbol."""
    choices = {choice.param: choice for choice in call.entry.choices}
    for position, (param, value) in enumerate(call.settings):
        before, after = call.settings[:position], call.settings[position + 1 :]
        if choices[param].default is not None:
            yield f"{param} forgotten", replace(call, settings=(*before, *after))
        for other in _other_values(choices[param], value, crystal):
            yield f"{param}={other}", replace(call, settings=(*before, (param, other), *after))
    for entry in others:
        settings = call.settings if entry.successor else ()
        yield f"{entry.name} instead", replace(call, entry=entry, settings=settings)


def _other_values(choice: Choice, value: Any, crystal: Crystal) -> list[Any]:
    if choice.kind == "number":
        wrong = _other_unit(FAMILY[choice.role], choice.unit)
        return [value * UNIT[choice.unit].size / wrong]
    known = crystal.elements if choice.kind == "element" else [v for v, _ in choice.meanings]
    return [other for other in known if other not in {value, choice.default}]


def mistakable(symbols: Mapping[str, Symbol]) -> dict[str, list[Entry]]:
    """What may be taken for a symbol: deprecated variants, and leaves that are called alike."""
    entries = [s.entry for s in symbols.values() if s.core and s.entry.kind == "function"]
    leaves = [
        entry
        for entry in entries
        if not (entry.needs or entry.successor or any(c.kind == "element" for c in entry.choices))
    ]
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        variants = [one for one in entries if one.successor and one.term == entry.term]
        alike = [leaf for leaf in leaves if leaf is not entry and not entry.needs
                 and (leaf.subject, leaf.result) == (entry.subject, entry.result)]  # fmt: skip
        found[entry.path] = [] if entry.successor else [*variants, *alike[:2]]
    return found


def unmoved(
    given: Given,
    crystal: Crystal,
    symbols: Mapping[str, Symbol],
    others: Mapping[str, Sequence[Entry]],
) -> list[str]:
    """Mistakes that do not show in the value of a plan."""
    right = evaluate(given, crystal, symbols)
    found = []
    for what, wrong in mistakes(given, crystal, others):
        try:
            if not differs(right, evaluate(wrong, crystal, symbols)):
                found.append(what)
        except (ArithmeticError, KeyError, TypeError, ValueError):
            continue  # it raises: that shows
    return found


def steady(given: Given, crystal: Crystal, symbols: Mapping[str, Symbol]) -> bool:
    """Whether rounding decides nothing: no count of the chain stands on the edge of the next one.

    Another order of summation moves a length in its last digits; that must not move a value.
    """
    right = evaluate(given, crystal, symbols)
    near = (evaluate(given, crystal.scaled(1.0 + by), symbols) for by in (-EDGE, EDGE))
    if isinstance(right, int | str):
        return all(value == right for value in near)
    return not any(differs(right, value, 1e3 * EDGE) for value in near)


def differs(right: object, wrong: object, share: float = MOVED) -> bool:
    """Whether two values differ by more than a share, in any of their entries."""
    if isinstance(right, dict) and isinstance(wrong, dict):
        return set(right) != set(wrong) or any(differs(right[k], wrong[k], share) for k in right)
    if isinstance(right, list) and isinstance(wrong, list):
        pairs = zip(right, wrong, strict=False)
        return len(right) != len(wrong) or any(differs(one, two, share) for one, two in pairs)
    if isinstance(right, str) and isinstance(wrong, str):
        (label, _, count), (other, _, wrong_count) = right.partition("-"), wrong.partition("-")
        return label != other or differs(int(count), int(wrong_count), share)
    if isinstance(right, int | float) and isinstance(wrong, int | float):
        return not math.isfinite(wrong) or abs(wrong - right) > share * abs(right)
    return True
