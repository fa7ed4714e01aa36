"""Docstrings: every fact that a caller needs and no formula, in words that are no grammar.

An input is named by its term, by a paraphrase of what it is or serves for, by the function that
gives it, or by another function that takes the same. Units are symbols, words, other words, or
that of the module; signs are told by either direction. Each fact stands with its parameter, in the
notes, in the class or module, or with a neighbour, and its usual place says so. All of it is drawn
for each symbol, so that a program that reads one world's documents reads the next one's badly.
"""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from experiments.benchmarks.invented import lexicon
from experiments.benchmarks.invented.graph import (
    Choice,
    Convention,
    Entry,
    Need,
    Setting,
    WorldSymbol,
)
from experiments.benchmarks.invented.lexicon import Draw
from experiments.benchmarks.invented.symbols import SymbolDraft

#: Annotation of what a symbol takes or gives, by kind of value.
TYPES: Mapping[str, str] = {
    "float": "float",
    "int": "int",
    "str": "str",
    "list": "list[float]",
    "dict": "dict[str, float]",
    "structure": "Structure",
    "mode": "str",
    "number": "float",
    "element": "Element",
}
_PREAMBLES, _TERMLESS, _APART = (
    0.6,
    0.35,
    0.4,
)  # shares: modules with a unit, summaries, units
#: Whose words each part of a paraphrase is in: of the documentation, of questions.
DOCUMENTED = (0, 0, 0)
ASKED = (1, 1, 1)


@dataclass
class WorldPage:
    """What a docstring says: parameter -> type and text, the result, and sentences beside."""

    summary: str
    params: dict[str, tuple[str, str]] = field(default_factory=dict)
    returns: str = ""
    notes: list[str] = field(default_factory=list)


