"""Draws the symbols of a world.

What questions use (the core) is drawn first and is the same for every size; the rest is drawn by
the same rules from streams of its own, so that it moves nothing of the core.
"""

from __future__ import annotations

from dataclasses import replace

from experiments.benchmarks.invented.crystals import draw_crystal
from experiments.benchmarks.invented.draw import WORDS, Coin, Draw
from experiments.benchmarks.invented.entries import Entry
from experiments.benchmarks.invented.graph import Formula, Knobs, Symbol
from experiments.benchmarks.invented.plans import Wanted, plan
from experiments.benchmarks.invented.sensitivity import draw_settings, unmoved
from experiments.benchmarks.invented.symbols import (
    WORDS_EACH,
    Draft,
    Role,
    draw_need,
    draw_symbol,
)

_CORE, _LEAVES, _DEPRECATED = 50, 12, 3
_IN_CLASSES = 6  # two classes with two members each
_FIRST_OTHER = 100  # number of the first symbol outside of the core
_CORE_MODULES, _PER_MODULE = 4, 30
_ATTEMPTS = 60


def grow(knobs: Knobs) -> Draft:
    """All symbols of a world: the core, then others until the package has its size."""
    coin = Coin(knobs.seed, WORDS - 500)
    package = coin.word()
    modules = [coin.word() for _ in range(_CORE_MODULES + (knobs.size - _CORE) // _PER_MODULE)]
    stream = Draw(knobs.seed, "probes")
    probes = [draw_crystal(stream) for _ in range(4)]
    draft = Draft(knobs, package, modules, _CORE_MODULES, _FIRST_OTHER, probes)
    _grow_core(draft)
    number = _FIRST_OTHER
    while len(draft.symbols) < knobs.size:
        draw = Draw(knobs.seed, "other", number)
        chance, layer = draw.number(), 1 + draw.below(knobs.depth)
        if chance < 0.03 and knobs.depth > 1 and len(draft.symbols) + _IN_CLASSES <= knobs.size:
            _add_classes(draft, number, core=False)
            number += _IN_CLASSES
            continue
        role: Role = "leaf" if layer == 1 else "derived"
        for share, other in ((0.05, "constant"), (0.1, "table"), (0.13, "maker")):
            if chance < share:
                role, layer = other, 1 if other == "maker" else 0  # type: ignore[assignment]
                break
        _add(draft, number, role, layer, core=False)
        number += 1
    return draft


def _grow_core(draft: Draft) -> None:
    deep = draft.knobs.depth > 1
    roles: list[Role] = ["constant", "constant", "table", "table", "maker", "maker"]
    roles += ["leaf"] * (_LEAVES if deep else _CORE - _DEPRECATED - len(roles))
    for number, role in enumerate(roles):
        _add(draft, number, role, 1 if role in {"maker", "leaf"} else 0, core=True)
    number = len(roles)
    if deep:
        _add_classes(draft, number, core=True)
        number += _IN_CLASSES
        rest = _CORE - _DEPRECATED - number
        for place in range(rest):
            layer = 2 + place * (draft.knobs.depth - 1) // rest
            _add(draft, number + place, "derived", layer, core=True)
    _deprecate(draft)


def _add(draft: Draft, number: int, role: Role, layer: int, *, core: bool) -> None:
    for attempt in range(_ATTEMPTS):
        symbol = draw_symbol(draft, number, role, layer, core=core, attempt=attempt)
        if not core or _sensitive(draft, symbol):
            break
    draft.keep(symbol)


def _add_classes(draft: Draft, number: int, *, core: bool) -> None:
    """A class that is built from a crystal and a value, one that inherits from it, and members."""
    base: Entry | None = None
    roles: tuple[tuple[int, Role], ...] = ((1, "method"), (2, "property"))
    for first in (number, number + _IN_CLASSES // 2):
        for attempt in range(_ATTEMPTS):
            made = _draw_class(draft, number, first, base, core=core, attempt=attempt)
            members = [
                draw_symbol(
                    draft, first + place, role, 2, core=core, attempt=attempt, owner=made.entry
                )
                for place, role in roles
            ]
            if not core or all(_sensitive(draft, member) for member in members):
                break
        for symbol in (made, *members):
            draft.keep(symbol)
        base = made.entry


def _draw_class(
    draft: Draft, number: int, first: int, base: Entry | None, *, core: bool, attempt: int
) -> Symbol:
    draw = Draw(draft.knobs.seed, "class", first, draft.knobs.results, attempt)
    coin = Coin(draft.knobs.seed, first * WORDS_EACH)
    words = [coin.word() for _ in range(3)]
    if base is not None:
        needs = base.needs
    else:
        pool = (s for s in draft.sources(core=core) if s.layer == 1 and s.entry.kind == "function")
        leaves = [s.entry for s in pool if s.entry.result != "structure"]
        needs = (draw_need(draw, draw.choice(leaves)),)
        if draft.knobs.names == "opaque":
            needs = (replace(needs[0], param=words[2]),)
    name = words[0].capitalize() + ("" if draft.knobs.names == "opaque" else "Model")
    entry = Entry(f"{draft.home(number)}.{name}", "class", "", "structure", needs=needs)
    inherits = base.path if base is not None else ""
    return Symbol(entry, Formula(1.0), 2, base=inherits, core=core)


def _deprecate(draft: Draft) -> None:
    """Old variants of functions of the core, under other names and with other results."""
    draw = Draw(draft.knobs.seed, "deprecated", draft.knobs.depth)
    able = [
        s
        for s in draft.symbols.values()
        if s.entry.kind == "function" and s.entry.result == "float"
    ]
    for place, symbol in enumerate(draw.shuffled(able)[:_DEPRECATED]):
        opaque = Coin(draft.knobs.seed, (_CORE + place) * WORDS_EACH).word()
        home, _, name = symbol.entry.path.rpartition(".")
        telling = f"{symbol.entry.term.split()[0]}_legacy"
        old = opaque if draft.knobs.names == "opaque" else telling
        entry = replace(symbol.entry, path=f"{home}.{old}", successor=name)
        formula = replace(symbol.formula, scale=round(symbol.formula.scale * 1.37, 4))
        draft.keep(replace(symbol, entry=entry, formula=formula))


def _sensitive(draft: Draft, symbol: Symbol) -> bool:
    """Whether each mistake on the way to a symbol shows in its value."""
    entry = symbol.entry
    if entry.result == "structure" or entry.kind == "constant":
        return True
    settings = draw_settings(Draw(draft.knobs.seed, "probe", entry.term), entry, share=1.0)
    crystal = draft.probes[0]
    given = plan(Wanted(entry.term, settings), crystal, {**draft.by_term, entry.term: entry})
    return not unmoved(given, crystal, {**draft.symbols, entry.path: symbol}, {})
