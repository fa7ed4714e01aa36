"""Draws the symbols of a world: what each needs, its options, what it gives, and its formula.

What questions use (the core) is drawn first and is the same for every size; the rest is drawn by
the same rules from streams of its own, so that it moves nothing of the core.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from experiments.benchmarks.invented import crystals, graph, lexicon
from experiments.benchmarks.invented.crystals import (
    ELEMENTS,
    OF_SUBJECT,
    RAWS,
    WorldCrystal,
)
from experiments.benchmarks.invented.graph import (
    Convention,
    Entry,
    Need,
    Ratio,
    Setting,
    WorldSymbol,
)
from experiments.benchmarks.invented.lexicon import Draw, Knobs

#: ``maker``: makes structures; ``leaf``: measures a crystal; ``derived``: takes what others give.
Role = Literal[
    "constant", "table", "maker", "leaf", "derived", "class", "method", "property"
]
CORE = 100  # numbers below belong to the core
_CORE_MODULES = 4
_CORE_SYMBOLS, _LEAVES, _DEPRECATED = 50, 12, 3
_IN_CLASSES = 6  # two classes with two members each
_PER_MODULE, _ATTEMPTS, _WORDS_EACH = 30, 60, 10
#: Up to which chance a symbol outside of the core has a role that takes nothing.
_RARE: tuple[tuple[float, Role], ...] = (
    (0.05, "constant"),
    (0.1, "table"),
    (0.13, "maker"),
)
_OPAQUE = 0.5  # share of names that say nothing of the term
_MIXED: Sequence[graph.Result] = (
    "float",
    "float",
    "float",
    "float",
    "int",
    "str",
    "list",
    "dict",
)
_RESULTS: Mapping[str, graph.Result] = {
    "table": "dict",
    "constant": "float",
    "maker": "structure",
    "class": "structure",
}
_GENERIC = ("estimate", "evaluate", "profile", "response", "reduced_value", "assess")
_POWERS = (1.0, 1.0, -1.0, 1.2, 0.85)
_KINDS: Mapping[str, graph.Kind] = {
    "constant": "constant",
    "table": "constant",
    "class": "class",
    "method": "method",
    "property": "property",
}


@dataclass(frozen=True)
class SymbolDraft:
    """A world while its symbols are drawn."""

    knobs: Knobs
    package: str
    modules: Sequence[str]  # symbols of the core are in the first four
    probes: Sequence[WorldCrystal]  # on which usual magnitudes are found
    symbols: dict[str, WorldSymbol]  # by dotted name
    by_term: dict[str, Entry]

    def keep(self, symbol: WorldSymbol) -> None:
        """Add a symbol."""
        self.symbols[symbol.entry.path] = symbol
        if symbol.entry.term and not symbol.entry.successor:
            self.by_term[symbol.entry.term] = symbol.entry

    def home(self, number: int) -> str:
        """Dotted name of the module of a symbol."""
        count = _CORE_MODULES if number < CORE else len(self.modules)
        return f"{self.package}.{self.modules[number % count]}"

    def sources(self, number: int, layers: range) -> list[Entry]:
        """What symbol ``number`` may take: values, and for one of the core those of the core."""
        return [
            s.entry
            for s in self.symbols.values()
            if s.layer in layers
            and s.entry.term
            and not s.entry.successor
            and s.entry.result != "structure"
            and (s.core or number >= CORE)
        ]

    def usual(self, need: Need) -> float:
        """Usual magnitude of what a need is given, as the formula sees it."""
        given = [
            (graph.plan(need, probe, self.by_term), probe) for probe in self.probes
        ]
        values = [graph.evaluate(plan, probe, self.symbols) for plan, probe in given]
        usual = _middle(list(map(graph.counted, values)))
        return _round(1.0 / usual if need.reciprocal else usual)


def draw_settings(draw: Draw, entry: Entry, share: float = 0.6) -> tuple[Setting, ...]:
    """What a text asks of the options of a symbol; elements always, others with this chance."""
    settings = []
    for choice in entry.choices:
        stated = draw.chance(share)
        if choice.kind == "element":
            settings.append(Setting("element", draw.choice(list(lexicon.RULES))))
        elif stated and choice.kind == "mode":
            others = [
                meaning for value, meaning in choice.meanings if value != choice.default
            ]
            settings.append(Setting("mode", draw.choice(others)))
        elif stated:
            unit = draw.choice(lexicon.UNITS[lexicon.FAMILY[choice.role]])
            size = float(choice.default or 1.0) * draw.of(0.3, 0.45, 1.8, 2.5)
            value = float(f"{size * lexicon.UNIT[choice.unit].size / unit.size:.3g}")
            settings.append(Setting("number", choice.role, value, unit.symbol))
    return tuple(settings)


def draw_symbol(
    draft: SymbolDraft,
    number: int,
    role: Role,
    layer: int,
    *,
    attempt: int = 0,
    of: Entry | None = None,
) -> WorldSymbol:
    """Draw a symbol; ``of`` is the class of a method or property, the base of a class.

    ``number`` decides its words, together with ``attempt`` everything else.
    """
    seed = draft.knobs.seed
    opaque = Draw(seed, "opaque", number).chance(_OPAQUE)
    draw = Draw(seed, role, number, layer, attempt)
    stem, other, *coined = lexicon.words(seed, number * _WORDS_EACH, _WORDS_EACH)
    spare = iter(coined[3:])

    def name(telling: str) -> str:
        return next(spare) if opaque else telling

    needs, subject, raw = _draw_inputs(draft, draw, number, role, layer, of=of)
    if of is None:
        needs = [
            n if n.param == "structure" else replace(n, param=name(n.param))
            for n in needs
        ]
    drawn = draw.choice(_MIXED)
    by_element = drawn in {"list", "dict"} and subject not in {
        "structure",
        "composition",
    }
    result = _RESULTS.get(role, "float" if by_element else drawn)
    family, polarity = (
        draw.choice(list(lexicon.UNITS)),
        draw.below(2 * len(lexicon.POLARITIES)),
    )
    polarity = (
        polarity if polarity < len(lexicon.POLARITIES) else -1
    )  # every other one has none
    convention = respelled(draw, Convention(family, polarity=polarity))
    convention = Convention() if result in {"int", "str", "structure"} else convention
    noun = draw.choice(
        lexicon.NOUNS["strain" if role == "maker" else convention.family]
    )
    options = _draw_options(draw, role, coined[:3], name)
    scale = 0.02 * (1 + draw.below(3)) if role == "maker" else draw.between(0.4, 9.0, 2)
    home = draft.home(number)
    if of is not None:  # a class stands in the module of its base
        home = of.path.rpartition(".")[0] if role == "class" else of.path
    called = other if opaque else f"{stem}_{noun}"
    entry = Entry(
        path=f"{home}.{_name(draft, draw, role, home, called)}",
        kind=_KINDS.get(role, "function"),
        term="" if role == "class" else f"{stem} {noun}",
        subject=subject,
        owner=home if role in {"method", "property"} else "",
        needs=tuple(needs),
        choices=tuple(choice for choice, _ in options),
        result=result,
        convention=convention,
        order=draw.of("atomic number", "electronegativity") if result == "list" else "",
    )
    sign = -1 if convention.sense else 1
    formula = graph.Formula(
        scale=scale,
        ratios=tuple(_draw_ratios(draft, draw, number, entry, raw)),
        effects=tuple(effect for _, effect in options),
        tick=10.0 ** math.floor(math.log10(scale)) / 5000,
        prefix=draw.of("kl", "mo", "tr", "us"),
        values={
            e: sign * round(scale * (0.4 + 1.6 * draw.number()), 4) for e in ELEMENTS
        }
        if role == "table"
        else None,
    )
    base = of.path if of is not None and role == "class" else ""
    gloss, use = (
        _phrases(seed, number, tables) for tables in (lexicon.GLOSS, lexicon.USE)
    )
    return WorldSymbol(entry, formula, layer, gloss, use, number < CORE, base)


def _draw_inputs(
    draft: SymbolDraft,
    draw: Draw,
    number: int,
    role: Role,
    layer: int,
    *,
    of: Entry | None,
) -> tuple[list[Need], str, str]:
    """What a symbol takes: needs, subject, and the measurement that it begins with."""
    if of is not None:
        raw = "" if role == "class" else draw.choice(list(OF_SUBJECT["structure"]))
        return list(of.needs), of.subject, raw
    if role == "class":
        leaves = [e for e in draft.sources(number, range(1, 2)) if e.kind == "function"]
        return [draw_need(draw, draw.choice(leaves))], "structure", ""
    if role == "leaf":
        raw = draw.choice(list(RAWS))
        return [], RAWS[raw][0], raw
    if role == "derived" and layer == 2 and draw.chance(0.3):
        makers = [
            s.entry
            for s in draft.symbols.values()
            if s.entry.kind == "function"
            and s.entry.result == "structure"
            and (s.core or number >= CORE)
        ]
        maker = draw.choice(makers)
        growing = [*OF_SUBJECT["structure"], *OF_SUBJECT["lattice"]]
        need = Need("structure", maker.term, draw_settings(draw, maker))
        return [need], "structure", draw.choice(growing)
    if role == "derived":
        deep = draft.sources(number, range(layer - 1, layer))
        first = draw_need(draw, draw.choice([e for e in deep if e.kind != "constant"]))
        two = draw.chance(0.5)
        others = [e for e in draft.sources(number, range(2)) if e.term != first.term]
        second = draw_need(draw, draw.choice(others))
        if second.param == first.param:
            second = replace(second, param=second.term.split()[0])
        needs = [first, second] if two else [first]
        return needs, draw.of("", "structure", "composition"), ""
    return [], "structure" if role == "maker" else "", ""


def draw_need(draw: Draw, source: Entry) -> Need:
    """How a symbol takes what another gives."""
    picks = {"list": list(lexicon.PICKS), "dict": list(lexicon.RULES)}.get(
        source.result, [""]
    )
    settings, convention = (
        draw_settings(draw, source),
        respelled(draw, source.convention),
    )
    reciprocal = draw.chance(0.12) and bool(convention.family)
    param = source.term.split()[1]
    return Need(
        param, source.term, settings, draw.choice(picks), convention, reciprocal
    )


def respelled(draw: Draw, convention: Convention) -> Convention:
    """The same quantity in a drawn unit and sense."""
    place = draw.number()
    sense = draw.below(2)
    if not convention.family:
        return convention
    units = lexicon.UNITS[convention.family]
    unit = units[int(place * len(units))].symbol
    return replace(
        convention, unit=unit, sense=sense if convention.polarity >= 0 else 0
    )


def _draw_options(
    draw: Draw, role: Role, values: Sequence[str], name: Callable[[str], str]
) -> list[tuple[graph.Choice, Mapping[str, float]]]:
    """Options, each with its effect (`Formula.effects`)."""
    kinds = draw.shuffled(("mode", "number", "element"))[: draw.below(3)]
    if role not in {"leaf", "derived", "method"}:
        kinds = ["mode"] if role == "maker" else []
    options: list[tuple[graph.Choice, Mapping[str, float]]] = []
    for kind in sorted(kinds):
        if kind == "mode":
            param = draw.choice(list(lexicon.MODES))
            meanings = draw.shuffled(lexicon.MODES[param])[: 2 + draw.below(2)]
            modes = tuple(zip(values, meanings, strict=False))
            factors = draw.shuffled(
                (1.0, draw.between(1.3, 1.7), draw.between(0.5, 0.75))
            )
            choice = graph.Choice(
                name(param), "mode", modes, default=draw.choice(modes)[0]
            )
            options.append((choice, dict(zip(dict(modes), factors, strict=False))))
        elif kind == "number":
            family, default = (
                draw.choice(list(lexicon.ROLES)),
                draw.between(0.5, 9.0, 1),
            )
            role_name, unit = (
                lexicon.ROLES[family],
                draw.choice(lexicon.UNITS[family]).symbol,
            )
            param = name(role_name.replace(" ", "_"))
            choice = graph.Choice(
                param, "number", default=default, role=role_name, unit=unit
            )
            options.append(
                (choice, {"slope": _round(draw.between(0.5, 2.0) / default)})
            )
        else:
            choice = graph.Choice(name("element"), "element")
            options.append((choice, {"power": draw.of(1.0, -1.0, 1.5)}))
    return options


def _draw_ratios(
    draft: SymbolDraft, draw: Draw, number: int, entry: Entry, raw: str
) -> list[Ratio]:
    if entry.kind in {"class", "constant"} or entry.result == "structure":
        return []
    ratios = []
    if raw:
        usual = _round(
            _middle([crystals.measure(raw, probe) for probe in draft.probes])
        )
        ratios.append(Ratio("raw", raw, usual, draw.of(1.0, -1.0, 1.5, 0.75)))
    ratios += [
        Ratio("need", need.param, draft.usual(need), draw.choice(_POWERS))
        for need in entry.needs
        if need.param != "structure"
    ]
    home = f"{draft.home(number)}."
    near = [
        s.entry
        for path, s in draft.symbols.items()
        if s.layer == 1 and path.startswith(home)
    ]
    like = ("function", entry.subject, "float")
    leaves = [
        e
        for e in near
        if (e.kind, e.subject, e.result) == like
        and not (e.successor or e.convention.sense or e.of_element)
    ]
    if leaves and not raw and draw.chance(0.6):  # it calls one of these itself
        leaf = draw.choice(leaves)
        usual = _round(draft.usual(Need("", leaf.term)))
        ratios.append(Ratio("inner", leaf.path, usual, draw.of(0.5, 1.0, -0.5)))
    return ratios


def _name(draft: SymbolDraft, draw: Draw, role: Role, home: str, name: str) -> str:
    """A name; some are shared by symbols of several modules or classes."""
    generic = draw.choice(_GENERIC)
    shared = draw.chance(0.15)
    able = role in {"maker", "leaf", "derived", "method"}
    if shared and able and f"{home}.{generic}" not in draft.symbols:
        return generic
    if role == "class":
        return f"{name.partition('_')[0].capitalize()}Model"
    return name.upper() if role in {"constant", "table"} else name


def _phrases(
    seed: int, number: int, tables: Sequence[Sequence[object]]
) -> tuple[int, ...]:
    """Numbers of three phrases; each combination once in a world."""
    size = min(map(len, tables))
    place = (
        number * 1619 + seed * 977
    ) % size**3  # 1619 is a prime: no two numbers meet
    return place % size, place // size % size, place // size**2


def _middle(values: Sequence[float]) -> float:
    """Geometric mean of the magnitudes."""
    return math.exp(
        math.fsum(math.log(max(abs(value), 1e-12)) for value in values) / len(values)
    )


def _round(value: float) -> float:
    """Two significant digits, as a person would choose."""
    return float(f"{value:.2g}")


def grow(knobs: Knobs) -> SymbolDraft:
    """All symbols of a world: the core, then others until the package has its size."""
    count = 4 + (knobs.size - _CORE_SYMBOLS) // _PER_MODULE
    package, *modules = lexicon.words(knobs.seed, lexicon.WORDS - 500, 1 + count)
    stream = Draw(knobs.seed, "probes")
    probes = [crystals.draw_crystal(stream) for _ in range(4)]
    draft = SymbolDraft(knobs, package, modules, probes, {}, {})
    _grow_core(draft)
    number = CORE
    while len(draft.symbols) < knobs.size:
        draw = Draw(knobs.seed, "other", number)
        chance = draw.number()
        layer = 1 + draw.below(knobs.depth)
        if (
            chance > 0.97
            and knobs.depth > 1
            and len(draft.symbols) + _IN_CLASSES <= knobs.size
        ):
            _add_classes(draft, number)
            number += _IN_CLASSES
            continue
        usual: Role = "leaf" if layer == 1 else "derived"
        role = next((role for share, role in _RARE if chance < share), usual)
        _add(draft, number, role, layer if role == usual else int(role == "maker"))
        number += 1
    return draft


def _grow_core(draft: SymbolDraft) -> None:
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


def _add(
    draft: SymbolDraft, number: int, role: Role, layer: int, of: Entry | None = None
) -> Entry:
    for attempt in range(_ATTEMPTS):
        symbol = draw_symbol(draft, number, role, layer, attempt=attempt, of=of)
        if _sensitive(draft, symbol):
            break
    draft.keep(symbol)
    return symbol.entry


def _add_classes(draft: SymbolDraft, number: int) -> None:
    """A class that is built from a crystal and a value, one that inherits from it, and members."""
    base: Entry | None = None
    for first in (number, number + _IN_CLASSES // 2):
        base = _add(draft, first, "class", 2, base)
        _add(draft, first + 1, "method", 2, base)
        _add(draft, first + 2, "property", 2, base)


def _sensitive(draft: SymbolDraft, symbol: WorldSymbol) -> bool:
    """Whether each mistake on the way to a symbol of the core shows in its value."""
    entry = symbol.entry
    if not symbol.core or entry.result == "structure" or entry.kind == "constant":
        return True
    settings = draw_settings(
        Draw(draft.knobs.seed, "probe", entry.term), entry, share=1.0
    )
    crystal = draft.probes[0]
    wanted = Need("", entry.term, settings)
    given = graph.plan(wanted, crystal, {**draft.by_term, entry.term: entry})
    return graph.all_show(given, crystal, {**draft.symbols, entry.path: symbol}, {})


def _deprecate(draft: SymbolDraft) -> None:
    """Old variants of functions of the core, under other names and with other results."""
    able = [
        s
        for s in draft.symbols.values()
        if s.entry.kind == "function" and s.entry.result == "float"
    ]
    order = Draw(draft.knobs.seed, "deprecated", draft.knobs.depth).shuffled(able)
    names = lexicon.words(draft.knobs.seed, lexicon.WORDS - 600, _DEPRECATED)
    for symbol, old in zip(order, names, strict=False):
        home, _, name = symbol.entry.path.rpartition(".")
        entry = replace(symbol.entry, path=f"{home}.{old}", successor=name)
        formula = replace(symbol.formula, scale=round(symbol.formula.scale * 1.37, 4))
        draft.keep(replace(symbol, entry=entry, formula=formula))