class Prose:
    """All that the documentation of a package says: of symbols (by path) and of modules.

    ``statements`` are what a caller has to know of a symbol: where it stands, and the sentence.
    """

    def __init__(self, draft: SymbolDraft) -> None:
        self._draft, self._seed = draft, draft.knobs.seed
        self.statements: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self.modules: dict[str, list[str]] = {}
        self._units: dict[
            tuple[str, str], str
        ] = {}  # module, family -> symbol of its unit
        for name in draft.modules:
            self._introduce(f"{draft.package}.{name}")
        self.pages = {
            path: self._page(symbol) for path, symbol in draft.symbols.items()
        }
        entries = [symbol.entry for symbol in draft.symbols.values()]
        self._homes: dict[str, list[Entry]] = defaultdict(
            list
        )  # module -> what is in it
        for entry in entries:
            self._homes[self._module(entry)].append(entry)
        for entry in entries:
            self._tell_all(entry)

    def comments(self, entry: Entry) -> tuple[str, str]:
        """What stands above and below a constant."""
        page = self.pages[entry.path]
        draw = Draw(self._seed, "constant", entry.term)
        text = " ".join([page.summary, *draw.shuffled([page.returns, *page.notes])])
        if draw.chance(0.5):
            return "", f'\n"""{textwrap.fill(text, 92)}"""'
        return f"{textwrap.indent(textwrap.fill(text, 89), '#: ')}\n", ""

    def docstring(self, entry: Entry) -> str:
        """The docstring of a symbol, in one of four styles."""
        page = self.pages[entry.path]
        draw = self._draw("style", entry)
        notes = draw.shuffled(page.notes)
        split = draw.below(len(notes) + 1)
        early, late = " ".join(notes[:split]), " ".join(notes[split:])
        style = draw.of("numpy", "google", "sphinx", "prose")
        if style == "prose":
            sentences = [
                f"`{name}` ({kind}): {text}"
                for name, (kind, text) in page.params.items()
            ]
            sentences = draw.shuffled(
                [*sentences, *filter(None, [page.returns, early, late])]
            )
            half = len(sentences) // 2
            early, late = " ".join(sentences[:half]), " ".join(sentences[half:])
        parts = {
            "page": page,
            "style": style,
            "early": early,
            "late": late,
            "fill": _fill,
        }
        text = lexicon.template("docstring.j2").render(parts)
        return re.sub(r"\n{3,}", "\n\n", text).strip()

    def _introduce(self, module: str) -> None:
        draw = Draw(self._seed, "module", module)
        self.modules[module] = [say(draw, "module")]
        for family, units in lexicon.UNITS.items():
            unit = draw.choice(units)
            if draw.chance(_PREAMBLES):
                words = draw.of(unit.symbol, unit.words, unit.other_words)
                self._units[module, family] = unit.symbol
                self.modules[module].append(
                    say(draw, "preamble", family=family, unit=words)
                )

    def _page(self, symbol: WorldSymbol) -> WorldPage:
        entry = symbol.entry
        what = gloss(symbol)
        draw = self._draw("page", entry)
        if entry.kind == "class":
            summary = f"{what.capitalize()}: what can be computed of it."
            return WorldPage(summary, notes=[say(draw, "class")])
        termless = draw.chance(_TERMLESS)
        kind = "summary without term" if termless else "summary"
        page = WorldPage(say(draw, kind, what=what, term=entry.term))
        page.notes = [say(draw, "remark", term=entry.term)] if termless else []
        page.notes.append(say(draw, "use", what=use(symbol)))
        if entry.successor:
            page.notes.append(say(draw, "deprecated", successor=entry.successor))
        return page

    def _tell_all(self, entry: Entry) -> None:
        """Put every fact about the arguments and the result of a symbol somewhere."""
        draw = self._draw("facts", entry)
        page = self.pages[entry.path]
        if entry.kind in {"function", "class"}:
            if entry.subject and not any(
                need.param == "structure" for need in entry.needs
            ):
                named = {"structure": "the crystal"}
                what = named.get(entry.subject, f"the {entry.subject} of the crystal")
                text = say(draw, "subject", what=what)
                page.params[entry.subject] = (
                    entry.subject.capitalize(),
                    f"{_begun(text)}.",
                )
            for need in entry.needs:
                self._need(entry, need, draw)
        for choice in entry.choices:
            text = self._choice(entry, choice, draw)
            self._put(entry, choice.param, TYPES[choice.kind], text, draw)
        if entry.kind != "class":
            place = "" if entry.kind == "constant" else self._place(entry, draw)[0]
            elsewhere = place not in {"", entry.path}
            who = f"what `{self._short(entry)}` returns" if elsewhere else "the result"
            measure = self._measure(entry, entry.convention, draw)
            sentence = say(draw, entry.result, who=who, order=entry.order, **measure)
            page.returns = self._tell(entry, place, sentence, draw)

    def _need(self, entry: Entry, need: Need, draw: Draw) -> None:
        """Where an input comes from and how it is to be given."""
        source = self._draft.by_term[need.term]
        kind = TYPES["float" if need.pick else source.result]
        text = self._source(entry, need, source, draw)
        apart = bool(need.convention.family) and draw.chance(_APART)
        if need.convention.family and not apart:
            manner = "inverted" if need.reciprocal else "in unit"
            text += say(draw, manner, **self._measure(entry, need.convention, draw))
        self._put(entry, need.param, kind, text, draw)
        if apart:
            manner = "unit alone inverted" if need.reciprocal else "unit alone"
            place = draw.of("", "", self._home(entry))
            who = (
                f"`{need.param}`"
                if not place
                else f"`{need.param}` of `{self._short(entry)}`"
            )
            measure = self._measure(entry, need.convention, draw)
            sentence = say(draw, manner, who=who, **measure)
            self._keep(entry, place or entry.path, sentence)

    def _put(self, entry: Entry, param: str, kind: str, text: str, draw: Draw) -> None:
        """Tell of a parameter with it, or elsewhere."""
        place, who = self._place(entry, draw, param)
        sentence = (
            f"{_begun(text)}." if not place else say(draw, "told", who=who, text=text)
        )
        self.pages[entry.path].params[param] = (
            kind,
            self._tell(entry, place, sentence, draw),
        )

    def _place(self, entry: Entry, draw: Draw, param: str = "") -> tuple[str, str]:
        """Where a fact stands (empty: its usual place), and what it calls the parameter there."""
        chance = draw.number()
        neighbours = self._homes[self._module(entry)]
        able = [
            other
            for other in neighbours
            if other.kind == "function" and other is not entry
        ]
        neighbour = draw.choice(able or [entry])
        if chance < 0.55 or (chance > 0.8 and entry.successor):
            return "", ""
        if chance < 0.8 or (chance > 0.9 and neighbour is entry):
            return entry.path, f"`{param}`"
        place = self._home(entry) if chance < 0.9 else neighbour.path
        return place, f"`{param}` of `{self._short(entry)}`"

    def _keep(self, entry: Entry, place: str, sentence: str) -> None:
        if place in self.modules:
            self.modules[place].append(sentence)
        elif place:
            self.pages[place].notes.append(sentence)
        self.statements[entry.path].append((place or entry.path, sentence))

    def _tell(self, entry: Entry, place: str, sentence: str, draw: Draw) -> str:
        """Put a sentence somewhere; what its usual place (empty) says then."""
        self._keep(entry, place, sentence)
        if not place:
            return sentence
        named = {
            entry.path: "the notes",
            self._module(entry): "the introduction of this module",
        }
        return say(
            draw, "elsewhere", place=named.get(place, f"`{place.rpartition('.')[2]}`")
        )

    def _home(self, entry: Entry) -> str:
        return entry.owner or self._module(entry)

    def _module(self, entry: Entry) -> str:
        return (entry.owner or entry.path).rpartition(".")[0]

    def _short(self, entry: Entry) -> str:
        """The name of a symbol within its module."""
        return entry.path.removeprefix(f"{self._module(entry)}.")

    def _draw(self, purpose: str, entry: Entry) -> Draw:
        return Draw(self._seed, purpose, entry.term, entry.path)

    def _measure(
        self, entry: Entry, convention: Convention, draw: Draw
    ) -> dict[str, str]:
        """Unit and sign; the unit of the module where that is the same."""
        words = measure(convention, draw)
        common = draw.chance(0.5)
        of_module = self._units.get((self._module(entry), convention.family))
        if common and of_module and of_module == convention.unit:
            words["unit"] = say(draw, "of the module", family=convention.family)
            words["Unit"] = _begun(words["unit"])
        return words

    def _source(self, entry: Entry, need: Need, source: Entry, draw: Draw) -> str:
        """The quantity that an input is, with the options that it is computed with."""
        relative = source.path.removeprefix(f"{self._draft.package}.")
        if source.result == "structure":
            text = say(draw, "prepared", term=need.term, name=relative)
            return " ".join([text, *asked_for(need.settings, draw)])
        names: dict[str, object] = {"term": need.term, "name": relative, "param": ""}
        names["own"] = "" if source.kind == "constant" else say(draw, "own")
        chance = draw.number()
        symbol = self._draft.symbols[source.path]
        before = takewhile(
            lambda earlier: earlier is not entry, self._homes[self._module(entry)]
        )
        takers = [
            (earlier, other)
            for earlier in before
            if earlier.kind in {"function", "class"} and not earlier.successor
            for other in earlier.needs
            if other.term == need.term
        ]
        manner = "by term"
        if 0.5 < chance < 0.6 and takers:
            manner, (other, same) = "by neighbour", draw.choice(takers)
            names |= {"name": other.name, "param": same.param}
        elif 0.6 < chance < 0.74:
            manner = "by name"
        elif chance > 0.74:
            manner, words = ("by gloss", gloss) if chance < 0.9 else ("by use", use)
            plain = draw.below(3)  # the part that stands in the source's own words
            names["text"] = words(symbol, [int(part != plain) for part in range(3)])
        text = say(draw, manner, **names)
        if need.pick in lexicon.RULES:
            text = say(
                draw,
                "element of",
                text=text,
                rule=draw.choice(lexicon.RULES[need.pick]),
            )
        elif need.pick:
            text = say(
                draw, "pick of", text=text, rule=draw.choice(lexicon.PICKS[need.pick])
            )
        if need.reciprocal:
            text = say(draw, "reciprocal", text=text)
        return " ".join([text, *asked_for(need.settings, draw)])

    def _choice(self, entry: Entry, choice: Choice, draw: Draw) -> str:
        """What an option decides, and its default."""
        if choice.kind == "number":
            family = lexicon.FAMILY[choice.role]
            unit = self._measure(entry, Convention(family, choice.unit), draw)["unit"]
            return say(
                draw, "number", role=choice.role, unit=unit, default=choice.default
            )
        meanings = [
            say(
                draw,
                "meaning",
                value=value,
                meaning=draw.choice(lexicon.WORDINGS[meaning]),
            )
            for value, meaning in draw.shuffled(choice.meanings)
        ]
        default = say(draw, "default", value=choice.default)
        return say(draw, choice.kind, known="; ".join(meanings), default=default)


