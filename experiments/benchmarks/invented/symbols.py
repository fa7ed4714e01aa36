"""Draws one symbol: what it needs, which options it has, what it gives, and its formula."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from experiments.benchmarks.invented import lexicon
from experiments.benchmarks.invented.crystals import ELEMENTS, RAWS, Crystal, measure
from experiments.benchmarks.invented.draw import Coin, Draw
from experiments.benchmarks.invented.entries import Choice, Convention, Entry, Kind, Need, Result
from experiments.benchmarks.invented.graph import Formula, Knobs, Symbol, evaluate
from experiments.benchmarks.invented.plans import Wanted, handed_over, plan
from experiments.benchmarks.invented.sensitivity import draw_settings

#: ``maker``: makes structures; ``leaf``: measures a crystal; ``derived``: takes what others give.
Role = Literal["constant", "table", "maker", "leaf", "derived", "method", "property"]
WORDS_EACH = 10
_MIXED: tuple[Result, ...] = ("float", "float", "float", "float", "int", "str", "list", "dict")
_GENERIC = ("estimate", "evaluate", "profile", "response", "reduced_value", "assess")
_POWERS = (1.0, 1.0, -1.0, 1.2, 0.85)


@dataclass
class Draft:
    """A world while it is drawn.

    Attributes
    ----------
    modules
        Names of modules; symbols of the core are in the first `core_modules`.
    symbols, by_term
        What there is so far.
    probes
        Crystals on which usual magnitudes are found.
    """

    knobs: Knobs
    package: str
    modules: Sequence[str]
    core_modules: int
    first_other: int
    probes: Sequence[Crystal]
    symbols: dict[str, Symbol] = field(default_factory=dict)
    by_term: dict[str, Entry] = field(default_factory=dict)

    def keep(self, symbol: Symbol) -> None:
        """Add a symbol."""
        self.symbols[symbol.entry.path] = symbol
        if symbol.entry.term and not symbol.entry.successor:
            self.by_term[symbol.entry.term] = symbol.entry

    def home(self, number: int) -> str:
        """Dotted name of the module of a symbol."""
        count = self.core_modules if number < self.first_other else len(self.modules)
        return f"{self.package}.{self.modules[number % count]}"

    def sources(self, *, core: bool) -> list[Symbol]:
        """What a new symbol may need; one of the core only what is in the core."""
        found = self.symbols.values()
        return [s for s in found if s.entry.term and not s.entry.successor and (s.core or not core)]

    def usual(self, need: Need) -> float:
        """Usual magnitude of what a need is given, as the formula sees it."""
        values = []
        for probe in self.probes:
            value = evaluate(handed_over(need, probe, self.by_term), probe, self.symbols)
            values.append(float(value.partition("-")[2] if isinstance(value, str) else value))
        usual = _middle(values)
        return _round(1.0 / usual if need.reciprocal else usual)


def draw_symbol(
    draft: Draft, number: int, role: Role, layer: int, *, core: bool, attempt: int = 0,
    owner: Entry | None = None,
) -> Symbol:  # fmt: skip
    """Draw a symbol; ``number`` decides its words, ``attempt`` everything else anew."""
    knobs = draft.knobs
    draw = Draw(knobs.seed, role, number, layer, knobs.results, attempt)
    coin = Coin(knobs.seed, number * WORDS_EACH)
    words = [coin.word() for _ in range(WORDS_EACH)]
    kind: Kind = "constant" if role in {"constant", "table"} else "function"
    needs: list[Need] = []
    raw, subject = "", ""
    if owner is not None:
        kind = "method" if role == "method" else "property"
        needs, subject = list(owner.needs), owner.subject
        raw = draw.choice([name for name, one in RAWS.items() if one.subject == "structure"])
    elif role == "maker":
        subject = "structure"
    elif role == "leaf":
        raw = draw.choice(list(RAWS))
        subject = RAWS[raw].subject
    elif role == "derived" and layer == 2 and draw.chance(0.3):
        source = draw.choice(
            [s.entry for s in draft.sources(core=core) if s.entry.result == "structure"]
        )
        needs, subject = [Need("structure", source.term, draw_settings(draw, source))], "structure"
        raw = draw.choice([name for name, one in RAWS.items() if one.power_of_length >= 1])
    elif role == "derived":
        needs = _draw_needs(draft, draw, layer, core=core)
        subject = draw.of("", "structure", "composition")
    result = _draw_result(draw, role, subject, knobs)
    convention = _draw_convention(draw) if result in {"float", "list", "dict"} else Convention()
    noun = draw.choice(lexicon.NOUNS["strain" if role == "maker" else convention.family])
    choices, effects = _draw_choices(draw, role, words[2:5])
    scale = draw.between(0.4, 9.0, 2)
    calls_inner = role == "derived" and not raw and draw.chance(0.6)
    sign = -1 if convention.sense else 1
    formula = Formula(
        scale=0.02 * (1 + draw.below(3)) if role == "maker" else scale,
        raw=raw,
        raw_reference=_round(_middle([measure(raw, p) for p in draft.probes])) if raw else 1.0,
        raw_power=draw.of(1.0, -1.0, 1.5, 0.75),
        inputs={need.param: (draft.usual(need), draw.choice(_POWERS))
                for need in needs if need.param != "structure"},
        effects=effects,
        inner=_inner(draft, draw, number, subject) if calls_inner else None,
        tick=10.0 ** math.floor(math.log10(scale)) / 5000,
        prefix=draw.of("kl", "mo", "tr", "us"),
        values={e: sign * round(scale * (0.4 + 1.6 * draw.number()), 4) for e in ELEMENTS}
        if role == "table" else {},
    )  # fmt: skip
    home = owner.path if owner is not None else draft.home(number)
    entry = Entry(
        path=f"{home}.{_name(draft, draw, kind, home, (words[0], noun, words[1]))}",
        kind=kind,
        term=f"{words[0]} {noun}",
        subject=subject,
        owner=owner.path if owner is not None else "",
        needs=tuple(needs),
        choices=tuple(choices),
        result=result,
        convention=convention,
        order=draw.of("atomic number", "electronegativity") if result == "list" else "",
    )
    if knobs.names == "opaque":
        entry, formula = _opaque(entry, formula, words[5:])
    phrases = (_phrases(knobs.seed, number, 16), _phrases(knobs.seed, number, 14))
    return Symbol(entry, formula, layer, *phrases, core=core)


def draw_need(draw: Draw, source: Entry) -> Need:
    """How a symbol takes what another gives."""
    picks = {"list": list(lexicon.PICKS), "dict": list(lexicon.RULES)}.get(source.result)
    convention = respelled(draw, source.convention)
    return Need(
        param=source.term.split()[1],
        term=source.term,
        settings=draw_settings(draw, source),
        pick=draw.choice(picks) if picks else "",
        convention=convention,
        reciprocal=bool(convention.family) and draw.chance(0.12),
    )


def respelled(draw: Draw, convention: Convention) -> Convention:
    """The same quantity in a drawn unit and sense."""
    if not convention.family:
        return convention
    unit = draw.choice(lexicon.UNITS[convention.family]).symbol
    return replace(convention, unit=unit, sense=draw.below(2) if convention.polarity >= 0 else 0)


def _draw_needs(draft: Draft, draw: Draw, layer: int, *, core: bool) -> list[Need]:
    values = [s for s in draft.sources(core=core) if s.entry.result != "structure"]
    first = draw.choice([s for s in values if s.layer == layer - 1 and s.entry.kind != "constant"])
    needs = [draw_need(draw, first.entry)]
    if draw.chance(0.5):
        second = draw.choice([s.entry for s in values if s.layer <= 1 and s is not first])
        need = draw_need(draw, second)
        same = need.param == needs[0].param
        needs.append(replace(need, param=second.term.split()[0]) if same else need)
    return needs


def _draw_result(draw: Draw, role: Role, subject: str, knobs: Knobs) -> Result:
    if role in {"maker", "table", "constant"}:
        return {"maker": "structure", "table": "dict"}.get(role, "float")  # type: ignore[return-value]
    result = draw.choice(_MIXED) if knobs.results == "mixed" else "float"
    of_elements = result in {"list", "dict"} and subject not in {"structure", "composition"}
    return "float" if of_elements else result


def _draw_convention(draw: Draw) -> Convention:
    family = draw.choice(list(lexicon.UNITS))
    polarity = draw.below(len(lexicon.POLARITIES)) if draw.chance(0.5) else -1
    return respelled(draw, Convention(family, polarity=polarity))


def _draw_choices(
    draw: Draw, role: Role, values: Sequence[str]
) -> tuple[list[Choice], dict[str, Mapping[str, float]]]:
    choices: list[Choice] = []
    effects: dict[str, Mapping[str, float]] = {}
    kinds = draw.shuffled(("mode", "number", "element", "flag"))[: draw.below(3)]
    if role in {"constant", "table", "property", "maker"}:
        kinds = ["mode"] if role == "maker" else []
    for kind in sorted(kinds):
        if kind == "mode":
            param = draw.choice(list(lexicon.MODES))
            meanings = draw.shuffled(lexicon.MODES[param])[: 2 + draw.below(2)]
            known = tuple(zip(values, meanings, strict=False))
            factors = draw.shuffled((1.0, draw.between(1.3, 1.7), draw.between(0.5, 0.75)))
            choices.append(Choice(param, "mode", known, default=draw.choice(known)[0]))
            effects[param] = dict(zip(values, factors, strict=True))
        elif kind == "number":
            family = draw.choice(list(lexicon.ROLES))
            role_name, default = lexicon.ROLES[family], draw.between(0.5, 9.0, 1)
            param, unit = role_name.replace(" ", "_"), draw.choice(lexicon.UNITS[family]).symbol
            choices.append(Choice(param, "number", default=default, role=role_name, unit=unit))
            effects[param] = {"slope": _round(draw.between(0.5, 2.0) / default)}
        elif kind == "element":
            choices.append(Choice("element", "element"))
            effects["element"] = {"power": draw.of(1.0, -1.0, 1.5)}
        else:
            param = draw.choice(list(lexicon.FLAGS))
            choices.append(Choice(param, "flag", (("on", lexicon.FLAGS[param]),)))
            effects[param] = {"on": draw.of(0.45, 1.6, 2.2)}
    return choices, effects


def _inner(draft: Draft, draw: Draw, number: int, subject: str) -> tuple[str, float, float] | None:
    """A leaf of the same module that the function calls itself, with its usual value and power."""
    home = f"{draft.home(number)}."
    leaves = [
        s.entry
        for s in draft.symbols.values()
        if s.layer == 1 and s.entry.path.startswith(home) and s.entry.kind == "function"
        and (s.entry.subject, s.entry.result) == (subject, "float")
        and not s.entry.successor and s.entry.convention.sense == 0
        and not any(choice.kind == "element" for choice in s.entry.choices)
    ]  # fmt: skip
    if not leaves or not subject:
        return None
    leaf = draw.choice(leaves)
    plans = [(plan(Wanted(leaf.term), probe, draft.by_term), probe) for probe in draft.probes]
    usual = _middle([evaluate(given, probe, draft.symbols) for given, probe in plans])
    return leaf.path, _round(usual), draw.of(0.5, 1.0, -0.5)


def _name(draft: Draft, draw: Draw, kind: Kind, home: str, words: tuple[str, str, str]) -> str:
    """A name; some are shared by symbols of several modules or classes."""
    word, noun, opaque = words
    generic = draw.choice(_GENERIC)
    if (
        draw.chance(0.15)
        and kind in {"function", "method"}
        and f"{home}.{generic}" not in draft.symbols
    ):
        return generic
    name = opaque if draft.knobs.names == "opaque" else f"{word}_{noun}"
    return name.upper() if kind == "constant" else name


def _opaque(entry: Entry, formula: Formula, words: Sequence[str]) -> tuple[Entry, Formula]:
    """The same with parameters of which the names say nothing."""
    own = [] if entry.owner else [n.param for n in entry.needs if n.param != "structure"]
    names = dict(zip([*own, *(choice.param for choice in entry.choices)], words, strict=False))
    return (
        replace(
            entry,
            needs=tuple(replace(n, param=names.get(n.param, n.param)) for n in entry.needs),
            choices=tuple(replace(c, param=names[c.param]) for c in entry.choices),
        ),
        replace(
            formula,
            inputs={names.get(param, param): value for param, value in formula.inputs.items()},
            effects={names[param]: value for param, value in formula.effects.items()},
        ),
    )


def _phrases(seed: int, number: int, size: int) -> tuple[int, int, int]:
    """Numbers of three phrases; each combination once in a world."""
    place = (number * 1619 + seed * 977) % size**3  # 1619 is a prime: no two numbers meet
    return place % size, place // size % size, place // size**2


def _middle(values: Sequence[float]) -> float:
    """Geometric mean of the magnitudes."""
    return math.exp(sum(math.log(max(abs(value), 1e-12)) for value in values) / len(values))


def _round(value: float) -> float:
    """Two significant digits, as a person would choose."""
    return float(f"{value:.2g}")
