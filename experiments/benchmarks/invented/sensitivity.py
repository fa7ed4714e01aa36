"""Whether what a caller does wrong shows in the value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from experiments.benchmarks.invented import lexicon
from experiments.benchmarks.invented.crystals import Crystal
from experiments.benchmarks.invented.draw import Draw
from experiments.benchmarks.invented.entries import Entry, Setting
from experiments.benchmarks.invented.graph import Symbol, evaluate
from experiments.benchmarks.invented.plans import Given, mistakes

#: Smallest change that counts, with room above the one per cent that is promised.
MOVED = 0.012
#: Relative change of lengths that stands for rounding.
EDGE = 1e-9


def draw_settings(draw: Draw, entry: Entry, share: float = 0.6) -> tuple[Setting, ...]:
    """What a text asks of the options of a symbol; elements always, others with this chance."""
    found = []
    for choice in entry.choices:
        stated = draw.chance(share)
        if choice.kind == "element":
            found.append(Setting("element", draw.choice(list(lexicon.RULES))))
        elif stated and choice.kind == "mode":
            others = [meaning for value, meaning in choice.meanings if value != choice.default]
            found.append(Setting("mode", draw.choice(others)))
        elif stated and choice.kind == "number":
            sizes = {
                unit.symbol: unit.size for unit in lexicon.UNITS[lexicon.family_of(choice.role)]
            }
            unit = draw.choice(list(sizes))
            size = float(choice.default or 1.0) * draw.of(0.3, 0.45, 1.8, 2.5)
            value = float(f"{size * sizes[choice.unit] / sizes[unit]:.3g}")
            found.append(Setting("number", choice.role, value, unit))
        elif stated:
            found.append(Setting("flag", choice.meanings[0][1]))
    return tuple(found)


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
