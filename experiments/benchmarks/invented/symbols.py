"""Draws one symbol: what it needs, which options it has, what it gives, and its formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from experiments.benchmarks.invented import lexicon
from experiments.benchmarks.invented.crystals import ELEMENTS, RAWS, Crystal, measure
from experiments.benchmarks.invented.draw import Coin, Draw
from experiments.benchmarks.invented.entries import (
    Choice,
    Convention,
    Entry,
    Kind,
    Need,
    Result,
    Setting,
)  # fmt: skip
from experiments.benchmarks.invented.graph import Formula, Ratio, Symbol, counted, evaluate
from experiments.benchmarks.invented.knobs import Knobs
from experiments.benchmarks.invented.plans import handed_over

#: ``maker``: makes structures; ``leaf``: measures a crystal; ``derived``: takes what others give.
Role = Literal["constant", "table", "maker", "leaf", "derived", "class", "method", "property"]
CORE = 100  # numbers below belong to the core
_CORE_MODULES = 4
_WORDS_EACH = 10
_MIXED: tuple[Result, ...] = ("float", "float", "float", "float", "int", "str", "list", "dict")
_GENERIC = ("estimate", "evaluate", "profile", "response", "reduced_value", "assess")
_POWERS = (1.0, 1.0, -1.0, 1.2, 0.85)


@dataclass
class Draft:
    """A world while it is drawn."""

    knobs: Knobs
    package: str
    modules: Sequence[str]  # symbols of the core are in the first four
    probes: Sequence[Crystal]  # on which usual magnitudes are found
    symbols: dict[str, Symbol] = field(default_factory=dict)
    by_term: dict[str, Entry] = field(default_factory=dict)

    def keep(self, symbol: Symbol) -> None:
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
        return [s.entry for s in self.symbols.values() if s.layer in layers and s.entry.term
                and not s.entry.successor and s.entry.result != "structure"
                and (s.core or number >= CORE)]  # fmt: skip

    def usual(self, need: Need) -> float:
        """Usual magnitude of what a need is given, as the formula sees it."""
        given = [(handed_over(need, probe, self.by_term), probe) for probe in self.probes]
        usual = _middle([counted(evaluate(one, probe, self.symbols)) for one, probe in given])
        return _round(1.0 / usual if need.reciprocal else usual)


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
        elif stated:
            unit = draw.choice(lexicon.UNITS[lexicon.FAMILY[choice.role]])
            size = float(choice.default or 1.0) * draw.of(0.3, 0.45, 1.8, 2.5)
            value = float(f"{size * lexicon.UNIT[choice.unit].size / unit.size:.3g}")
            found.append(Setting("number", choice.role, value, unit.symbol))
    return tuple(found)


def draw_symbol(
    draft: Draft, number: int, role: Role, layer: int, *, attempt: int = 0, of: Entry | None = None
) -> Symbol:
    """Draw a symbol.

    Parameters
    ----------
    number, attempt
        The first decides its words, both together everything else.
    of
        The class of a method or property, the base of a class.
    """
    seed, opaque = draft.knobs.seed, draft.knobs.names == "opaque"
    draw, coin = Draw(seed, role, number, layer, attempt), Coin(seed, number * _WORDS_EACH)
    words = [coin.word() for _ in range(_WORDS_EACH)]
    spare = iter(words[5:])

    def name(telling: str) -> str:
        return next(spare) if opaque else telling

    needs, subject, raw = _draw_inputs(draft, draw, number, role, layer, of=of)
    if of is None:
        needs = [n if n.param == "structure" else replace(n, param=name(n.param)) for n in needs]
    result = _draw_result(draw, role, subject, draft.knobs)
    convention = _draw_convention(draw)
    if result in {"int", "str", "structure"}:
        convention = Convention()
    noun = draw.choice(lexicon.NOUNS["strain" if role == "maker" else convention.family])
    options = _draw_options(draw, role, words[2:5], name)
    scale = 0.02 * (1 + draw.below(3)) if role == "maker" else draw.between(0.4, 9.0, 2)
    home = draft.home(number)
    if of is not None:  # a class stands in the module of its base
        home = of.path.rpartition(".")[0] if role == "class" else of.path
    entry = Entry(
        path=f"{home}.{_name(draft, draw, role, home, (words[0], noun, words[1]))}",
        kind=_KINDS.get(role, "function"),
        term="" if role == "class" else f"{words[0]} {noun}",
        subject=subject,
        owner=home if role in {"method", "property"} else "",
        needs=tuple(needs),
        choices=tuple(choice for choice, _ in options),
        result=result,
        convention=convention,
        order=draw.of("atomic number", "electronegativity") if result == "list" else "",
    )
    sign = -1 if convention.sense else 1
    formula = Formula(
        scale=scale,
        ratios=tuple(_draw_ratios(draft, draw, number, entry, raw)),
        effects=tuple(effect for _, effect in options),
        tick=10.0 ** math.floor(math.log10(scale)) / 5000,
        prefix=draw.of("kl", "mo", "tr", "us"),
        values={e: sign * round(scale * (0.4 + 1.6 * draw.number()), 4) for e in ELEMENTS}
        if role == "table"
        else None,
    )
    base = of.path if of is not None and role == "class" else ""
    gloss, use = (_phrases(seed, number, tables) for tables in (lexicon.GLOSS, lexicon.USE))
    return Symbol(entry, formula, layer, gloss, use, number < CORE, base)


_KINDS: Mapping[str, Kind] = {"constant": "constant", "table": "constant", "class": "class",
                              "method": "method", "property": "property"}  # fmt: skip


def _draw_inputs(
    draft: Draft, draw: Draw, number: int, role: Role, layer: int, *, of: Entry | None
) -> tuple[list[Need], str, str]:
    """What a symbol takes: needs, subject, and the measurement that it begins with."""
    if of is not None:
        of_crystal = [name for name, one in RAWS.items() if one.subject == "structure"]
        return list(of.needs), of.subject, "" if role == "class" else draw.choice(of_crystal)
    if role == "class":
        leaves = [e for e in draft.sources(number, range(1, 2)) if e.kind == "function"]
        return [draw_need(draw, draw.choice(leaves))], "structure", ""
    if role == "leaf":
        raw = draw.choice(list(RAWS))
        return [], RAWS[raw].subject, raw
    if role == "derived" and layer == 2 and draw.chance(0.3):
        makers = [s.entry for s in draft.symbols.values()
                  if s.entry.result == "structure" and (s.core or number >= CORE)]  # fmt: skip
        maker = draw.choice([entry for entry in makers if entry.kind == "function"])
        growing = [name for name, one in RAWS.items() if one.subject != "composition"]
        need = Need("structure", maker.term, draw_settings(draw, maker))
        return [need], "structure", draw.choice(growing)
    if role == "derived":
        deep = draft.sources(number, range(layer - 1, layer))
        first = draw_need(draw, draw.choice([e for e in deep if e.kind != "constant"]))
        needs, two = [first], draw.chance(0.5)
        others = [e for e in draft.sources(number, range(2)) if e.term != first.term]
        second = draw_need(draw, draw.choice(others))
        if second.param == first.param:
            second = replace(second, param=second.term.split()[0])
        return [*needs, second] if two else needs, draw.of("", "structure", "composition"), ""
    return [], "structure" if role == "maker" else "", ""


def draw_need(draw: Draw, source: Entry) -> Need:
    """How a symbol takes what another gives."""
    picks = {"list": list(lexicon.PICKS), "dict": list(lexicon.RULES)}.get(source.result, [""])
    settings, convention = draw_settings(draw, source), respelled(draw, source.convention)
    reciprocal = draw.chance(0.12) and bool(convention.family)
    param = source.term.split()[1]
    return Need(param, source.term, settings, draw.choice(picks), convention, reciprocal)


def respelled(draw: Draw, convention: Convention) -> Convention:
    """The same quantity in a drawn unit and sense."""
    place, sense = draw.number(), draw.below(2)
    if not convention.family:
        return convention
    units = lexicon.UNITS[convention.family]
    unit = units[int(place * len(units))].symbol
    return replace(convention, unit=unit, sense=sense if convention.polarity >= 0 else 0)


def _draw_result(draw: Draw, role: Role, subject: str, knobs: Knobs) -> Result:
    drawn = draw.choice(_MIXED)
    fixed: Mapping[str, Result] = {
        "maker": "structure", "class": "structure", "table": "dict", "constant": "float",
    }  # fmt: skip
    by_element = drawn in {"list", "dict"} and subject not in {"structure", "composition"}
    return fixed.get(role, "float" if by_element or knobs.results == "floats" else drawn)


def _draw_convention(draw: Draw) -> Convention:
    family, polarity = draw.choice(list(lexicon.UNITS)), draw.below(2 * len(lexicon.POLARITIES))
    signed = polarity < len(lexicon.POLARITIES)
    return respelled(draw, Convention(family, polarity=polarity if signed else -1))


def _draw_options(
    draw: Draw, role: Role, values: Sequence[str], name: Callable[[str], str]
) -> list[tuple[Choice, Mapping[str, float]]]:
    """Options, each with its effect (`Formula.effects`)."""
    kinds = draw.shuffled(("mode", "number", "element"))[: draw.below(3)]
    if role not in {"leaf", "derived", "method"}:
        kinds = ["mode"] if role == "maker" else []
    found: list[tuple[Choice, Mapping[str, float]]] = []
    for kind in sorted(kinds):
        if kind == "mode":
            param = draw.choice(list(lexicon.MODES))
            meanings = draw.shuffled(lexicon.MODES[param])[: 2 + draw.below(2)]
            known = tuple(zip(values, meanings, strict=False))
            factors = draw.shuffled((1.0, draw.between(1.3, 1.7), draw.between(0.5, 0.75)))
            choice = Choice(name(param), "mode", known, default=draw.choice(known)[0])
            found.append((choice, dict(zip(dict(known), factors, strict=False))))
        elif kind == "number":
            family, default = draw.choice(list(lexicon.ROLES)), draw.between(0.5, 9.0, 1)
            role_name, unit = lexicon.ROLES[family], draw.choice(lexicon.UNITS[family]).symbol
            param = name(role_name.replace(" ", "_"))
            choice = Choice(param, "number", default=default, role=role_name, unit=unit)
            found.append((choice, {"slope": _round(draw.between(0.5, 2.0) / default)}))
        else:
            choice = Choice(name("element"), "element")
            found.append((choice, {"power": draw.of(1.0, -1.0, 1.5)}))
    return found


def _draw_ratios(draft: Draft, draw: Draw, number: int, entry: Entry, raw: str) -> list[Ratio]:
    if entry.kind in {"class", "constant"} or entry.result == "structure":
        return []
    ratios = []
    if raw:
        usual = _round(_middle([measure(raw, probe) for probe in draft.probes]))
        ratios.append(Ratio("raw", raw, usual, draw.of(1.0, -1.0, 1.5, 0.75)))
    ratios += [
        Ratio("need", need.param, draft.usual(need), draw.choice(_POWERS))
        for need in entry.needs
        if need.param != "structure"
    ]
    home = f"{draft.home(number)}."
    leaves = [
        s.entry
        for path, s in draft.symbols.items()
        if s.layer == 1 and path.startswith(home) and s.entry.kind == "function"
        and (s.entry.subject, s.entry.result) == (entry.subject, "float")
        and not s.entry.successor and s.entry.convention.sense == 0
        and not any(choice.kind == "element" for choice in s.entry.choices)
    ]  # fmt: skip
    if leaves and not raw and draw.chance(0.6):  # it calls one of these itself
        leaf = draw.choice(leaves)
        usual = _round(draft.usual(Need("", leaf.term)))
        ratios.append(Ratio("inner", leaf.path, usual, draw.of(0.5, 1.0, -0.5)))
    return ratios


def _name(draft: Draft, draw: Draw, role: Role, home: str, words: tuple[str, str, str]) -> str:
    """A name; some are shared by symbols of several modules or classes."""
    word, noun, opaque = words
    generic, shared = draw.choice(_GENERIC), draw.chance(0.15)
    able = role in {"maker", "leaf", "derived", "method"}
    if shared and able and f"{home}.{generic}" not in draft.symbols:
        return generic
    if role == "class":
        return word.capitalize() if draft.knobs.names == "opaque" else f"{word.capitalize()}Model"
    name = opaque if draft.knobs.names == "opaque" else f"{word}_{noun}"
    return name.upper() if role in {"constant", "table"} else name


def _phrases(seed: int, number: int, tables: Sequence[Sequence[object]]) -> tuple[int, ...]:
    """Numbers of three phrases; each combination once in a world."""
    size = min(map(len, tables))
    place = (number * 1619 + seed * 977) % size**3  # 1619 is a prime: no two numbers meet
    return place % size, place // size % size, place // size**2


def _middle(values: Sequence[float]) -> float:
    """Geometric mean of the magnitudes."""
    return math.exp(math.fsum(math.log(max(abs(value), 1e-12)) for value in values) / len(values))


def _round(value: float) -> float:
    """Two significant digits, as a person would choose."""
    return float(f"{value:.2g}")
