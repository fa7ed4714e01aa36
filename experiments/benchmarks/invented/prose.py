"""Docstrings: every fact that a caller needs and no formula, in several styles and orders.

One template would let a regular expression solve a world. Style, order, phrasing, the place of a
fact, and units as symbols or words are drawn for each symbol.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from experiments.benchmarks.invented import lexicon
from experiments.benchmarks.invented.draw import Draw
from experiments.benchmarks.invented.entries import Choice, Convention, Entry, Need, Setting
from experiments.benchmarks.invented.graph import Symbol

_WIDTH = 92
#: Annotation of what a symbol takes or gives, by kind of value.
TYPES: Mapping[str, str] = {
    "float": "float", "int": "int", "str": "str", "list": "list[float]",
    "dict": "dict[str, float]", "structure": "Structure",
}  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """What a docstring says.

    Attributes
    ----------
    summary, use, returns
        A sentence or two each.
    params
        Parameter -> type, and its text without the name.
    """

    summary: str
    use: str
    returns: str
    params: Mapping[str, tuple[str, str]]


def docstring(symbol: Symbol, told: Entry, sources: Mapping[str, Entry], draw: Draw) -> str:
    """The docstring of a function, class, method or property.

    Parameters
    ----------
    told
        The entry that it tells of: that of the symbol, unless it is out of date.
    sources
        Term -> entry of the symbol that gives it.
    """
    facts = facts_of(symbol, told, sources, draw)
    text = draw.choice(_STYLES)(facts, draw)
    if told.successor:
        note = draw.of(
            f".. deprecated:: 2.0\n    Follows the former convention; use `{told.successor}`.",
            f"Deprecated: values of the former convention. `{told.successor}` replaces it.",
        )
        text = f"{text}\n\n{note}"
    return text


def facts_of(symbol: Symbol, told: Entry, sources: Mapping[str, Entry], draw: Draw) -> Facts:
    """The facts of a symbol, phrased."""
    params: dict[str, tuple[str, str]] = {}
    if told.kind in {"function", "class"}:
        if told.subject and not any(need.param == "structure" for need in told.needs):
            subject = draw.of("that is looked at", "under study", "it is about")
            what = {"structure": "the crystal", "lattice": "the lattice of the crystal",
                    "composition": "the composition of the crystal"}[told.subject]  # fmt: skip
            params[told.subject] = (told.subject.capitalize(), f"{what} {subject}.")
        for need in told.needs:
            source = sources[need.term]
            given = TYPES["float" if need.pick else source.result]
            params[need.param] = (given, f"{need_phrase(need, source, draw)}.")
    for choice in told.choices:
        kind = {"mode": "str", "number": "float", "element": "Element", "flag": "bool"}[choice.kind]
        params[choice.param] = (kind, choice_phrase(choice, draw))
    if told.kind == "class":
        made = draw.of("Holds what its members share.", "Built once, then asked for its members.")
        return Facts(f"{gloss(symbol).capitalize()}: what can be computed of it.", made, "", params)
    return Facts(
        _summary(symbol, told, draw), _use(symbol, draw), returns_phrase(told, draw), params
    )


# --- phrases ----------------------------------------------------------------------------------


def gloss(symbol: Symbol, wording: int = 0) -> str:
    """What a quantity is, in the words of the documentation (0) or of questions (1)."""
    tables = (lexicon.ASPECTS, lexicon.OBJECTS, lexicon.CONDITIONS)
    return " ".join(t[n][wording] for t, n in zip(tables, symbol.gloss, strict=True))


def use(symbol: Symbol, wording: int = 0) -> str:
    """What a quantity is used for, likewise."""
    tables = (lexicon.DECISIONS, lexicon.ITEMS, lexicon.SETTINGS)
    return " ".join(t[n][wording] for t, n in zip(tables, symbol.use, strict=True))


def _summary(symbol: Symbol, told: Entry, draw: Draw) -> str:
    what = gloss(symbol)
    return draw.of(
        f"The {told.term}: {what}.",
        f"Compute the {told.term}, a measure of the {what}.",
        f"{what.capitalize()}, known here as the {told.term}.",
        f"{what.capitalize()} (the {told.term}).",
        f"How much {what} there is, expressed by the {told.term}.",
        f"{told.term.capitalize()}, which stands for the {what}.",
    )


def _use(symbol: Symbol, draw: Draw) -> str:
    what = use(symbol)
    return draw.of(
        f"Used to {what}.",
        f"Consulted by those who {what}.",
        f"It helps to {what}.",
        f"Before you {what}, look at it.",
        f"People rely on it to {what}.",
    )


def setting_phrase(setting: Setting, draw: Draw) -> str:
    """An option that is asked for."""
    if setting.kind == "number":
        value = f"{setting.value:g} {setting.unit}"
        return draw.of(
            f"at a {setting.meaning} of {value}",
            f"for a {setting.meaning} of {value}",
            f"with a {setting.meaning} of {value}",
        )
    if setting.kind == "element":
        rule = draw.choice(lexicon.RULES[setting.meaning])
        return draw.of(f"computed for the {rule}", f"with respect to the {rule}")
    return draw.of(
        f"where {setting.meaning}",
        f"on the understanding that {setting.meaning}",
        f"such that {setting.meaning}",
    )


def unit_phrase(convention: Convention, draw: Draw) -> str:
    """A unit, as symbol or in words."""
    unit = convention.measure
    return draw.of(unit.symbol, unit.words, unit.symbol)


def sign_phrase(convention: Convention, draw: Draw) -> str:
    """The sign convention, with a comma before it; empty where there is none."""
    if convention.polarity < 0:
        return ""
    direction = lexicon.POLARITIES[convention.polarity][convention.sense]
    return draw.of(
        f", counted positive {direction}",
        f", with the plus sign {direction}",
        f", positive when it acts {direction}",
    )


def need_phrase(need: Need, source: Entry, draw: Draw) -> str:
    """Where the value of a parameter comes from, and how it is to be given."""
    if source.result == "structure":
        text = draw.of(
            f"the crystal after its {need.term}",
            f"the {need.term} of the crystal, not the crystal itself",
            f"what the {need.term} makes of the crystal",
        )
        return " ".join([text, *(setting_phrase(s, draw) for s in need.settings)])
    owns = ("", " of the same crystal", " found for this crystal")
    own = "" if source.kind == "constant" else draw.choice(owns)
    text = draw.of(
        f"the {need.term}{own}", f"the {need.term}{own}", f"what is called {need.term}{own}"
    )
    if need.pick in lexicon.RULES:
        rule = draw.choice(lexicon.RULES[need.pick])
        text = draw.of(
            f"{text}, read at the {rule}", f"the entry that belongs to the {rule} in {text}"
        )
    elif need.pick:
        text = f"the {draw.choice(lexicon.PICKS[need.pick])} of {text}"
    if need.reciprocal:
        text = draw.choice(lexicon.RECIPROCAL).format(text)
    text = " ".join([text, *(setting_phrase(s, draw) for s in need.settings)])
    if need.convention.family:
        unit = unit_phrase(need.convention, draw)
        if need.reciprocal:
            text += draw.of(f" (inverted after it was brought to {unit}", f" (itself in {unit}")
            text += f"{sign_phrase(need.convention, draw)})"
        else:
            text += draw.of(f", in {unit}", f", to be given in {unit}", f", as a number of {unit}")
            text += sign_phrase(need.convention, draw)
    return text


def choice_phrase(choice: Choice, draw: Draw) -> str:
    """What an option decides, and its default."""
    if choice.kind == "element":
        return draw.of("the element in question.", "element that it is computed for.")
    if choice.kind == "flag":
        meaning = choice.meanings[0][1]
        return draw.of(
            f"when true, {meaning}; off by default.", f"switched on, {meaning}. Off as a rule."
        )
    if choice.kind == "number":
        units = {unit.symbol: unit.words for family in lexicon.UNITS.values() for unit in family}
        unit = draw.of(choice.unit, units[choice.unit])
        return draw.of(
            f"the {choice.role} in {unit}; {choice.default:g} unless given.",
            f"{choice.role}, in {unit}. Without it, {choice.default:g} is taken.",
            f"which {choice.role} is assumed, in {unit} (default {choice.default:g}).",
        )
    form = draw.of('"{}" means that {}', 'with "{}", {}', '"{}" says that {}')
    known = "; ".join(
        form.format(value, meaning) for value, meaning in draw.shuffled(choice.meanings)
    )
    default = draw.of('"{}" if left out', 'by default "{}"', '"{}" is the default').format(
        choice.default
    )
    return draw.of(f"{known}; {default}.", f"{default}; {known}.")


def returns_phrase(told: Entry, draw: Draw) -> str:
    """What is returned."""
    if told.result == "structure":
        return draw.of("The result is a new structure.", "A changed copy is returned.")
    if told.result == "int":
        return draw.of(
            "Returned is the number of whole steps, rounded down.",
            "The result is a whole number, a count of steps.",
        )
    if told.result == "str":
        return draw.of(
            "The result is a label: letters, a dash, digits.",
            "Returned as a label of letters, a dash and digits.",
        )
    unit, sign = unit_phrase(told.convention, draw), sign_phrase(told.convention, draw)
    if told.result == "list":
        return draw.of(
            f"The result has one entry for each element in {unit}{sign}, by {told.order}.",
            f"Returned in {unit}{sign}: a list over the elements, by rising {told.order}.",
        )
    if told.result == "dict":
        return draw.of(
            f"The result maps the symbol of each element to its value in {unit}{sign}.",
            f"Returned in {unit}{sign}, under the symbols of the elements.",
        )
    return draw.of(
        f"The result is in {unit}{sign}.",
        f"Returned as a number of {unit}{sign}.",
        f"Its values come in {unit}{sign}.",
    )


# --- styles -----------------------------------------------------------------------------------


def _numpy(facts: Facts, draw: Draw) -> str:
    parts = [facts.summary]
    if draw.chance(0.5):
        parts.append(facts.use)
    if facts.params:
        rows = [f"{name} : {kind}\n{_block(text)}" for name, (kind, text) in facts.params.items()]
        parts.append("\n".join(["Parameters", "----------", *rows]))
    if facts.returns:
        parts.append(f"Returns\n-------\n{_block(facts.returns)}")
    if facts.use not in parts:
        parts.append(f"Notes\n-----\n{facts.use}")
    return "\n\n".join(parts)


def _google(facts: Facts, draw: Draw) -> str:
    parts = [facts.summary]
    if draw.chance(0.6):
        parts.append(facts.use)
    if facts.params:
        rows = [
            _block(f"{name} ({kind}): {text}", hang=4)
            for name, (kind, text) in facts.params.items()
        ]
        parts.append("\n".join(["Args:", *rows]))
    if facts.returns:
        parts.append(f"Returns:\n{_block(facts.returns)}")
    if facts.use not in parts:
        parts.append(f"Note:\n{_block(facts.use)}")
    return "\n\n".join(parts)


def _sphinx(facts: Facts, draw: Draw) -> str:
    rows = [f":param {name}: {text}" for name, (_, text) in facts.params.items()]
    rows += [f":returns: {facts.returns}"] if facts.returns else []
    middle = [facts.use] if draw.chance(0.7) else []
    last = [] if middle else [f"Remark. {facts.use}"]
    fields = ["\n".join(rows)] if rows else []
    return "\n\n".join([facts.summary, *middle, *last, *fields])


def _told(facts: Facts, draw: Draw) -> list[str]:
    """Sentences that name their parameter."""
    rows = []
    for name, (_, text) in facts.params.items():
        start = draw.of(
            f"`{name}` is ", f"As `{name}`, it takes ", f"Give it as `{name}`: ", f"For `{name}`: "
        )
        rows.append(start + text)
    return draw.shuffled(rows)


def _prose(facts: Facts, draw: Draw) -> str:
    sentences = _told(facts, draw)
    rest = [sentence for sentence in (facts.returns, facts.use) if sentence]
    if draw.chance(0.5):
        paragraphs = [" ".join(rest), " ".join(sentences)]
    else:
        paragraphs = [" ".join([*sentences[:1], *rest]), " ".join(sentences[1:])]
    return "\n\n".join([facts.summary, *(textwrap.fill(p, _WIDTH - 4) for p in paragraphs if p)])


def _mixed(facts: Facts, draw: Draw) -> str:
    """Bare parameters, and everything about them in the notes."""
    rows = [f"{name} : {kind}\n    See the notes." for name, (kind, _) in facts.params.items()]
    notes = draw.shuffled(
        [*_told(facts, draw), *([facts.returns] if facts.returns else []), facts.use]
    )
    listed = ["\n".join(["Parameters", "----------", *rows])] if rows else []
    text = textwrap.fill(" ".join(notes), _WIDTH - 4)
    return "\n\n".join([facts.summary, *listed, f"Notes\n-----\n{text}"])


_STYLES: Sequence[Callable[[Facts, Draw], str]] = (_numpy, _google, _sphinx, _prose, _prose, _mixed)


def _block(text: str, hang: int = 0) -> str:
    return textwrap.fill(
        text, _WIDTH - 4, initial_indent="    ", subsequent_indent=" " * (4 + hang)
    )
