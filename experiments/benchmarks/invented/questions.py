"""Questions of a world: what is asked, in which words, and the plan that answers it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.benchmarks.invented import lexicon
from experiments.benchmarks.invented.crystals import Crystal, draw_crystal
from experiments.benchmarks.invented.draw import Draw
from experiments.benchmarks.invented.entries import Entry
from experiments.benchmarks.invented.graph import Knobs, Symbol, evaluate
from experiments.benchmarks.invented.grow import draw_settings, unmoved
from experiments.benchmarks.invented.plans import Given, Wanted, depth_of, plan, program, symbols_of
from experiments.benchmarks.invented.prose import (
    gloss,
    setting_phrase,
    sign_phrase,
    unit_phrase,
    use,
)

_MOST = 5  # properties of a question
_ATTEMPTS = 400
_EVEN = 40  # attempts that prefer quantities that were asked for less often
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?")
FORMATS = {"float": "float", "int": "int", "str": "str", "list": "list[float]",
           "dict": "dict[str, float]"}  # fmt: skip


class WorldError(ValueError):
    """No world can be made with these knobs; says what to change."""


@dataclass(frozen=True)
class Asked:
    """One property of a question."""

    name: str
    wanted: Wanted
    plan: Given
    gold: Any
    description: str
    format: str


@dataclass(frozen=True)
class InventedQuestion:
    """A question.

    Attributes
    ----------
    depth, breadth
        Number of calls in the longest chain; number of symbols needed.
    """

    id: str
    crystal: Crystal
    asked: tuple[Asked, ...]
    goal: str
    depth: int
    breadth: int

    @property
    def reference(self) -> str:
        """The program of an expert."""
        return program({one.name: one.plan for one in self.asked}, self.crystal)


def draw_questions(
    knobs: Knobs, package: str, symbols: Mapping[str, Symbol], by_term: Mapping[str, Entry]
) -> list[InventedQuestion]:
    """The questions of a world; each passes its gates as far as they need no library.

    Raises
    ------
    WorldError
        When none can be found.
    """
    core = [s for s in symbols.values() if s.core and by_term.get(s.entry.term) is s.entry]
    askable = [
        s
        for s in core
        if s.entry.kind in {"function", "method", "property"} and s.entry.result != "structure"
    ]
    others = mistakable([s for s in symbols.values() if s.core])
    times: dict[str, int] = {s.entry.term: 0 for s in askable}
    found = []
    for number in range(1, knobs.questions + 1):
        for attempt in range(_ATTEMPTS):
            draw = Draw(
                knobs.seed, "question", knobs.depth, knobs.breadth, knobs.results, number, attempt
            )
            even = {**times} if attempt < _EVEN else dict.fromkeys(times, 0)
            question = _draw(
                draw, knobs, f"{package}_{number:02d}", askable, symbols, by_term, even, others
            )
            if question is not None:
                break
        else:
            msg = f"seed={knobs.seed} depth={knobs.depth}: no question passes its gates; take another seed"
            raise WorldError(msg)
        for one in question.asked:
            times[one.wanted.term] += 1
        found.append(question)
    return found


def _draw(
    draw: Draw, knobs: Knobs, name: str, askable: Sequence[Symbol], symbols: Mapping[str, Symbol],
    by_term: Mapping[str, Entry], times: Mapping[str, int], others: Mapping[str, Sequence[Entry]],
) -> InventedQuestion | None:  # fmt: skip
    crystal = draw_crystal(draw)
    goal = _goal(crystal, package=name.rpartition("_")[0])
    deep = [s for s in askable if s.layer == knobs.depth]
    order = sorted(draw.shuffled(deep), key=lambda s: times[s.entry.term])[:1]
    order += sorted(draw.shuffled(askable), key=lambda s: times[s.entry.term] // 2)
    asked: list[Asked] = []
    used: set[str] = set()
    for symbol in order:
        term = symbol.entry.term
        if any(one.wanted.term == term for one in asked):
            continue
        one = _ask(
            Draw(knobs.seed, name, term, draw.number()),
            f"value_{len(asked) + 1}",
            symbol,
            crystal,
            knobs,
            by_term,
        )
        needed = used | symbols_of(one.plan)
        if asked and (len(needed) > knobs.breadth and len(asked) >= 2):
            continue
        value = evaluate(one.plan, crystal, symbols)
        one = replace(one, gold=value)
        if not _fit(value, f"{goal} {one.description}") or unmoved(
            one.plan, crystal, symbols, others
        ):
            if not asked:
                return None
            continue
        asked.append(one)
        used = needed
        if len(asked) == _MOST or (len(asked) >= 2 and len(used) >= knobs.breadth):
            break
    if len(asked) < 2:
        return None
    depth = max(depth_of(one.plan) for one in asked)
    return InventedQuestion(name, crystal, tuple(asked), goal, depth, len(used))


def _ask(
    draw: Draw, name: str, symbol: Symbol, crystal: Crystal, knobs: Knobs, by_term: Mapping[str, Entry]
) -> Asked:  # fmt: skip
    entry = symbol.entry
    convention = entry.convention
    if convention.family:
        unit = draw.choice(lexicon.UNITS[convention.family]).symbol
        sense = draw.below(2) if convention.polarity >= 0 else 0
        convention = replace(convention, unit=unit, sense=sense)
    wanted = Wanted(entry.term, draw_settings(draw, entry), convention)
    return Asked(name, wanted, plan(wanted, crystal, by_term), None,
                 describe(symbol, wanted, knobs.gap, draw), FORMATS[entry.result])  # fmt: skip


def describe(symbol: Symbol, wanted: Wanted, gap: int, draw: Draw) -> str:
    """A wanted value in words, as far from those of the documentation as ``gap`` says."""
    if gap == 0:
        what = f"The {wanted.term} of the crystal"
    elif gap == 1:
        what = (
            f"The quantity of this package that expresses the {gloss(symbol, 1)}, for the crystal"
        )
    else:
        what = f"The quantity of this package that serves to {use(symbol, 1)}, for the crystal"
    text = " ".join([what, *(setting_phrase(setting, draw) for setting in wanted.settings)])
    if wanted.convention.family:
        text += f", in {unit_phrase(wanted.convention, draw)}{sign_phrase(wanted.convention, draw)}"
    ending = {
        "list": ", as the package orders its entries",
        "dict": ", under the symbols of the elements",
    }
    return f"{text}{ending.get(symbol.entry.result, '')}. Options that are not mentioned keep their defaults."


def _goal(crystal: Crystal, package: str) -> str:
    lengths = ", ".join(
        f"{name} = {value}" for name, value in zip("abc", crystal.lengths, strict=True)
    )
    angles = ", ".join(map(str, crystal.angles))
    sites = "\n".join(f"{e} {x} {y} {z}" for e, (x, y, z) in crystal.sites)
    return (
        f"The quantities are those that the installed package `{package}` defines; how it defines them"
        f" stands nowhere else. They are wanted for one crystal, a pymatgen Structure with the cell"
        f" {lengths} (angstroms), angles {angles} (degrees), and these sites (element and fractional"
        f" coordinates, in this order):\n{sites}\n"
    )


def _fit(value: Any, text: str) -> bool:
    """Whether a value can be asked for: tells right from wrong, and does not stand in the text."""
    shown = [float(number) for number in _NUMBER.findall(text)]
    if isinstance(value, str):
        return value not in text and 200 <= int(value.partition("-")[2]) < 10_000_000
    if isinstance(value, int):
        return 200 <= value < 1_000_000_000 and float(value) not in shown
    leaves = list(_leaves(value))
    sizes = [abs(leaf) for leaf in leaves]
    hidden = not any(
        math.isclose(leaf, number, rel_tol=2e-3) for leaf in leaves for number in shown
    )
    return hidden and all(1e-5 < size < 1e8 for size in sizes)


def _leaves(value: Any) -> Iterator[float]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    else:
        yield value


def mistakable(core: Sequence[Symbol]) -> dict[str, list[Entry]]:
    """What may be taken for a symbol: its deprecated variants, and another leaf of the same call."""
    found: dict[str, list[Entry]] = {}
    leaves = [s.entry for s in core if s.entry.kind == "function" and s.layer == 1 and not s.entry.successor
              and not any(choice.kind == "element" for choice in s.entry.choices)]  # fmt: skip
    for symbol in core:
        entry = symbol.entry
        variants = [s.entry for s in core if s.entry.successor and s.entry.term == entry.term]
        alike = [leaf for leaf in leaves if leaf is not entry and not entry.needs and not entry.successor
                 and (leaf.subject, leaf.result) == (entry.subject, entry.result)]  # fmt: skip
        found[entry.path] = [*variants, *alike[:2]] if not entry.successor else []
    return found
