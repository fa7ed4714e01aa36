"""Questions of a world: what is asked, in which words, and the plan that answers it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.benchmarks.invented.crystals import Crystal, draw_crystal
from experiments.benchmarks.invented.draw import Draw
from experiments.benchmarks.invented.entries import Entry
from experiments.benchmarks.invented.graph import Symbol, evaluate
from experiments.benchmarks.invented.plans import Given, Wanted, depth_of, plan, program, symbols_of
from experiments.benchmarks.invented.prose import (
    gloss,
    setting_phrase,
    sign_phrase,
    unit_phrase,
    use,
)
from experiments.benchmarks.invented.sensitivity import draw_settings, steady, unmoved
from experiments.benchmarks.invented.symbols import Draft, respelled

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


def draw_questions(draft: Draft) -> list[InventedQuestion]:
    """The questions of a world; each passes its gates as far as they need no library.

    Raises
    ------
    WorldError
        When none can be found.
    """
    knobs = draft.knobs
    core = [s for s in draft.symbols.values() if s.core]
    askable = [s for s in core if s.entry.term and not s.entry.successor
               and s.entry.kind != "constant" and s.entry.result != "structure"]  # fmt: skip
    others = mistakable(core)
    times = Counter[str]()  # that a term was asked for
    found = []
    for number in range(1, knobs.questions + 1):
        for attempt in range(_ATTEMPTS):
            purpose = (knobs.depth, knobs.breadth, knobs.results, number, attempt)
            draw = Draw(knobs.seed, "question", *purpose)
            # Terms that were asked for less often come first, unless none of them passes.
            order = draw.shuffled(askable)
            if attempt < _EVEN:
                order.sort(key=lambda symbol: times[symbol.entry.term])
            order.sort(key=lambda symbol: symbol.layer != knobs.depth)
            question = _draw(draft, draw, f"{draft.package}_{number:02d}", order, others)
            if question is not None:
                break
        else:
            given = f"seed={knobs.seed} depth={knobs.depth} breadth={knobs.breadth}"
            msg = f"{given}: no question passes its gates; take another seed"
            raise WorldError(msg)
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
    crystal = draw_crystal(draw)
    goal = _goal(crystal, draft.package)
    asked: list[Asked] = []
    used: set[str] = set()
    for symbol in (order[0], *sorted(order[1:], key=lambda _: draw.number())):
        one = _ask(draft, draw, f"value_{len(asked) + 1}", symbol, crystal)
        needed = used | symbols_of(one.plan)
        if len(asked) >= 2 and len(needed) > draft.knobs.breadth:
            continue
        fits = _fit(one.gold, f"{goal} {one.description}")
        fits = fits and steady(one.plan, crystal, draft.symbols)
        if fits and not unmoved(one.plan, crystal, draft.symbols, others):
            asked.append(one)
            used = needed
        elif not asked:
            return None
        if len(asked) == _MOST or (len(asked) >= 2 and len(used) >= draft.knobs.breadth):
            break
    text = " ".join([goal, *(one.description for one in asked)])
    if len(asked) < 2 or not all(_fit(one.gold, text) for one in asked):
        return None
    depth = max(depth_of(one.plan) for one in asked)
    return InventedQuestion(name, crystal, tuple(asked), goal, depth, len(used))


def _ask(draft: Draft, draw: Draw, name: str, symbol: Symbol, crystal: Crystal) -> Asked:
    entry = symbol.entry
    wanted = Wanted(entry.term, draw_settings(draw, entry), respelled(draw, entry.convention))
    given = plan(wanted, crystal, draft.by_term)
    words = Draw(draft.knobs.seed, name, wanted.term, draw.number())  # gap moves nothing else
    text = describe(symbol, wanted, draft.knobs.gap, words)
    return Asked(
        name, wanted, given, evaluate(given, crystal, draft.symbols), text, FORMATS[entry.result]
    )


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
    text += ending.get(symbol.entry.result, "")
    return f"{text}. Options that are not mentioned keep their defaults."


def _goal(crystal: Crystal, package: str) -> str:
    lengths = ", ".join(
        f"{name} = {value}" for name, value in zip("abc", crystal.lengths, strict=True)
    )
    angles = ", ".join(map(str, crystal.angles))
    sites = "\n".join(f"{e} {x} {y} {z}" for e, (x, y, z) in crystal.sites)
    return (
        f"The quantities are those that the installed package `{package}` defines; how it defines"
        " them stands nowhere else. They are wanted for one crystal, a pymatgen Structure with the"
        f" cell {lengths} (angstroms), angles {angles} (degrees), and these sites (element and"
        f" fractional coordinates, in this order):\n{sites}\n"
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
    """What may be taken for a symbol: deprecated variants, and leaves that are called alike."""
    found: dict[str, list[Entry]] = {}
    entries = [symbol.entry for symbol in core if symbol.entry.kind == "function"]
    leaves = [entry for entry in entries if not (entry.needs or entry.successor)
              and not any(choice.kind == "element" for choice in entry.choices)]  # fmt: skip
    for entry in entries:
        variants = [one for one in entries if one.successor and one.term == entry.term]
        alike = [leaf for leaf in leaves if leaf is not entry and not entry.needs
                 and (leaf.subject, leaf.result) == (entry.subject, entry.result)]  # fmt: skip
        found[entry.path] = [] if entry.successor else [*variants, *alike[:2]]
    return found
