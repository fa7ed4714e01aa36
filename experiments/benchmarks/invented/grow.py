"""Draws the symbols of a world.

What questions use (the core) is drawn first and is the same for every size; the rest is drawn by
the same rules from streams of its own, so that it moves nothing of the core.
"""

from __future__ import annotations

from dataclasses import replace

from experiments.benchmarks.invented.crystals import draw_crystal
from experiments.benchmarks.invented.draw import WORDS, Coin, Draw
from experiments.benchmarks.invented.entries import Entry
from experiments.benchmarks.invented.graph import Symbol
from experiments.benchmarks.invented.knobs import Knobs
from experiments.benchmarks.invented.mistakes import unmoved
from experiments.benchmarks.invented.plans import Wanted, plan
from experiments.benchmarks.invented.symbols import CORE, Draft, Role, draw_settings, draw_symbol

_CORE_SYMBOLS, _LEAVES, _DEPRECATED = 50, 12, 3
_IN_CLASSES = 6  # two classes with two members each
_PER_MODULE = 30
_ATTEMPTS = 60
#: Up to which chance a symbol outside of the core has a role that takes nothing.
_RARE: tuple[tuple[float, Role], ...] = ((0.05, "constant"), (0.1, "table"), (0.13, "maker"))


def grow(knobs: Knobs) -> Draft:
    """All symbols of a world: the core, then others until the package has its size."""
    coin = Coin(knobs.seed, WORDS - 500)
    package = coin.word()
    modules = [coin.word() for _ in range(4 + (knobs.size - _CORE_SYMBOLS) // _PER_MODULE)]
    stream = Draw(knobs.seed, "probes")
    draft = Draft(knobs, package, modules, [draw_crystal(stream) for _ in range(4)])
    _grow_core(draft)
    number = CORE
    while len(draft.symbols) < knobs.size:
        draw = Draw(knobs.seed, "other", number)
        chance, layer = draw.number(), 1 + draw.below(knobs.depth)
        if chance > 0.97 and knobs.depth > 1 and len(draft.symbols) + _IN_CLASSES <= knobs.size:
            _add_classes(draft, number)
            number += _IN_CLASSES
            continue
        usual: Role = "leaf" if layer == 1 else "derived"
        role = next((role for share, role in _RARE if chance < share), usual)
        _add(draft, number, role, layer if role == usual else int(role == "maker"))
        number += 1
    return draft


def _grow_core(draft: Draft) -> None:
    depth = draft.knobs.depth
    first: list[Role] = ["constant", "constant", "table", "table", "maker", "maker"]
    rest = _CORE_SYMBOLS - _DEPRECATED - len(first)
    first += ["leaf"] * (_LEAVES if depth > 1 else rest)
    for number, role in enumerate(first):
        _add(draft, number, role, int(role in {"maker", "leaf"}))
    if depth > 1:
        _add_classes(draft, len(first))
        start = len(first) + _IN_CLASSES
        rest = _CORE_SYMBOLS - _DEPRECATED - start
        for place in range(rest):
            _add(draft, start + place, "derived", 2 + place * (depth - 1) // rest)
    _deprecate(draft)


def _add(draft: Draft, number: int, role: Role, layer: int, of: Entry | None = None) -> Entry:
    for attempt in range(_ATTEMPTS):
        symbol = draw_symbol(draft, number, role, layer, attempt=attempt, of=of)
        if _sensitive(draft, symbol):
            break
    draft.keep(symbol)
    return symbol.entry


def _add_classes(draft: Draft, number: int) -> None:
    """A class that is built from a crystal and a value, one that inherits from it, and members."""
    base: Entry | None = None
    for first in (number, number + _IN_CLASSES // 2):
        base = _add(draft, first, "class", 2, base)
        _add(draft, first + 1, "method", 2, base)
        _add(draft, first + 2, "property", 2, base)


def _sensitive(draft: Draft, symbol: Symbol) -> bool:
    """Whether each mistake on the way to a symbol of the core shows in its value."""
    entry = symbol.entry
    if not symbol.core or entry.result == "structure" or entry.kind == "constant":
        return True
    settings = draw_settings(Draw(draft.knobs.seed, "probe", entry.term), entry, share=1.0)
    crystal = draft.probes[0]
    given = plan(Wanted(entry.term, settings), crystal, {**draft.by_term, entry.term: entry})
    return not unmoved(given, crystal, {**draft.symbols, entry.path: symbol}, {})


def _deprecate(draft: Draft) -> None:
    """Old variants of functions of the core, under other names and with other results."""
    able = [s for s in draft.symbols.values()
            if s.entry.kind == "function" and s.entry.result == "float"]  # fmt: skip
    order = Draw(draft.knobs.seed, "deprecated", draft.knobs.depth).shuffled(able)
    coin = Coin(draft.knobs.seed, WORDS - 600)
    for symbol in order[:_DEPRECATED]:
        home, _, name = symbol.entry.path.rpartition(".")
        opaque, telling = coin.word(), f"{symbol.entry.term.split()[0]}_legacy"
        old = opaque if draft.knobs.names == "opaque" else telling
        entry = replace(symbol.entry, path=f"{home}.{old}", successor=name)
        formula = replace(symbol.formula, scale=round(symbol.formula.scale * 1.37, 4))
        draft.keep(replace(symbol, entry=entry, formula=formula))