def say(draw: Draw, kind: str, **facts: object) -> str:
    """One of the ways to say something; each fact also begins a sentence (``{Who}``)."""
    begin = {name.capitalize(): _begun(text) for name, text in facts.items()}
    return draw.choice(lexicon.PHRASES[kind]).format(**{**begin, **facts})


def gloss(symbol: WorldSymbol, wordings: Sequence[int] = DOCUMENTED) -> str:
    """What a quantity is: each of three parts in the words of one of the two."""
    rows = zip(lexicon.GLOSS, symbol.gloss, wordings, strict=True)
    return " ".join(table[number][wording] for table, number, wording in rows)


def use(symbol: WorldSymbol, wordings: Sequence[int] = DOCUMENTED) -> str:
    """What a quantity is used for, likewise."""
    rows = zip(lexicon.USE, symbol.use, wordings, strict=True)
    return " ".join(table[number][wording] for table, number, wording in rows)


def asked_for(settings: Sequence[Setting], draw: Draw) -> list[str]:
    """Options, as a text asks for them."""
    words = [draw.choice(lexicon.RULES.get(each.meaning, ("",))) for each in settings]
    meanings = [
        draw.choice(lexicon.WORDINGS.get(s.meaning, (s.meaning,))) for s in settings
    ]
    return [
        say(
            draw,
            f"with {s.kind}",
            meaning=meaning,
            value=s.value,
            unit=s.unit,
            rule=rule,
        )
        for s, meaning, rule in zip(settings, meanings, words, strict=True)
    ]


