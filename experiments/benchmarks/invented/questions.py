"""Questions of a world: what is asked, in which words, and the plan that answers it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.benchmarks.invented.crystals import Crystal, draw_crystal
from experiments.benchmarks.invented.draw import Draw
from experiments.benchmarks.invented.entries import Entry, Given, Wanted, depth_of, plan, symbols_of
from experiments.benchmarks.invented.graph import (
    Symbol,
    counted,
    evaluate,
    mistakable,
    steady,
    unmoved,
)
from experiments.benchmarks.invented.lexicon import template
from experiments.benchmarks.invented.programs import program
from experiments.benchmarks.invented.prose import asked_for, gloss, in_unit, use
from experiments.benchmarks.invented.symbols import Draft, draw_settings, respelled

_MOST = 7  # properties of a question
_ATTEMPTS = 400
_EVEN = 40  # attempts that prefer quantities that were asked for less often
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?")
_FORMATS = {"list": "list[float]", "dict": "dict[str, float]"}


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
    """A question."""

    id: str
    crystal: Crystal
    asked: tuple[Asked, ...]
    goal: str
    depth: int  # number of calls in the longest chain
    breadth: int  # number of symbols needed

    @property
    def reference(self) -> str:
        """The program of an expert."""
        return program({one.name: one.plan for one in self.asked}, self.crystal)


def draw_questions(draft: Draft) -> list[InventedQuestion]:
    """The questions of a world; each passes its gates as far as they need no library."""
    knobs = draft.knobs
    askable = [s for s in draft.symbols.values()
               if s.core and s.entry.term and not s.entry.successor
               and s.entry.kind != "constant" and s.entry.result != "structure"]  # fmt: skip
    others = mistakable(draft.symbols)
    times = Counter[str]()  # that a term was asked for
    found = []
    for number in range(1, knobs.questions + 1):
        for attempt in range(_ATTEMPTS):
            draw = Draw(knobs.seed, "question", knobs.depth, knobs.breadth, number, attempt)
            # Terms that were asked for less often come first, unless none of them passes.
            order = draw.shuffled(askable)
            if attempt < _EVEN:
                order.sort(key=lambda symbol: times[symbol.entry.term])
            order.sort(key=lambda symbol: symbol.layer != knobs.depth)
            rest = draw.shuffled(order[1:])
            if knobs.breadth > 3 * knobs.depth:  # few properties can need as much
                rest.sort(key=lambda symbol: symbol.layer < knobs.depth - 1)
            name = f"{draft.package}_{number:02d}"
            question = _draw(draft, draw, name, [order[0], *rest], others)
            if question is not None:
                break
        else:
            given = f"seed={knobs.seed} depth={knobs.depth} breadth={knobs.breadth}"
            raise WorldError(f"{given}: no question passes its gates; take another seed")
        times.update(one.wanted.term for one in question.asked)
        found.append(question)
    return found


def _draw(
    draft: Draft,
    draw: Draw,
    name: str,
    order: Sequence[Symbol],
    others: Mapping[str, Sequence[Entry]],
) -> InventedQuestion | None:
    """One question: the deepest quantity first, then others until it is broad enough."""
    crystal, breadth = draw_crystal(draw), draft.knobs.breadth
    text = goal = template("goal.j2").render(crystal=crystal, package=draft.package)
    asked: list[Asked] = []
    used: set[str] = set()
    for symbol in order:
        one = _ask(draft, draw, f"value_{len(asked) + 1}", symbol, crystal)
        needed = used | symbols_of(one.plan.call)
        if len(asked) >= 2 and len(needed) > breadth:
            continue
        told = f"{text} {one.description}"
        if (
            all(_fit(each.gold, told) for each in (*asked, one))
            and steady(one.plan, crystal, draft.symbols)
            and not unmoved(one.plan, crystal, draft.symbols, others)
        ):
            asked.append(one)
            used, text = needed, told
        elif not asked:
            return None
        if len(asked) == _MOST or (len(asked) >= 2 and len(used) >= breadth):
            break
    depth = max(depth_of(one.plan.call) for one in asked)
    question = InventedQuestion(name, crystal, tuple(asked), goal, depth, len(used))
    return question if len(asked) >= 2 else None


def _ask(draft: Draft, draw: Draw, name: str, symbol: Symbol, crystal: Crystal) -> Asked:
    entry, knobs = symbol.entry, draft.knobs
    wanted = Wanted(entry.term, draw_settings(draw, entry), respelled(draw, entry.convention))
    given = plan(wanted, crystal, draft.by_term)
    words = Draw(knobs.seed, name, entry.term, draw.number())  # their number moves nothing else
    text = describe(symbol, wanted, knobs.gap, words)
    gold = evaluate(given, crystal, draft.symbols)
    return Asked(name, wanted, given, gold, text, _FORMATS.get(entry.result, entry.result))


def describe(symbol: Symbol, wanted: Wanted, gap: int, draw: Draw) -> str:
    """A wanted value in words, as far from those of the documentation as ``gap`` says."""
    paraphrased = "The quantity of this package that"
    what = (
        f"The {wanted.term} of the crystal",
        f"{paraphrased} expresses the {gloss(symbol, 1)}, for the crystal",
        f"{paraphrased} serves to {use(symbol, 1)}, for the crystal",
    )[gap]
    text = " ".join([what, *asked_for(wanted.settings, draw)]) + in_unit(wanted.convention, draw)
    if symbol.entry.result == "list":
        text += ", as the package orders its entries"
    if symbol.entry.result == "dict":
        text += ", under the symbols of the elements"
    return f"{text}. Options that are not mentioned keep their defaults."


def _fit(value: Any, text: str) -> bool:
    """Whether a value can be asked for: tells right from wrong, and does not stand in the text."""
    if isinstance(value, int | str):
        return 200 <= counted(value) < 1e7 and str(value) not in text
    shown = [float(number) for number in _NUMBER.findall(text)]
    parts = value.values() if isinstance(value, dict) else value
    leaves = [value] if isinstance(value, float) else list(parts)
    hidden = not any(math.isclose(one, n, rel_tol=2e-3) for one in leaves for n in shown)
    return hidden and all(1e-5 < abs(leaf) < 1e8 for leaf in leaves)
