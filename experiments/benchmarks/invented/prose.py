"""Docstrings: every fact that a caller needs and no formula, in several styles and orders.

One template would let a regular expression solve a world. Style, order, phrasing, the place of a
fact, and units as symbols or words are drawn for each symbol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.benchmarks.invented import lexicon
from experiments.benchmarks.invented.draw import Draw
from experiments.benchmarks.invented.entries import Choice, Convention, Entry, Need, Setting
from experiments.benchmarks.invented.graph import Symbol
from experiments.benchmarks.invented.templates import template

#: Annotation of what a symbol takes or gives, by kind of value.
TYPES: Mapping[str, str] = {
    "float": "float", "int": "int", "str": "str", "list": "list[float]",
    "dict": "dict[str, float]", "structure": "Structure",
    "mode": "str", "number": "float", "element": "Element",
}  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """What a docstring says."""

    summary: str
    use: str
    returns: str
    params: Mapping[str, tuple[str, str]]  # parameter -> type, and its text without the name


def docstring(symbol: Symbol, told: Entry, sources: Mapping[str, Entry], draw: Draw) -> str:
    """The docstring of a symbol.

    Parameters
    ----------
    told
        The entry that it tells of: that of the symbol, unless it is out of date.
    sources
        Term -> entry of the symbol that gives it.
    """
    style = draw.of("numpy", "google", "sphinx", "prose", "prose", "mixed")
    facts = facts_of(symbol, told, sources, draw)
    texts = draw.shuffled([(name, text) for name, (_, text) in facts.params.items()])
    sentences = [say(draw, "told", name=name, text=text) for name, text in texts]
    note = say(draw, "deprecated", successor=told.successor) if told.successor else ""
    text = template("docstring.j2").render(
        **vars(facts), style=style, early=draw.chance(0.5), told=sentences,
        notes=draw.shuffled([*sentences, facts.returns, facts.use]), note=note,
    )  # fmt: skip
    return text.strip()


def facts_of(symbol: Symbol, told: Entry, sources: Mapping[str, Entry], draw: Draw) -> Facts:
    """The facts of a symbol, phrased."""
    params: dict[str, tuple[str, str]] = {}
    if told.kind in {"function", "class"}:
        if told.subject and not any(need.param == "structure" for need in told.needs):
            what = {"structure": "the crystal"}.get(
                told.subject, f"the {told.subject} of the crystal"
            )
            params[told.subject] = (told.subject.capitalize(), say(draw, "subject", what=what))
        for need in told.needs:
            kind = "float" if need.pick else sources[need.term].result
            params[need.param] = (TYPES[kind], f"{_need(need, sources[need.term], draw)}.")
    for choice in told.choices:
        params[choice.param] = (TYPES[choice.kind], _choice(choice, draw))
    what = gloss(symbol)
    if told.kind == "class":
        return Facts(
            f"{what.capitalize()}: what can be computed of it.", say(draw, "class"), "", params
        )
    names = {"term": told.term, "Term": told.term.capitalize(), "What": what.capitalize()}
    summary = say(draw, "summary", what=what, **names)
    measure = {"order": told.order, **_measure(told.convention, draw)}
    returns = say(draw, told.result, **measure)
    return Facts(summary, say(draw, "use", what=use(symbol)), returns, params)


# --- phrases ----------------------------------------------------------------------------------


def say(draw: Draw, kind: str, **facts: object) -> str:
    """One of the ways to say something."""
    return draw.choice(lexicon.PHRASES[kind]).format(**facts)


def gloss(symbol: Symbol, wording: int = 0) -> str:
    """What a quantity is, in the words of the documentation (0) or of questions (1)."""
    return _joined(lexicon.GLOSS, symbol.gloss, wording)


def use(symbol: Symbol, wording: int = 0) -> str:
    """What a quantity is used for, likewise."""
    return _joined(lexicon.USE, symbol.use, wording)


def _joined(
    tables: Sequence[Sequence[tuple[str, str]]], numbers: Sequence[int], wording: int
) -> str:
    return " ".join(t[n][wording] for t, n in zip(tables, numbers, strict=True))


def asked_for(settings: Sequence[Setting], draw: Draw) -> list[str]:
    """Options, as a text asks for them."""
    rules = [draw.choice(lexicon.RULES.get(each.meaning, ("",))) for each in settings]
    return [
        say(draw, f"with {s.kind}", meaning=s.meaning, value=s.value, unit=s.unit, rule=rule)
        for s, rule in zip(settings, rules, strict=True)
    ]


def in_unit(convention: Convention, draw: Draw, kind: str = "in unit") -> str:
    """Unit and sign of a value, with a comma before it; empty where there are none."""
    return say(draw, kind, **_measure(convention, draw)) if convention.family else ""


def _measure(convention: Convention, draw: Draw) -> dict[str, str]:
    if not convention.family:
        return {"unit": "", "sign": ""}
    unit, sign = lexicon.UNIT[convention.unit], ""
    if convention.polarity >= 0:
        direction = lexicon.POLARITIES[convention.polarity][convention.sense]
        sign = say(draw, "sign", direction=direction)
    return {"unit": draw.of(unit.symbol, unit.words, unit.symbol), "sign": sign}


def _need(need: Need, source: Entry, draw: Draw) -> str:
    """Where the value of a parameter comes from, and how it is to be given."""
    if source.result == "structure":
        return " ".join([say(draw, "prepared", term=need.term), *asked_for(need.settings, draw)])
    own = "" if source.kind == "constant" else say(draw, "own")
    text = say(draw, "source", term=need.term, own=own)
    if need.pick in lexicon.RULES:
        text = say(draw, "element of", text=text, rule=draw.choice(lexicon.RULES[need.pick]))
    elif need.pick:
        text = f"the {draw.choice(lexicon.PICKS[need.pick])} of {text}"
    if need.reciprocal:
        text = say(draw, "reciprocal", text=text)
    text = " ".join([text, *asked_for(need.settings, draw)])
    return text + in_unit(need.convention, draw, "inverted" if need.reciprocal else "in unit")


def _choice(choice: Choice, draw: Draw) -> str:
    """What an option decides, and its default."""
    unit = lexicon.UNIT.get(choice.unit, lexicon.UNIT["eV"])
    said = [say(draw, "meaning", value=v, meaning=m) for v, m in draw.shuffled(choice.meanings)]
    facts = {
        "role": choice.role,
        "unit": draw.of(unit.symbol, unit.words),
        "known": "; ".join(said),
        "default": choice.default,
    }
    if choice.kind == "mode":
        facts["default"] = say(draw, "default", value=choice.default)
    return say(draw, choice.kind, **facts)