def describe(symbol: WorldSymbol, wanted: Need, gap: int, draw: Draw) -> str:
    """A wanted value in words, as far from those of the documentation as ``gap`` says."""
    paraphrased = "The quantity of this package that"
    what = (
        f"The {wanted.term} of the crystal",
        f"{paraphrased} expresses the {gloss(symbol, ASKED)}, for the crystal",
        f"{paraphrased} serves to {use(symbol, ASKED)}, for the crystal",
    )[gap]
    text = " ".join([what, *asked_for(wanted.settings, draw)])
    if wanted.convention.family:
        text += say(draw, "in unit", **measure(wanted.convention, draw))
    if symbol.entry.result == "list":
        text += ", as the package orders its entries"
    if symbol.entry.result == "dict":
        text += ", under the symbols of the elements"
    return f"{text}. Options that are not mentioned keep their defaults."


def measure(convention: Convention, draw: Draw) -> dict[str, str]:
    """Unit and sign as words; ``Unit`` is the unit with a capital, where it has words."""
    if not convention.family:
        return {"unit": "", "Unit": "", "sign": ""}
    unit = lexicon.UNIT[convention.unit]
    sign = ""
    if convention.polarity >= 0:
        ways = lexicon.POLARITIES[convention.polarity]
        sides = {
            "direction": ways[convention.sense],
            "opposite": ways[1 - convention.sense],
        }
        sign = say(draw, "sign", **sides)
    words = draw.of(unit.symbol, unit.words, unit.other_words)
    capital = words if words == unit.symbol else _begun(words)
    return {"unit": words, "Unit": capital, "sign": sign}


def _begun(text: object) -> str:
    return f"{str(text)[:1].upper()}{str(text)[1:]}"


def _fill(text: str, indent: str = "", hang: str = "") -> str:
    return textwrap.fill(
        text,
        88,
        initial_indent=indent,
        subsequent_indent=indent + hang,
        break_on_hyphens=False,
    )
