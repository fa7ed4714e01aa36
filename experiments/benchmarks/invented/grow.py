"""Draws the symbols of a world.

What questions use (the core) is drawn first and is the same for every size; the rest is drawn by
the same rules from streams of its own, so that it moves nothing of the core.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from experiments.benchmarks.invented import lexicon
from experiments.benchmarks.invented.crystals import ELEMENTS, RAWS, Crystal, draw_crystal
from experiments.benchmarks.invented.draw import WORDS, Coin, Draw
from experiments.benchmarks.invented.entries import (
    Choice,
    Convention,
    Entry,
    Kind,
    Need,
    Result,
    Setting,
)
from experiments.benchmarks.invented.graph import Formula, Knobs, Symbol, evaluate
from experiments.benchmarks.invented.plans import Given, Wanted, mistakes, plan

_CORE = 50
_CORE_LEAVES, _DEPRECATED = 12, 3
_FIRST_OTHER = 100  # number of the first symbol outside of the core
_CORE_MODULES, _PER_MODULE = 4, 30
_WORDS_EACH = 10
_ATTEMPTS = 60
_MIXED: tuple[Result, ...] = ("float", "float", "float", "float", "int", "str", "list", "dict")
_GENERIC = ("estimate", "evaluate", "profile", "response", "reduced_value", "assess")
#: Smallest change that counts as one, with room above the one per cent that is promised.
MOVED = 0.012


class Grower:
    """Draws symbols; finds those that a new one may build on."""

    def __init__(self, knobs: Knobs) -> None:
        self.knobs = knobs
        coin = Coin(knobs.seed, WORDS - 500)
        self.package = coin.word()
        count = _CORE_MODULES + max(0, knobs.size - _CORE) // _PER_MODULE
        self.modules = [coin.word() for _ in range(count)]
        self.symbols: dict[str, Symbol] = {}
        self.by_term: dict[str, Entry] = {}
        probes = Draw(knobs.seed, "probes")
        self.probes = [draw_crystal(probes) for _ in range(4)]

    def grow(self) -> None:
        """Draw the core, then others until the package has its size."""
        depth = self.knobs.depth
        kinds: list[tuple[Kind, int]] = [
            ("constant", 0),
            ("constant", 0),
            ("table", 0),
            ("table", 0),
        ]
        kinds += [("function", -1), ("function", -1)]  # what makes structures
        classes = 6 if depth > 1 else 0  # two, and two members of each
        leaves = _CORE_LEAVES if depth > 1 else _CORE - _DEPRECATED - len(kinds)
        kinds += [("function", 1)] * leaves
        for number, (kind, layer) in enumerate(kinds):
            self._add(number, kind, layer, core=True)
        rest = _CORE - _DEPRECATED - len(kinds) - classes
        if depth > 1:
            self._add_classes(len(kinds), core=True)
            for place in range(rest):
                layer = 2 + place * (depth - 1) // rest
                self._add(len(kinds) + classes + place, "function", layer, core=True)
        self._deprecate(_CORE - _DEPRECATED)
        number = _FIRST_OTHER
        while len(self.symbols) < self.knobs.size:
            draw = Draw(self.knobs.seed, "other", number)
            missing = self.knobs.size - len(self.symbols)
            if draw.chance(0.03) and missing >= 6 and depth > 1:
                self._add_classes(number, core=False)
                number += 6
                continue
            place = draw.number()
            if place < 0.1:
                self._add(number, "constant" if place < 0.05 else "table", 0, core=False)
            elif place < 0.13:
                self._add(number, "function", -1, core=False)
            else:
                self._add(number, "function", 1 + draw.below(depth), core=False)
            number += 1

    # --- single symbols ----------------------------------------------------------------------

    def _add(self, number: int, kind: Kind, layer: int, *, core: bool) -> None:
        for attempt in range(_ATTEMPTS):
            symbol = self._draw(number, kind, layer, attempt, core=core)
            if not core or self._sensitive(symbol):
                break
        self._keep(symbol)

    def _keep(self, symbol: Symbol) -> None:
        self.symbols[symbol.entry.path] = symbol
        if symbol.entry.term and not symbol.entry.successor:
            self.by_term[symbol.entry.term] = symbol.entry

    def _draw(
        self, number: int, kind: Kind, layer: int, attempt: int, *, core: bool,
        owner: Symbol | None = None,
    ) -> Symbol:  # fmt: skip
        draw = Draw(self.knobs.seed, "symbol", number, layer, self.knobs.results, attempt)
        coin = Coin(self.knobs.seed, number * _WORDS_EACH)
        word, opaque = coin.word(), coin.word()
        values = [coin.word() for _ in range(3)]
        params = [coin.word() for _ in range(5)]
        makes_structure = layer == -1
        layer = abs(layer)
        subject, needs, inputs, raw = "", [], {}, ""
        scale = draw.between(0.4, 9.0, 2)
        prepared = False
        if kind == "function":
            if layer == 1:
                raw = draw.choice([name for name in RAWS if not makes_structure or name == "cell"])
                subject = "structure" if makes_structure else RAWS[raw].subject
            else:
                prepared = layer == 2 and draw.chance(0.3)
                needs, inputs, raw, subject = self._needs(draw, layer, prepared=prepared, core=core)
        elif owner is not None:
            needs, subject = list(owner.entry.needs), owner.entry.subject
            inputs = {n.param: (self._usual(n), draw.choice((1.0, -1.0, 1.3))) for n in needs}
            raw = draw.choice([name for name, one in RAWS.items() if one.subject == "structure"])
        raw = "" if makes_structure else raw
        family = draw.choice([name for name in lexicon.NOUNS if name not in {"", "strain"}])
        result: Result = "float"
        if makes_structure:
            result = "structure"
        elif kind in {"function", "method", "property"} and self.knobs.results == "mixed":
            result = draw.choice(_MIXED)
            if result in {"list", "dict"} and subject not in {"structure", "composition"}:
                result = "float"
        elif kind == "table":
            result = "dict"
        convention = Convention()
        if result in {"float", "list", "dict"}:
            unit = draw.choice(lexicon.UNITS[family]).symbol
            polarity = draw.below(len(lexicon.POLARITIES)) if draw.chance(0.5) else -1
            sense = draw.below(2) if polarity >= 0 else 0
            convention = Convention(family, unit, polarity, sense)
        noun = draw.choice(lexicon.NOUNS["strain" if makes_structure else convention.family])
        choices, effects = self._choices(draw, kind, values, makes_structure=makes_structure)
        raw_reference = (
            _round(_middle([RAWS[raw].value(probe) for probe in self.probes])) if raw else 1.0
        )
        inner = (
            self._inner(draw, number, subject)
            if kind == "function" and layer > 1 and not prepared
            else None
        )
        table = {}
        if kind == "table":
            sign = -1 if convention.sense else 1
            table = {e: sign * round(scale * (0.4 + 1.6 * draw.number()), 4) for e in ELEMENTS}
        formula = Formula(
            scale=0.02 * (1 + draw.below(3)) if makes_structure else scale,
            raw=raw,
            raw_reference=raw_reference,
            raw_power=draw.choice((1.0, -1.0, 1.5, 0.75)),
            inputs=inputs,
            effects=effects,
            inner=inner,
            tick=10.0 ** math.floor(math.log10(scale)) / 5000,
            prefix=draw.choice(("kl", "mo", "tr", "us")),
            values=table,
        )
        entry = Entry(
            path=self._path(draw, number, word, noun, opaque, kind, owner),
            kind=kind,
            term=f"{word} {noun}",
            subject=subject,
            owner=owner.entry.path if owner is not None else "",
            needs=tuple(needs),
            choices=tuple(choices),
            result=result,
            convention=convention,
            order=draw.choice(("atomic number", "electronegativity")) if result == "list" else "",
        )
        if self.knobs.names == "opaque":
            entry, formula = _renamed(entry, formula, params, keep=owner is not None)
        return Symbol(entry, formula, layer, _triple(self.knobs.seed, number, (16, 16, 16)),
                      _triple(self.knobs.seed, number, (14, 14, 14)), core=core)  # fmt: skip

    def _path(
        self, draw: Draw, number: int, word: str, noun: str, opaque: str, kind: Kind, owner: Symbol | None
    ) -> str:  # fmt: skip
        generic = (
            draw.choice(_GENERIC) if draw.chance(0.15) and kind in {"function", "method"} else ""
        )
        name = opaque if self.knobs.names == "opaque" else f"{word}_{noun}"
        home = owner.entry.path if owner is not None else f"{self.package}.{self._module(number)}"
        if generic and f"{home}.{generic}" not in self.symbols:
            name = generic
        if kind in {"constant", "table"}:
            name = name.upper()
        return f"{home}.{name}"

    def _module(self, number: int) -> str:
        return self.modules[
            number % (_CORE_MODULES if number < _FIRST_OTHER else len(self.modules))
        ]

    def _choices(
        self, draw: Draw, kind: Kind, values: Sequence[str], *, makes_structure: bool
    ) -> tuple[list[Choice], dict[str, Mapping[str, float]]]:
        choices: list[Choice] = []
        effects: dict[str, Mapping[str, float]] = {}
        if kind not in {"function", "method"}:
            return choices, effects
        wanted = draw.shuffled(("mode", "number", "element", "flag"))[: draw.below(3)]
        if makes_structure:
            wanted = ["mode"]
        for what in sorted(wanted):
            if what == "mode":
                param = draw.choice(list(lexicon.MODES))
                meanings = draw.shuffled(lexicon.MODES[param])[: 2 + draw.below(2)]
                known = tuple(zip(values, meanings, strict=False))
                factors = draw.shuffled((1.0, draw.between(1.3, 1.7), draw.between(0.5, 0.75)))
                choices.append(Choice(param, "mode", known, default=draw.choice(known)[0]))
                effects[param] = dict(zip(values, factors, strict=False))
            elif what == "number":
                family = draw.choice(list(lexicon.ROLES))
                param = lexicon.ROLES[family].replace(" ", "_")
                default = draw.between(0.5, 9.0, 1)
                unit = draw.choice(lexicon.UNITS[family]).symbol
                choices.append(
                    Choice(param, "number", default=default, role=lexicon.ROLES[family], unit=unit)
                )
                effects[param] = {"slope": _round(draw.between(0.5, 2.0) / default)}
            elif what == "element":
                choices.append(Choice("element", "element"))
                effects["element"] = {"power": draw.choice((1.0, -1.0, 1.5))}
            else:
                param = draw.choice(list(lexicon.FLAGS))
                choices.append(Choice(param, "flag", (("on", lexicon.FLAGS[param]),)))
                effects[param] = {"on": draw.choice((0.45, 1.6, 2.2))}
        return choices, effects

    # --- what symbols build on -----------------------------------------------------------------

    def _needs(
        self, draw: Draw, layer: int, *, prepared: bool, core: bool
    ) -> tuple[list[Need], dict[str, tuple[float, float]], str, str]:
        """Needs, inputs of the formula, measurement and subject of a function of a layer above 1."""
        pool = [s for s in self.symbols.values() if s.entry.term and not s.entry.successor]
        pool = [s for s in pool if s.core] if core else pool
        if prepared:
            source = draw.choice([s for s in pool if s.entry.result == "structure"])
            raw = draw.choice(
                [
                    n
                    for n, one in RAWS.items()
                    if one.geometric and n not in {"density", "electrons"}
                ]
            )
            need = Need("structure", source.entry.term, self._settings(draw, source.entry))
            return [need], {}, raw, "structure"
        values = [s for s in pool if s.entry.result != "structure"]
        sources = [
            draw.choice(
                [
                    s
                    for s in values
                    if s.layer == layer - 1 and s.entry.kind not in {"constant", "table"}
                ]
            )
        ]
        if draw.chance(0.5):
            low = [s for s in values if s.layer <= 1 and s is not sources[0]]
            sources.append(draw.choice(low))
        needs, inputs = [], {}
        for source in sources:
            need = self._need(draw, source.entry)
            if any(other.param == need.param for other in needs):
                need = replace(need, param=source.entry.term.split()[0])
            needs.append(need)
            inputs[need.param] = (self._usual(need), draw.choice((1.0, 1.0, -1.0, 1.2, 0.85)))
        subject = draw.choice(("", "structure", "composition"))
        return needs, inputs, "", subject

    def _need(self, draw: Draw, source: Entry) -> Need:
        pick = ""
        if source.result == "list":
            pick = draw.choice(list(lexicon.PICKS))
        elif source.result == "dict":
            pick = draw.choice(list(lexicon.RULES))
        convention = source.convention
        if convention.family:
            unit = draw.choice(lexicon.UNITS[convention.family]).symbol
            sense = draw.below(2) if convention.polarity >= 0 else 0
            convention = replace(convention, unit=unit, sense=sense)
        reciprocal = bool(convention.family) and draw.chance(0.12)
        param = source.term.split()[1]
        return Need(param, source.term, self._settings(draw, source), pick, convention, reciprocal)

    def _settings(self, draw: Draw, entry: Entry) -> tuple[Setting, ...]:
        return draw_settings(draw, entry)

    def _usual(self, need: Need) -> float:
        """Usual size of what a need is given, as the formula sees it."""
        found = []
        for probe in self.probes:
            given = plan(Wanted(need.term, need.settings), probe, self.by_term)
            picked = plan_need(need, probe, self.by_term, given)
            value = evaluate(picked, probe, self.symbols)
            number = float(value.partition("-")[2]) if isinstance(value, str) else float(value)
            found.append(abs(1.0 / number if need.reciprocal and number else number))
        return _round(max(_middle(found), 1e-6))

    def _inner(self, draw: Draw, number: int, subject: str) -> tuple[str, float, float] | None:
        """A leaf of the same module that the function calls itself."""
        home = f"{self.package}.{self._module(number)}."
        leaves = [
            s for s in self.symbols.values()
            if s.layer == 1 and s.entry.path.startswith(home) and s.entry.subject == subject
            and s.entry.kind == "function" and s.entry.result == "float" and not s.entry.successor
            and s.entry.convention.sense == 0
            and not any(choice.kind == "element" for choice in s.entry.choices)
        ]  # fmt: skip
        if not leaves or not subject or draw.chance(0.4):
            return None
        leaf = draw.choice(leaves).entry
        usual = [
            abs(evaluate(plan(Wanted(leaf.term), p, self.by_term), p, self.symbols))
            for p in self.probes
        ]
        return leaf.path, _round(_middle(usual)), draw.choice((0.5, 1.0, -0.5))

    # --- classes, deprecated variants ------------------------------------------------------------

    def _add_classes(self, number: int, *, core: bool) -> None:
        """A class that is built from a crystal and a value, one that inherits from it, and members."""
        base = ""
        for place, inherited in enumerate(("", "base")):
            for attempt in range(_ATTEMPTS):
                draw = Draw(self.knobs.seed, "class", number, place, self.knobs.results, attempt)
                coin = Coin(self.knobs.seed, (number + 3 * place) * _WORDS_EACH + _WORDS_EACH - 2)
                word, other = coin.word(), coin.word()
                if inherited:
                    needs = self.symbols[base].entry.needs
                else:
                    pool = [s for s in self.symbols.values() if s.layer == 1 and s.entry.kind == "function"
                            and s.entry.result != "structure" and not s.entry.successor
                            and (s.core or not core)]  # fmt: skip
                    needs = (self._need(draw, draw.choice(pool).entry),)
                    if self.knobs.names == "opaque":
                        needs = (replace(needs[0], param=other),)
                name = (word if self.knobs.names == "opaque" else f"{word}{other}").capitalize()
                path = f"{self.package}.{self._module(number)}.{name}"
                entry = Entry(path, "class", "", "structure", needs=needs)
                made = Symbol(entry, Formula(1.0), 2, base=base, core=core)
                members = []
                for kind in ("method", "property"):
                    at = number + 3 * place + 1 + len(members)
                    members.append(self._draw(at, kind, 2, attempt, core=core, owner=made))
                if len({m.entry.path for m in members}) == len(members) and (
                    not core or all(self._sensitive(member) for member in members)
                ):
                    break
            for symbol in (made, *members):
                self._keep(symbol)
            base = path

    def _deprecate(self, number: int) -> None:
        """Old variants of functions of the core, under other names and with other results."""
        draw = Draw(self.knobs.seed, "deprecated", self.knobs.depth)
        able = [
            s
            for s in self.symbols.values()
            if s.entry.kind == "function" and s.entry.result == "float"
        ]
        for place, symbol in enumerate(draw.shuffled(able)[:_DEPRECATED]):
            coin = Coin(self.knobs.seed, (number + place) * _WORDS_EACH)
            home, _, name = symbol.entry.path.rpartition(".")
            old = (
                coin.word()
                if self.knobs.names == "opaque"
                else f"{symbol.entry.term.split()[0]}_legacy"
            )
            entry = replace(symbol.entry, path=f"{home}.{old}", successor=name)
            formula = replace(symbol.formula, scale=round(symbol.formula.scale * 1.37, 4))
            self._keep(replace(symbol, entry=entry, formula=formula))

    def _sensitive(self, symbol: Symbol) -> bool:
        """Whether each mistake on the way to a symbol shows in its value."""
        entry, crystal = symbol.entry, self.probes[0]
        draw = Draw(self.knobs.seed, "probe", entry.term)
        symbols = {**self.symbols, entry.path: symbol}
        by_term = {**self.by_term, entry.term: entry}
        if entry.result == "structure" or entry.kind in {"constant", "table"}:
            return True
        wanted = Wanted(entry.term, draw_settings(draw, entry, share=1.0))
        given = plan(wanted, crystal, by_term)
        return not unmoved(given, crystal, symbols, {})


def draw_settings(draw: Draw, entry: Entry, share: float = 0.6) -> tuple[Setting, ...]:
    """What a text asks of the options of a symbol; elements always, others by chance."""
    found = []
    for choice in entry.choices:
        stated = draw.chance(share)
        if choice.kind == "element":
            found.append(Setting("element", draw.choice(list(lexicon.RULES))))
        elif stated and choice.kind == "mode":
            others = [meaning for value, meaning in choice.meanings if value != choice.default]
            found.append(Setting("mode", draw.choice(others)))
        elif stated and choice.kind == "number":
            family = next(f for f, role in lexicon.ROLES.items() if role == choice.role)
            sizes = {unit.symbol: unit.size for unit in lexicon.UNITS[family]}
            unit = draw.choice(list(sizes))
            size = float(choice.default or 1.0) * draw.choice((0.3, 0.45, 1.8, 2.5))
            value = float(f"{size * sizes[choice.unit] / sizes[unit]:.3g}")
            found.append(Setting("number", choice.role, value, unit))
        elif stated and choice.kind == "flag":
            found.append(Setting("flag", choice.meanings[0][1]))
    return tuple(found)


def plan_need(need: Need, crystal: Crystal, by_term: Mapping[str, Entry], given: Given) -> Given:
    """What a need is handed, before it is inverted."""
    key: int | str | None = None
    if need.pick:
        key = (
            crystal.element(need.pick)
            if need.pick in lexicon.RULES
            else {"first": 0, "last": -1}[need.pick]
        )
    factor = 1.0
    if need.convention.family:
        factor = by_term[need.term].convention.factor_to(need.convention)
    return replace(given, key=key, factor=factor)


def unmoved(
    given: Given,
    crystal: Crystal,
    symbols: Mapping[str, Symbol],
    others: Mapping[str, Sequence[Entry]],
) -> list[str]:
    """Mistakes that do not show in the value."""
    right = evaluate(given, crystal, symbols)
    found = []
    for what, wrong in mistakes(given, crystal, others):
        try:
            value = evaluate(wrong, crystal, symbols)
        except (ArithmeticError, KeyError, TypeError, ValueError):
            continue
        if not differs(right, value):
            found.append(what)
    return found


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


def _triple(seed: int, number: int, sizes: tuple[int, int, int]) -> tuple[int, int, int]:
    """Phrases of a symbol: each combination once in a world."""
    total = math.prod(sizes)
    place = (number * 1619 + seed * 977) % total  # 1619 is a prime: no two numbers meet
    return place % sizes[0], place // sizes[0] % sizes[1], place // (sizes[0] * sizes[1])


def _renamed(
    entry: Entry, formula: Formula, params: Sequence[str], *, keep: bool
) -> tuple[Entry, Formula]:
    """The same with parameters of which the names say nothing."""
    own = [n.param for n in entry.needs if n.param != "structure" and not keep]
    names = dict(zip([*own, *(c.param for c in entry.choices)], params, strict=False))
    needs = tuple(replace(n, param=names.get(n.param, n.param)) for n in entry.needs)
    choices = tuple(replace(c, param=names.get(c.param, c.param)) for c in entry.choices)
    inputs = {names.get(k, k): v for k, v in formula.inputs.items()}
    effects = {names.get(k, k): v for k, v in formula.effects.items()}
    return replace(entry, needs=needs, choices=choices), replace(
        formula, inputs=inputs, effects=effects
    )


def _middle(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(max(abs(value), 1e-12)) for value in values) / len(values))


def _round(value: float) -> float:
    """Two significant digits, as a person would choose."""
    return float(f"{value:.2g}")
